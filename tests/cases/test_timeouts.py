# SPDX-License-Identifier: Apache-2.0
"""Public reports, group C: timeouts and cancellation."""

import signal
import time

import pytest

from conftest import SLACK, nothing_left, succeeded, timed_out


@pytest.mark.parametrize("code", ['const a = []; a.length = 4e9; a.join("");', '"z".repeat(2**28).localeCompare("y")',
                                  "new Array(3e8).sort()"])
def test_BR_034_long_native_operation(box, code):
    beside = None
    try:
        busy = box.start("--timeout", "1s", "--memory", "64MiB", "-e", code)
        time.sleep(0.2)
        beside = box.js("console.log(1)")
        busy.communicate(timeout=1.0 + 1.0 * SLACK)
    finally:
        busy.kill()
        busy.wait()
    assert busy.returncode in (0, 1, 124, 137)
    succeeded(beside, b"1\n")
    assert beside.seconds < 0.5 * SLACK


@pytest.mark.parametrize("code", [
    "/^(a+)+$/.test('a'.repeat(40) + '!')", "const a = Array.from({length: 3e6}, (_, i) => i); for (;;) a.sort(() => 1)",
    "const m = 1n << 200000n; let n = m - 3n; for (;;) n = n * n % m", "const s = JSON.stringify(new Array(1e5).fill({a: 1})); for (;;) JSON.parse(s)",
    "for (;;) 'ab'.repeat(1e6).split('').reverse().join('')", "const f = () => { queueMicrotask(f) }; f()",
    "(async () => { for (;;) await null })(); await new Promise(() => {})", "for (;;) try { for (;;) {} } catch {} finally { continue }"])
def test_BR_034_deadline_stops_native_loops(own_box, code):
    done = own_box.js(code, "--timeout", "1s")
    if not done.status["oom"]:
        timed_out(done, 1.0)


def test_BR_035_catastrophic_regular_expression(box):
    done = box.js('/^(a+)+$/.test("a".repeat(40) + "!")', "--timeout", "1s")
    if done.code != 0:
        timed_out(done, 1.0)


def test_BR_035_deeply_nested_regular_expression(box):
    done = box.js('let r = "a"; for (let i = 0; i < 48; i++) r = "(?:" + r + "|)+";\n'
                  'try { new RegExp(r).exec("a"); console.log("ok") } catch (e) { console.log(e.name) }', "--timeout", "1s")
    succeeded(done)
    assert done.out == b"ok\n" or done.out.endswith(b"Error\n")


def test_BR_036_timeout_covers_loading(box, shared_path):
    """Imports come with projects; here a module loops while it is evaluated."""
    for name, code in (("main.mjs", "export const x = 1;\nfor (;;) {}\nconsole.log('no')"), ("main.cjs", "for (;;) {}\nconsole.log('no')"),
                       ("static.mjs", "class A { static { for (;;) {} } }\nconsole.log('no')")):
        (shared_path / name).write_text(code)
        done = box.run("--timeout", "1s", str(shared_path / name))
        timed_out(done, 1.0)
        assert done.out == b""


def test_BR_036_timeout_covers_parsing(own_box):
    """The largest source that is taken, nested as deeply as it can be."""
    for code in ("[" * 131072 + "]" * 131072, "(" * 262144, "`${" * 87000, "x=>" * 87000, "{" * 262144, "/" + "(" * 200000 + "/"):
        done = own_box.run("--timeout", "1s", "-", input=code.encode())
        assert done.code in (0, 1, 124, 137), done.err[:300]
        assert done.status["not_dispatched"] is None and done.status["duration_us"] < (1.0 + 1.0 * SLACK) * 1e6


def test_BR_039_every_entry_point_has_the_callers_timeout(own_box, shared_path):
    code = "setTimeout(() => console.log('ok'), 3000)"
    (shared_path / "a.js").write_text(code)
    began = time.monotonic()
    running = [own_box.start("--timeout", "6s", "-e", code), own_box.start("--timeout", "6s", str(shared_path / "a.js"))]
    done = own_box.run("--timeout", "6s", "-", input=code.encode())
    succeeded(done, b"ok\n")
    assert 3e6 <= done.status["duration_us"] < 6e6 and done.status["timeout_ms"] == 6000
    for process in running:
        assert process.communicate(timeout=30) == (b"ok\n", b"") and process.returncode == 0
    assert time.monotonic() - began >= 3.0


def test_BR_040_timeout_on_the_command_line(own_box):
    for text in ("0", "-1", "abc", "", "0s", "-1s", "9223372036854775808ms", "18446744073709551617s", "1.5s", "1e3ms", "5m1s", "301s"):
        done = own_box.js("console.log(1)", f"--timeout={text}")
        assert done.code == 125 and done.out == b"" and b"--timeout" in done.err and f'"{text}"'.encode() in done.err
    done = own_box.js("console.log(1)")
    succeeded(done, b"1\n")
    assert done.status["timeout_ms"] == 5000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_BR_041_cancel_reaches_the_program(box, number):
    process = box.start("--timeout", "1m", "-e", "console.log('never seen'); for(;;){}")
    time.sleep(1.0)  # it runs by now; if it does not, nothing ran, and 125 is the right answer
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=2.0 * SLACK)
    assert time.monotonic() - began < 2.0 * SLACK
    assert process.returncode == 126 and out == b"", (process.returncode, err)
    assert err.startswith(b"plimsoll: it may have run: ") and err.count(b"\n") == 1
    nothing_left()
