# SPDX-License-Identifier: Apache-2.0
"""Each required fact of the process wall, broken; see test_container.py."""
import pytest

from conftest import wall_or_skip

CASES = [
    ("host.task", "host.task"),
    ("descent", "+second child"),
    ("descent", "+middle"),
    ("descent", "+speaking child"),
    ("guest.image", "copied image"),
    ("launcher.digest", "copied launcher"),
    ("stream.holders", "zygote keeps stream"),
    ("fd.open", "fd.open"),
    ("limit.memory", "limit.memory"),
    ("limit.pids", "limit.pids"),
    ("limit.cpu", "limit.cpu"),
]


@pytest.mark.parametrize("fact,sabotage", CASES)
def test_a_broken_fact_refuses_the_run(bench, fact, sabotage):
    wall_or_skip(bench, "process")
    bench.break_(sabotage)
    bench.expect_refused(fact, wall="process")


def test_every_required_fact_has_its_test(bench):
    assert set(bench.required("process")) == {fact for fact, _ in CASES}


def test_nothing_broken_nothing_refused(bench):
    bench.expect_runs(wall="process")
