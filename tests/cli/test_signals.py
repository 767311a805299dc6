# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and its like: the run ends, the exit code says whether anything ran, and nothing is left."""
import os
import signal
import subprocess
import time

import pytest

LOOP = "for(;;){}"


def wait_for(condition, within_s=10):
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def cpu_ticks(pid):
    """What the process has used of the processor."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


def start_loop(plimsoll, wall, *args, **options):
    """A program in an endless loop, which has been dispatched: one of our processes uses the processor."""
    process = plimsoll.start("run", "--wall", wall, "--timeout", "1m", *args, "-e", LOOP, **options)
    wait_for(lambda: any(cpu_ticks(pid) > 20 for pid in plimsoll.processes()))
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_run(plimsoll, wall, number):
    process = start_loop(plimsoll, wall)
    process.send_signal(number)
    out, err = process.communicate(timeout=3)
    assert process.returncode == 126
    assert out == b"" and err.startswith(b"plimsoll: it may have run: ") and b"cancelled" in err and err.count(b"\n") == 1
    plimsoll.expect_nothing_left()


def test_ctrl_c_on_a_terminal(plimsoll, wall):
    """BR-170: the whole foreground group gets it, and still the supervisor cleans up."""
    process = start_loop(plimsoll, wall, start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=3)
    assert process.returncode == 126
    plimsoll.expect_nothing_left()


def test_second_signal_ends_at_once(plimsoll, wall):
    """The supervisor stands still and cannot answer; the second signal does not wait for it."""
    process = start_loop(plimsoll, wall)
    supervisor = plimsoll.supervisor()
    os.kill(supervisor, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=1)
    assert process.returncode == 126
    os.kill(supervisor, signal.SIGCONT)
    plimsoll.expect_nothing_left(2)


def test_kill_9(plimsoll, wall):
    """BR-165: the supervisor notices."""
    process = start_loop(plimsoll, wall)
    process.kill()
    process.communicate(timeout=3)
    plimsoll.expect_nothing_left(2)


def test_killed_supervisor(plimsoll, wall):
    process = start_loop(plimsoll, wall)
    os.kill(plimsoll.supervisor(), signal.SIGKILL)
    out, err = process.communicate(timeout=3)
    assert process.returncode == 126 and b"it may have run" in err
    plimsoll.expect_nothing_left(2)


def test_interrupted_while_reading(plimsoll):
    process = plimsoll.start("run", "-", stdin=subprocess.PIPE)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(3) == 125
    assert b"nothing ran (request)" in process.stderr.read()
    process.communicate()


def test_ignored_stays_ignored(plimsoll, wall):
    """As under nohup."""
    process = start_loop(plimsoll, wall, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=3)
    assert process.returncode == 126
    plimsoll.expect_nothing_left()


@pytest.mark.parametrize("code, exit_code", [
    ("1", 0), ("process.exit(3)", 3), ("throw 1", 1), (LOOP, 124), ("const a = []; for(;;) a.push('x'.repeat(1e5) + a.length)", 137),
], ids=["ok", "exit", "throw", "timeout", "memory"])
def test_nothing_left_after_a_run(plimsoll, wall, code, exit_code):
    done = plimsoll("run", "--wall", wall, "--timeout", "400ms", "--memory", "16MiB", "-e", code)
    assert done.returncode == exit_code
    plimsoll.expect_nothing_left()


def test_nothing_left_after_measure_and_doctor(plimsoll, wall):
    assert plimsoll("measure", "--wall", wall).returncode == 0
    plimsoll.expect_nothing_left()
    assert plimsoll("doctor").returncode == 0
    plimsoll.expect_nothing_left()
