# SPDX-License-Identifier: Apache-2.0
"""What the cases share: a box (one wall, as one user) in which the command line runs a program, and a look at what it leaves.

This process is a subreaper: whatever loses its parent becomes its child, so nothing of ours can hide. As root every case is
tried as root and as an ordinary user without a name, home or group; as anybody else only as himself. A wall that cannot be
had here skips its cases, by its name."""

import collections
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PLIMSOLL_BUILD", ROOT / "build")).resolve()
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", BUILD / "bin")).resolve()
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker"]
WALLS = ["container", "process"]
USERS = ["root", "user"] if os.getuid() == 0 else ["self"]
ORDINARY_ID = 61234  # nobody's: no name, no home, no group
MIB = 1 << 20
# A promised bound is asserted at this many times its value: the machine may be busy, and the tests run beside each other.
SLACK = 10

Run = collections.namedtuple("Run", "code out err status seconds")


def pytest_configure(config):
    config.addinivalue_line("markers", "library: needs libplimsoll.so in this process, which a sanitizer build cannot be loaded into")


    config.addinivalue_line("markers", "nameless: needs a user that nothing else runs as, which only root can be")


def pytest_collection_modifyitems(config, items):
    """What cannot be tried here at all, whatever is installed, is left out: it is no skip that anybody could mend."""
    out = [item for item in items if item.get_closest_marker("nameless") or (sanitized() and item.get_closest_marker("library"))]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


def sanitized():
    return b"__asan_init" in (BIN / "plimsoll").read_bytes()


def as_user(user):
    return {"user": ORDINARY_ID, "group": ORDINARY_ID, "extra_groups": []} if user == "user" else {}


# --- what is left -----------------------------------------------------------------------------------------------------------

def subreaper():
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def descendants():
    """{pid: first word of its command line}: sandboxes run from memory, so files do not tell."""
    parents, names = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            names[int(entry.name)] = (entry / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
        except (OSError, IndexError):
            continue

    def is_ours(pid):
        while pid in parents and parents[pid] != os.getpid():
            pid = parents[pid]
        return pid in parents

    return {pid: name for pid, name in names.items() if is_ours(pid)}


def cgroups_of(pids):
    """Groups are called plimsoll.PID.START.SERIAL or plimsoll-supervisor.PID.START after the supervisor that made them."""
    found = []
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(folder, name) for name in names
                  if name.startswith(("plimsoll.", "plimsoll-supervisor.")) and name.split(".")[1] in {str(pid) for pid in pids}]
    return found


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {line.split(" ", 1)[1].split(" - ")[0] for line in file if "plimsoll" in line}


def reap():
    """[(pid, wait status)] of those that have ended; None: there are no children at all."""
    ended = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, True
        if not pid:
            return ended, False
        ended.append((pid, status))


NO_CALLER = 64 << 8  # the wait status of a supervisor whose caller was gone before it looked


def nothing_left(killed=(), well=(0,), within_s=2.0 * SLACK):
    """Call it when every process that was started here has been waited for. killed: supervisors that were killed on purpose,
    whose groups stay until the next start. Every other supervisor must have ended well: sanitizers speak by the exit code."""
    end, gone, alone = time.monotonic() + within_s, [], False
    while not alone:
        ended, alone = reap()
        gone += ended
        assert alone or time.monotonic() < end, f"still there: {descendants()}"
        time.sleep(0 if alone else 0.01)
    bad = [(pid, status) for pid, status in gone if status not in well and pid not in killed]
    assert not bad, f"ended badly: {bad}"
    left = cgroups_of([pid for pid, _ in gone if pid not in killed])
    assert not left, f"cgroups left: {left}"
    assert not mounts(), f"mounts left: {mounts()}"


# --- programs ------------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def programs():
    """A copy that everybody may run: the tree may stand where only its owner can go."""
    subreaper()
    assert (BIN / "plimsoll").exists(), f"no plimsoll in {BIN}: make build, or set PLIMSOLL_BIN"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-cases-"))
    for name in PROGRAMS:
        shutil.copy(BIN / name, folder / name)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def walls(programs):
    """{user: {wall: doctor's row}}"""
    rows = {}
    for user in USERS:
        done = subprocess.run([programs / "plimsoll", "doctor", "--json"], stdout=subprocess.PIPE, cwd="/", check=False, timeout=60,
                              **as_user(user))
        rows[user] = {row["name"]: row for row in json.loads(done.stdout)["rows"] if row["kind"] == "wall"}
    return rows


@pytest.fixture
def shared_path():
    """A folder that every user may read; pytest's own is for its owner."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-case-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class Box:
    """One wall as one user."""

    def __init__(self, programs, wall, user):
        self.path, self.wall, self.user = str(programs / "plimsoll"), wall, user

    def start(self, *args, **options):
        """A process that runs `plimsoll run` behind this wall with these arguments."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": "/", **as_user(self.user),
                   **options}
        return subprocess.Popen([self.path, "run", "--wall", self.wall, *args], **options)

    def run(self, *args, input=None, **options):
        """Waits for it; status is what it wrote to its --status-fd, or None. BR-004: that is always JSON in UTF-8."""
        reading, writing = os.pipe()
        began = time.monotonic()
        if input is not None:
            options["stdin"] = subprocess.PIPE
        try:
            process = self.start("--status-fd", str(writing), *args, pass_fds=[writing, *options.pop("pass_fds", [])], **options)
            os.close(writing)
            out, err = process.communicate(input, timeout=90)
            seconds = time.monotonic() - began
            with os.fdopen(reading, "rb", closefd=False) as file:
                text = file.read()
        finally:
            os.close(reading)
        status = json.loads(text.decode("utf-8")) if text else None
        if status:
            assert status["exit_status"] == process.returncode
            assert (status["error"] is None) == (status["exit_code"] is not None)
        return Run(process.returncode, out, err, status, seconds)

    def js(self, code, *flags, memory="128MiB", **options):
        """A snippet, with the memory that the cases speak of."""
        return self.run("--memory", memory, *flags, "-e", code, **options)

    def json(self, code, *flags):
        """The same with --json: the object, which must be UTF-8."""
        done = self.js(code, "--json", *flags)
        return json.loads(done.out.decode("utf-8"))


@pytest.fixture(params=[f"{wall}-{user}" for wall in WALLS for user in USERS])
def box(request, programs, walls):
    wall, user = request.param.split("-")
    row = walls[user][wall]
    if row["state"] != "ok":
        pytest.skip(f"the {wall} wall is {row['state']} here as {user}: {row['found']}")
    yield Box(programs, wall, user)


@pytest.fixture(params=WALLS)
def own_box(request, programs, walls):
    """For what costs much or needs root's own view: each wall once."""
    row = walls[USERS[0]][request.param]
    if row["state"] != "ok":
        pytest.skip(f"the {request.param} wall is {row['state']} here: {row['found']}")
    yield Box(programs, request.param, USERS[0])


# --- what cases say --------------------------------------------------------------------------------------------------------------

def succeeded(run, out=None):
    """It ran, ended by itself with 0, and printed this."""
    assert (run.code, run.err) == (0, b""), run
    assert run.status["not_dispatched"] is None and run.status["exit_code"] == 0
    assert not run.status["timed_out"] and not run.status["oom"]
    if out is not None:
        assert run.out == out


def timed_out(run, seconds):
    """It ended at its deadline: not before, and not long after."""
    assert (run.code, run.status["exit_code"]) == (124, 124), run
    assert run.status["timed_out"] and not run.status["oom"] and run.status["not_dispatched"] is None
    assert seconds * 1e6 <= run.status["duration_us"] < (seconds + 1.0 * SLACK) * 1e6


def guest_failed(run, *words):
    """The code's own fault: it ran, did not end with 0, and stderr says why."""
    assert run.status["not_dispatched"] is None and run.status["error"] is None
    assert run.code == run.status["exit_code"] and run.code not in (0, 123, 124, 125, 126, 134, 137), run
    assert not run.status["timed_out"] and not run.status["oom"]
    for word in words:
        assert word.encode() in run.err, run.err


def nothing_ran(run, reason, *words):
    """Refused with certainty, in one line that holds these words."""
    assert run.code == 125 and run.out == b"", run
    line = run.err.decode()
    assert line.startswith(f"plimsoll: nothing ran ({reason}): ") and line.endswith("\n") and line.count("\n") == 1, line
    for word in words:
        assert word in line, line
    if run.status:
        assert run.status["not_dispatched"] == reason == run.status["error"]["reason"]
        assert run.status["isolation"] is None and run.status["evidence"] is None and run.status["exit_code"] is None
