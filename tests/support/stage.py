# SPDX-License-Identifier: Apache-2.0
"""For suites whose drivers are programs of their own: a folder with the driver and the helpers of a build, as root and as an
ordinary user, and which walls can be had by whom. Used by the fault and soak suites."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker"]
WALLS = ["container", "process"]
IS_ROOT = os.geteuid() == 0
USER_ID = 12345  # of nobody in particular; used where the tests run as root
PEOPLE = ["root", "user"] if IS_ROOT else ["user"]


def build_folder(default):
    return pathlib.Path(os.environ.get("PLIMSOLL_BUILD", ROOT / default)).resolve()


def become(who):
    """The command that makes a command who's."""
    if who == "user" and IS_ROOT:
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return []


@contextlib.contextmanager
def stage(build, who, driver=None):
    """The folder belongs to whom the test is for."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-test-"))
    try:
        folder.chmod(0o755)
        for name in PROGRAMS:
            shutil.copy2(build / "bin" / name, folder / name)
        if driver:
            shutil.copy2(build / "tests" / driver, folder / driver)
        if who == "user" and IS_ROOT:
            for path in folder, *folder.iterdir():
                os.chown(path, USER_ID, USER_ID)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drive(build, who, driver, words, within_s):
    """Runs a driver to its end, in a folder of its own."""
    with stage(build, who, driver) as folder:
        return subprocess.run([*become(who), str(folder / driver), str(folder), *map(str, words)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=within_s,
                              check=False)


def walls_seen(build):
    """What doctor says of each wall: {who: {wall: row}}."""
    seen = {}
    for who in PEOPLE:
        with stage(build, who) as folder:
            done = subprocess.run([*become(who), str(folder / "plimsoll"), "doctor", "--json"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, timeout=60, check=True)
        seen[who] = {row["name"]: row for row in json.loads(done.stdout)["rows"] if row["kind"] == "wall"}
    return seen


def walls_lack(seen, who, walls):
    """Why these walls cannot be had, or None."""
    for wall in walls:
        if seen[who][wall]["state"] != "ok":
            return f"the {wall} wall is {seen[who][wall]['state']} here for {who}: {seen[who][wall]['found']}"
    return None


def skip(why, walls):
    """Skips, unless one of these walls must work."""
    if set(walls) & set(os.environ.get("PLIMSOLL_MUST_WORK", "").split(",")):
        pytest.fail(why)
    pytest.skip(why)
