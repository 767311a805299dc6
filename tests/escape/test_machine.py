# SPDX-License-Identifier: Apache-2.0
"""A hostile image inside the machine (machine.c): every attack ends as it must, the monitor is neither crashed nor misled, and the
next machine runs as if nothing had been.

The image replaces plimsoll-vm-image beside a copy of the programs; it passes the gate, since its word is the build's own. What the
monitor makes of it is what is tested. A skip names what is missing: microvm."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PLIMSOLL_BUILD", ROOT / "build")).resolve()
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", BUILD / "bin")).resolve()
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker", "plimsoll-vmm"]
FLAVOURS = {**os.environ, "PLIMSOLL_MICROVM_FLAVOURS": "vmx,svm,pvm"}

TIMEOUTS = {"loop", "flood_flush", "flood_clock", "flood_call", "flood_sleep", "sleep_long", "flood_output"}
# Refused by the supervisor, which has the stricter look: an error that says that it may have run.
ERRORS = {"flood_large"}
# Comes back with an answer that gives nothing: there is no grant.
SURVIVES = {"a_call"}
# A string instruction is what it is taken apart into: where KVM makes single writes of it, each is one of a listed port; where it
# hands it over whole, the count is wrong.
EITHER = {"rep_outs": (99, 134), "one_outs": (99, 134)}


def attacks():
    text = (pathlib.Path(__file__).parent / "machine.c").read_text()
    table = text[text.index("#define ATTACKS(X)"):]
    return re.findall(r"X\((\w+)\)", table[:table.index("static const struct")])[1:]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    if not (BUILD / "tests/escape/hostile-vm-image").exists():
        pytest.skip("microvm: it is built for x86-64 only")
    folder = tmp_path_factory.mktemp("machine")
    for name in PROGRAMS:
        shutil.copy2(BIN / name, folder / name)
    shutil.copy2(BUILD / "tests/escape/hostile-vm-image", folder / "plimsoll-vm-image")
    done = subprocess.run([folder / "plimsoll", "doctor", "--json"], capture_output=True, check=False, env=FLAVOURS, timeout=60)
    row = next(row for row in json.loads(done.stdout)["rows"] if row["name"] == "microvm")
    if row["state"] != "ok":
        if "microvm" in os.environ.get("PLIMSOLL_MUST_WORK", "").split(","):
            pytest.fail(f"the microvm wall: {row['found']}")
        pytest.skip(f"microvm: {row['found']}")
    return folder


def attack(programs, name, *args):
    done = subprocess.run([programs / "plimsoll", "run", "--json", "--wall", "microvm", "--timeout", "300ms", *args, "-e", name],
                          capture_output=True, stdin=subprocess.DEVNULL, check=False, env=FLAVOURS, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", attacks())
def test_attack(programs, name):
    status = attack(programs, name)
    if name in ERRORS:
        assert status["error"] and status["not_dispatched"] is None and status["exit_status"] == 126, status
        return
    assert status["error"] is None and status["isolation"] == "vm", status
    if name in TIMEOUTS:
        assert status["exit_code"] == 124 and status["timed_out"], status
        assert status["stdout"].startswith("attack\n"), status
    elif name in EITHER:
        assert status["exit_code"] in EITHER[name], status
    elif name in SURVIVES:
        assert status["exit_code"] == 99, status
    else:
        assert status["exit_code"] == 134, status
        assert "survived" not in status["stdout"], status


def test_there_are_enough():
    assert len(attacks()) >= 80


def test_what_was_said_before_a_crash_is_there(programs):
    assert attack(programs, "undefined")["stdout"] == "attack\n"


@pytest.mark.parametrize("memory", ["16MiB", "17MiB", "64MiB", "1GiB", "4GiB"])
@pytest.mark.parametrize("name", ["read_beyond", "write_beyond", "read_4g"])
def test_memory_ends_where_it_ends(programs, name, memory):
    assert attack(programs, name, "--memory", memory)["exit_code"] == 134


def test_nothing_is_left(programs):
    left = [p for p in pathlib.Path("/proc").glob("[0-9]*/exe") if "plimsoll-vmm" in str(read_link(p)) and str(programs) in str(read_link(p))]
    assert not left


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""
