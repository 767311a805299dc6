(function (internals) { 'use strict'; globalThis.console = { log(...a) { internals.write(1, a.join(' ') + '\n'); } }; return (e) => 'Uncaught ' + String(e) + '\n' + (e && e.stack || ''); })
