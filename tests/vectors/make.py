#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the vectors that C and Python tests read, from the descriptions of the formats and from nothing of ours in C.

usage: make.py [--check]   writes evidence.json and wire.json beside itself; --check only compares
"""

import base64
import hashlib
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


# --- the two digests of a run ---------------------------------------------------------------------------------------------
# contract.md, 3. A text is digested with its NUL, so that neighbours cannot run together; facts are sorted by name.

def text(value):
    return value.encode() + b"\0"


def policy(wall, tier, specs):
    data = text(wall) + text(tier)
    for spec in sorted(specs, key=lambda s: s["name"].encode()):
        data += text(spec["name"]) + text(spec["source"]) + text("required" if spec["required"] else "stated") + text(spec["expected"])
    return "plimsoll-profile:sha256:" + hashlib.sha256(data).hexdigest()


def leaf(salt, name, value):
    return hashlib.sha256(salt + text(name) + value.encode()).digest()


def instance(salt, specs):
    leaves = [leaf(salt, spec["name"], spec["value"]) for spec in sorted(specs, key=lambda s: s["name"].encode())]
    return "plimsoll-evidence:sha256:" + hashlib.sha256(b"".join(leaves)).hexdigest()


def spec(name, value, expected="equals the wanted", source="host", required=True):
    return {"name": name, "value": value, "expected": expected, "source": source, "required": required}


def evidence_cases():
    plain = [spec("host.task", "ABCDEFGHIJKLMNO"), spec("ns.pid", "4026532001", "private"), spec("cred.caps", "0 0 0 0 0")]
    cases = [
        ("one fact", "process", "process", "00" * 32, [spec("fd.open", "0")]),
        ("out of order", "container", "container", "ab" * 32, plain),
        ("the same in order", "container", "container", "ab" * 32, sorted(plain, key=lambda s: s["name"])),
        ("another salt", "container", "container", "ac" + "ab" * 31, plain),
        ("another tier", "container", "kernel", "ab" * 32, plain),
        ("stated and from the guest", "container", "container", "01" * 32,
         plain + [spec("landlock", "denied", "stated", "guest", False), spec("runtime.flags", "-x", "stated", "runtime", False)]),
        ("a value that is empty", "container", "container", "02" * 32, [spec("a", ""), spec("b", "1")]),
        ("name and value keep apart", "w", "vm", "03" * 32, [spec("ab", "c")]),
        ("name and value keep apart, the other", "w", "vm", "03" * 32, [spec("a", "bc")]),
        ("a dot sorts before a letter", "w", "vm", "04" * 32, [spec("nsx", "1"), spec("ns.z", "2"), spec("ns", "3"), spec("ns-a", "4")]),
        ("not only ASCII", "w", "vm", "05" * 32, [spec("é", "ü€", "être"), spec("z", "🐟")]),
        ("forty facts, backwards", "w", "container", "06" * 32, [spec(f"f{n:02}", str(n * n)) for n in range(39, -1, -1)]),
    ]
    return [{"title": title, "wall": wall, "tier": tier, "salt": salt, "facts": specs, "policy": policy(wall, tier, specs),
             "instance": instance(bytes.fromhex(salt), specs)} for title, wall, tier, salt, specs in cases]


# --- the guest protocol ----------------------------------------------------------------------------------------------------
# src/wire/frame.h: u32 payload_len, u8 type, three zeros, payload; little-endian.

TYPES = {"challenge": 1, "hello": 2, "job": 3, "output": 4, "dropped": 5, "result": 6}


def frame(kind, payload):
    return struct.pack("<IB3x", len(payload), TYPES[kind]) + payload


def hello(challenge, image_id, tried, denied, landlock, dumpable):
    digest = hashlib.sha256(b"plimsoll-hello-1" + challenge + image_id).digest()
    return digest + image_id + struct.pack("<HHBB", tried, denied, landlock, dumpable)


def job(kind, memory, stdout_max, stderr_max, now_ms, seed, name, code):
    return struct.pack("<BQQQqQ", kind, memory, stdout_max, stderr_max, now_ms, 0) + seed + bytes([len(name)]) + name + code


def task_name(challenge):
    return base64.b32encode(challenge[:10]).decode()[:15]


def wire_cases():
    challenges = [bytes(32), bytes(range(32)), bytes(255 - n for n in range(32)), hashlib.sha256(b"challenge").digest()]
    hellos = []
    for n, challenge in enumerate(challenges):
        image_id = hashlib.sha256(bytes([n])).digest()
        payload = hello(challenge, image_id, 12 + n, 12, n & 1, 0)
        hellos.append({"challenge": challenge.hex(), "image_id": image_id.hex(), "tried": 12 + n, "denied": 12, "landlock": n & 1,
                       "dumpable": 0, "task_name": task_name(challenge), "frame": frame("hello", payload).hex()})
    seed = hashlib.sha256(b"seed").digest()
    jobs = []
    for kind, memory, out, err, now, name, code in [
            (0, 248 << 20, 65536, 65536, 1735689600000, b"[eval]", b"console.log(6*7)"),
            (2, 8 << 20, 0, 8 << 20, -1, b"", "console.log('é')".encode()),
            (1, 2 ** 64 - 1, 2 ** 63, 1, 0, b"n" * 255, b"")]:
        payload = job(kind, memory, out, err, now, seed, name, code)
        jobs.append({"kind": kind, "memory": str(memory), "stdout_max": str(out), "stderr_max": str(err), "now_ms": now,
                     "seed": seed.hex(), "name": name.decode(), "code": code.decode(), "frame": frame("job", payload).hex()})
    results = [{"exit_code": code, "oom": oom, "stdout_total": str(out), "stderr_total": str(err),
                "frame": frame("result", struct.pack("<IBQQ", code, oom, out, err)).hex()}
               for code, oom, out, err in [(0, 0, 0, 0), (255, 1, 2 ** 64 - 1, 2 ** 40 + 1), (137, 1, 5, 6)]]
    dropped = [{"stream": stream, "total": str(total), "frame": frame("dropped", struct.pack("<BQ", stream, total)).hex()}
               for stream, total in [(1, 65537), (2, 2 ** 63)]]
    return {"hello": hellos, "job": jobs, "result": results, "dropped": dropped}


def main():
    wrong = []
    for name, cases in (("evidence.json", evidence_cases()), ("wire.json", wire_cases())):
        made = json.dumps(cases, indent=1, ensure_ascii=True) + "\n"
        path = os.path.join(HERE, name)
        if "--check" in sys.argv:
            with open(path, encoding="ascii") as file:
                wrong += [name] if file.read() != made else []
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(made)
    if wrong:
        sys.exit("not what make.py computes: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
