# SPDX-License-Identifier: Apache-2.0
"""Each required fact of the container wall, broken in the real thing by what src/launch/break or src/linux/fault leave out or
add: the run must be refused before dispatch, with that fact named."""
import pytest

from conftest import PEOPLE, USER_ID

BOTH = ("root", "user")
# fact, sabotage, for whom. Those for root alone cannot be had by an ordinary user, each for a reason of the kernel's, said here.
CASES = [
    ("host.task", "host.task", BOTH),
    # Another process than the one that is measured: beside it, between it and its init, speaking in its place, below it.
    ("descent", "+second child", BOTH),
    ("descent", "+middle", BOTH),
    ("descent", "+speaking child", BOTH),
    ("descent", "+guest's child", BOTH),
    ("descent", "+relay", BOTH),
    ("guest.image", "copied image", BOTH),
    ("launcher.digest", "copied launcher", BOTH),
    *((f"ns.{name}", f"ns.{name}", BOTH) for name in ("pid", "mnt", "net", "ipc", "uts", "cgroup", "time")),
    ("ns.user", "ns.user", ("root",)),  # without one of its own the kernel gives an ordinary user no other namespace either
    *((f"ns.{name}", f"guest ns.{name}", BOTH) for name in ("pid", "mnt", "net", "ipc", "uts", "user", "cgroup", "time")),
    ("cred.uid", "set ids", ("root",)),  # an ordinary user's sandbox has one id, his own, and no other can be mapped
    ("cred.uid", "wrong uid", ("root",)),
    ("cred.gid", "wrong gid", ("root",)),
    ("cred.caps", "drop bounding set", BOTH),
    ("cred.caps", "kept capability", BOTH),
    ("cred.no_new_privs", "new privileges", BOTH),
    ("cred.tracer", "tracer", BOTH),
    ("cred.init", "load init's filter", BOTH),
    ("cred.init", "drop init's capabilities", BOTH),
    ("cred.init", "drop init's bounding set", BOTH),
    ("cred.init", "+init thread", BOTH),
    ("seccomp", "allow-all filter", BOTH),
    ("seccomp", "load filter", BOTH),
    ("seccomp", "one call more", BOTH),
    ("seccomp", "second filter", ("root",)),  # only root can dump filters; a second one can only take away
    ("limit.memory", "limit.memory", BOTH),
    ("limit.memory", "outside cgroup", ("root",)),  # held by a cgroup
    ("limit.pids", "limit.pids", ("root",)),  # held by a cgroup
    ("limit.pids", "set resource limits", ("user",)),  # held by RLIMIT_NPROC
    ("limit.cpu", "limit.cpu", BOTH),
    ("fs.root", "another mount", BOTH),
    ("fs.root", "exec /tmp", BOTH),
    ("fs.root", "make root read-only", BOTH),
    ("fs.root", "mount /tmp", BOTH),
    ("fs.root", "enter root", BOTH),
    ("fs.writable", "fs.writable", BOTH),
    ("net.links", "another link", BOTH),
    ("fd.open", "another descriptor", BOTH),
    ("fd.open", "control socket", BOTH),
    ("fd.open", "second stream", BOTH),
    ("stream.holders", "init keeps stream", BOTH),
]
# Broken by tests of their own: below, and in test_view.py.
ELSEWHERE = {"cred.groups", "host.view"}
# What an ordinary user has no means to break.
NOT_BY_USER = {"cred.uid", "cred.gid", "cred.groups"}


def held_by_cgroup(bench, fact):
    status = bench.expect_runs()
    return next(f for f in status["evidence"]["facts"] if f["name"] == fact)["value"].startswith("cgroup")


@pytest.mark.parametrize("who,fact,sabotage", [(who, fact, sabotage) for fact, sabotage, people in CASES
                                               for who in people if who in PEOPLE])
def test_a_broken_fact_refuses_the_run(bench, fact, sabotage):
    if fact == "limit.pids" and held_by_cgroup(bench, fact) != (sabotage == "limit.pids"):
        # Which of the two holds the limit is the machine's affair: break the one that does.
        sabotage = "set resource limits" if sabotage == "limit.pids" else "limit.pids"
    if sabotage == "outside cgroup" and not held_by_cgroup(bench, fact):
        pytest.skip("no cgroup holds the memory of a container here")
    bench.break_(sabotage)
    try:
        bench.expect_refused(fact)
    except AssertionError as error:
        if fact == "net.links" and "Operation not supported" in str(error):
            pytest.skip("the kernel has no kind of link that needs no hardware")
        raise


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
def test_a_kept_group_refuses_the_run(bench):
    bench.break_("kept group")
    bench.expect_refused("cred.groups", groups=[USER_ID])


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "root"])
def test_a_group_of_root_is_dropped(bench):
    bench.expect_runs(groups=[USER_ID])


def test_every_required_fact_has_its_test(bench, who):
    broken = {fact for fact, _, people in CASES if who in people} | ELSEWHERE
    missing = set(bench.required()) - broken - (NOT_BY_USER if who == "user" else set())
    assert not missing
    assert len(bench.required()) >= 29


def test_nothing_broken_nothing_refused(bench):
    """Without which the tests above would prove nothing."""
    bench.expect_runs()
    bench.break_("no such name")
    bench.expect_runs()


def test_floor_does_not_matter(bench):
    """A broken wall is no weaker wall: it does not serve a run that asks for less either."""
    bench.break_("allow-all filter")
    bench.expect_refused("seccomp", "--floor", "process")


def test_no_other_wall_takes_its_place_after_it_was_measured(bench):
    bench.break_("allow-all filter")
    bench.expect_refused("seccomp", wall="auto")
