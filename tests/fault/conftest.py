# SPDX-License-Identifier: Apache-2.0
"""Starts the driver of the fault suite, once a sweep, in folders of their own, as root and as an ordinary user. Two sweeps go on
at a time, and each test waits for its own.

PLIMSOLL_BUILD is a test build (default: build-fault of this tree); build-fault-asan beside it is used for some sweeps, if it is
there. Where a wall cannot be had its tests are skipped, unless PLIMSOLL_MUST_WORK names it."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULT = pathlib.Path(os.environ.get("PLIMSOLL_BUILD", ROOT / "build-fault")).resolve()
ASAN = FAULT.parent / "build-fault-asan"
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker"]
IS_ROOT = os.geteuid() == 0
USER_ID = 12345  # of nobody in particular; used where the tests run as root
PEOPLE = ["root", "user"] if IS_ROOT else ["user"]
SWEEP_WITHIN_S = 600


def pytest_report_header():
    return [] if IS_ROOT else ["not root: the ordinary user's half only"]


def become(who):
    if who == "user" and IS_ROOT:
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return []


def stage(build, who):
    """A folder with the driver and the helpers of that build, which belongs to whom the test is for."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-fault-"))
    folder.chmod(0o755)
    for name in PROGRAMS:
        shutil.copy2(build / "bin" / name, folder / name)
    shutil.copy2(build / "tests" / "drive_fault", folder / "drive_fault")
    if who == "user" and IS_ROOT:
        for path in folder, *folder.iterdir():
            os.chown(path, USER_ID, USER_ID)
    return folder


def sweep(build, who, words):
    folder = stage(build, who)
    try:
        environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
        return subprocess.run([*become(who), str(folder / "drive_fault"), str(folder), *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment,
                              timeout=SWEEP_WITHIN_S, check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def walls_seen(build, who):
    folder = stage(build, who)
    try:
        done = subprocess.run([*become(who), str(folder / "plimsoll"), "doctor", "--json"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=60, check=True)
        return {row["name"]: row for row in json.loads(done.stdout)["rows"] if row["kind"] == "wall"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def walls():
    return {who: walls_seen(FAULT, who) for who in PEOPLE}


@pytest.fixture(scope="session")
def sweeps(request, walls):
    """The sweeps of all selected tests, under way: {(build, who, words): future}."""
    wanted = [item.callspec.params["case"] for item in request.session.items if hasattr(item, "callspec")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {case: pool.submit(sweep, *case) for case in wanted if not wall_lacks(walls, case)}
        pool.shutdown(cancel_futures=True)


def wall_lacks(walls, case):
    """Why this sweep cannot be made here, or None."""
    for name in ("container", "process"):
        row = walls[case[1]][name]
        if (name in case[2] or case[2][0].startswith("start")) and row["state"] != "ok":
            return f"the {name} wall is {row['state']} here for {case[1]}: {row['found']}"
    return None


@pytest.fixture
def swept(case, sweeps, walls):
    why = wall_lacks(walls, case)
    if why and any(name in why.split() for name in os.environ.get("PLIMSOLL_MUST_WORK", "").split(",")):
        pytest.fail(why)
    if why:
        pytest.skip(why)
    return sweeps[case].result()
