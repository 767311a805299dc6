# SPDX-License-Identifier: Apache-2.0
"""Each required fact of the microvm wall, broken in the real thing: the run must be refused before dispatch, with that fact named. The
jail's are broken as the container wall's are (src/launch/break); the monitor's own, the snapshot's and KVM's by src/vmm."""
import os
import subprocess

import pytest

from conftest import PEOPLE, USER_ID, wall_or_skip

CASES = [
    ("descent", "+second child"),
    ("descent", "+middle"),
    ("monitor.digest", "copied image"),
    ("launcher.digest", "copied launcher"),
    ("guest.image", "guest.image"),  # the monitor gives its machine a copy of the snapshot's bytes
    ("vm.image", "vm.image"),  # the snapshot is not sealed
    *((f"ns.{name}", f"ns.{name}") for name in ("pid", "mnt", "net", "ipc", "uts", "user", "cgroup", "time")),
    ("ns.net", "guest ns.net"),
    ("cred.uid", "set ids"),
    ("cred.uid", "wrong uid"),
    ("cred.gid", "wrong gid"),
    ("cred.caps", "drop bounding set"),
    ("cred.caps", "kept capability"),
    ("cred.tracer", "tracer"),
    ("cred.init", "load init's filter"),
    ("cred.init", "drop init's capabilities"),
    ("seccomp", "load filter"),
    ("seccomp", "allow-all filter"),
    ("seccomp", "one call more"),
    ("seccomp", "second filter"),
    ("seccomp", "no lock"),  # the monitor does not put its own filter on top
    ("limit.memory", "limit.memory"),
    ("limit.pids", "limit.pids"),
    ("limit.cpu", "limit.cpu"),
    ("fd.open", "another descriptor"),
    ("fd.open", "kept kvm"),  # the monitor keeps /dev/kvm, with which it could make another machine
    ("stream.holders", "init keeps stream"),
    ("kvm.exits", "kvm.exits"),  # the monitor interprets: the right answer without a machine
]
# Broken by tests of their own: below, in test_view.py, and for the flavour in tests/unit/test_kvm.c.
ELSEWHERE = {"cred.groups", "cred.no_new_privs", "host.view", "kvm.flavour"}


@pytest.fixture
def machine(benches):
    if "root" not in PEOPLE:
        pytest.skip("microvm: broken as root only")
    bench = benches["root"]
    bench.break_(None)
    wall_or_skip(bench, "microvm")
    yield bench
    bench.break_(None)


@pytest.mark.parametrize("fact,sabotage", CASES)
def test_a_broken_fact_refuses_the_run(machine, fact, sabotage):
    machine.break_(sabotage)
    machine.expect_refused(fact, wall="microvm")
    machine.break_(None)
    machine.expect_runs(wall="microvm")


def test_a_kept_group_refuses_the_run(machine):
    machine.break_("kept group")
    machine.expect_refused("cred.groups", wall="microvm", groups=[USER_ID])


def test_new_privileges_refuse_the_run(machine):
    """Without no_new_privs the kernel lets no process put a filter on itself, so the monitor ends before the fact can be read."""
    machine.break_("new privileges")
    status, left = machine.run(wall="microvm")
    assert not left and status["not_dispatched"] == "environment" and status["exit_status"] == 125, status


def test_every_required_fact_is_broken(machine):
    assert set(machine.required("microvm")) == {fact for fact, _ in CASES} | ELSEWHERE


def test_a_slot_more_kills_the_monitor(machine):
    """After the gate no memory can be added: the filter ends a monitor that tries, and whether the code ran is not known."""
    machine.break_("a slot more")
    status, left = machine.run(wall="microvm")
    assert left and status["not_dispatched"] is None and status["exit_status"] == 126, status
    assert "filter" in status["error"]["message"], status


def test_another_device_is_not_kvm(machine):
    """/dev/kvm replaced by another device, in a mount namespace of its own: said, and refused."""
    script = 'mount --bind /dev/null /dev/kvm && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *machine.command("run", "--wall", "microvm", "-e", "1")],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 125 and "not the kernel's device" in done.stderr, done


def test_an_unaccepted_flavour_is_refused(machine):
    """pvm, or whatever is here, only when it is named; nothing is weaker in silence."""
    row = machine.doctor("microvm")
    mine = next(word for word in ("vmx", "svm", "pvm") if f"flavour {word}" in row["found"])
    others = ",".join({"vmx", "svm", "pvm"} - {mine})
    done = subprocess.run(machine.command("run", "--wall", "microvm", "--microvm-flavours", others, "-e", "1"), capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 125 and mine in done.stderr and "--microvm-flavours" in done.stderr, done
    assert os.environ["PLIMSOLL_MICROVM_FLAVOURS"]  # the flag comes first
