# SPDX-License-Identifier: Apache-2.0
"""Starts the driver of the fault suite once a sweep. Two sweeps go on at a time, and each test waits for its own.

PLIMSOLL_BUILD is a test build (default: build-fault of this tree); build-fault-asan beside it is used for some sweeps, if it is
there. Where a wall cannot be had its tests are skipped, unless PLIMSOLL_MUST_WORK names it."""
import concurrent.futures
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import stage  # noqa: E402

FAULT = stage.build_folder("build-fault")
ASAN = FAULT.parent / "build-fault-asan"
SWEEP_WITHIN_S = 900

os.environ["ASAN_OPTIONS"] = "allocator_may_return_null=1:detect_leaks=1"


def pytest_report_header():
    return [] if stage.IS_ROOT else ["not root: the ordinary user's half only"]


def walls_of(words):
    return [wall for wall in stage.WALLS if wall in words] or stage.WALLS


@pytest.fixture(scope="session")
def walls():
    return stage.walls_seen(FAULT)


@pytest.fixture(scope="session")
def sweeps(request, walls):
    """The sweeps of all selected tests, under way: {(build, who, words): future}."""
    cases = [item.callspec.params["case"] for item in request.session.items if hasattr(item, "callspec")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {(build, who, words): pool.submit(stage.drive, build, who, "drive_fault", words, SWEEP_WITHIN_S)
               for build, who, words in cases if not stage.walls_lack(walls, who, walls_of(words))}
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def swept(case, sweeps, walls):
    """How the driver ended."""
    _, who, words = case
    why = stage.walls_lack(walls, who, walls_of(words))
    if why:
        stage.skip(why, walls_of(words))
    return sweeps[case].result()
