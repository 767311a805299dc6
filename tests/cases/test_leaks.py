# SPDX-License-Identifier: Apache-2.0
"""Public reports, group J: what a program learns of its host."""

import os
import re

import pytest

from conftest import BIN, BUILD, ROOT, guest_failed, succeeded


def test_BR_116_constructors_lead_nowhere(box):
    """Without host calls, errors come from the engine and from our own script."""
    code = """
const sources = [() => null.x, () => structuredClone(() => 1), () => new TextDecoder("no-such"), () => atob("%"), () => process.chdir("/"),
                 () => process.exit(Symbol()), () => setTimeout()];
for (const source of sources) {
  let e = source; try { source() } catch (x) { e = x }
  for (let o = e; o !== null && o !== undefined; o = Object.getPrototypeOf(o)) {
    const F = o.constructor && o.constructor.constructor;
    if (typeof F === "function" && F("return this")() !== globalThis) console.log("another realm", String(source));
  }
}
let e; try { null.x } catch (x) { e = x }
const F = e.constructor.constructor;
console.log(F("return this")() === globalThis, typeof globalThis.process?.binding, e instanceof Error);
"""
    succeeded(box.js(code), b"true undefined true\n")


def host_words():
    """What must not be seen: where we stand, who we are."""
    words = {str(ROOT), str(BUILD), str(BIN), "/home/", "/root/", "/tmp/plimsoll", "bootstrap", "quickjs"}
    return [word for word in words if word]


@pytest.mark.parametrize("code", [
    "try { null.x } catch (e) { console.log(e.stack) }", "console.log(new Error('x').stack)", "null.x",
    "const f = () => f(); try { f() } catch (e) { console.log(e.stack) }", "setTimeout(() => { throw new Error('late') }, 1)",
    "Promise.reject(new Error('late'))", "(", "[3, 1, 2].sort(() => { throw new Error('in a native') })",
    "try { console.log({ get a() { throw new Error('b') } }); structuredClone(() => 1) } catch (e) { console.log(e.stack) }",
    "import('./nothing.mjs').catch(e => console.log(e.stack, e.message))",
    "queueMicrotask(() => console.log(new Error('q').stack)); new Promise(() => console.log(new Error('p').stack))",
    "console.trace && console.trace('t')"])
def test_BR_118_stacks_show_no_host_paths(box, code):
    done = box.js(code)
    text = (done.out + done.err).decode()
    for word in host_words():
        assert word not in text, text
    assert not re.search(r"pid|\b" + str(os.getpid()) + r"\b", text)


def test_BR_118_the_users_own_name_is_shown(box):
    done = box.run("-", input=b"\n\nthrow new Error('here')\n")
    guest_failed(done, "here", "[stdin]:3")


CANARY = "zq81"


def test_BR_119_environment_of_the_host(box):
    code = """console.log(JSON.stringify(globalThis.process?.env ?? null), JSON.stringify(process), JSON.stringify(process.argv),
        Object.keys(globalThis).join(), JSON.stringify(Object.getOwnPropertyNames(globalThis).map(n => { try { return String(globalThis[n]) }
        catch { return n } })))"""
    done = box.js(code, env={**os.environ, "CANARY_TOKEN": CANARY, CANARY: "1"})
    succeeded(done)
    assert CANARY not in done.out.decode()
    assert str(os.getpid()) not in done.out.decode()
    env = box.js("console.log(process.env.PATH !== undefined, process.env.HOME !== undefined, /UTF-8/.test(process.env.LANG))")
    succeeded(env, b"true true true\n")


def test_BR_120_working_directory(box, shared_path):
    """A snippet has no files at all: every way that an engine might offer is tried, in a folder that holds secrets."""
    shared_path.chmod(0o777)
    (shared_path / ".env").write_text(CANARY)
    (shared_path / "canary.mjs").write_text(f"export const c = '{CANARY}'")
    (shared_path / "canary.json").write_text(f'"{CANARY}"')
    code = f"""
const found = [];
for (const name of ["fs", "node:fs", "std", "os", "bjson", "child_process", "./.env", "./canary.mjs", "{shared_path}/canary.mjs",
                    "file://{shared_path}/canary.mjs", "./canary.json", "../../../../../../{shared_path}/canary.mjs", "/proc/self/environ", "."])
  await import(name).then(m => found.push(name), () => {{}});
for (const name of ["require", "std", "os", "bjson", "loadFile", "read", "readFile", "load", "open", "fetch", "XMLHttpRequest", "Deno", "Bun",
                    "__loadScript", "scriptArgs", "Worker", "WebAssembly", "SharedArrayBuffer", "module"])
  if (name in globalThis) found.push(name);
for (const name of Object.keys(process))
  if (/binding|dlopen|openStdin|mainModule|kill|setuid|report/.test(name)) found.push("process." + name);
console.log(found.join());
"""
    before = sorted(os.listdir(shared_path))
    done = box.js(code, cwd=str(shared_path))
    assert CANARY not in (done.out + done.err).decode()
    assert set(done.out.decode().strip().split(",")) <= {"", "SharedArrayBuffer"}, done
    assert done.code == 0
    assert sorted(os.listdir(shared_path)) == before
