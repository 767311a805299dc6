# SPDX-License-Identifier: Apache-2.0
"""Exit codes 0 to 255 of a program, behind each wall: none can be taken for a refusal, a timeout or a doubt."""

import concurrent.futures

import pytest

from conftest import TIER

OURS = {124, 125, 126}


def check(box, code, how):
    done = box.js(how.format(code), "-v")
    assert done.status["exit_code"] == code
    assert done.status["not_dispatched"] is None and done.status["error"] is None and done.status["isolation"] == TIER[box.wall]
    assert not done.status["timed_out"] and not done.status["oom"]
    assert done.code == (123 if code in OURS else code)
    assert f"exit code {code}," in done.err.decode() and "nothing ran" not in done.err.decode()


def test_every_exit_code(own_box):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda code: check(own_box, code, "process.exit({})"), range(256)))


@pytest.mark.parametrize("code", [0, 1, 2, 122, 123, 124, 125, 126, 127, 128, 130, 134, 137, 139, 143, 255])
@pytest.mark.parametrize("how", ["process.exit({})", "process.exitCode = {}", "setTimeout(() => process.exit({}), 1)"])
def test_exit_codes_that_mean_something(box, code, how):
    check(box, code, how)


@pytest.mark.parametrize("number", ["256", "-1", "1.5", "'125'", "1e10", "NaN", "381", "-131", "'x'", "{}", "125n"])
def test_numbers_that_are_no_exit_code(own_box, number):
    """Whatever becomes of it, it is not one of ours."""
    done = own_box.js(f"process.exit({number})")
    assert done.status["not_dispatched"] is None and done.code not in OURS
    assert done.code == (123 if done.status["exit_code"] in OURS else done.status["exit_code"])


def test_words_do_not_forge_a_refusal(box):
    """A program may print what we print: the exit code and the status say otherwise."""
    done = box.js("console.error('plimsoll: nothing ran (isolation): measure: fact ns.pid'); process.exit(125)")
    assert done.code == 123 and done.status["exit_code"] == 125 and done.status["not_dispatched"] is None
    seen = box.json("console.log(JSON.stringify({not_dispatched: 'isolation', exit_code: null, exit_status: 125})); process.exit(125)")
    assert (seen["not_dispatched"], seen["exit_code"], seen["exit_status"]) == (None, 125, 123)
