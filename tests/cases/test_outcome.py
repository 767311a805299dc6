# SPDX-License-Identifier: Apache-2.0
"""Public reports, group B: exit status and outcome."""

import os

import pytest

from conftest import MIB, SLACK, guest_failed, succeeded, timed_out


def test_BR_018_streams_and_exit_code(box):
    done = box.js("console.log('out'); console.error('err'); process.exit(42)")
    guest_failed(done)
    assert (done.code, done.out, done.err) == (42, b"out\n", b"err\n")


@pytest.mark.parametrize("code, out", [("1", b""), ("process.exit(0)", b""), ("console.log('hi')", b"hi\n"),
                                       ("setTimeout(() => {}, 300)", b"")])
def test_BR_019_success_is_success(box, code, out):
    succeeded(box.js(code), out)
    succeeded(box.js(code, preexec_fn=lambda: os.close(0)), out)
    assert box.json(code)["exit_code"] == 0


def test_BR_020_failure_without_a_word(box):
    done = box.js("process.exit(5)")
    guest_failed(done)
    assert (done.code, done.out, done.err, done.status["exit_code"]) == (5, b"", b"", 5)


def test_BR_022_timeout_is_not_out_of_memory(box):
    done = box.js("while (true) {}", "--timeout", "1s", memory="256MiB")
    timed_out(done, 1.0)
    assert done.seconds < 3.0 * SLACK


@pytest.mark.parametrize("hog", ["const b = []; for (;;) b.push('y'.repeat(1e6) + b.length)", "new Uint8Array(1e9).fill(121).length",
                                 "'y'.repeat(1e9).length"])
def test_BR_023_out_of_memory_is_named(box, hog):
    done = box.js(f"console.log('start'); {hog}", "--timeout", "20s", "-v", memory="64MiB")
    assert done.out == b"start\n", done  # once: it was not tried again
    assert done.status["not_dispatched"] is None and done.status["memory_bytes"] == 64 * MIB
    if done.status["oom"]:
        assert done.code == done.status["exit_code"] == 137
        assert b"out of memory at 64.0 MiB" in done.err
    else:  # an engine may refuse one absurd request as a RangeError, which is the code's to catch
        assert done.code == 1 and b"RangeError" in done.err


def test_BR_023_caught_want_of_memory_is_the_codes_own(box):
    done = box.js("let n = 0; try { const b = []; for (;;) { b.push(new Uint8Array(1 << 20).fill(1)); n++ } } catch (e) {"
                  " console.log(n > 8, n < 64) }", "--timeout", "20s", memory="64MiB")
    succeeded(done, b"true true\n")


@pytest.mark.parametrize("code, words", [
    ('throw new TypeError("bad input")', ["TypeError", "bad input"]),
    ('await Promise.reject("plain")', ["plain"]),
    ('await Promise.reject(Object.assign(new Error("coded"), {code: "E_X"}))', ["coded", "E_X"]),
])
def test_BR_025_an_error_is_no_empty_success(box, code, words):
    done = box.js(code)
    guest_failed(done, *words)
    assert done.out == b""
