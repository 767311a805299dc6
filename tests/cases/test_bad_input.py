# SPDX-License-Identifier: Apache-2.0
"""What bad input gets: one line that names the input, the rule and the right form; exit code 125; nothing ran, which the status
says too where there is one (what is wrong on the command line itself, and a file that cannot be read, write none)."""

import os
import subprocess

import pytest

from conftest import Run, as_user, nothing_ran, succeeded

CODE_MAX = 256 * 1024


def both_ways(box, code, shared_path):
    """The same bytes from a file and from stdin."""
    path = shared_path / "program.js"
    path.write_bytes(code)
    return box.run(str(path)), box.run("-", input=code)


@pytest.mark.parametrize("code, words", [
    (b"", ["code is empty", "1 to 262144 bytes"]),
    (b" " * (CODE_MAX + 1), ["longer than", "262144 bytes", "256 KiB"]),
    (b" " * (CODE_MAX * 20), ["longer than", "262144 bytes", "256 KiB"]),
    (b"console.log('ran')\0", ["NUL", "offset 18", "\\0"]),
    (b"\0", ["NUL", "offset 0"]),
    (b"console.log('ran') // \xff", ["not valid UTF-8", "UTF-8"]),
    (b"console.log('ran') // \xed\xa0\x80", ["not valid UTF-8"]),
    (b"console.log('ran') // \xc3", ["not valid UTF-8"]),
    ("console.log('ran')".encode("utf-16"), ["NUL", "offset 3"]),
], ids=["empty", "one byte over", "twenty times over", "NUL at the end", "only NUL", "0xff", "surrogate", "half a character", "UTF-16"])
def test_bad_code(box, code, words, shared_path):
    for done in both_ways(box, code, shared_path):
        nothing_ran(done, "request", *words)
        # What is too long is given up while it is read, as a file that cannot be.
        assert (done.status is None) == (len(code) > CODE_MAX)


def test_code_at_the_limit(box, shared_path):
    code = b"console.log('ran')" + b" " * CODE_MAX
    for done in both_ways(box, code[:CODE_MAX], shared_path):
        succeeded(done, b"ran\n")


RAN = "console.log('ran')"


@pytest.mark.parametrize("flags, words", [
    (["--floor", "strong"], ["--floor", '"strong"', "process, container, kernel or vm"]),
    (["--floor", "none"], ["--floor", '"none"', "process, container, kernel or vm"]),
    (["--floor", ""], ["--floor", '""', "process, container, kernel or vm"]),
    (["--floor", "CONTAINER"], ["--floor", '"CONTAINER"']),
    (["--wall", "castle"], ["castle"]),
    (["--walls", "container,castle"], ["castle", "container", "process"]),
    (["--timeout", "5"], ["--timeout", '"5"', "500ms", "2s"]),
    (["--timeout", "5h"], ["--timeout", '"5h"', "500ms"]),
    (["--timeout", "6m"], ["--timeout", '"6m"', "5m"]),
    (["--memory", "64"], ["--memory", '"64"', "64MiB"]),
    (["--memory", "64MB"], ["--memory", '"64MB"', "64MiB"]),
    (["--memory", "15MiB"], ["memory is 15728640 bytes", "16 MiB"]),
    (["--memory", "5GiB"], ["memory is 5368709120 bytes", "4 GiB"]),
    (["--max-output", "9MiB"], ["9437184", "8 MiB"]),
    (["--max-output", "1"], ["--max-output", '"1"']),
    (["--flor", "vm"], ['"--flor"', "help run"]),
    (["--evidence=yes"], ["--evidence", "no value"]),
    (["--status-fd", "99"], ["--status-fd", '"99"', "not an open descriptor"]),
    (["another.js"], ["another.js", "one program"]),
])
def test_bad_flags(own_box, flags, words):
    walls = ["--wall", own_box.wall] if "--wall" not in flags else []
    nothing_ran(plain(own_box, *walls, *flags, "-e", RAN), "request", *words)


def plain(box, *args):
    """Without the box's own flags, which may be given once only."""
    done = subprocess.run([box.path, "run", *args], stdin=subprocess.DEVNULL, capture_output=True, cwd="/", timeout=60, check=False,
                          **as_user(box.user))
    return Run(done.returncode, done.stdout, done.stderr, None, 0)


def test_status_twice(own_box):
    nothing_ran(own_box.run("--status-fd", "1", "-e", RAN), "request", "--status-fd", "twice")


def test_unreadable_files(box, shared_path):
    (shared_path / "secret.js").write_text(RAN)
    (shared_path / "secret.js").chmod(0)
    paths = [(str(shared_path / "missing.js"), "No such file"), (str(shared_path), "directory"), (str(shared_path / "secret.js") + "/x.js", "Not a directory"),
             ("x" * 5000, "too long"), ("", "No such file")]
    if box.user != "root":
        paths.append((str(shared_path / "secret.js"), "Permission denied"))
    for path, word in paths:
        done = box.run("--", path)
        nothing_ran(done, "request", word, path[:60], "-e CODE")


def test_a_line_stays_a_line(box):
    """Names with line breaks and control characters cannot draw a line of their own."""
    for name in ("a\nplimsoll: it ran", "\x1b[2Jx", "a\rb", "\x7f", "\u0085"):
        done = box.run("--", name)
        assert done.code == 125 and done.err.count(b"\n") == 1 and done.out == b""
        assert not any(byte < 0x20 or byte == 0x7f for byte in done.err[:-1])


def test_code_that_cannot_be_parsed_did_run(own_box):
    """A syntax error is the program's own: it was dispatched."""
    done = own_box.js("const = 1")
    assert done.code == 1 and b"SyntaxError" in done.err and done.status["not_dispatched"] is None


def test_nothing_is_created_for_a_refusal(own_box):
    """What is refused for its form opens no sandbox: many refusals are quick, however busy."""
    before = os.times().elapsed
    for _ in range(20):
        nothing_ran(own_box.js(RAN, "--timeout", "5"), "request")
    assert os.times().elapsed - before < 0.1 * 20 * 10
