#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command under a system-call filter, as another sandbox would: under_filter.py FILTER COMMAND...

allow    allows everything: it is only there
clone    as Docker's: no clone3, no clone with new namespaces, no unshare
mount    no mount, by whichever call
seccomp  no further filter
"""
import ctypes
import os
import platform
import struct
import sys

assert platform.machine() == "x86_64"
LD, JEQ, JSET, JGE, RET = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, ERRNO, EPERM, ENOSYS = 0x7FFF0000, 0x00050000, 1, 38
NR, ARG0 = 0, 16  # offsets in struct seccomp_data
CLONE, MOUNT, UNSHARE, SECCOMP, CLONE3 = 56, 165, 272, 317, 435
OPEN_TREE, FSPICK, MOUNT_SETATTR = 428, 433, 442  # the first and last of the newer mount calls, and a late one
NEW_NAMESPACES = 0x7E020000


def deny(number, error):
    return [(JEQ, 0, 1, number), (RET, 0, 0, ERRNO | error)]


FILTERS = {
    "allow": [],
    "clone": deny(CLONE3, ENOSYS) + deny(UNSHARE, EPERM) + [(JEQ, 0, 3, CLONE), (LD, 0, 0, ARG0), (JSET, 0, 1, NEW_NAMESPACES),
                                                             (RET, 0, 0, ERRNO | EPERM)],
    "mount": deny(MOUNT, EPERM) + deny(MOUNT_SETATTR, EPERM) + [(JGE, 0, 2, OPEN_TREE), (JGE, 1, 0, FSPICK + 1),
                                                                 (RET, 0, 0, ERRNO | EPERM)],
    "seccomp": deny(SECCOMP, EPERM),
}


def install(steps):
    steps = [(LD, 0, 0, NR), *steps, (RET, 0, 0, ALLOW)]
    code = b"".join(struct.pack("HBBI", op, yes, no, value) for op, yes, no, value in steps)
    buffer = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    program = Program(len(steps), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
    for args in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*args) != 0:
            sys.exit(f"under_filter: prctl {args[0]}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    install(FILTERS[sys.argv[1]])
    os.execvp(sys.argv[2], sys.argv[2:])
