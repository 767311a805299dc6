# SPDX-License-Identifier: Apache-2.0
"""What only an embedding program can ask, through the shared library; groups C and G of the public reports among it."""

import os
import time

import pytest

import library as lib
from conftest import BUILD, MIB, SLACK, WALLS, descendants, nothing_left

pytestmark = pytest.mark.library


@pytest.fixture(scope="module")
def library():
    path = BUILD / "lib" / "libplimsoll.so"
    assert path.exists(), f"no {path}: make build"
    return lib.Library(path)


@pytest.fixture(params=WALLS)
def wall(request, walls):
    row = next(iter(walls.values()))[request.param]
    if row["state"] != "ok":
        pytest.skip(f"the {request.param} wall is {row['state']} here: {row['found']}")
    return request.param


@pytest.fixture
def context(library, programs, wall):
    with library.open(programs, wall) as context:
        yield context
    nothing_left()


def refusal(function, *args, **options):
    with pytest.raises(lib.Refused) as caught:
        function(*args, **options)
    return caught.value.error


@pytest.mark.parametrize("walls", [None, ""])
def test_nothing_by_default(library, programs, walls):
    """With no wall configured execution is disabled."""
    with library.open(programs, walls) as context:
        for wall in (None, b"container", b"process", b"auto"):
            for floor in (None, b"process", b"vm"):
                error = refusal(context.run, "console.log(1)", wall=wall, floor=floor)
                assert (error.code, error.reason) == (lib.UNSUPPORTED, "unsupported"), str(error)
        assert refusal(context.measure, None).reason == "unsupported"
    nothing_left()


def test_operators_floor(library, programs, walls):
    """No run is dispatched below it, whatever the request says."""
    with library.open(programs, "process", floor=b"container") as context:
        for floor in (None, b"process", b"container"):
            error = refusal(context.run, "console.log(1)", floor=floor)
            assert (error.code, error.reason) == (lib.ISOLATION, "isolation"), str(error)
    nothing_left()


def test_options_that_are_wrong_are_all_named(library, programs):
    error = refusal(library.open, programs, pool=257, runs_max=1000, id_count=1, memory_max_bytes=1, timeout_max_ms=10 ** 6, floor=b"top")
    assert (error.code, error.reason) == (lib.INVALID, "request")
    for word in (b"pool", b"runs_max", b"id_count", b"memory_max_bytes", b"timeout_max_ms", b"floor"):
        assert word in error.message
    error = refusal(library.open, programs, "container,moat,process,castle")
    assert (error.code, error.reason) == (lib.INVALID, "request") and b"moat" in error.message and b"castle" in error.message
    nothing_left()


@pytest.mark.parametrize("asked, given", [(0, 5000), (1, 1), (29999, 29999), (30000, 30000), (30001, 30000), (2 ** 63 - 1, 30000)])
def test_BR_040_timeout_zero_and_too_large(context, asked, given):
    """Zero is the default, more than the ceiling is the ceiling; what is in force is in the result."""
    result = context.run("console.log(1)" if given > 1 else "for(;;){}", timeout_ms=asked)
    assert result["timeout_ms"] == given
    assert result["timed_out"] == (given == 1)


@pytest.mark.parametrize("asked", [-1, -5000, -2 ** 63])
def test_BR_040_timeout_negative(context, asked):
    error = refusal(context.run, "console.log(1)", timeout_ms=asked)
    assert (error.code, error.reason) == (lib.INVALID, "request")
    assert f"timeout is {asked} ms".encode() in error.message


def test_BR_041_cancel_reaches_the_program(library, context):
    trigger = library.cancel()
    thread = lib.Thread(context.run, "for(;;){}", cancel=trigger, timeout_ms=30000)
    time.sleep(0.7)
    began = time.monotonic()
    library.so.plimsoll_cancel_trigger(trigger)
    thread.join(2.0 * SLACK)
    assert not thread.is_alive() and time.monotonic() - began < 2.0 * SLACK
    assert (thread.error.code, thread.error.reason) == (lib.CANCELLED, "")
    library.so.plimsoll_cancel_free(trigger)
    end = time.monotonic() + 2.0 * SLACK
    while len([name for name in descendants().values() if "plimsoll-guest" in name]) > 0:
        assert time.monotonic() < end, descendants()
        time.sleep(0.05)


def test_BR_042_already_cancelled_does_not_run(library, context):
    trigger = library.cancel()
    library.so.plimsoll_cancel_trigger(trigger)
    error = refusal(context.run, "console.log(1)", cancel=trigger)
    assert (error.code, error.reason) == (lib.CANCELLED, "request")
    library.so.plimsoll_cancel_free(trigger)


def test_BR_043_the_context_goes_on(library, context):
    """There are no sessions yet: here the handle is the context, and what one run had the next has not."""
    trigger = library.cancel()
    context.run("globalThis.x = 41")
    thread = lib.Thread(context.run, "for(;;){}", cancel=trigger)
    time.sleep(0.5)
    library.so.plimsoll_cancel_trigger(trigger)
    thread.join(2.0 * SLACK)
    assert thread.error.code == lib.CANCELLED
    library.so.plimsoll_cancel_free(trigger)
    assert context.run("console.log(typeof x)")["stdout"] == b"undefined\n"


def test_BR_045_close_ends_waiting_calls(library, programs, wall):
    context = library.open(programs, wall)
    threads = [lib.Thread(context.run, "for(;;){}", timeout_ms=30000) for _ in range(3)]
    time.sleep(0.7)
    began = time.monotonic()
    context.close()
    for thread in threads:
        thread.join(2.0 * SLACK)
        assert not thread.is_alive()
        assert (thread.error.code, thread.error.reason) == (lib.LOST, ""), str(thread.error)
    assert time.monotonic() - began < 2.0 * SLACK
    nothing_left()


def supervisor():
    return next(pid for pid, name in descendants().items() if name == "plimsoll-supervisor")


def descriptors(pid):
    """How many it has once it has come to rest: a sandbox takes a moment to leave."""
    count, since, end = -1, 0.0, time.monotonic() + 1.0 * SLACK
    while time.monotonic() < end and time.monotonic() - since < 0.3:
        now = len(os.listdir(f"/proc/{pid}/fd"))
        if now != count:
            count, since = now, time.monotonic()
        time.sleep(0.02)
    return count


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_BR_074_hogs_leave_the_supervisor_alone(context):
    context.run("1")
    pid, before = supervisor(), resident_bytes(supervisor())
    for hog in ("Array.from({ length: 2 ** 27 }, (_, i) => i)", '"ab".repeat(2 ** 27).split("")', "const b = []; for (;;) b.push({ i: b.length })"):
        result = context.run(hog, memory_bytes=64 * MIB, timeout_ms=20000)
        assert result["oom"] and result["exit_code"] == 137 or result["exit_code"] == 1
    assert context.run("console.log(1)")["stdout"] == b"1\n"
    assert supervisor() == pid
    assert resident_bytes(pid) - before < 50 * MIB


def test_BR_082_descriptors_do_not_leak(context):
    """1500 runs would be a soak; every descriptor that leaked once a run is seen in 150 as well."""
    for _ in range(3):
        context.run("1")
    pid = supervisor()
    before, mine, times = descriptors(pid), descriptors("self"), []
    for _ in range(150):
        began = time.monotonic()
        assert context.run("process.exit(7)")["exit_code"] == 7
        times.append(time.monotonic() - began)
    assert abs(descriptors(pid) - before) <= 5
    assert abs(descriptors("self") - mine) <= 5
    assert sorted(times[-40:])[20] < 2 * SLACK * sorted(times[:40])[20]


def test_capacity(library, programs, wall):
    """One more than the slots is refused at once, and that nothing ran is certain."""
    with library.open(programs, wall, runs_max=2) as context:
        threads = [lib.Thread(context.run, "for(;;){}", timeout_ms=2000) for _ in range(2)]
        time.sleep(0.7)
        began = time.monotonic()
        error = refusal(context.run, "console.log(1)")
        assert (error.code, error.reason) == (lib.CAPACITY, "capacity"), str(error)
        assert time.monotonic() - began < 1.0
        for thread in threads:
            thread.join()
            assert thread.result["timed_out"] == 1
        assert context.run("console.log(1)")["stdout"] == b"1\n"
    nothing_left()


def test_evidence_is_of_this_run(context):
    """The policy is the configuration's, and the same in measure; the instance is new each time."""
    one, two, measured = context.run("1"), context.run("1", memory_bytes=64 * MIB, timeout_ms=1000), context.measure(None)
    assert one["policy"] == two["policy"] == measured["policy"]
    assert len({one["instance"], two["instance"], measured["instance"]}) == 3
    for record in (one, two, measured):
        assert record["policy"].startswith("plimsoll-profile:sha256:") and len(record["policy"]) == 24 + 64
        assert record["instance"].startswith("plimsoll-evidence:sha256:") and len(record["instance"]) == 25 + 64
        names = [fact["name"] for fact in record["facts"]]
        assert len(names) == len(set(names))
        for fact in record["facts"]:
            assert fact["verdict"] == ("met" if fact["required"] else "stated")
            assert fact["source"] in ("host", "runtime", "guest") and (fact["source"] == "host" or not fact["required"])
    assert {fact["after"] for fact in measured["facts"]} == {""}
    assert {fact["after"] for fact in one["facts"]} <= {"same", "gone", "fixed"}
