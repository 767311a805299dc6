# SPDX-License-Identifier: Apache-2.0
"""Public reports, group A: output capture and encoding. Where a case was a shell step or Python, the same bytes are written by
a snippet."""

import base64

import pytest

from conftest import MIB, SLACK, guest_failed, succeeded, timed_out


@pytest.mark.parametrize("pad", [4095, 8191, 16383, 65535])
def test_BR_001_multibyte_character_at_a_read_boundary(box, pad):
    done = box.js(f"process.stdout.write('x'.repeat({pad}) + 'ééé\\n')", "--max-output", "1MiB")
    succeeded(done, b"x" * pad + "ééé\n".encode())


def test_BR_002_multibyte_character_over_time(box):
    """There is no stream of events yet: here the final bytes are asked for."""
    done = box.js("for (const byte of [0xe2, 0x82, 0xac, 0x0a]) { process.stdout.write(new Uint8Array([byte]));"
                  " await new Promise(done => setTimeout(done, 100)) }")
    succeeded(done, b"\xe2\x82\xac\n")


def test_BR_004_bytes_that_are_not_text(box):
    code = "process.stdout.write(new Uint8Array([255, 255, 255, 255, 10])); process.exit(3)"
    done = box.js(code)
    guest_failed(done)
    assert (done.code, done.out, done.err) == (3, b"\xff\xff\xff\xff\n", b"")
    seen = box.json(code)
    assert seen["stdout"] == "\ufffd" * 4 + "\n"
    assert base64.b64decode(seen["stdout_base64"]) == b"\xff\xff\xff\xff\n"
    assert seen["exit_code"] == 3 and seen["error"] is None


def test_BR_005_nul_in_a_string(box):
    code = 'const s = "ab\\u0000cd";\nconsole.log(s.length); console.log(s);\ns\n'
    succeeded(box.js(code), b"5\nab\0cd\n")
    assert box.json(code)["stdout"] == "5\nab\0cd\n"


def test_BR_006_lone_surrogates(box):
    code = 'const s = "\\ud800a";\nconsole.log(JSON.stringify(s), s.length);\nconsole.log("🐟🐠".slice(1));\n'
    want = '"\\ud800a" 2\n\ufffd🐠\n'
    succeeded(box.js(code), want.encode())
    assert box.json(code)["stdout"] == want


def test_BR_008_two_thousand_lines(box):
    code = "for (let i = 0; i < 2500; i++) console.log('row', i)"
    want = "".join(f"row {i}\n" for i in range(2500)).encode()
    done = box.js(code)
    succeeded(done, want)
    assert not done.status["stdout_truncated"]
    capped = box.js(code, "--max-output", "1KiB")
    succeeded(capped, want[:1024])
    assert capped.status["stdout_truncated"] and capped.status["stdout_total"] == len(want)
    assert not capped.status["stderr_truncated"]


def test_BR_009_output_before_a_timeout(box):
    for code in ("console.log('phase one'); for(;;){}", "console.log('phase one'); await new Promise(done => setTimeout(done, 30000))"):
        done = box.js(code, "--timeout", "1s")
        timed_out(done, 1.0)
        assert done.out == b"phase one\n"


def test_BR_010_large_output_before_a_throw(box):
    done = box.js('console.log("x".repeat(300000)); throw new Error("end");', "--max-output", "1MiB")
    guest_failed(done, "end")
    assert done.out == b"x" * 300000 + b"\n"


def test_BR_010_large_output_before_exit(box):
    done = box.js('console.log("x".repeat(300000)); process.exit(0)', "--max-output", "1MiB")
    succeeded(done, b"x" * 300000 + b"\n")


def test_BR_011_line_breaks(box):
    succeeded(box.js('console.log("a"); console.log("b"); console.log();'), b"a\nb\n\n")


def test_BR_014_more_than_a_pipe_holds(box):
    code = "process.stdout.write('a'.repeat(1048576))"
    done = box.js(code, "--timeout", "5s", "--max-output", "2MiB")
    succeeded(done, b"a" * 1048576)
    assert done.seconds < 1.0 * SLACK and not done.status["stdout_truncated"]
    capped = box.js(code, "--timeout", "5s")
    succeeded(capped, b"a" * 65536)
    assert capped.status["stdout_truncated"] and capped.status["stdout_total"] == 1048576


def test_BR_015_one_stream_while_the_other_fills(box):
    done = box.js("process.stderr.write('e'.repeat(2000000)); console.log('done')", "--timeout", "5s", "--max-output", "4MiB")
    assert (done.code, done.out) == (0, b"done\n")
    assert done.err == b"e" * 2000000
    assert done.status["duration_us"] < 5e6


def test_BR_015_both_streams_in_turn(box):
    done = box.js("for (let i = 0; i < 2000; i++) { process.stdout.write('o'.repeat(1000)); process.stderr.write('e'.repeat(1000)) }",
                  "--max-output", "4MiB")
    assert (done.code, done.out, done.err) == (0, b"o" * (2 * 10 ** 6), b"e" * (2 * 10 ** 6))


def test_BR_016_no_envelope(box):
    succeeded(box.js("console.log(2 + 2)"), b"4\n")


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1])
def test_streams_are_cut_at_their_byte(own_box, size):
    """Truncation is a flag, never text in the stream, and starts with the first byte over."""
    limit = 65536 if size < MIB else 8 * MIB
    done = own_box.js(f"process.stdout.write(new Uint8Array({size}).fill(0xfe))", "--max-output", f"{limit}B", "--timeout", "20s")
    succeeded(done, b"\xfe" * min(size, limit))
    assert done.status["stdout_truncated"] == (size > limit) and done.status["stdout_total"] == size
