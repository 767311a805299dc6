# SPDX-License-Identifier: Apache-2.0
"""PLIMSOLL_BUILD is the build (default: build of this tree), PLIMSOLL_ALL=1 asks for the large numbers. Where a wall cannot be
had its tests are skipped, unless PLIMSOLL_MUST_WORK names it."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import stage  # noqa: E402

BUILD = stage.build_folder("build")
ALL = os.environ.get("PLIMSOLL_ALL") == "1"
RUNS = 10000 if ALL else 500
ROUNDS = 20 if ALL else 4
WITHIN_S = 3600 if ALL else 300


def pytest_report_header():
    return [] if stage.IS_ROOT else ["not root: the ordinary user's half only"]


@pytest.fixture(scope="session")
def walls():
    return stage.walls_seen(BUILD)


@pytest.fixture
def soak(who, wall, walls):
    """Runs the driver and expects it to be content; what it measured is shown with -s, and when it is not."""
    why = stage.walls_lack(walls, who, [wall])
    if why:
        stage.skip(why, [wall])

    def run(*words):
        done = stage.drive(BUILD, who, "drive_soak", words, WITHIN_S)
        print(done.stdout)
        assert done.returncode == 0, f"drive_soak {' '.join(map(str, words))} as {who}:\n{done.stdout}"
    return run
