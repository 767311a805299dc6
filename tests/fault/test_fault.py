# SPDX-License-Identifier: Apache-2.0
"""For n = 1, 2, 3 … the n-th system call through our wrappers fails, or the n-th allocation, or a program ends there: in the
supervisor, the launcher, the guest and the library. After each: one answer, which says truly whether anything ran; nothing is
left; the supervisor goes on. The rules are in judge.c, the order of things in sweep.c."""
import pytest
from conftest import ASAN, FAULT
from stage import PEOPLE, WALLS

SCENARIOS = ["print", "exit", "timeout", "memory", "flood", "killed", "cancel", "measure", "doctor"]

ALL = [("start",), ("start-alloc",)]
for wall in WALLS:
    ALL += [("serve", wall, scenario) for scenario in SCENARIOS]
    ALL += [(what, wall) for what in ("life", "die", "pool", "errors", "alloc", "library", "engine")]
    ALL += [("jail", wall, program, scenario) for program, scenario in (("launch", "print"), ("guest", "print"), ("guest", "flood"))]
# With sanitizers, where memory is handled most.
SANITIZED = [("start",), ("start-alloc",)]
for wall in WALLS:
    SANITIZED += [("serve", wall, scenario) for scenario in ("print", "flood", "killed")]
    SANITIZED += [(what, wall) for what in ("life", "pool", "alloc", "library")]

CASES = [(FAULT, who, words) for who in PEOPLE for words in ALL]
CASES += [(ASAN, PEOPLE[0], words) for words in SANITIZED if (ASAN / "tests" / "drive_fault").exists()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((*case[2], case[1], *(["asan"] if case[0] == ASAN else []))))
def test_every_failure_is_answered_truly(case, swept):
    assert swept.returncode == 0, f"drive_fault {' '.join(case[2])} as {case[1]}:\n{swept.stdout}"
