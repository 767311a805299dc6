/* SPDX-License-Identifier: Apache-2.0 */
/* The global environment of a program: console, timers, process and a few more, shaped as in Node.js. One function, called
 * once, before any program is there, with what only the engine can do (src/engine/internals.c); it returns the function that
 * turns an uncaught value into text.
 *
 * It runs in the program's own realm, and a program may have replaced everything it can reach by the time it logs. So what is needed
 * is taken at the start, methods are called through `uncurry`, lists of our own have no prototype, and there is no for-of, no spread
 * and no destructuring of arrays here: all of those would ask the program's Array.prototype. Objects are looked at through
 * property descriptors, so printing runs no getter and no trap. */
(function (internals) {
  'use strict';

  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, apply } = Reflect;
  const { setPrototypeOf } = Object;
  const { classId, write } = internals;
  const { floor, max, min, round, sqrt, trunc } = Math;
  const { isInteger } = Number;
  const toNumber = Number, toText = String, toBigInt = BigInt;
  const parseInteger = parseInt, parseReal = parseFloat;
  const { stringify } = JSON;
  const { isView } = ArrayBuffer;
  const charCodeAt = uncurry(String.prototype.charCodeAt), indexOf = uncurry(String.prototype.indexOf);
  const slice = uncurry(String.prototype.slice), startsWith = uncurry(String.prototype.startsWith);
  const endsWith = uncurry(String.prototype.endsWith), repeat = uncurry(String.prototype.repeat);
  const padStart = uncurry(String.prototype.padStart), padEnd = uncurry(String.prototype.padEnd);
  const hexOf = uncurry(Number.prototype.toString), toUpper = uncurry(String.prototype.toUpperCase);
  const toLower = uncurry(String.prototype.toLowerCase), trim = uncurry(String.prototype.trim);
  const toFixed = uncurry(Number.prototype.toFixed);
  const isEnumerable = uncurry(Object.prototype.propertyIsEnumerable);
  const functionToString = uncurry(Function.prototype.toString);
  const symbolToString = uncurry(Symbol.prototype.toString);
  const exec = uncurry(RegExp.prototype.exec);
  const getter = (object, name) => uncurry(getOwnPropertyDescriptor(object, name).get);
  const { toStringTag } = Symbol;
  const customInspect = Symbol.for('nodejs.util.inspect.custom');

  /* A list that no change to Array.prototype can reach. */
  const list = () => setPrototypeOf([], null);
  const record = () => ({ __proto__: null });
  const join = (items, separator) => {
    let text = '';
    for (let i = 0; i < items.length; i++) text += i ? separator + items[i] : items[i];
    return text;
  };
  const own = (object, key) => getOwnPropertyDescriptor(object, key);

  // --- what an object is, whatever it claims to be -------------------------------------------------------------------------

  const kinds = record();
  const kind = (name, sample) => { kinds[classId(sample)] = name; };
  const typedArrays = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    BigInt64Array, BigUint64Array, Float32Array, Float64Array];
  const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype);
  for (let i = 0; i < typedArrays.length; i++) kind('TypedArray', new typedArrays[i](0));
  kind('Array', []);
  kind('Error', new Error(''));
  kind('Date', new Date(0));
  kind('RegExp', /a/);
  kind('Map', new Map());
  kind('Set', new Set());
  kind('WeakMap', new WeakMap());
  kind('WeakSet', new WeakSet());
  kind('Promise', new Promise(() => {}));
  kind('Proxy', new Proxy({}, {}));
  kind('Number', Object(0));
  kind('String', Object(''));
  kind('Boolean', Object(false));
  kind('Symbol', Object(Symbol()));
  kind('BigInt', Object(0n));
  kind('ArrayBuffer', new ArrayBuffer(0));
  kind('SharedArrayBuffer', new SharedArrayBuffer(0));
  kind('DataView', new DataView(new ArrayBuffer(0)));
  kind('Generator', (function* () {})());
  kind('Arguments', (function () { return arguments; })());
  kind('Arguments', new Function('return arguments')());
  const proxyId = classId(new Proxy({}, {}));
  const kindOf = (value) => kinds[classId(value)];
  const isProxy = (value) => classId(value) === proxyId;

  const dateToISOString = uncurry(Date.prototype.toISOString), dateGetTime = uncurry(Date.prototype.getTime);
  const regExpSource = getter(RegExp.prototype, 'source'), regExpFlags = getter(RegExp.prototype, 'flags');
  const mapForEach = uncurry(Map.prototype.forEach), setForEach = uncurry(Set.prototype.forEach);
  const mapSize = getter(Map.prototype, 'size'), setSize = getter(Set.prototype, 'size');
  const mapGet = uncurry(Map.prototype.get), mapSet = uncurry(Map.prototype.set), mapHas = uncurry(Map.prototype.has);
  const setAdd = uncurry(Set.prototype.add);
  const typedArrayLength = getter(typedArrayPrototype, 'length'), typedArrayTag = getter(typedArrayPrototype, toStringTag);
  const byteLengthOf = getter(ArrayBuffer.prototype, 'byteLength');
  const bufferSlice = uncurry(ArrayBuffer.prototype.slice);
  const boxed = {
    __proto__: null,
    Number: uncurry(Number.prototype.valueOf), String: uncurry(String.prototype.valueOf),
    Boolean: uncurry(Boolean.prototype.valueOf), Symbol: uncurry(Symbol.prototype.valueOf),
    BigInt: uncurry(BigInt.prototype.valueOf),
  };

  /* What stands behind any number of proxies; their traps are not asked. */
  const behindProxies = (value) => {
    for (let i = 0; i < 1000 && isProxy(value); i++) value = internals.proxyTarget(value, proxyId);
    return value;
  };

  /* The value of a data property, own or inherited; undefined where a getter or a proxy would have to be asked. */
  const lookUp = (object, key) => {
    for (let i = 0; object !== null && i < 1000 && !isProxy(object); i++) {
      const found = own(object, key);
      if (found) return found.value;
      object = getPrototypeOf(object);
    }
    return undefined;
  };

  /* The same for the few properties that classes define as getters: those are asked, and what they throw is dropped. */
  const read = (object, key) => {
    for (let i = 0, at = object; at !== null && i < 1000 && !isProxy(at); i++) {
      const found = own(at, key);
      if (found && found.get !== undefined) {
        try {
          return apply(found.get, object, []);
        } catch {
          return undefined;
        }
      }
      if (found) return found.value;
      at = getPrototypeOf(at);
    }
    return undefined;
  };

  const isInstance = (object, constructor) => {
    const prototype = isProxy(constructor) ? undefined : own(constructor, 'prototype');
    if (!prototype || (typeof prototype.value !== 'object' && typeof prototype.value !== 'function')) return false;
    for (let i = 0, at = getPrototypeOf(object); at !== null && i < 1000; i++) {
      if (at === prototype.value) return true;
      if (isProxy(at)) return false;
      at = getPrototypeOf(at);
    }
    return false;
  };

  /* The name of the class an object is of, or null where there is none. */
  const constructorName = (object) => {
    for (let i = 0, at = object; at !== null && i < 1000 && !isProxy(at); i++) {
      const found = own(at, 'constructor');
      if (found && typeof found.value === 'function' && !isProxy(found.value)) {
        const name = own(found.value, 'name');
        if (name && typeof name.value === 'string' && name.value !== '' && isInstance(object, found.value))
          return name.value;
      }
      at = getPrototypeOf(at);
    }
    return null;
  };

  // --- text of values, as Node's util.inspect prints it ---------------------------------------------------------------------

  const MAX_ITEMS = 100, MAX_STRING = 10000, BREAK_LENGTH = 80, COMPACT = 3, MAX_FRAMES = 10;
  const plainKey = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
  const needsEscape = /[\x00-\x1f\x27\x5c\x7f-\x9f\ud800-\udfff]/;
  const escapes = { __proto__: null, 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\' };

  const isSurrogatePair = (text, i) => {
    const high = charCodeAt(text, i);
    if (high >= 0xdc00 || i + 1 >= text.length) return false;
    const low = charCodeAt(text, i + 1);
    return low >= 0xdc00 && low <= 0xdfff;
  };
  const escapeUnit = (code) => code < 0x100
    ? '\\x' + toUpper(padStart(hexOf(code, 16), 2, '0'))
    : '\\u' + hexOf(code, 16);

  const quote = (text) => {
    if (exec(needsEscape, text) === null) return "'" + text + "'";
    let mark = "'";
    if (indexOf(text, "'") !== -1) {
      if (indexOf(text, '"') === -1) mark = '"';
      else if (indexOf(text, '`') === -1 && indexOf(text, '${') === -1) mark = '`';
    }
    const markCode = charCodeAt(mark, 0);
    let quoted = mark, from = 0;
    for (let i = 0; i < text.length; i++) {
      const code = charCodeAt(text, i);
      let escaped;
      if (code === markCode) escaped = '\\' + mark;
      else if (code < 32 || code === 92) escaped = escapes[code] ?? escapeUnit(code);
      else if (code >= 127 && code < 160) escaped = escapeUnit(code);
      else if (code >= 0xd800 && code <= 0xdfff) {
        if (isSurrogatePair(text, i)) i++;
        else escaped = escapeUnit(code);
      }
      if (escaped !== undefined) {
        quoted += slice(text, from, i) + escaped;
        from = i + 1;
      }
    }
    return quoted + slice(text, from) + mark;
  };

  const formatNumber = (n) => n === 0 && 1 / n < 0 ? '-0' : '' + n;
  const more = (n, what) => `... ${n} more ${what}${n > 1 ? 's' : ''}`;

  /* A long string is broken after its line ends, each part quoted. */
  const formatString = (ctx, text) => {
    let trailer = '';
    if (text.length > MAX_STRING) {
      trailer = more(text.length - MAX_STRING, 'character');
      text = slice(text, 0, MAX_STRING);
    }
    if (text.length <= 16 || text.length <= BREAK_LENGTH - ctx.indentation - 4 || indexOf(text, '\n') === -1)
      return quote(text) + trailer;
    const parts = list();
    for (let from = 0; from < text.length;) {
      const at = indexOf(text, '\n', from), to = at === -1 ? text.length : at + 1;
      parts[parts.length] = quote(slice(text, from, to));
      from = to;
    }
    return join(parts, ` +\n${repeat(' ', ctx.indentation + 2)}`) + trailer;
  };

  const formatPrimitive = (ctx, value) => {
    switch (typeof value) {
      case 'string': return formatString(ctx, value);
      case 'number': return formatNumber(value);
      case 'bigint': return `${value}n`;
      case 'symbol': return symbolToString(value);
      default: return '' + value;
    }
  };

  const prefixOf = (constructor, tag, fallback, size = '') => {
    if (constructor === null)
      return `[${fallback}${size}: null prototype] ${tag !== '' && tag !== fallback ? `[${tag}] ` : ''}`;
    return `${constructor}${size} ${tag !== '' && tag !== constructor ? `[${tag}] ` : ''}`;
  };

  const functionTypes = { __proto__: null, AsyncFunction: 'AsyncFunction', GeneratorFunction: 'GeneratorFunction', AsyncGeneratorFunction: 'AsyncGeneratorFunction' };
  const functionBase = (value, constructor, tag) => {
    const source = functionToString(value);
    const nameOf = (f) => {
      const name = own(f, 'name');
      return name && typeof name.value === 'string' ? name.value : '';
    };
    const name = nameOf(value);
    if (startsWith(source, 'class') && endsWith(source, '}')) {
      const parent = getPrototypeOf(value);
      let text = `[class ${name === '' ? '(anonymous)' : name}`;
      if (constructor !== 'Function' && constructor !== null) text += ` [${constructor}]`;
      if (parent === null) text += ' extends [null prototype]';
      else if (!isProxy(parent) && nameOf(parent) !== '') text += ` extends ${nameOf(parent)}`;
      return text + ']';
    }
    const type = functionTypes[read(value, toStringTag)] ?? 'Function';
    let text = `[${type}`;
    if (constructor === null) text += ' (null prototype)';
    text += name === '' ? ' (anonymous)]' : `: ${name}]`;
    if (constructor !== null && constructor !== type && constructor !== 'Function') text += ` ${constructor}`;
    if (tag !== '' && tag !== type && constructor !== tag) text += ` [${tag}]`;
    return text;
  };

  /* The frames of a stack trace: not ours (they carry no place), and no more than Node shows. */
  const framesOf = (stack) => {
    let frames = '', shown = 0;
    for (let from = 0; from < stack.length && shown < MAX_FRAMES;) {
      const at = indexOf(stack, '\n', from), to = at === -1 ? stack.length : at;
      const line = slice(stack, from, to);
      if (startsWith(line, '    at ') && (indexOf(line, ' (') !== -1 || indexOf(line, ':') !== -1)) {
        frames += '\n' + line;
        shown++;
      }
      from = to + 1;
    }
    return frames;
  };

  const errorBase = (ctx, error, constructor, tag) => {
    const name = read(error, 'name'), message = read(error, 'message'), stack = read(error, 'stack');
    let title = typeof name === 'string' ? name : 'Error';
    if (title === 'Error' && constructor !== null) title = constructor;
    if (constructor === null) title = `[${title}: null prototype]`;
    if (tag !== '' && tag !== title) title += ` [${tag}]`;
    let text = typeof message === 'string' && message !== '' ? (title === '' ? message : `${title}: ${message}`) : title;
    if (typeof stack === 'string' && stack !== '' && !startsWith(stack, '    at ')) return stack;
    const frames = typeof stack === 'string' ? framesOf(stack) : '';
    if (frames === '') return `[${text}]`;
    text += frames;
    if (ctx.indentation === 0) return text;
    let indented = '';
    for (let from = 0; from <= text.length;) {
      const at = indexOf(text, '\n', from), to = at === -1 ? text.length : at;
      indented += (from ? '\n' + repeat(' ', ctx.indentation) : '') + slice(text, from, to);
      from = to + 1;
    }
    return indented;
  };

  const regExpBase = (value) => {
    try {
      return `/${regExpSource(value)}/${regExpFlags(value)}`;
    } catch {
      return '[RegExp]';
    }
  };

  const dateBase = (value) => {
    const time = dateGetTime(value);
    return time === time ? dateToISOString(value) : 'Invalid Date';
  };

  const isIndex = (key, length) => {
    if (typeof key !== 'string' || key.length === 0 || key.length > 10) return false;
    const n = +key;
    return isInteger(n) && n >= 0 && n < length && '' + n === key;
  };

  /* Enumerable own keys; without indices below `length`, and with the hidden ones where they are asked for. */
  const shownKeys = (ctx, value, length) => {
    const keys = list(), all = ownKeys(value);
    for (let i = 0; i < all.length; i++) {
      const key = all[i];
      if (length >= 0 && isIndex(key, length)) continue;
      if (isEnumerable(value, key) || (ctx.showHidden && typeof key === 'string')) keys[keys.length] = key;
    }
    return keys;
  };

  const formatKey = (key, enumerable) => {
    if (typeof key === 'symbol') return `[${symbolToString(key)}]`;
    if (key === '__proto__') return "['__proto__']";
    if (!enumerable) return `[${key}]`;
    return exec(plainKey, key) !== null ? key : quote(key);
  };

  const formatProperty = (ctx, value, key, depth, bare) => {
    const found = own(value, key);
    let text;
    if (!found) return undefined;
    if (found.get !== undefined) text = found.set !== undefined ? '[Getter/Setter]' : '[Getter]';
    else if (found.set !== undefined) text = '[Setter]';
    else {
      ctx.indentation += 2;
      text = formatValue(ctx, found.value, depth);
      ctx.indentation -= 2;
    }
    return bare ? text : `${formatKey(key, found.enumerable)}: ${text}`;
  };

  const arrayItems = (ctx, value, depth, output) => {
    const length = own(value, 'length').value;
    let shown = 0, i = 0;
    for (; i < length && shown < MAX_ITEMS; shown++) {
      const item = formatProperty(ctx, value, '' + i, depth, true);
      if (item !== undefined) {
        output[output.length] = item;
        i++;
        continue;
      }
      const next = nextIndex(value, i, length), holes = next - i;
      output[output.length] = `<${holes} empty item${holes > 1 ? 's' : ''}>`;
      i = next;
    }
    if (i < length) output[output.length] = more(length - i, 'item');
  };

  /* The first index from `from` on that is there. A sparse array may be billions long: its keys are asked then. */
  const nextIndex = (value, from, length) => {
    for (let i = from; i < length && i < from + 100; i++) if (own(value, '' + i)) return i;
    const keys = ownKeys(value);
    let next = length;
    for (let i = 0; i < keys.length; i++) {
      if (!isIndex(keys[i], length)) break; // indices come first, in order
      if (+keys[i] >= from) {
        next = +keys[i];
        break;
      }
    }
    return next;
  };

  const typedArrayItems = (ctx, value, depth, output) => {
    const length = typedArrayLength(value), shown = min(length, MAX_ITEMS);
    for (let i = 0; i < shown; i++) output[i] = formatPrimitive(ctx, value[i]);
    if (length > shown) output[shown] = more(length - shown, 'item');
  };

  const collectionItems = (ctx, value, depth, output, isMap) => {
    const size = isMap ? mapSize(value) : setSize(value);
    let shown = 0;
    ctx.indentation += 2;
    (isMap ? mapForEach : setForEach)(value, (item, key) => {
      if (shown++ >= MAX_ITEMS) return;
      const text = formatValue(ctx, isMap ? key : item, depth);
      output[output.length] = isMap ? `${text} => ${formatValue(ctx, item, depth)}` : text;
    });
    ctx.indentation -= 2;
    if (size > MAX_ITEMS) output[output.length] = more(size - MAX_ITEMS, 'item');
  };

  const promiseItems = (ctx, value, depth, output) => {
    const state = internals.promiseState(value);
    if (state === 0) {
      output[0] = '<pending>';
      return;
    }
    ctx.indentation += 2;
    const text = formatValue(ctx, internals.promiseResult(value), depth);
    ctx.indentation -= 2;
    output[0] = state === 2 ? `<rejected> ${text}` : text;
  };

  const bufferItems = (ctx, value, output) => {
    const length = byteLengthOf(value), bytes = new typedArrays[1](value);
    let text = '';
    for (let i = 0; i < length && i < 50; i++) text += (i ? ' ' : '') + padStart(hexOf(bytes[i], 16), 2, '0');
    if (length > 50) text += ` ${more(length - 50, 'byte')}`;
    output[0] = `[Uint8Contents]: <${text}>`;
    output[1] = `byteLength: ${length}`;
  };

  /* Many short items stand in columns, as many as look well in 80 of them. */
  const inColumns = (ctx, output, value, hasMore) => {
    const n = hasMore ? output.length - 1 : output.length;
    let total = 0, widest = 0;
    for (let i = 0; i < n; i++) {
      total += output[i].length + 2;
      widest = max(widest, output[i].length);
    }
    const width = widest + 2;
    if (width * 3 + ctx.indentation >= BREAK_LENGTH || !(total / width > 5 || widest <= 6)) return output;
    const biased = max(width - 3 - sqrt(width - total / output.length), 1);
    const columns = min(round(sqrt(2.5 * biased * n) / biased), floor((BREAK_LENGTH - ctx.indentation) / width), COMPACT * 4, 15);
    if (columns <= 1) return output;
    const widths = list(), rows = list();
    for (let c = 0; c < columns; c++) {
      let columnWidth = 0;
      for (let i = c; i < n; i += columns) columnWidth = max(columnWidth, output[i].length);
      widths[c] = columnWidth + 2;
    }
    let pad = padStart;
    for (let i = 0; value !== undefined && i < n; i++) {
      const item = own(value, '' + i);
      if (!item || (typeof item.value !== 'number' && typeof item.value !== 'bigint')) {
        pad = padEnd;
        break;
      }
    }
    for (let i = 0; i < n; i += columns) {
      const end = min(i + columns, n) - 1;
      let row = '';
      for (let j = i; j < end; j++) row += pad(`${output[j]}, `, widths[j - i], ' ');
      row += pad === padStart ? padStart(output[end], widths[end - i] - 2, ' ') : output[end];
      rows[rows.length] = row;
    }
    if (hasMore) rows[rows.length] = output[n];
    return rows;
  };

  const fitsOnLine = (ctx, output, start, base) => {
    let total = output.length + start;
    if (total + output.length > BREAK_LENGTH) return false;
    for (let i = 0; i < output.length; i++) {
      total += output[i].length;
      if (total > BREAK_LENGTH) return false;
    }
    return base === '' || indexOf(base, '\n') === -1;
  };

  const assemble = (ctx, output, base, open, close, isList, depth, value, hasMore) => {
    const before = base === '' ? '' : base + ' ', entries = output.length;
    if (isList && entries > 6) output = inColumns(ctx, output, value, hasMore);
    if (ctx.currentDepth - depth < COMPACT && entries === output.length) {
      if (fitsOnLine(ctx, output, output.length + ctx.indentation + open.length + base.length + 10, base)) {
        const line = join(output, ', ');
        if (indexOf(line, '\n') === -1) return `${before}${open} ${line} ${close}`;
      }
    }
    const indent = `\n${repeat(' ', ctx.indentation)}`;
    return `${before}${open}${indent}  ${join(output, `,${indent}  `)}${indent}${close}`;
  };

  /* How an object of each kind begins: { base, open, close, items, isList, length }. */
  const shapeOf = (ctx, value, depth, constructor, tag) => {
    const shape = { __proto__: null, base: '', open: '{', close: '}', items: undefined, isList: false, length: -1, atom: false };
    const named = (fallback, size) => prefixOf(constructor, tag, fallback, size);
    const listShape = (fallback, length) => {
      shape.open = (constructor !== fallback || tag !== '' ? named(fallback, `(${length})`) : '') + '[';
      shape.close = ']';
      shape.isList = true;
      shape.length = length;
    };
    const atom = (base) => {
      shape.base = base;
      shape.atom = true;
    };
    if (typeof value === 'function') {
      atom(functionBase(value, constructor, tag));
      return shape;
    }
    const type = kindOf(value);
    switch (type) {
      case 'Array':
        listShape('Array', own(value, 'length').value);
        shape.items = (output) => arrayItems(ctx, value, depth + 1, output);
        break;
      case 'TypedArray': {
        const name = typedArrayTag(value), length = typedArrayLength(value);
        shape.open = `${prefixOf(constructor, tag, name, `(${length})`)}[`;
        shape.close = ']';
        shape.isList = true;
        shape.length = length;
        shape.items = (output) => typedArrayItems(ctx, value, depth + 1, output);
        break;
      }
      case 'Arguments':
        shape.open = '[Arguments] {';
        break;
      case 'Map':
      case 'Set':
        shape.open = named(type, `(${type === 'Map' ? mapSize(value) : setSize(value)})`) + '{';
        shape.items = (output) => collectionItems(ctx, value, depth + 1, output, type === 'Map');
        break;
      case 'Promise':
        shape.open = named(type) + '{';
        shape.items = (output) => promiseItems(ctx, value, depth + 1, output);
        break;
      case 'WeakMap':
      case 'WeakSet':
        shape.open = named(type) + '{';
        shape.items = (output) => { output[0] = '<items unknown>'; };
        break;
      case 'ArrayBuffer':
        shape.open = named(type) + '{';
        shape.items = (output) => bufferItems(ctx, value, output);
        break;
      case 'Error':
        atom(errorBase(ctx, value, constructor, tag));
        break;
      case 'Date':
        atom((constructor !== 'Date' ? named('Date') : '') + dateBase(value));
        break;
      case 'RegExp':
        atom((constructor !== 'RegExp' ? named('RegExp') : '') + regExpBase(value));
        break;
      case 'Number': case 'String': case 'Boolean': case 'Symbol': case 'BigInt': {
        const inner = boxed[type](value);
        atom(`[${type}${constructor !== type ? ` (${constructor ?? 'null prototype'})` : ''}: ${
          typeof inner === 'string' ? quote(inner) : formatPrimitive(ctx, inner)}]`);
        if (type === 'String') shape.length = inner.length;
        break;
      }
      case 'Generator':
        shape.open = `Object [Generator] {`;
        break;
      default:
        if (constructor !== 'Object' || tag !== '') shape.open = named('Object') + '{';
    }
    return shape;
  };

  const hiddenErrorKeys = (value, keys) => {
    const extra = ['cause', 'errors'];
    for (let i = 0; i < extra.length; i++) {
      const found = own(value, extra[i]);
      if (found && !found.enumerable) keys[keys.length] = extra[i];
    }
  };

  const referenceOf = (ctx, value) => {
    if (ctx.circular === undefined) ctx.circular = new MapClass();
    let index = mapGet(ctx.circular, value);
    if (index === undefined) {
      index = mapSize(ctx.circular) + 1;
      mapSet(ctx.circular, value, index);
    }
    return index;
  };
  const MapClass = Map, SetClass = Set;

  const formatObject = (ctx, value, depth) => {
    const constructor = constructorName(value);
    let tag = read(value, toStringTag);
    if (typeof tag !== 'string' || tag === constructor || isEnumerable(value, toStringTag)) tag = '';
    const shape = shapeOf(ctx, value, depth, constructor, tag);
    const keys = shownKeys(ctx, value, shape.length);
    if (kindOf(value) === 'Error') hiddenErrorKeys(value, keys);
    if (keys.length === 0) {
      if (shape.atom) return shape.base;
      if (shape.items === undefined || shape.length === 0) return `${shape.open}${shape.close}`;
    }
    if (depth > ctx.depth) {
      if (shape.atom) return shape.base;
      const name = kindOf(value) === 'Array' && constructor === 'Array' ? 'Array ' : prefixOf(constructor, tag, 'Object');
      return `[${slice(name, 0, -1)}]`;
    }
    const output = list();
    ctx.seen[ctx.seen.length] = value;
    ctx.currentDepth = depth + 1;
    if (shape.items) shape.items(output);
    const listed = output.length;
    for (let i = 0; i < keys.length; i++) {
      const text = formatProperty(ctx, value, keys[i], depth + 1, false);
      if (text !== undefined) output[output.length] = text;
    }
    ctx.seen.length--;
    let base = shape.base;
    const reference = ctx.circular === undefined ? undefined : mapGet(ctx.circular, value);
    if (reference !== undefined) base = base === '' ? `<ref *${reference}>` : `<ref *${reference}> ${base}`;
    if (output.length === 0) return `${base === '' ? '' : base + ' '}${shape.open}${shape.close}`;
    const hasMore = shape.isList && shape.length > MAX_ITEMS && listed === output.length;
    return assemble(ctx, output, base, shape.open, shape.close, shape.isList, depth + 1,
      kindOf(value) === 'Array' || kindOf(value) === 'TypedArray' ? value : undefined, hasMore);
  };

  const formatValue = (ctx, value, depth) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return formatPrimitive(ctx, value);
    value = behindProxies(value);
    const custom = lookUp(value, customInspect);
    if (typeof custom === 'function') {
      const text = apply(custom, value, [ctx.depth - depth, { __proto__: null, depth: ctx.depth }, inspect]);
      if (text !== value) return typeof text === 'string' ? text : formatValue(ctx, text, depth);
    }
    for (let i = 0; i < ctx.seen.length; i++) {
      if (ctx.seen[i] === value) return `[Circular *${referenceOf(ctx, value)}]`;
    }
    return formatObject(ctx, value, depth);
  };

  const inspect = (value, options) => {
    const ctx = { __proto__: null, seen: list(), circular: undefined, indentation: 0, currentDepth: 0, depth: 2, showHidden: false };
    if (typeof options === 'object' && options !== null) {
      if (options.depth !== undefined) ctx.depth = options.depth === null ? Infinity : options.depth;
      if (options.showHidden !== undefined) ctx.showHidden = !!options.showHidden;
    }
    return formatValue(ctx, value, 0);
  };

  // --- printf ----------------------------------------------------------------------------------------------------------------

  /* Has the program given this object a way of its own to become text? */
  const hasOwnToString = (value) => {
    if (isProxy(value)) return false;
    const f = lookUp(value, 'toString');
    return typeof f === 'function' && f !== objectToString && f !== errorToString && f !== arrayToString && f !== dateToString;
  };
  const objectToString = Object.prototype.toString, errorToString = Error.prototype.toString;
  const arrayToString = Array.prototype.toString, dateToString = Date.prototype.toString;

  const asText = (value) => {
    if (typeof value === 'number') return formatNumber(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value !== 'object' || value === null || hasOwnToString(value)) return toText(value);
    return inspect(value, { depth: 0 });
  };
  const asNumber = (value, convert) => {
    if (typeof value === 'bigint') return `${value}n`;
    return typeof value === 'symbol' ? 'NaN' : formatNumber(convert(value));
  };
  const asJson = (value) => {
    try {
      return stringify(value);
    } catch (error) {
      if (indexOf(toText(error.message), 'circular') !== -1) return '[Circular]';
      throw error;
    }
  };
  const directives = {
    __proto__: null,
    s: asText,
    d: (value) => typeof value === 'object' ? formatNumber(toNumber(value)) : asNumber(value, toNumber),
    i: (value) => typeof value === 'object' ? 'NaN' : asNumber(value, parseInteger),
    f: (value) => typeof value === 'symbol' ? 'NaN' : formatNumber(parseReal(value)),
    j: asJson,
    o: (value) => inspect(value, { depth: 4, showHidden: true }),
    O: (value) => inspect(value),
    c: () => '',
  };

  const format = (args) => {
    const first = args[0];
    let text = '', next = 0;
    if (typeof first === 'string') {
      if (args.length === 1) return first;
      let from = 0;
      next = 1;
      for (let at = indexOf(first, '%'); at !== -1 && at + 1 < first.length; at = indexOf(first, '%', at)) {
        const letter = first[at + 1], directive = directives[letter];
        if (letter === '%') {
          text += slice(first, from, at + 1);
          from = at + 2;
        } else if (directive !== undefined && next < args.length) {
          text += slice(first, from, at) + directive(args[next++]);
          from = at + 2;
        }
        at += 2;
      }
      text += slice(first, from);
    }
    for (; next < args.length; next++) {
      if (next > 0) text += ' ';
      text += typeof args[next] === 'string' ? args[next] : inspect(args[next]);
    }
    return text;
  };

  // --- console ---------------------------------------------------------------------------------------------------------------

  const STDOUT = 1, STDERR = 2;
  let groupIndent = '';
  const counts = new Map(), timers = new Map();
  const mapDelete = uncurry(Map.prototype.delete);

  const print = (stream, text) => {
    if (groupIndent !== '') {
      let indented = groupIndent;
      for (let from = 0; ;) {
        const at = indexOf(text, '\n', from);
        if (at === -1) {
          indented += slice(text, from);
          break;
        }
        indented += slice(text, from, at + 1) + groupIndent;
        from = at + 1;
      }
      text = indented;
    }
    write(stream, text + '\n');
  };
  const milliseconds = (ms) => ms >= 1000 ? `${toFixed(ms / 1000, 3)}s` : `${toNumber(toFixed(ms, 3))}ms`;
  const elapsed = (label) => {
    const start = mapGet(timers, label);
    return start === undefined ? undefined : milliseconds((internals.nowNs() - start) / 1e6);
  };
  const labelOf = (label) => label === undefined ? 'default' : `${label}`;
  const tail = (args) => {
    const rest = list();
    for (let i = 1; i < args.length; i++) rest[i - 1] = args[i];
    return rest;
  };

  const console = {
    log(...args) { print(STDOUT, format(args)); },
    warn(...args) { print(STDERR, format(args)); },
    dir(value, options) { print(STDOUT, inspect(value, options)); },
    time(label) { mapSet(timers, labelOf(label), internals.nowNs()); },
    timeEnd(label) {
      const took = elapsed(labelOf(label));
      if (took === undefined) return;
      print(STDOUT, `${labelOf(label)}: ${took}`);
      mapDelete(timers, labelOf(label));
    },
    timeLog(label, ...args) {
      const took = elapsed(labelOf(label));
      if (took === undefined) return;
      print(STDOUT, `${labelOf(label)}: ${took}${args.length ? ' ' + format(args) : ''}`);
    },
    trace(...args) {
      const text = format(args);
      print(STDERR, `Trace${text === '' ? '' : ': ' + text}${framesOf(lookUp(new ErrorClass(''), 'stack') ?? '')}`);
    },
    assert(condition, ...args) {
      if (condition) return;
      defineProperty(args, '0', { value: args.length ? `Assertion failed: ${args[0]}` : 'Assertion failed', writable: true });
      print(STDERR, format(args));
    },
    clear() {},
    count(label) {
      const name = labelOf(label), n = (mapGet(counts, name) ?? 0) + 1;
      mapSet(counts, name, n);
      print(STDOUT, `${name}: ${n}`);
    },
    countReset(label) { mapSet(counts, labelOf(label), 0); },
    group(...args) {
      if (args.length > 0) print(STDOUT, format(args));
      groupIndent += '  ';
    },
    groupEnd() { groupIndent = slice(groupIndent, 0, -2); },
    table(value) { print(STDOUT, typeof value === 'string' ? value : inspect(value)); },
  };
  const ErrorClass = Error;
  console.debug = console.log;
  console.info = console.log;
  console.dirxml = console.log;
  console.error = console.warn;
  console.groupCollapsed = console.group;
  defineProperty(console, toStringTag, { value: 'console', configurable: true });

  // --- process ---------------------------------------------------------------------------------------------------------------

  const codedError = (Class, code, message) => {
    const error = new Class(message);
    defineProperty(error, 'code', { value: code, writable: true, enumerable: true, configurable: true });
    return error;
  };
  const TypeErrorClass = TypeError, RangeErrorClass = RangeError;

  const exitCodeOf = (code) => {
    if (code === undefined || code === null) return undefined;
    const n = typeof code === 'string' && trim(code) !== '' ? toNumber(code) : code;
    if (typeof n !== 'number') throw codedError(TypeErrorClass, 'ERR_INVALID_ARG_TYPE', `The "code" argument must be of type number. Received ${inspect(code)}`);
    if (!isInteger(n)) throw codedError(RangeErrorClass, 'ERR_OUT_OF_RANGE', `The value of "code" is out of range. It must be an integer. Received ${inspect(code)}`);
    return n;
  };

  const streamOf = (number) => {
    const stream = {
      fd: number,
      isTTY: false,
      writable: true,
      write(chunk, encoding, callback) {
        if (typeof chunk === 'string') write(number, chunk);
        else if (kindOf(chunk) === 'TypedArray' && typedArrayTag(chunk) === 'Uint8Array') internals.writeBytes(number, chunk);
        else throw codedError(TypeErrorClass, 'ERR_INVALID_ARG_TYPE', `The "chunk" argument must be of type string or an instance of Uint8Array. Received ${inspect(chunk)}`);
        const done = typeof encoding === 'function' ? encoding : callback;
        if (typeof done === 'function') internals.nextTick(done);
        return true;
      },
    };
    return stream;
  };

  let exitCode;
  const hrtime = (previous) => {
    const ns = internals.nowNs();
    let seconds = floor(ns / 1e9), rest = ns % 1e9;
    if (previous !== undefined) {
      seconds -= previous[0];
      rest -= previous[1];
      if (rest < 0) {
        seconds--;
        rest += 1e9;
      }
    }
    return [seconds, rest];
  };
  defineProperty(hrtime, 'bigint', { value: function bigint() { return toBigInt(internals.nowNs()); }, writable: true, enumerable: true, configurable: true });

  const process = {
    title: 'node',
    argv: ['node'],
    execArgv: [],
    env: { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
    pid: 1,
    platform: 'linux',
    versions: { quickjs: '2025-04-26' },
    stdout: streamOf(STDOUT),
    stderr: streamOf(STDERR),
    get exitCode() { return exitCode; },
    set exitCode(code) {
      internals.setExitCode(exitCodeOf(code));
      exitCode = code;
    },
    exit(code) { internals.exit((code === undefined ? exitCodeOf(exitCode) : exitCodeOf(code)) ?? 0); },
    cwd() { return '/'; },
    uptime() { return internals.nowNs() / 1e9; },
    hrtime,
    memoryUsage() {
      const used = internals.memoryUsed();
      return { rss: used, heapTotal: used, heapUsed: used, external: 0, arrayBuffers: 0 };
    },
    nextTick: internals.nextTick,
  };
  defineProperty(process, toStringTag, { value: 'process', configurable: true });

  // --- the rest ----------------------------------------------------------------------------------------------------------------

  const dateNow = Date.now;
  const performance = {
    now() { return internals.nowNs() / 1e6; },
    get timeOrigin() { return dateNow() - internals.nowNs() / 1e6; },
    toJSON() { return { timeOrigin: dateNow() - internals.nowNs() / 1e6 }; },
  };
  defineProperty(performance, toStringTag, { value: 'Performance', configurable: true });

  const Uint8 = Uint8Array;
  const bytesOfSource = (source) => {
    if (source === undefined) return new Uint8(0);
    const type = kindOf(source);
    if (type === 'ArrayBuffer' || isView(source)) return source;
    throw codedError(TypeErrorClass, 'ERR_INVALID_ARG_TYPE', 'The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
  };

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return new Uint8(internals.utf8(`${text}`)); }
    encodeInto(text, target) {
      let read = 0, written = 0;
      while (read < text.length) {
        const size = isSurrogatePair(text, read) && charCodeAt(text, read) >= 0xd800 ? 2 : 1;
        const bytes = new Uint8(internals.utf8(slice(text, read, read + size)));
        const n = typedArrayLength(bytes);
        if (written + n > typedArrayLength(target)) break;
        for (let i = 0; i < n; i++) target[written++] = bytes[i];
        read += size;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal;
    #ignoreBOM;
    #pending;
    #started = false;
    constructor(label = 'utf-8', options = {}) {
      const name = toLower(trim(`${label}`));
      if (name !== 'utf-8' && name !== 'utf8' && name !== 'unicode-1-1-utf-8')
        throw codedError(RangeErrorClass, 'ERR_ENCODING_NOT_SUPPORTED', `The "${label}" encoding is not supported`);
      this.#fatal = !!options.fatal;
      this.#ignoreBOM = !!options.ignoreBOM;
    }
    get encoding() { return 'utf-8'; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(source, options = {}) {
      const stream = !!options.stream;
      const decoded = internals.decode(bytesOfSource(source), this.#pending, stream);
      this.#pending = decoded.pending;
      if (decoded.repaired && this.#fatal) {
        this.#pending = undefined;
        throw codedError(TypeErrorClass, 'ERR_ENCODING_INVALID_ENCODED_DATA', 'The encoded data was not valid for encoding utf-8');
      }
      let text = decoded.text;
      if (!this.#started && text !== '') {
        this.#started = true;
        if (!this.#ignoreBOM && charCodeAt(text, 0) === 0xfeff) text = slice(text, 1);
      }
      if (!stream) this.#started = false;
      return text;
    }
  }
  defineProperty(TextEncoder.prototype, toStringTag, { value: 'TextEncoder', configurable: true });
  defineProperty(TextDecoder.prototype, toStringTag, { value: 'TextDecoder', configurable: true });

  const cloneErrors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const DateClass = Date, RegExpClass = RegExp, ObjectOf = Object;
  const notCloneable = (value) => {
    const error = codedError(ErrorClass, 25, `${typeof value === 'symbol' ? symbolToString(value) : typeof value === 'function' ? functionToString(value) : '#<Object>'} could not be cloned.`);
    defineProperty(error, 'name', { value: 'DataCloneError', configurable: true });
    return error;
  };
  const put = (object, key, value) => defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

  const cloneKeys = (from, to, seen) => {
    const keys = ownKeys(from);
    for (let i = 0; i < keys.length; i++) {
      if (typeof keys[i] === 'string' && isEnumerable(from, keys[i])) put(to, keys[i], clone(from[keys[i]], seen));
    }
    return to;
  };
  const cloneError = (value, seen) => {
    const name = lookUp(value, 'name'), copy = new (cloneErrors[name] ?? ErrorClass)();
    const parts = ['message', 'stack', 'cause'];
    for (let i = 0; i < parts.length; i++) {
      const found = own(value, parts[i]);
      if (found) defineProperty(copy, parts[i], { value: clone(found.value, seen), writable: true, configurable: true });
    }
    return copy;
  };
  const cloneView = (value, seen) => {
    const buffer = clone(value.buffer, seen), Class = kindOf(value) === 'DataView' ? DataViewClass : typedArrayClass(value);
    return new Class(buffer, value.byteOffset, Class === DataViewClass ? value.byteLength : value.length);
  };
  const DataViewClass = DataView;
  const typedArrayClass = (value) => {
    const name = typedArrayTag(value);
    for (let i = 0; i < typedArrays.length; i++) if (own(typedArrays[i], 'name').value === name) return typedArrays[i];
    return Uint8;
  };
  const clone = (value, seen) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw notCloneable(value);
    if (typeof value !== 'object' || value === null) return value;
    if (mapHas(seen, value)) return mapGet(seen, value);
    const keep = (copy) => {
      mapSet(seen, value, copy);
      return copy;
    };
    const type = kindOf(value);
    switch (type) {
      case 'Number': case 'String': case 'Boolean': case 'BigInt': return keep(ObjectOf(boxed[type](value)));
      case 'Date': return keep(new DateClass(dateGetTime(value)));
      case 'RegExp': return keep(new RegExpClass(regExpSource(value), regExpFlags(value)));
      case 'ArrayBuffer': return keep(bufferSlice(value, 0));
      case 'TypedArray': case 'DataView': return keep(cloneView(value, seen));
      case 'Error': return keep(cloneError(value, seen));
      case 'Map': {
        const copy = keep(new MapClass());
        mapForEach(value, (item, key) => { mapSet(copy, clone(key, seen), clone(item, seen)); });
        return copy;
      }
      case 'Set': {
        const copy = keep(new SetClass());
        setForEach(value, (item) => { setAdd(copy, clone(item, seen)); });
        return copy;
      }
      case 'Array': {
        const copy = keep([]);
        copy.length = value.length;
        return cloneKeys(value, copy, seen);
      }
      case 'Symbol': case 'Promise': case 'WeakMap': case 'WeakSet': case 'Generator': case 'Proxy': throw notCloneable(value);
      default: return cloneKeys(value, keep({}), seen);
    }
  };
  function structuredClone(value) {
    if (arguments.length === 0) throw codedError(TypeErrorClass, 'ERR_MISSING_ARGS', 'The "value" argument must be specified');
    return clone(value, new MapClass());
  }

  const expose = (name, value, enumerable) => defineProperty(globalThis, name, { value, writable: true, enumerable, configurable: true });
  expose('global', globalThis, true);
  expose('clearImmediate', internals.clearImmediate, true);
  expose('setImmediate', internals.setImmediate, true);
  expose('clearInterval', internals.clearInterval, true);
  expose('clearTimeout', internals.clearTimeout, true);
  expose('setInterval', internals.setInterval, true);
  expose('setTimeout', internals.setTimeout, true);
  expose('queueMicrotask', internals.queueMicrotask, true);
  expose('structuredClone', structuredClone, true);
  expose('performance', performance, true);
  expose('console', console, false);
  expose('process', process, false);
  expose('TextEncoder', TextEncoder, false);
  expose('TextDecoder', TextDecoder, false);
  defineProperty(globalThis, toStringTag, { value: 'global', configurable: true });

  // Handles of timers print and report as what they are.
  const nameClass = (prototype, name) => {
    const Class = { [name]: function () {} }[name];
    defineProperty(Class, 'prototype', { value: prototype });
    defineProperty(prototype, 'constructor', { value: Class, writable: true, configurable: true });
  };
  nameClass(internals.timeoutPrototype, 'Timeout');
  nameClass(internals.immediatePrototype, 'Immediate');

  // Once through the common paths, so that what they make on first use is made before any program is there.
  format(['%s %d', 'a', 1, { a: [1, 'b'], c: new Map([[1, new Set([2])]]) }, new Error('warm')]);

  return (value) => 'Uncaught ' + inspect(value) + '\n';
})
