# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: the program as a stranger would start it, and a way to see what it leaves behind.
This process is a subreaper, so whatever loses its parent becomes its child: when it has no children, nothing is left.

PLIMSOLL_BIN is the directory of the programs (default: build/bin of this tree). A wall that this machine cannot offer skips
its tests, unless PLIMSOLL_MUST_WORK names it."""
import ctypes
import json
import os
import pathlib
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
        """Every process that came of us: {pid: name}. Sandboxes run from memory, so files do not tell."""
        parents, names = {}, {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    before, after = (entry / "stat").read_text().rsplit(")", 1)
                    names[int(entry.name)] = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
                except OSError:
                    continue
                parents[int(entry.name)] = int(after.split()[1])

        def is_ours(pid):
            while pid in parents and parents[pid] != os.getpid():
                pid = parents[pid]
            return pid in parents

        return {pid: name for pid, name in names.items() if is_ours(pid)}

    def supervisor(self):
        return next(pid for pid, name in self.processes().items() if name == "plimsoll-supervisor")

    def expect_nothing_left(self, within_s=0.5):
        """Call it when every process that was started here has been waited for. The supervisor's last breath, in which its
        descriptors are closed already, may take a moment."""
        end = time.monotonic() + within_s
        while True:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            assert time.monotonic() < end, self.processes()
            time.sleep(0.01)


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
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    assert (BIN / "plimsoll").exists(), f"no plimsoll in {BIN}: make build, or set PLIMSOLL_BIN"
    return Plimsoll(BIN)


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
