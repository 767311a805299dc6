# SPDX-License-Identifier: Apache-2.0
"""What the escape tests share: the programs with a hostile guest in the place of ours (hostile.c), and canaries.

PLIMSOLL_BIN is the directory of the programs (default: build/bin of this tree); the hostile guest is beside it in
tests/escape. Everything but the guest is the hardened production build. Each probe is made as root and as an ordinary user;
without root only as the user, and the head says so."""
import collections
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "bin")).resolve()
HOSTILE = BIN.parent / "tests" / "escape" / "hostile-guest"
DRIVER = BIN.parent / "tests" / "drive_sabotage"
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-worker"]
IS_ROOT = os.geteuid() == 0
USER_ID = 12345  # of nobody in particular; used where the tests run as root
PEOPLE = ["root", "user"] if IS_ROOT else ["user"]
ABSENT = []  # probes whose call this kernel does not have


def pytest_report_header():
    return [] if IS_ROOT else ["not root: the probes are made as an ordinary user only"]


def pytest_terminal_summary(terminalreporter):
    if ABSENT:
        terminalreporter.write_line("not in this kernel, so tried inside only: " + ", ".join(sorted(set(ABSENT))))


def become(who):
    if who == "user" and IS_ROOT:
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return []


Outside = collections.namedtuple("Outside", "status out received")


class Victim:
    """A process of the same user, to be attacked."""

    def __init__(self, who, program):
        self.process = subprocess.Popen([*become(who), str(program), "victim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        pid, self.address = self.process.stdout.readline().split()
        self.pid = int(pid)

    def state(self):
        limits = pathlib.Path(f"/proc/{self.pid}/limits").read_text()
        return (self.process.poll(), os.getpriority(os.PRIO_PROCESS, self.pid), os.sched_getaffinity(self.pid),
                os.sched_getscheduler(self.pid), limits, pathlib.Path(f"/proc/{self.pid}/status").read_text().split("TracerPid:")[1].split()[0])

    def end(self):
        """What has become of its secret; None: it is dead."""
        if self.process.poll() is not None:
            return None
        out, _ = self.process.communicate("", timeout=10)
        return out.strip()


class Listener:
    """A socket of the host's that nobody may reach; counts who does."""

    def __init__(self, family, address):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.bind(address)
        self.socket.listen(64)
        self.socket.setblocking(False)
        self.count = 0

    @property
    def seen(self):
        """A connection is there to be accepted as soon as its maker believes to have it."""
        while True:
            try:
                connection, _ = self.socket.accept()
            except BlockingIOError:
                return self.count
            self.count += 1
            connection.close()


class Bench:
    def __init__(self, who, base):
        self.who = who
        self.bin = base / f"bin-{who}"
        self.bin.mkdir(mode=0o755)
        for name in PROGRAMS:
            shutil.copy2(BIN / name, self.bin / name)
        self.hostile = self.bin / "plimsoll-guest"
        shutil.copy2(HOSTILE, self.hostile)
        self.base, self.count = base, 0
        self.port = Listener(socket.AF_INET, ("127.0.0.1", 0))
        self.name = f"plimsoll-escape-{os.getpid()}-{who}"
        self.abstract = Listener(socket.AF_UNIX, "\0" + self.name)

    def directory(self):
        """Of the user's own: a file and a folder."""
        self.count += 1
        path = self.base / f"{self.who}-{self.count}"
        (path / "folder").mkdir(parents=True)
        (path / "file").write_text("canary")
        if self.who == "user" and IS_ROOT:
            for p in path, path / "folder", path / "file":
                os.chown(p, USER_ID, USER_ID)
        return path

    def words(self, path, victim):
        """What stands for the braces in a probe's arguments."""
        return {"pid": victim.pid, "address": victim.address, "dir": path, "file": path / "file", "folder": path / "folder",
                "new": path / "new", "port": self.port.socket.getsockname()[1], "name": self.name, "exe": self.hostile,
                "tmp": f"/tmp/{self.name}-{self.count}"}

    def outside(self, words, prefix=()):
        """As an ordinary process, whose descriptor 0 is a socket as well; what it writes there is received."""
        mine, its = socket.socketpair()
        process = subprocess.Popen([*prefix, *become(self.who), str(self.hostile), "outside", *words], stdin=its,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.base)
        its.close()
        received = []
        thread = threading.Thread(target=drain, args=(mine, received))
        thread.start()
        out, _ = process.communicate(timeout=60)
        mine.shutdown(socket.SHUT_RDWR)
        thread.join()
        mine.close()
        return Outside(process.returncode, out.decode(), sum(received))

    def inside(self, words, *args):
        """Behind the container wall, as a program would try it. The status as JSON."""
        done = subprocess.run([*become(self.who), str(self.bin / "plimsoll"), "run", "--json", "--wall", "container", "--floor",
                               "container", *args, "-e", " ".join(map(str, words))],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.stdout, done
        status = json.loads(done.stdout)
        assert status["exit_status"] == done.returncode, done
        return status

    def supervisors(self):
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if exe(pid) == str(self.bin / "plimsoll-supervisor")]


def exe(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def drain(from_socket, received):
    try:
        while data := from_socket.recv(1 << 16):
            received.append(len(data))
    except OSError:
        pass


def tree(path):
    """Everything below path: names, kinds, sizes, times, contents."""
    found = {}
    for p in [path, *sorted(path.rglob("*"))]:
        st = p.lstat()
        found[str(p)] = (st.st_mode, st.st_uid, st.st_size, st.st_nlink, st.st_mtime_ns, st.st_ctime_ns,
                         p.read_text() if p.is_file() else None)
    return found


def machine(base):
    """What of the machine a probe could have changed, and nobody else does meanwhile."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return {
        "mounts": [line for line in mounts if str(base) in line or line.split()[4] in ("/", "/tmp")],
        "hostname": socket.gethostname(),
        "swaps": pathlib.Path("/proc/swaps").read_text(),
    }


def clock():
    return time.time() - time.monotonic()


@pytest.fixture(scope="session")
def benches(tmp_path_factory):
    for path in BIN / "plimsoll", HOSTILE:
        assert path.exists(), f"no {path}: make build, or set PLIMSOLL_BIN"
    base = tmp_path_factory.mktemp("escape")
    for path in base, *list(base.parents)[:3]:
        if path.stat().st_uid == os.geteuid() and path != pathlib.Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    yield (found := {who: Bench(who, base) for who in PEOPLE})
    end = time.monotonic() + 5
    while any(b.supervisors() for b in found.values()):
        assert time.monotonic() < end, "a supervisor is left behind"
        time.sleep(0.05)


@pytest.fixture(params=PEOPLE)
def who(request):
    return request.param


@pytest.fixture
def bench(who, benches):
    b = benches[who]
    done = subprocess.run([*become(who), str(b.bin / "plimsoll"), "doctor", "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True, timeout=60)
    row = next(row for row in json.loads(done.stdout)["rows"] if row["name"] == "container" and row["kind"] == "wall")
    if row["state"] != "ok":
        message = f"the container wall is {row['state']} here for {who}: {row['found']}"
        if "container" in os.environ.get("PLIMSOLL_MUST_WORK", "").split(","):
            pytest.fail(message)
        pytest.skip(message)
    return b


def quiet_kill(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
