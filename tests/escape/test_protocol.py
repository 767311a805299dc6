# SPDX-License-Identifier: Apache-2.0
"""Lies on the stream to the supervisor (on_protocol.c). Outside, a peer without rules takes every byte. Inside, the run ends as the
table says, never as a refusal: the guest had its job, so it may have run. And the supervisor is there for the next run, with no
descriptor more than before."""
import errno
import os
import subprocess
import time

import pytest

from conftest import DRIVER, become

BROKEN = {"exit_status": 126, "not_dispatched": None, "isolation": None}
DONE = {"exit_status": 0, "error": None, "isolation": "container"}
DENIED = {**DONE, "stdout": f"errno {errno.EPERM}\n"}  # by the filter: it lets plain sends through and nothing else

CASES = {
    "unknown-type": BROKEN,
    "type-zero": BROKEN,
    "reserved-bytes": BROKEN,
    "too-long": BROKEN,
    "just-too-long": BROKEN,
    "hello-again": BROKEN,
    "challenge-back": BROKEN,
    "job-back": BROKEN,
    "result-twice": [BROKEN, DONE],  # the first may have been taken, and answered, before the second is there
    "result-twice-at-once": BROKEN,
    "output-after-result": BROKEN,
    "exit-code-999": BROKEN,
    "exit-code-negative": BROKEN,
    "result-short": BROKEN,
    "result-empty": BROKEN,
    "third-stream": BROKEN,
    "output-empty": BROKEN,
    "output-flood": BROKEN,
    "dropped-flood": BROKEN,
    "tiny-flood": BROKEN,
    "garbage": BROKEN,
    "half-a-frame": {"exit_status": 124, "timed_out": True, "stdout": ""},
    "half-a-frame-and-exit": {"exit_status": 134, "stdout": ""},
    "drip": {**DONE, "stdout": "drip\nsucceeded\n"},
    "out-of-band": DENIED,
    "send-descriptors": DENIED,
    "forged-credentials 1": DENIED,
    "forged-credentials {pid}": DENIED,
    "result-and-loop": {"exit_status": 7, "exit_code": 7, "error": None},
    "result-and-read": {"exit_status": 7, "exit_code": 7, "error": None},
}


def matches(status, wanted):
    if isinstance(wanted, list):
        return any(matches(status, one) for one in wanted)
    return all(status.get(key) == value for key, value in wanted.items())


def words_of(case):
    return case.format(pid=os.getpid()).split()


@pytest.mark.parametrize("case", CASES)
def test_lie(bench, case):
    if not case.startswith("forged"):
        done = bench.outside(words_of(case))
        assert done.status == 0 and done.out == "succeeded\n" and done.received > 0, done
    args = ("--timeout", "500ms") if "half" in case else ()
    status = bench.inside(words_of(case), *args)
    assert matches(status, CASES[case]), status
    if status["error"]:
        assert status["error"]["reason"] == "" and "protocol" in status["error"]["message"], status


def test_nobody_forges_credentials(bench):
    """Outside root may, an ordinary user may not; inside nobody may, also where root runs the sandbox."""
    came = bench.outside(["forged-credentials", str(os.getpid())]).out
    assert came == ("succeeded\n" if bench.who == "root" else f"errno {errno.EPERM}\n")
    assert bench.inside(["forged-credentials", "1"])["stdout"] == f"errno {errno.EPERM}\n"


class Context:
    """One supervisor for many runs."""

    def __init__(self, bench):
        self.process = subprocess.Popen([*become(bench.who), str(DRIVER), str(bench.bin), "container", "0"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "open\n"
        self.supervisor, = bench.supervisors()

    def run(self, words):
        self.process.stdin.write(f"container - {' '.join(words)}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n").split("\t")

    def descriptors(self):
        """How many the supervisor has, once the last sandbox is gone."""
        end = time.monotonic() + 5
        while open(f"/proc/{self.supervisor}/task/{self.supervisor}/children", encoding="ascii").read():
            assert time.monotonic() < end, "a sandbox is left behind"
            time.sleep(0.005)
        time.sleep(0.01)
        return len(os.listdir(f"/proc/{self.supervisor}/fd"))

    def resident(self):
        with open(f"/proc/{self.supervisor}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def context(bench):
    c = Context(bench)
    yield c
    c.process.stdin.close()
    c.process.wait(30)


def test_one_supervisor_outlives_them_all(bench, context):
    honest = ["result", "0", f"errno {errno.EPERM}"]
    assert context.run(["getcwd"]) == honest
    descriptors = context.descriptors()
    for case in CASES:
        if case == "half-a-frame":
            continue  # takes the whole time that a run has
        answer = context.run(words_of(case))
        if answer[0] == "error":
            assert answer[2] == "-", f"{case}: an error with a mark, of a run that had its job: {answer}"
        assert context.run(["getcwd"]) == honest, f"after {case}"
        assert context.descriptors() == descriptors, f"after {case}"
    assert bench.supervisors() == [context.supervisor]


def test_floods_do_not_stay_in_memory(context):
    flood = ["output-flood"], ["dropped-flood"], ["tiny-flood"], ["garbage"], ["flood", "4"]
    for words in flood:
        context.run(words)
    before = context.resident()
    for _ in range(5):
        for words in flood:
            context.run(words)
    assert context.resident() <= before + (4 << 20)
