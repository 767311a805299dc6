# SPDX-License-Identifier: Apache-2.0
"""A fact that changes while the code runs: the run is an error without a mark (it did run), exit code 126, with the fact named,
however it ends: by itself, at its deadline, for want of memory, by a crash. The change is made from outside, as root.

What belongs to the task (its limits, its tracer) is gone with it when it dies, which is no change; what belongs to the sandbox
is read through its init then."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import IS_ROOT, PEOPLE, WITNESS, become, wall_or_skip

MEDDLE = str(pathlib.Path(__file__).with_name("meddle.py"))
PAGE = 4096
MEMORY = 64 << 20
WAIT_JS = "const t = Date.now(); while (Date.now() - t < 700);"
# What ends a run, and how it ends when nothing is changed: exit code and flags.
ENDINGS = {
    "normal": (f"{WAIT_JS} console.log('end')", "5s", 0, {}),
    "timeout": ("while (true);", "700ms", 124, {"timed_out": True}),
    "oom": (f"{WAIT_JS} const a = []; for (;;) a.push(new Array(10000).fill(1.5))", "10s", 137, {"oom": True}),
    "crash": ("while (true);", "10s", 134, {}),
}
ALIVE = ("normal", "timeout", "oom")


class Run:
    """A run that is in progress: code has left the supervisor, init and guest are known."""

    def __init__(self, bench, ending, wall):
        self.bench, self.ending, self.wall = bench, ending, wall
        code, timeout, self.exit_code, self.flags = ENDINGS[ending]
        bench.count += 1
        bench._put("fault.log", "")
        self.process = subprocess.Popen(
            bench.command("run", "--json", "--wall", wall, "--timeout", timeout, "--memory", f"{MEMORY}B",
                          "-e", f"{code} // {WITNESS}{bench.count}"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        log = bench.directory / "fault.log"
        end = time.monotonic() + 10
        while f"out {WITNESS}{bench.count}\n" not in log.read_text():
            assert time.monotonic() < end and self.process.poll() is None, "it did not start"
            time.sleep(0.005)
        supervisor = next(pid for pid in supervisors(bench) if children(pid))
        self.init, = children(supervisor)
        self.guest, = children(self.init)
        if wall == "process":
            self.guest, = children(self.guest)

    def meddle(self, action, pid):
        """Does it; actions that last return the process that keeps them up."""
        helper = subprocess.Popen([sys.executable, MEDDLE, action, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if action in ("trace", "hold"):
            assert helper.stdout.readline() == b"done\n"
            return helper
        helper.communicate(timeout=20)
        if helper.returncode == 77:
            pytest.skip("the kernel has no kind of link that needs no hardware")
        assert helper.returncode == 0
        return None

    def limit(self, option, value):
        """One of the guest's resource limits, set by the one who may: the sandbox's user. Down, for which no privilege is needed."""
        subprocess.run([*become(self.bench.who), "prlimit", f"--pid={self.guest}", f"--{option}={value}:{value}"], check=True)

    def cgroup(self, controller, v1_file, v2_file):
        return cgroup_file(self.init, controller, v1_file, v2_file)

    def end(self):
        """Lets it end; the status as JSON."""
        import json
        if self.ending == "crash":
            os.kill(self.guest, signal.SIGSEGV)
        out, _ = self.process.communicate(timeout=30)
        status = json.loads(out)
        assert status["exit_status"] == self.process.returncode
        return status


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def supervisors(bench):
    return [pid for pid in pids() if exe(pid) == bench.directory / "plimsoll-supervisor"]


def exe(pid):
    try:
        return pathlib.Path(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cgroup_file(pid, controller, v1_file, v2_file):
    """The file of pid's cgroup, or None where that controller does not hold it."""
    groups = [line.split(":", 2) for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, rest = line.split(" - ")
        root, where = fields.split()[3:5]
        kind, _, options = rest.split()[:3]
        for _, controllers, path in groups:
            v1 = kind == "cgroup" and controller in controllers.split(",") and controller in options.split(",")
            if not v1 and not (kind == "cgroup2" and not controllers):
                continue
            if root != "/" and path.startswith(root):
                path = path[len(root):]
            file = pathlib.Path(where) / path.strip("/") / (v1_file if v1 else v2_file)
            if file.exists():
                return file
    return None


def change_memory(run):
    """Down, so that neither swap's limit nor a group above is in the way."""
    file = run.cgroup("memory", "memory.limit_in_bytes", "memory.max")
    if file and int(file.read_text() if file.read_text() != "max\n" else 1 << 62) == MEMORY:
        file.write_text(str(MEMORY - 1024 * PAGE))
    else:
        run.limit("as" if run.wall == "container" else "data", MEMORY - 1024 * PAGE)


def change_pids(run):
    file = run.cgroup("pids", "pids.max", "pids.max")
    if file and run.wall == "container" and file.read_text() == "2\n":
        file.write_text("3")
    else:
        run.limit("nproc", 0)


CHANGES = {
    # fact: (what changes it, whether it belongs to the task)
    "limit.memory": (change_memory, lambda run: run.bench.who == "user" or run.wall == "process"),
    "limit.pids": (change_pids, lambda run: run.bench.who == "user" or run.wall == "process"),
    "limit.cpu": (lambda run: run.limit("cpu", 1), lambda run: True),
    "fs.root": (lambda run: run.meddle("mount", run.init), lambda run: False),
    "fs.writable": (lambda run: run.meddle("remount", run.init), lambda run: False),
    "net.links": (lambda run: run.meddle("link", run.init), lambda run: False),
    "cred.tracer": (lambda run: run.meddle("trace", run.guest), lambda run: True),
}
pytestmark = pytest.mark.skipif(not IS_ROOT, reason="root changes facts from outside")


def expect_changed(status, fact):
    error = status["error"]
    assert error, f"the change was not seen: {status}"
    assert status["exit_status"] == 126 and status["not_dispatched"] is None, status
    assert error["reason"] == "" and error["fact"] == fact and fact in error["message"], error
    assert "stdout" not in status and status["isolation"] is None, status


@pytest.fixture
def start(bench):
    runs, helpers = [], []

    def begin(ending, wall="container"):
        wall_or_skip(bench, wall)
        runs.append(Run(bench, ending, wall))
        meddle = runs[-1].meddle
        runs[-1].meddle = lambda *args: helpers.append(meddle(*args))
        return runs[-1]

    yield begin
    for helper in helpers:
        if helper:
            helper.communicate(b"", timeout=20)
    for run in runs:
        run.process.kill()
        run.process.wait()


@pytest.mark.parametrize("wall", ["container", "process"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_changed(start, ending, wall):
    """How these runs end by themselves; without which the tests below would prove nothing."""
    run = start(ending, wall)
    status = run.end()
    assert status["error"] is None and status["exit_code"] == run.exit_code, status
    for flag in "timed_out", "oom":
        assert status[flag] == run.flags.get(flag, False), status


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("fact", CHANGES)
def test_a_changed_fact_is_an_error_without_a_mark(start, fact, ending):
    run = start(ending)
    change, of_the_task = CHANGES[fact]
    dead = ending == "crash"
    if dead and of_the_task(run):
        if fact != "cred.tracer":  # a traced task does not die of a signal, it stops
            change(run)
        status = run.end()
        assert status["error"] is None and status["exit_code"] == 134, status  # gone with the task, which is no change
        return
    change(run)
    expect_changed(run.end(), fact)


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
def test_a_changed_limit_and_the_kernels_kill(start):
    """Out of memory by the kernel's word and not the engine's: the limit was lowered below what the engine believes it has."""
    run = start("oom")
    file = run.cgroup("memory", "memory.limit_in_bytes", "memory.max")
    if not file or file.read_text() != f"{MEMORY}\n":
        pytest.skip("no cgroup holds the memory of a container here")
    file.write_text(str(16 << 20))
    expect_changed(run.end(), "limit.memory")


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
@pytest.mark.parametrize("ending", ALIVE)
@pytest.mark.parametrize("fact, controller, v1_file, v2_file", [("limit.memory", "memory", "memory.limit_in_bytes", "memory.max"),
                                                                ("limit.pids", "pids", "pids.max", "pids.max")])
def test_a_guest_that_left_its_cgroup(start, fact, controller, v1_file, v2_file, ending):
    """The group's limit is as it was, and holds nobody any more."""
    run = start(ending)
    file = run.cgroup(controller, v1_file, v2_file)
    if not file or file.read_text() != (f"{MEMORY}\n" if controller == "memory" else "2\n"):
        pytest.skip(f"no cgroup holds {fact} here")
    # On v2 a group that passes controllers on takes no process, but for the uppermost one.
    for above in file.parent.parents:
        try:
            (above / "cgroup.procs").write_text(str(run.guest))
            break
        except OSError:
            continue
    expect_changed(run.end(), fact)


def test_a_stream_that_outlives_its_guest(start):
    """Somebody else has taken the guest's end of the stream: nothing that is read from it now is the guest's word."""
    run = start("crash")
    run.meddle("hold", run.guest)
    expect_changed(run.end(), "stream.holders")


@pytest.mark.parametrize("ending", ["normal", "timeout"])
@pytest.mark.parametrize("fact", ["limit.memory", "limit.pids", "limit.cpu"])
def test_process_wall(start, fact, ending):
    run = start(ending, "process")
    CHANGES[fact][0](run)
    expect_changed(run.end(), fact)
