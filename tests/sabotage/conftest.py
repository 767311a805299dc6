# SPDX-License-Identifier: Apache-2.0
"""What the sabotage tests share: a copy of the programs of a test build, in which facts can be broken by name, used as root and
as an ordinary user.

PLIMSOLL_BIN is the directory of the programs (default: build-fault/bin of this tree). Where a wall cannot be had its tests are
skipped, unless PLIMSOLL_MUST_WORK names it. Without root only the ordinary user's half is run, and the head says so."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build-fault" / "bin")).resolve()
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker", "plimsoll-vmm",
            "plimsoll-vm-image"]
TIER = {"microvm": "vm"}
# Whatever kind of KVM is here: what is tested is what breaks.
os.environ["PLIMSOLL_MICROVM_FLAVOURS"] = "vmx,svm,pvm"
IS_ROOT = os.geteuid() == 0
USER_ID = 12345  # of nobody in particular; used where the tests run as root
PEOPLE = ["root", "user"] if IS_ROOT else ["user"]
WITNESS = "plimsoll-witness-"  # of src/linux/fault/on: code that holds it is noted before it leaves the supervisor


def pytest_report_header():
    return [] if IS_ROOT else ["not root: what only root can break is not run"]


def become(who, groups=()):
    """The command that makes a command who's."""
    if who == "user" and IS_ROOT:
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return ["setpriv", "--groups=" + ",".join(map(str, groups))] if groups else []


class Bench:
    """The programs in one directory, and who uses them."""

    def __init__(self, directory, who):
        self.directory, self.who = directory, who
        self.count = 0

    def break_(self, name):
        """Breaks that from the next sandbox on; None: nothing."""
        self._put("fault", f"sabotage:{name}\n" if name else "")

    def _put(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o666)

    def command(self, *args, groups=(), prefix=()):
        return [*prefix, *become(self.who, groups), str(self.directory / "plimsoll"), *args]

    def run(self, *args, wall="container", code=None, **how):
        """Runs code that prints and holds a witness: (status as JSON, whether the code left the supervisor)."""
        self.count += 1
        self._put("fault.log", "")
        code = code or "console.log('it ran')"
        done = subprocess.run(self.command("run", "--json", "--evidence", "--wall", wall, *args,
                                           "-e", f"{code} // {WITNESS}{self.count}", **how),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.stdout, done
        status = json.loads(done.stdout)
        assert status["exit_status"] == done.returncode, done
        return status, bool(re.search(rf"^out {WITNESS}{self.count}$", (self.directory / "fault.log").read_text(), re.M))

    def expect_refused(self, fact, *args, reasons=("isolation",), **how):
        """A run is refused before dispatch, that fact is named, and nothing of the code has left the supervisor."""
        status, left = self.run(*args, **how)
        error = status["error"]
        assert error, f"it ran: {status}"
        assert status["exit_status"] == 125, status
        assert error["fact"] == fact, error
        assert error["reason"] in reasons and status["not_dispatched"] == error["reason"], status
        assert fact in error["message"] and status["isolation"] is None and "stdout" not in status, status
        assert not left, "the code left the supervisor"
        return error

    def expect_runs(self, *args, wall="container", **how):
        status, left = self.run(*args, wall=wall, **how)
        assert status["error"] is None and status["exit_status"] == 0, status
        assert status["stdout"] == "it ran\n" and status["isolation"] == TIER.get(wall, wall), status
        assert left, "the witness was not seen: is this a test build?"
        return status

    def doctor(self, wall):
        done = subprocess.run(self.command("doctor", "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=True)
        return next(row for row in json.loads(done.stdout)["rows"] if row["kind"] == "wall" and row["name"] == wall)

    def required(self, wall="container"):
        done = subprocess.run(self.command("measure", "--json", "--wall", wall), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, check=True, timeout=60)
        return [fact["name"] for fact in json.loads(done.stdout)["facts"] if fact["required"]]


def copy_programs(directory):
    directory.mkdir(mode=0o755)
    for path in directory, *list(directory.parents)[:3]:
        if path.stat().st_uid == os.geteuid() and path != pathlib.Path("/"):
            path.chmod(path.stat().st_mode | 0o011)  # an ordinary user walks to it
    for name in PROGRAMS:
        shutil.copy2(BIN / name, directory / name)
    return directory


@pytest.fixture(scope="session")
def benches(tmp_path_factory):
    assert (BIN / "plimsoll").exists(), f"no plimsoll in {BIN}: make build-fault, or set PLIMSOLL_BIN"
    base = tmp_path_factory.mktemp("sabotage")
    base.chmod(0o755)
    found = {}
    for who in PEOPLE:
        directory = copy_programs(base / who)
        if who == "user":
            directory.chmod(0o777)
        found[who] = Bench(directory, who)
        found[who].break_(None)
    return found


def wall_or_skip(bench, wall):
    done = subprocess.run(bench.command("doctor", "--json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=True)
    row = next(row for row in json.loads(done.stdout)["rows"] if row["kind"] == "wall" and row["name"] == wall)
    if row["state"] == "ok":
        return
    message = f"the {wall} wall is {row['state']} here for {bench.who}: {row['found']}"
    if wall in os.environ.get("PLIMSOLL_MUST_WORK", "").split(","):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture
def bench(who, benches):
    """The bench of whom the test is for, with nothing broken before and after."""
    b = benches[who]
    b.break_(None)
    wall_or_skip(b, "container")
    yield b
    b.break_(None)


@pytest.fixture(params=PEOPLE)
def who(request):
    return request.param
