# SPDX-License-Identifier: Apache-2.0
"""What follows when a wall was seen to lie: it is out of service for the whole context, and comes back by itself when a spare
sandbox measures right. One context over several runs, through the library (drive_sabotage.c)."""
import os
import pathlib
import subprocess
import sys
import time

import pytest

from conftest import IS_ROOT, become, wall_or_skip
from test_during import MEDDLE, children, supervisors

BUILD = pathlib.Path(os.environ.get("PLIMSOLL_BUILD", pathlib.Path(os.environ.get("PLIMSOLL_BIN", "build-fault/bin")).parent))
BACK_S = 20  # spares are opened at most every 10 s


class Context:
    def __init__(self, bench, walls="container,process", pool=0):
        driver = bench.directory / "drive_sabotage"
        if not driver.exists():
            driver.write_bytes((BUILD / "tests" / "drive_sabotage").resolve().read_bytes())
            driver.chmod(0o755)
        self.bench = bench
        self.process = subprocess.Popen([*become(bench.who), str(driver), str(bench.directory), walls, str(pool)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "open\n"

    def run(self, wall="container", floor="-"):
        """["result", exit code, stdout] or ["error", code, reason, fact, message]."""
        self.process.stdin.write(f"{wall} {floor} console.log('it ran')\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n").split("\t")

    def expect_runs(self, **how):
        answer = self.run(**how)
        assert answer == ["result", "0", "it ran"], answer

    def expect_refused(self, reason, fact, **how):
        answer = self.run(**how)
        assert answer[0] == "error" and answer[2:4] == [reason, fact], answer
        return answer[4]

    def expect_back(self, wall="container"):
        end = time.monotonic() + BACK_S
        while (answer := self.run(wall))[0] != "result":
            assert answer[2] == "environment", answer
            assert time.monotonic() < end, f"not back after {BACK_S} s: {answer}"
            time.sleep(0.1)
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


@pytest.fixture
def context(bench):
    contexts = []

    def begin(**how):
        contexts.append(Context(bench, **how))
        return contexts[-1]

    yield begin
    for c in contexts:
        c.close()


def test_a_lie_takes_the_wall_out_of_service_until_a_spare_is_right(bench, context):
    c = context()
    c.expect_runs()
    bench.break_("another mount")
    c.expect_refused("isolation", "fs.root")
    message = c.expect_refused("environment", "fs.root")
    assert "out of service" in message
    bench.break_(None)
    c.expect_back()
    c.expect_runs()


def test_a_wall_that_goes_on_lying_does_not_come_back(bench, context):
    c = context()
    bench.break_("tracer")
    c.expect_refused("isolation", "cred.tracer")
    end = time.monotonic() + 4  # in which a spare or two are opened
    while time.monotonic() < end:
        c.expect_refused("environment", "cred.tracer")
        time.sleep(0.25)
    bench.break_(None)
    c.expect_back()


def test_the_other_wall_serves_on(bench, context):
    """Not in place of the broken one for a run that wants its tier; only for runs that are content with less."""
    wall_or_skip(bench, "process")
    c = context()
    bench.break_("another mount")  # of which the process wall's facts do not speak
    c.expect_refused("isolation", "fs.root", wall="auto")
    c.expect_refused("environment", "fs.root", wall="auto", floor="container")
    c.expect_runs(wall="process")
    c.expect_runs(wall="auto")


@pytest.mark.parametrize("sabotage,fact", [("host.task", "host.task"), ("limit.pids", "limit.pids"), ("copied image", "guest.image"),
                                           ("copied launcher", "launcher.digest"), ("+second child", "descent")])
def test_the_process_wall_likewise(bench, context, sabotage, fact):
    wall_or_skip(bench, "process")
    c = context(walls="process")
    bench.break_(sabotage)
    c.expect_refused("isolation", fact, wall="process")
    c.expect_refused("environment", fact, wall="process")
    bench.break_(None)
    c.expect_back("process")
    c.expect_runs(wall="process")


def test_pooled_sandboxes_are_measured_again(bench, context):
    """One that waits at the gate and is changed while it waits is not the one that was measured."""
    if not IS_ROOT:
        pytest.skip("root changes facts from outside")
    c = context(pool=1, walls="container")
    c.expect_runs()
    supervisor = next(pid for pid in supervisors(bench) if children(pid))
    init = waiting_init(supervisor)
    assert subprocess.run([sys.executable, MEDDLE, "remount", str(init)], check=False).returncode == 0
    c.expect_refused("isolation", "fs.writable")
    c.expect_back()


def waiting_init(supervisor):
    """The init of the one sandbox that waits: its guest has taken its name from the challenge and gone to sleep."""
    end = time.monotonic() + 10
    while True:
        inits = children(supervisor)
        if len(inits) == 1 and (guests := children(inits[0])):
            name = pathlib.Path(f"/proc/{guests[0]}/comm").read_text().strip()
            if len(name) == 15 and name.isupper():
                time.sleep(0.1)
                if children(supervisor) == inits:
                    return inits[0]
        assert time.monotonic() < end, "no sandbox came to wait in the pool"
        time.sleep(0.02)


def test_limits_are_read_after_they_were_set(bench, context):
    """In a pool a sandbox waits with the highest limits; those of the run are set at the gate, and a limit that was not is seen."""
    c = context(pool=1, walls="container")
    c.expect_runs()
    bench.break_("limit.cpu")
    time.sleep(0.5)
    refused = [answer for answer in (c.run() for _ in range(3)) if answer[0] == "error"]
    assert refused and refused[0][2:4] in (["isolation", "limit.cpu"], ["environment", "limit.cpu"]), refused
