# SPDX-License-Identifier: Apache-2.0
"""Started inside another sandbox, or on a machine that denies something, every fact holds or the run is refused: no wall is lost in
silence (BR-151 to BR-154). Every enclosure is private to its test: what belongs to the machine (its /proc, its cgroups, its
settings) is mounted anew there or set in a namespace of its own, never changed."""
import shutil

import pytest

from conftest import IS_ROOT, PEOPLE, Inside, become, every_claim_holds, fact_of, nothing_starts

RUNS = "runs"
OTHER_PROC = ["/proc shows the processes of another pid namespace", "--proc /proc"]
NO_PROC = ["/proc is not mounted", "mount -t proc"]
NO_VIEW = ["host.view", "nested pid namespace", "--pid=host"]
HOST_ROOT = ["cred.uid", "the host's uid 0", "ordinary user"]


def mounts(script):
    """By root, in a mount namespace of its own. A mount is made, never remounted: /proc's options belong to the machine."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{script} && exec "$@"', "sh"]


def bwrap(*args):
    return ["bwrap", "--bind", "/", "/", "--dev", "/dev", *args]


def limit(flags):
    """sh's own ulimit; hard and soft."""
    return ["sh", "-c", f'ulimit {flags} && exec "$@"', "sh"]


def without(*caps):
    names = ",".join(f"-{cap}" for cap in caps)
    return ["setpriv", f"--bounding-set={names}", f"--inh-caps={names}"]


def setting(name):
    """Settings below /proc/sys/user belong to a user namespace: this one's own."""
    return ["unshare", "--user", "--map-root-user", "sh", "-c", f'echo 0 > /proc/sys/user/{name} && exec "$@"', "sh"]


def by(who, maker, prefix):
    """maker: who makes the enclosure; then who enters it."""
    return [*prefix, *become(who)] if maker == "root" else [*become(who), *prefix]


# name: (who makes it, the commands, what to expect of the container wall as root, as a user, of the process wall)
# A list: the words of the refusal; "runs"; None: either, but nothing in between.
ENCLOSURES = {
    "nothing": ("self", [], RUNS, RUNS, RUNS),
    "no new privileges": ("self", ["setpriv", "--no-new-privs"], RUNS, RUNS, RUNS),
    # bubblewrap
    "bwrap": ("self", bwrap(), RUNS, RUNS, RUNS),
    "bwrap, new proc": ("self", bwrap("--proc", "/proc"), RUNS, RUNS, RUNS),
    "bwrap, user": ("self", bwrap("--unshare-user"), HOST_ROOT, RUNS, RUNS),
    "bwrap, user 1000": ("self", bwrap("--unshare-user", "--uid", "1000", "--gid", "1000"), HOST_ROOT, RUNS, RUNS),
    "bwrap, all but pid": ("self", bwrap("--unshare-user", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup"),
                           HOST_ROOT, RUNS, RUNS),
    "bwrap, pid and proc": ("self", bwrap("--unshare-pid", "--proc", "/proc"), NO_VIEW, NO_VIEW, RUNS),
    "bwrap, all": ("self", bwrap("--unshare-all", "--proc", "/proc"), NO_VIEW, NO_VIEW, RUNS),
    "bwrap, userns disabled": ("self", bwrap("--unshare-user", "--disable-userns"), HOST_ROOT, ["user.max_", "start plimsoll outside"], RUNS),
    # unshare
    "unshare -r": ("self", ["unshare", "-r"], HOST_ROOT, RUNS, RUNS),
    "unshare -rm": ("self", ["unshare", "-rm"], HOST_ROOT, RUNS, RUNS),
    "unshare -rmpf": ("self", ["unshare", "-rmpf", "--mount-proc"], NO_VIEW, NO_VIEW, RUNS),
    "unshare -r twice": ("self", ["unshare", "-r", "unshare", "-r"], HOST_ROOT, RUNS, RUNS),
    "unshare -U, no ids": ("self", ["unshare", "-U"], None, ["namespaces", "ids that are not mapped"], RUNS),
    "no user namespaces left": ("self", setting("max_user_namespaces"), HOST_ROOT, ["user.max_user_namespaces = 0", "above 0"], RUNS),
    "no network namespaces left": ("self", setting("max_net_namespaces"), HOST_ROOT, ["user.max_", "raise it"], RUNS),
    # what /proc shows
    "hidepid=1": ("root", mounts("mount -t proc -o hidepid=1 proc /proc"), RUNS, ["host.view", "hidepid", "unmasked"], RUNS),
    "hidepid=2": ("root", mounts("mount -t proc -o hidepid=2 proc /proc"), RUNS, ["host.view", "hidepid", "unmasked"], RUNS),
    "subset=pid": ("root", mounts("mount -t proc -o subset=pid proc /proc"), ["host.view", "subset=pid"], ["host.view", "subset=pid"], RUNS),
    "hidepid=2 without ptrace": ("root", [*mounts("mount -t proc -o hidepid=2 proc /proc"), *without("sys_ptrace")],
                                 ["host.view", "hidepid"], ["host.view", "hidepid"], RUNS),
    # a chroot
    "chroot": ("root", [*mounts('mount --rbind / "{root}"'), "chroot", "{root}"], ["namespaces", "chroot", "start plimsoll outside"],
               ["namespaces", "chroot", "start plimsoll outside"], RUNS),
    # a filter around it
    "filter, all allowed": ("self", ["{filter}", "allow"], RUNS, RUNS, RUNS),
    "filter on clone": ("self", ["{filter}", "clone"], ["clone into namespaces", "filter", "clone3"], ["clone into namespaces", "filter", "clone3"], RUNS),
    "filter on mount": ("self", ["{filter}", "mount"], ["mount a root", "filter"], ["mount a root", "filter"], RUNS),
    # resource limits
    "ulimit -v": ("self", limit("-v 100000"), None, ["RLIMIT_AS (ulimit -v)", "raise"], ["RLIMIT_AS (ulimit -v)", "raise"]),
    "ulimit -d": ("self", limit("-d 2000"), RUNS, RUNS, ["RLIMIT_DATA (ulimit -d)", "raise"]),
    "ulimit -t": ("self", limit("-t 1"), ["RLIMIT_CPU (ulimit -t)", "raise"], ["RLIMIT_CPU (ulimit -t)", "raise"], ["RLIMIT_CPU (ulimit -t)"]),
    "ulimit -s": ("self", limit("-s 64"), ["RLIMIT_STACK (ulimit -s)", "raise"], ["RLIMIT_STACK (ulimit -s)", "raise"], ["RLIMIT_STACK"]),
    "ulimit -c": ("self", limit("-c 0"), RUNS, RUNS, RUNS),
    "ulimit -l": ("self", limit("-l 0"), RUNS, RUNS, RUNS),
    "ulimit -Sn": ("self", limit("-Sn 20"), RUNS, RUNS, RUNS),
    # cgroups
    "no cgroups": ("root", mounts("umount -l /sys/fs/cgroup"), RUNS, RUNS, RUNS),
    "empty cgroups": ("root", mounts("mount -t tmpfs none /sys/fs/cgroup"), RUNS, RUNS, RUNS),
    "cgroups read-only": ("root", mounts('for m in $(findmnt -R -n -r -o TARGET /sys/fs/cgroup); do mount -o remount,bind,ro "$m"; done'), RUNS, RUNS, RUNS),
}

# A root that lacks something: what to expect of the container wall. An ordinary user has none of these.
LACKING = {
    "sys_admin": [*HOST_ROOT, "CAP_SYS_ADMIN"],
    "sys_ptrace": [*HOST_ROOT, "CAP_SYS_PTRACE"],
    "setuid": [*HOST_ROOT, "CAP_SETUID"],
    "setgid": [*HOST_ROOT, "CAP_SETGID"],
    "dac_override,dac_read_search": [*HOST_ROOT, "CAP_DAC_READ_SEARCH"],
    "all": [*HOST_ROOT, "CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SETUID, CAP_SETGID"],
    "sys_resource": RUNS, "kill": RUNS, "dac_override": RUNS, "setfcap": RUNS, "setpcap": RUNS,
    "net_admin,sys_chroot,chown,fowner": RUNS,
}

# Where not even the supervisor can look: name: (who makes it, the commands, the words as root, as a user; None: as if nothing were)
CLOSED = {
    "bwrap, pid without proc": ("self", bwrap("--unshare-pid"), OTHER_PROC, OTHER_PROC),
    "unshare -pf": ("self", ["unshare", "-rpf"], OTHER_PROC, OTHER_PROC),
    "no proc": ("root", mounts("umount -l /proc"), NO_PROC, NO_PROC),
    "another file system at proc": ("root", mounts("mount -t tmpfs none /proc"), NO_PROC, NO_PROC),
    "chroot without proc": ("root", [*mounts('mount --rbind / "{root}" && umount -l "{root}/proc"'), "chroot", "{root}"], NO_PROC, NO_PROC),
    "no devices": ("root", mounts("mount -t tmpfs -o mode=755 none /dev"), ["/dev/null", "mount a /dev"], ["/dev/null", "mount a /dev"]),
    "run read-only": ("root", mounts("mount -t tmpfs -o ro none /run"), ["/run/plimsoll", "Read-only", "make it writable"], None),
    "filter on seccomp": ("self", ["{filter}", "seccomp"], ["filters could not be compiled", "denies seccomp"], ["filters could not be compiled", "denies seccomp"]),
    "ulimit -n 64": ("self", limit("-n 64"), ["RLIMIT_NOFILE (ulimit -n) is 64", "128", "raise"], ["RLIMIT_NOFILE (ulimit -n) is 64", "128", "raise"]),
    "ulimit -n 8": ("self", limit("-n 8"), ["ulimit -n", "raise"], ["ulimit -n", "raise"]),
    "ulimit -f": ("self", limit("-f 0"), ["RLIMIT_FSIZE (ulimit -f) is 0", "raise"], ["RLIMIT_FSIZE (ulimit -f) is 0", "raise"]),
}


def inside(programs, who, maker, commands):
    if maker == "root" and not IS_ROOT:
        pytest.skip("root makes this enclosure")
    for tool in ("bwrap", "findmnt"):
        if any(tool in word for word in commands[:1] + commands[6:7]) and not shutil.which(tool):
            pytest.skip(f"needs {tool}: scripts/setup test")
    filled = []
    for word in commands:
        if word == "{filter}":
            filled += ["/usr/bin/python3", str(programs / "under_filter.py")]
        else:
            filled.append(word.replace("{root}", str(programs / "root")))
    return Inside(by(who, maker, filled), programs / "plimsoll", who)


def machine_allows(programs, who):
    """Tests of what an enclosure takes away say nothing where the machine itself takes it away."""
    rows, line = Inside(become(who), programs / "plimsoll", who).doctor()
    row = rows and rows[("wall", "container")]
    if not row or row["state"] != "ok":
        pytest.skip(f"the container wall is not to be had here even outside, as {who}: {row['found'] if row else line}")


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("name", ENCLOSURES)
def test_every_fact_holds_or_it_is_refused(programs, name, who):
    maker, commands, as_root, as_user, process = ENCLOSURES[name]
    machine_allows(programs, who)
    every_claim_holds(inside(programs, who, maker, commands), as_root if who == "root" else as_user, process)


@pytest.mark.skipif(not IS_ROOT, reason="only a root can lack a capability")
@pytest.mark.parametrize("caps", LACKING)
def test_a_root_without(programs, caps):
    machine_allows(programs, "root")
    every_claim_holds(Inside(without(*caps.split(",")), programs / "plimsoll", "root"), LACKING[caps], RUNS)


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("name", CLOSED)
def test_where_nothing_can_be_seen_nothing_runs(programs, name, who):
    maker, commands, as_root, as_user = CLOSED[name]
    words = as_root if who == "root" else as_user
    if words:
        nothing_starts(inside(programs, who, maker, commands), words)
    else:
        machine_allows(programs, who)
        every_claim_holds(inside(programs, who, maker, commands), RUNS, RUNS)


@pytest.mark.parametrize("who", [who for who in PEOPLE if who == "user"])
def test_no_process_may_be_made(programs, who):
    """By its own user id's limit; root's is not asked."""
    nothing_starts(Inside([*become(who), "prlimit", "--nproc=1:1"], programs / "plimsoll", who), ["ulimit -u", "raise"])


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("name", ["no cgroups", "empty cgroups", "cgroups read-only"])
def test_limits_are_held_by_other_means(programs, name, who):
    """BR-151, BR-152: never an accepted limit without effect. The fact names what holds it, and a hog meets it."""
    machine_allows(programs, who)
    maker, commands, *_ = ENCLOSURES[name]
    box = inside(programs, who, maker, commands)
    rows, _ = box.doctor()
    assert "RLIMIT_AS" in rows[("wall", "container")]["found"] and "RLIMIT_NPROC" in rows[("wall", "container")]["found"]
    for row in ("cgroup memory", "cgroup pids"):
        assert rows[("host", row)]["state"] == "limited" and rows[("host", row)]["remedy"]
    hog = "const a = []; try { for (;;) a.push(new Uint8Array(1 << 20).fill(7)) } catch (e) { console.log(a.length > 20, a.length < 96) }"
    done, answer = box.run("container", code=hog)
    assert done.code == 0 and answer["stdout"] == "true true\n", done
    assert "RLIMIT_AS" in fact_of(answer, "limit.memory")["value"] and "RLIMIT_NPROC" in fact_of(answer, "limit.pids")["value"]
