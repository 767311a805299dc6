# SPDX-License-Identifier: Apache-2.0
"""Many runs, eight at a time, of which one in ten is killed from outside, runs out of memory, loops or floods: every answer is
the one that it must be, and afterwards nothing is left and memory is flat. Then kill -9 in the middle."""
import pytest
from conftest import ROUNDS, RUNS
from stage import PEOPLE, WALLS

pytestmark = [pytest.mark.parametrize("who", PEOPLE), pytest.mark.parametrize("wall", WALLS)]


@pytest.mark.parametrize("pool", [0, 4])
def test_many_runs_leave_nothing(soak, wall, pool):
    soak("mix", wall, RUNS, pool)


def test_kill_9_of_the_embedding_program_leaves_nothing(soak, wall):
    soak("embedder", wall, ROUNDS)


def test_kill_9_of_the_supervisor_leaves_nothing(soak, wall):
    soak("supervisor", wall, ROUNDS)
