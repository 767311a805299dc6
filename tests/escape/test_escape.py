# SPDX-License-Identifier: Apache-2.0
"""Probes of the container wall: each is made outside, where it must succeed, and inside, where it must fail as the table says;
then the canaries must be as they were. What the probes do is in on_*.c, one file a family.

Outside, "reached" names the error by which the kernel shows that the permission was there and the arguments alone were refused:
that is how the dangerous calls (reboot, kexec_load, swapon, init_module and their like) are tried without an effect. A clock is
set to what it shows."""
import errno
import os
import pathlib
import signal
import time

import pytest

from conftest import ABSENT, Victim, clock, machine, quiet_kill, tree

OK = "succeeded"
# Outside in a mount namespace of the test's own, where {dir} is a mount.
MOUNTS = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"']
PKEY = {OK, "ENOSPC", "EINVAL", "ENOSYS"}  # the processor may have none
# What a kernel says that lacks the call, or the family of sockets.
LACKING = {"ENOSYS", "EAFNOSUPPORT", "EOPNOTSUPP"}


class Probe:
    """words: the probe and its arguments. inside: the error, or how the run ends: a dictionary of what must be in its status.
    root, user: what may come of it outside; None: not possible for them, so not tried. absent: some kernels do not have it."""

    def __init__(self, words, inside="EPERM", root=OK, user=OK, absent=False, args=(), prefix=(), signal_=None):
        self.words, self.inside, self.absent, self.args, self.prefix = words, inside, absent, args, prefix
        self.outside = {"root": root, "user": user}
        self.signal = signal_

    def __str__(self):
        return self.words.replace(" ", "_").replace("/", "|")


def root_only(words, root=OK, **how):
    return Probe(words, root=root, user=None, **how)


def mounting(words):
    return root_only(words, prefix=MOUNTS)


TIMED_OUT = {"exit_status": 124, "timed_out": True}
CRASHED = {"exit_status": 134, "exit_code": 134, "error": None}
SHORT = ("--timeout", "300ms")

FAMILIES = {
    "processes": [
        Probe("kill {pid}"), Probe("kill-0 {pid}"), root_only("kill-0 1"), Probe("tgkill {pid}"),
        Probe("pidfd_open {pid}"), root_only("pidfd_open 1"), Probe("pidfd_send_signal {pid}"), Probe("pidfd_getfd {pid}"),
        Probe("ptrace-seize {pid}"), Probe("ptrace-traceme"),
        Probe("process_vm_readv {pid} {address}"), Probe("process_vm_writev {pid} {address}"),
        root_only("process_madvise {pid} {address}"),
        Probe("setpriority {pid}"), Probe("sched_setaffinity {pid}"), Probe("sched_setscheduler {pid}"),
        Probe("prlimit-other {pid}"), Probe("prlimit-self"), Probe("kcmp {pid}", absent=True), Probe("getpgid {pid}"), Probe("setpgid"),
        Probe("fork"), Probe("vfork"), Probe("clone3"), Probe("thread"), Probe("execve {exe}"),
        Probe("execveat-4 {exe}", inside="EBADF"),
    ],
    "namespaces": [
        Probe("unshare-user"), *(root_only(f"unshare-{ns}") for ns in ("mnt", "pid", "net", "ipc", "uts", "cgroup", "time")),
        root_only("setns /proc/{pid}/ns/ipc"), root_only("setns /proc/{pid}/ns/mnt"),
        Probe("clone-user"), root_only("clone-net"), Probe("clone3-user"),
    ],
    "files": [
        mounting("mount-tmpfs {dir}"), mounting("mount-bind {dir}"), mounting("remount {dir}"), mounting("umount {dir}"),
        mounting("fsopen"), mounting("open_tree {dir}"), mounting("mount_setattr {dir}"), mounting("move_mount {dir}"),
        mounting("pivot_root {dir}"), root_only("chroot {dir}"), Probe("chdir {dir}"),
        Probe("open-read {file}"), Probe("open-read /etc/passwd"), Probe("open-read ../../../../../etc/passwd"),
        Probe("open-read /proc/{pid}/root/etc/passwd"), Probe("open-read /proc/{pid}/environ"), Probe("open-read /proc/{pid}/mem"), Probe("open-read /proc/self/mem"),
        Probe("open-read /proc/self/fd/0", root="ENXIO", user="ENXIO"), Probe("open-read /dev/null"), Probe("open-read /sys"),
        Probe("open-read /"), Probe("open-read /tmp"),
        Probe("openat-read {file}"), Probe("openat2-read {file}"), Probe("open-path /"), Probe("open-write {file}"),
        Probe("open-create {new}"), Probe("open-create {tmp}"), Probe("open-tmpfile {dir}", absent=True),
        Probe("truncate {file}"), Probe("unlink {file}"), Probe("rename {file} {new}"), Probe("link {file} {new}"),
        Probe("symlink /etc {new}"), Probe("symlink / {tmp}"), Probe("mkdir {new}"), root_only("mknod-device {new}"),
        Probe("mknod-fifo {new}"), Probe("chmod {file}"), Probe("chown {file}"), Probe("utimensat {file}"),
        Probe("setxattr {file}", absent=True), Probe("stat {file}"), Probe("access {file}"), Probe("readlink /proc/self/exe"),
        Probe("getdents {dir}"), Probe("name_to_handle_at {file}", absent=True), root_only("open_by_handle_at {file}", absent=True),
        Probe("memfd_create"), Probe("memfd-exec {exe}"), Probe("mmap-exec"), Probe("mprotect-exec"), Probe("mmap-shared"),
        Probe("inotify_init"), root_only("fanotify_init", absent=True), Probe("getcwd"), Probe("umask"), Probe("sync"),
    ],
    "privileges": [
        root_only("setuid"), root_only("setresuid"), Probe("setreuid"), root_only("setgid"), Probe("setfsuid"),
        root_only("setgroups"), Probe("capset"), Probe("prctl-keepcaps"), root_only("prctl-securebits"), Probe("prctl-ambient"),
        Probe("prctl-dumpable"), Probe("prctl-pdeathsig"), Probe("prctl-subreaper"), Probe("prctl-no_new_privs"),
        Probe("seccomp-allow"), Probe("prctl-seccomp"), Probe("seccomp-ask"), Probe("personality"),
        Probe("add_key"), Probe("request_key"), Probe("keyctl"), Probe("landlock", absent=True),
    ],
    "network": [
        Probe("socket-inet"), Probe("socket-udp"), Probe("socket-inet6", absent=True), Probe("socket-unix"), root_only("socket-raw"),
        Probe("socket-netlink"), root_only("socket-packet", absent=True), Probe("socket-vsock", absent=True),
        Probe("socket-alg", absent=True), Probe("socketpair"), Probe("connect-port {port}"), Probe("connect-abstract {name}"),
        Probe("bind"), Probe("getpeername"), Probe("getsockopt-peercred"), Probe("setsockopt"), Probe("shutdown"),
        Probe("close-stream"), Probe("ioctl"), Probe("fcntl-dup"), Probe("write"),
    ],
    "kernel": [
        root_only("bpf", absent=True), root_only("perf_event_open", absent=True), root_only("io_uring_setup", absent=True),
        Probe("userfaultfd", absent=True), root_only("kexec_load", root="EINVAL", absent=True),
        root_only("init_module", root="ENOEXEC", absent=True), root_only("finit_module", root="EBADF", absent=True),
        root_only("delete_module", root="ENOENT", absent=True), root_only("swapon", root={"EINVAL", "EISDIR"}, absent=True),
        root_only("swapoff", root="ENOENT", absent=True), root_only("reboot", root="EINVAL"), root_only("settimeofday"),
        root_only("clock_settime"), root_only("adjtimex"), root_only("iopl", absent=True), root_only("ioperm", absent=True),
        Probe("modify_ldt", absent=True), root_only("acct", root="ENOENT", absent=True), Probe("quotactl", absent=True),
        root_only("syslog"), root_only("sethostname"), Probe("uname"), Probe("sysinfo"), Probe("shmget"), Probe("msgget"),
        Probe("semget"), Probe("mq_open", absent=True), Probe("timer_create"), Probe("timerfd_create"), Probe("eventfd"),
        Probe("epoll_create"), Probe("rt_sigaction"), Probe("io_setup", absent=True), Probe("tee"), Probe("membarrier", absent=True),
        Probe("pkey_alloc", root=PKEY, user=PKEY), Probe("set_mempolicy", absent=True),
        Probe("mlock"), Probe("getrandom"), Probe("clock_getres"),
        # By another architecture's numbers: killed on the spot. x32 is seldom there; then the number is unknown outside.
        Probe("int80", inside=CRASHED, absent=True), Probe("x32", inside=CRASHED, absent=True),
        Probe("no-such-call", root="ENOSYS", user="ENOSYS"),
    ],
    "resources": [
        Probe("fork-bomb 40"), Probe("descriptors 64"), Probe("fill {tmp} 32"),
        # By the cgroup the task is killed, by the resource limit the call is refused.
        Probe("memory 96", inside=[{"exit_status": 137, "oom": True}, "ENOMEM"], args=("--memory", "32M")),
        Probe("stack 64", inside=CRASHED, prefix=["sh", "-c", 'ulimit -s unlimited && exec "$0" "$@"']),
        Probe("loop 900", inside=TIMED_OUT, args=SHORT), Probe("sleep 900", inside=TIMED_OUT, args=SHORT),
        Probe("flood 4", inside={"exit_status": 0, "stdout_truncated": True, "stdout_total": (4 << 20) + len("\nsucceeded\n")}),
        Probe("crash", inside=CRASHED, signal_=signal.SIGSEGV), Probe("trap", inside=CRASHED, signal_=signal.SIGILL),
        Probe("exit 0", inside=CRASHED, signal_=0), Probe("exit 124", inside=CRASHED, signal_=124),
        Probe("exit 125", inside=CRASHED, signal_=125),
    ],
}
PROBES = [probe for probes in FAMILIES.values() for probe in probes]


def came_of(text):
    """The probe's own word: "succeeded" or the error's name."""
    word = text.split()
    if word[:1] == ["errno"]:
        return errno.errorcode[int(word[1])]
    return word[-1] if word else ""


def lacks(probe, came):
    if not (probe.absent and came in LACKING):
        return False
    ABSENT.append(str(probe))
    return True


def expect_outside(bench, probe, victim, path):
    may = probe.outside[bench.who]
    if may is None:
        return
    words = probe.words.format(**bench.words(path, victim)).split()
    prefix = [*probe.prefix, str(path)] if probe.prefix == MOUNTS else probe.prefix
    done = bench.outside(words, prefix)
    if probe.signal is not None:  # an end is all there is
        assert done.status == (probe.signal if "exit" in probe.words else -probe.signal), done
        return
    if probe.absent and done.status < 0:
        ABSENT.append(str(probe))  # the call by other numbers kills where there are none
        return
    came = came_of(done.out[-100:])
    assert came in ({may} if isinstance(may, str) else may) or lacks(probe, came), f"outside: {done.status} {done.out[-100:]!r}"


def expect_inside(status, inside):
    if isinstance(inside, list):
        return any(expect_inside(status, one) for one in inside)
    if isinstance(inside, dict):
        return all(status.get(key) == value for key, value in inside.items())
    return status["exit_status"] == 0 and status["isolation"] == "container" and came_of(status["stdout"]) == inside


@pytest.fixture
def victims(bench):
    made = []

    def make():
        made.append(Victim(bench.who, bench.hostile))
        return made[-1]

    yield make
    for victim in made:
        quiet_kill(victim.process)


@pytest.mark.parametrize("probe", PROBES, ids=str)
def test_probe(bench, victims, probe):
    expect_outside(bench, probe, victims(), path := bench.directory())
    pathlib.Path(bench.words(path, victims())["tmp"]).unlink(missing_ok=True)

    victim, path = victims(), bench.directory()
    words = bench.words(path, victim)

    def canaries():
        return (tree(path), machine(bench.base), victim.state(), bench.port.seen, bench.abstract.seen,
                sorted(os.listdir(bench.base)))

    before = canaries()
    clock_before, began = clock(), time.monotonic()
    status = bench.inside(probe.words.format(**words).split(), *probe.args)

    assert expect_inside(status, probe.inside), f"inside: {status}"
    assert status["not_dispatched"] is None, status
    assert time.monotonic() - began < 8
    assert canaries() == before
    assert abs(clock() - clock_before) < 0.1, "the clock was set"
    assert not os.path.lexists(words["tmp"])
    assert victim.end() == "the canary's secret"


def test_there_are_enough():
    assert len(PROBES) >= 40 and len({str(probe) for probe in PROBES}) == len(PROBES)
    assert all(len(probes) >= 10 for probes in FAMILIES.values())


def test_the_canaries_can_tell(bench, victims):
    """What the attacks do outside is seen by the looks that are taken inside."""
    path, victim = bench.directory(), victims()
    words = bench.words(path, victim)
    before = tree(path)
    bench.outside(f"open-write {words['file']}".split())
    assert tree(path) != before
    state = victim.state()
    bench.outside(f"setpriority {victim.pid}".split())
    assert victim.state() != state
    bench.outside(f"process_vm_writev {victim.pid} {victim.address}".split())
    assert victim.end() == "overwritten"
    victim = victims()
    bench.outside(f"kill {victim.pid}".split())
    victim.process.wait(10)
    assert victim.end() is None
    port, name = bench.port.seen, bench.abstract.seen
    bench.outside(f"connect-port {words['port']}".split())
    bench.outside(f"connect-abstract {words['name']}".split())
    assert (bench.port.seen, bench.abstract.seen) == (port + 1, name + 1)


def test_the_hostile_guest_is_measured_like_ours(bench):
    """The wall does not rest on what the guest is: with every required fact met, this one gets its job."""
    status = bench.inside(["no-such-probe"], "--evidence")
    assert status["stdout"] == "no such probe\n" and status["isolation"] == "container", status
    assert all(fact["verdict"] == "met" for fact in status["evidence"]["facts"] if fact["required"])


