#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every program of same.txt in plimsoll-guest and in a worker of plimsoll-worker and compares what they print and how
they end, byte for byte. With --node, also compares with Node.js where same.txt says that it should be the same.

usage: same.py DRIVE GUEST WORKER [--node NODE] [NAME ...]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def programs():
    name, flags, lines, found = None, [], [], []
    with open(os.path.join(HERE, "same.txt"), encoding="utf-8", newline="") as file:
        for line in file:
            if line.startswith("//// "):
                if name:
                    found.append((name, flags, "".join(lines)))
                name, *flags = line[5:].split()
                lines = []
            elif name:
                lines.append(line)
    found.append((name, flags, "".join(lines)))
    return found


def drive(args, kind, path, code):
    """What one program printed on both streams, and the line about its end without the count of bytes."""
    done = subprocess.run([args.drive, "-o", "1000000", kind, path, code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=20, check=False)
    out, _, last = done.stdout.rstrip(b"\n").rpartition(b"[")
    end = re.match(rb"exit (\d+)( oom)?", last)
    return out, done.stderr, int(end.group(1)) if end else "died: " + last.decode(errors="replace")


def node(args, code):
    """The same from Node.js: as a module where it awaits at the top or exports, else as a script."""
    modules = re.search(r"^(await|export|import) |= await |for await", code, re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".mjs" if modules else ".js", encoding="utf-8", newline="") as file:
        file.write(code)
        file.flush()
        done = subprocess.run([args.node, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, check=False)
    return done.stdout, done.stderr, done.returncode


def show(title, result):
    print(f"  {title}: exit {result[2]}")
    for stream in result[:2]:
        for line in stream.decode(errors="replace").splitlines()[:40]:
            print("    | " + line[:200])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drive")
    parser.add_argument("guest")
    parser.add_argument("worker")
    parser.add_argument("--node")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    failed = passed = 0
    for name, flags, code in programs():
        if args.name and name not in args.name:
            continue
        guest = drive(args, "guest", args.guest, code)
        worker = drive(args, "worker", args.worker, code)
        wrong = []
        if guest != worker or isinstance(guest[2], str):
            wrong.append("guest and worker differ" if guest != worker else "it died")
        if args.node and "not-node" not in flags:
            real = node(args, code)
            if real != guest:
                wrong.append("Node.js differs")
        if not wrong:
            passed += 1
            continue
        failed += 1
        print(f"not ok {name}: {', '.join(wrong)}")
        show("guest", guest)
        if guest != worker:
            show("worker", worker)
        if "Node.js differs" in wrong:
            show("node", real)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
