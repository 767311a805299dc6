# SPDX-License-Identifier: Apache-2.0
"""What bad input gets: one line that names the input, the rule and the right form; exit code 125; nothing ran."""
import os
import re

import pytest

from conftest import only_line

BAD = [
    # the command line, and words that the line has to have
    ([], ["no command", "plimsoll help"]),
    (["walk"], ['"walk"', "run, measure, doctor"]),
    (["--versions"], ['"--versions"']),
    (["help", "walk"], ['"walk"']),
    (["help", "run", "run"], ["one too many"]),
    (["run"], ["no program", "-e CODE"]),
    (["run", "--"], ["no program"]),
    (["run", "a.js", "b.js"], ['"a.js"', '"b.js"']),
    (["run", "-e", "1", "a.js"], ["-e", '"a.js"']),
    (["run", "-e"], ["-e", "needs a value"]),
    (["run", "-e", "1", "-e", "2"], ["-e", "twice"]),
    (["run", "--flor", "vm", "-e", "1"], ['"--flor"', "plimsoll help run"]),
    (["run", "-x", "-e", "1"], ['"-x"']),
    (["run", "-ve", "1"], ['"-ve"']),
    (["run", "--json=yes", "-e", "1"], ["--json", "no value"]),
    (["run", "--floor", "strong", "-e", "1"], ["--floor", '"strong"', "process, container, kernel or vm"]),
    (["run", "--floor", "none", "-e", "1"], ["--floor", '"none"']),
    (["run", "--floor=", "-e", "1"], ["--floor", '""', "process, container"]),
    (["run", "--floor", "Container", "-e", "1"], ["--floor", '"Container"']),
    (["run", "--wall", "castle", "-e", "1"], ["castle", "container", "process"]),
    (["run", "--wall=", "-e", "1"], ["--wall", '""', "container"]),
    (["run", "--walls", "castle", "-e", "1"], ["castle"]),
    (["run", "--timeout", "5", "-e", "1"], ["--timeout", '"5"', "500ms"]),
    (["run", "--timeout", "0s", "-e", "1"], ["--timeout", '"0s"', "1ms"]),
    (["run", "--timeout", "-5s", "-e", "1"], ["--timeout", '"-5s"']),
    (["run", "--timeout", "6m", "-e", "1"], ["--timeout", '"6m"', "5m"]),
    (["run", "--timeout", "99999999999999999999s", "-e", "1"], ["--timeout", "5m"]),
    (["run", "--memory", "64", "-e", "1"], ["--memory", '"64"', "64MiB"]),
    (["run", "--memory", "64MB", "-e", "1"], ["--memory", '"64MB"', "64MiB"]),
    (["run", "--memory", "1MiB", "-e", "1"], ["memory", "1048576", "16 MiB"]),
    (["run", "--memory", "5GiB", "-e", "1"], ["memory", "4 GiB"]),
    (["run", "--max-output", "1000", "-e", "1"], ["--max-output", '"1000"', "KiB"]),
    (["run", "--max-output", "9MiB", "-e", "1"], ["stdout", "8 MiB"]),
    (["run", "--status-fd", "x", "-e", "1"], ["--status-fd", '"x"']),
    (["run", "--status-fd", "-1", "-e", "1"], ["--status-fd", '"-1"']),
    (["run", "--status-fd", "77", "-e", "1"], ["--status-fd", '"77"', "not an open descriptor"]),
    (["run", "/nonexistent/program.js"], ["/nonexistent/program.js", "No such file"]),
    (["run", "/"], ["cannot read /", "directory"]),
    (["run", "-e", ""], ["empty", "262144"]),
    (["measure", "a.js"], ['"a.js"']),
    (["measure", "--wall", "castle"], ["castle"]),
    (["doctor", "--quick"], ['"--quick"']),
    (["doctor", "now"], ['"now"']),
]


@pytest.mark.parametrize("args, words", BAD, ids=[" ".join(args) or "nothing" for args, _ in BAD])
def test_bad_input(plimsoll, args, words):
    line = only_line(plimsoll(*args))
    assert re.match(r"plimsoll: nothing ran \(request\): ", line)
    for word in words:
        assert word in line


CODE = [
    (b"", "empty"),
    (b"/" * 262145, "at most 262144 bytes"),
    (b"/" * 1000000, "at most 262144 bytes"),
    (b"a\xffb", "UTF-8"),
    (b"\xed\xa0\x80", "UTF-8"),
    (b"\xc0\xaf", "UTF-8"),
    (b"a\0b", "NUL"),
]


@pytest.mark.parametrize("code, word", CODE, ids=["empty", "long", "longer", "latin1", "surrogate", "overlong", "nul"])
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_bad_code(plimsoll, tmp_path, way, code, word):
    file = tmp_path / "program.js"
    file.write_bytes(code)
    if way == "file":
        done = plimsoll("run", str(file))
    else:
        with file.open("rb") as stdin:
            done = plimsoll("run", "-", stdin=stdin)
    assert word in only_line(done)


def test_status_fd_for_reading(plimsoll):
    with open("/dev/null", "rb") as stdin:
        line = only_line(plimsoll("run", "--status-fd", "0", "-e", "1", stdin=stdin))
    assert '--status-fd "0" is not open for writing' in line


def test_unreadable_file(plimsoll, tmp_path):
    if os.geteuid() == 0:
        return  # root reads every file; tests/cases tries it as an ordinary user
    file = tmp_path / "program.js"
    file.write_text("1")
    file.chmod(0)
    assert "Permission denied" in only_line(plimsoll("run", str(file)))


def test_endless_file(plimsoll):
    """No more is read than is needed to see that it is too much."""
    assert "at most 262144 bytes" in only_line(plimsoll("run", "/dev/zero"))


def test_a_line_stays_a_line(plimsoll):
    """What is quoted may hold anything."""
    assert "no\x1b" not in only_line(plimsoll("run", "no\x1b[31m\nsuch\rfile"))
    only_line(plimsoll("run", "--floor", "a\nb" * 1000, "-e", "1"))
    only_line(plimsoll("run", b"\xff\xfe".decode("latin1"), "x" * 100000))


def test_help(plimsoll):
    for args in ["help"], ["--help"], ["help", "run"], ["run", "--help"], ["measure", "--help"], ["doctor", "--help"]:
        done = plimsoll(*args)
        assert done.returncode == 0 and b"plimsoll" in done.stdout and done.stderr == b""
    assert plimsoll("run", "--help").stdout == plimsoll("help", "run").stdout


def test_version(plimsoll):
    assert re.fullmatch(rb"plimsoll \d+\.\d+\.\d+\n", plimsoll("--version").stdout)


def test_environment_is_not_looked_at(plimsoll, tmp_path):
    """Neither PATH nor anything else leads to another helper."""
    fake = tmp_path / "plimsoll-supervisor"
    fake.write_text("#!/bin/sh\ntouch " + str(tmp_path / "started") + "\n")
    fake.chmod(0o755)
    env = {"PATH": str(tmp_path), "PLIMSOLL_LIBEXEC": str(tmp_path), "LIBEXECDIR": str(tmp_path), "HOME": str(tmp_path)}
    plimsoll("run", "-e", "1", env=env, cwd=tmp_path)
    assert not (tmp_path / "started").exists()
