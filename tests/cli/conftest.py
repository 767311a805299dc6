# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: the program as a stranger would start it, and a copy of it whose processes can be
told from everybody else's.

PLIMSOLL_BIN is the directory of the programs (default: build/bin of this tree). A wall that this machine cannot offer skips
its tests, unless PLIMSOLL_MUST_WORK names it."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "bin")).resolve()
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker"]
WALLS = ["container", "process"]


class Plimsoll:
    """The command line in one directory."""

    def __init__(self, directory):
        self.directory = directory
        self.path = str(directory / "plimsoll")

    def __call__(self, *args, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("timeout", 60)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if "input" in options:
            del options["stdin"]
        return subprocess.run([self.path, *args], **options)

    def start(self, *args, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([self.path, *args], **options)

    def json(self, *args, **options):
        done = self("run", "--json", *args, **options)
        return done, json.loads(done.stdout)

    def processes(self):
        """The processes that run a program of this directory: {pid: name}."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    exe = pathlib.Path(os.readlink(entry / "exe"))
                except OSError:
                    continue
                if exe.parent == self.directory:
                    found[int(entry.name)] = exe.name
        return found

    def expect_nothing_left(self, within_s=0):
        end = time.monotonic() + within_s
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.01)
        assert not left


def only_line(done, exit_code=125):
    """The one line of a refusal: on stderr, with nothing on stdout."""
    assert done.returncode == exit_code, done
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.endswith("\n") and text.count("\n") == 1, text
    assert text.startswith("plimsoll: "), text
    return text


@pytest.fixture(scope="session")
def plimsoll():
    assert (BIN / "plimsoll").exists(), f"no plimsoll in {BIN}: make build, or set PLIMSOLL_BIN"
    return Plimsoll(BIN)


@pytest.fixture
def copy(tmp_path):
    """A copy of the programs, for tests that count processes or kill some."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for path in tmp_path, *tmp_path.parents[:2]:
        path.chmod(path.stat().st_mode | 0o011)  # a sandbox's own user walks to it
    for name in PROGRAMS:
        shutil.copy2(BIN / name, directory / name)
    return Plimsoll(directory)


@pytest.fixture(scope="session")
def walls_ok(plimsoll):
    rows = json.loads(plimsoll("doctor", "--json").stdout)["rows"]
    return {row["name"]: row for row in rows if row["kind"] == "wall"}


@pytest.fixture(params=WALLS)
def wall(request, walls_ok):
    row = walls_ok[request.param]
    if row["state"] != "ok":
        message = f"the {request.param} wall is {row['state']} here: {row['found']}"
        if request.param in os.environ.get("PLIMSOLL_MUST_WORK", "").split(","):
            pytest.fail(message)
        pytest.skip(message)
    return request.param
