# SPDX-License-Identifier: Apache-2.0
"""What root does to a sandbox from outside while a run is in it. One action a call, in a process of its own, since it may enter
the sandbox's namespaces; actions that have to last do so until stdin ends.

usage: meddle.py mount|remount|link|trace|hold PID"""
import ctypes
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_RELATIME = 2, 4, 8, 32, 1 << 21
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438  # the same on every architecture
PTRACE_SEIZE = 0x4206
RTM_NEWLINK, NLM_FLAGS = 16, 0x1 | 0x4 | 0x200 | 0x400  # request, ack, exclusive, create
IFLA_LINKINFO, IFLA_INFO_KIND = 18, 1
EOPNOTSUPP_EXIT = 77


def check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def enter(pid, kind, flag):
    fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    check(libc.setns(fd, flag))


def mount(pid):
    enter(pid, "mnt", CLONE_NEWNS)
    check(libc.mount(b"none", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, b"size=16m"))


def remount(pid):
    enter(pid, "mnt", CLONE_NEWNS)
    check(libc.mount(b"none", b"/tmp", None, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME, b"size=17m"))


def attribute(kind, payload):
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def link(pid):
    enter(pid, "net", CLONE_NEWNET)
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    for kind in b"dummy", b"bridge", b"veth", b"ifb":
        body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, kind))
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, NLM_FLAGS, 1, 0) + body)
        error = struct.unpack("=i", netlink.recv(4096)[16:20])[0]
        if error == 0:
            return
    sys.exit(EOPNOTSUPP_EXIT)


def wait_for_the_end():
    print("done", flush=True)
    sys.stdin.read()


def trace(pid):
    check(libc.ptrace(PTRACE_SEIZE, pid, None, None))
    wait_for_the_end()


def hold(pid):
    pidfd = check(libc.syscall(SYS_PIDFD_OPEN, pid, 0))
    check(libc.syscall(SYS_PIDFD_GETFD, pidfd, 0, 0))
    wait_for_the_end()


if __name__ == "__main__":
    {"mount": mount, "remount": remount, "link": link, "trace": trace, "hold": hold}[sys.argv[1]](int(sys.argv[2]))
