# SPDX-License-Identifier: Apache-2.0
"""The contract as the command line shows it: floors and walls, the same bytes behind each, the shape of the JSON, and that
nothing is left behind whatever the outcome."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import (NO_CALLER, ORDINARY_ID, ROOT, SLACK, USERS, WALLS, Box, as_user, cgroups_of, descendants, nothing_left, nothing_ran, reap, succeeded)

TIERS = ["process", "container", "kernel", "vm"]
RANK = {"process": 1, "container": 2, "kernel": 3, "vm": 4}


# --- floors ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("floor", TIERS)
def test_floor(box, floor):
    """A wall yields exactly its own tier or a refusal."""
    done = box.js("console.log(6*7)", "--floor", floor)
    if RANK[floor] <= RANK[box.wall]:
        succeeded(done, b"42\n")
        assert done.status["isolation"] == done.status["evidence"]["tier"] == box.wall
    else:
        nothing_ran(done, "isolation", floor, box.wall)


@pytest.mark.parametrize("floor", [None] + TIERS)
@pytest.mark.parametrize("user", USERS)
def test_floor_without_a_wall(programs, walls, user, floor):
    """Without a wall it is the strongest that there is; below the floor nothing runs."""
    box = Box(programs, "auto", user)
    done = box.js("console.log(6*7)", *(["--floor", floor] if floor else []))
    offered = [wall for wall in WALLS if walls[user][wall]["state"] == "ok" and (not floor or RANK[wall] >= RANK[floor])]
    if offered:
        succeeded(done, b"42\n")
        assert done.status["isolation"] == max(offered, key=RANK.get)
    else:
        assert done.code == 125 and done.status["not_dispatched"] in ("isolation", "unsupported", "environment")
        assert done.out == b"" and (floor is None or floor.encode() in done.err)


def test_process_wall_below_a_vm_floor(programs):
    """The line of the issue, as it is typed."""
    done = subprocess.run([programs / "plimsoll", "run", "--wall", "process", "--floor", "vm", "-e", "console.log(1)"],
                          capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    assert done.returncode == 125 and done.stdout == b"" and b"isolation" in done.stderr


def test_a_wall_that_is_not_among_the_walls(own_box):
    other = next(wall for wall in WALLS if wall != own_box.wall)
    nothing_ran(own_box.js("console.log(1)", "--walls", other), "unsupported", own_box.wall)


def test_no_wall_at_all(own_box):
    nothing_ran(own_box.js("console.log(1)", "--walls", ""), "unsupported")


# --- the same bytes -----------------------------------------------------------------------------------------------------------

SNIPPETS = [
    "console.log(6*7)", "console.log({ city: 'Oslo', temps: [1, -2], deep: { a: { b: { c: 1 } } } })", "console.error('e'); console.log('o')",
    "console.log([1n, -0, NaN, undefined, null, Symbol('s'), () => 1, new Date(0), /x/g, new Map([[1, 2]]), new Set('ab')])",
    "console.log(0.1 + 0.2, (2 ** 53) + 1, 1e21, 5e-324, 1 / 3, Math.PI ** 20, Math.sin(1e300), Math.exp(710))",
    "console.log('é'.normalize('NFD').length, 'ß'.toUpperCase(), '🐟'.length, [...'🐟🐠'].length, 'a\\u0000b')",
    "throw new TypeError('bad')", "throw 1", "throw null", "throw { a: 1 }", "(", "null.x", "Promise.reject(new Error('r'))", "await 1; console.log(2)",
    "setTimeout(() => console.log(3), 20); Promise.resolve().then(() => console.log(2)); console.log(1)", "process.exit(9)",
    "export const x = 1; console.log(import.meta.url === undefined, typeof this)", "console.log(this === undefined, typeof globalThis)",
    "const f = () => f(); try { f() } catch (e) { console.log(e.name, e.message) }", "console.log(new Error('x').stack)",
    "console.log(JSON.stringify({ a: [1, { b: 2 }], d: new Date(1e12) }, null, 2))", "console.log([3, 1, 2].sort(), [1, 10, 9].sort().reverse())",
    "console.log('%s is %d and %j %%', 'x', 4.5, { a: 1 }); console.table && console.table([1, 2])", "let s = ''; for (let i = 0; i < 1e5; i++) s += i; console.log(s.length)",
    "console.log(new TextEncoder().encode('é€'), new TextDecoder().decode(new Uint8Array([0xe2, 0x82, 0xac])))",
    "console.log(new Intl.NumberFormat('de').format(1234.5))", "console.log(parseFloat('1e1000'), parseInt('0x1f'), Number(''), (25).toString(36))",
    "console.log(Object.keys(globalThis).join())", "console.log(Object.getOwnPropertyNames(globalThis).sort().join())",
    "const w = new WeakRef({}); console.log(typeof w.deref())", "label: for (const a of [1, 2]) for (const b of [1, 2]) { if (b > 1) continue label; console.log(a, b) }",
    "class A { #x = 1; static { this.y = 2 } get x() { return this.#x } } console.log(new A().x, A.y, A, new A())",
    "function* g() { const r = yield 1; console.log(r); return 3 } const i = g(); console.log(i.next(), i.next(2), i.next())",
    "console.log([..._()]); function _() { return 'abc'.matchAll(/./g) }", "for await (const x of (async function* () { yield 1; yield 2 })()) console.log(x)",
    "console.log(new Date(0).toString(), new Date(2024, 1, 29).toISOString(), Intl === undefined)", "debugger; console.log(eval('1 + 1'), Function('return 2')())",
    "process.stdout.write('no newline')", "process.on && process.on('exit', c => console.log('exit', c)); process.exitCode = 3",
    "console.log(structuredClone({ a: new Map([[1, { b: [2] }]]) }))", "console.log(new Proxy({ a: 1 }, {}), new (class extends Array {})(3))",
]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("code", SNIPPETS)
def test_every_wall_prints_the_same(programs, walls, user, code):
    """Change the tier, not the program."""
    missing = [wall for wall in WALLS if walls[user][wall]["state"] != "ok"]
    if missing:
        pytest.skip(f"the {missing[0]} wall is not to be had here as {user}")
    runs = [Box(programs, wall, user).js(code) for wall in WALLS]
    for done in runs:
        assert done.status["not_dispatched"] is None, done
    assert runs[0][:3] == runs[1][:3]


# --- JSON ---------------------------------------------------------------------------------------------------------------------

def documented_fields():
    """The table of docs/command-line.md: {field: text}; a field with several names has a row in common."""
    with open(ROOT / "docs" / "command-line.md", encoding="utf-8") as file:
        section = file.read().split("## JSON", 1)[1].split("\n## ", 1)[0]
    fields = {}
    for row in re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.M):
        for name in re.findall(r"`(\w+)`", row[0]):
            fields[name] = row[1]
    return fields


RESULT_TYPES = {
    "isolation": str, "evidence": dict, "reach": dict, "not_dispatched": type(None), "exit_code": int, "exit_status": int, "timed_out": bool,
    "oom": bool, "duration_us": int, "cpu_us": int, "peak_bytes": int, "timeout_ms": int, "memory_bytes": int, "stdout_total": int,
    "stderr_total": int, "stdout_truncated": bool, "stderr_truncated": bool, "error": type(None),
}
OUTPUT = {"stdout", "stderr", "stdout_base64", "stderr_base64"}
ERROR_TYPES = {"code": int, "reason": str, "step": str, "fact": str, "message": str}


def test_json_is_as_documented(own_box):
    fields = documented_fields()
    assert set(fields) == set(RESULT_TYPES) | OUTPUT
    status, whole = own_box.js("console.log(1)").status, own_box.json("console.log(1)", "--evidence")
    assert set(status) == set(RESULT_TYPES) and set(whole) == set(RESULT_TYPES) | OUTPUT
    for name, kind in RESULT_TYPES.items():
        assert type(status[name]) is kind and type(whole[name]) is kind, name
    assert status["reach"] == {"grant": None, "routes": [], "calls": 0}
    assert set(status["evidence"]) == {"tier", "wall", "policy", "instance", "facts_n", "facts_required_n"}
    facts = whole["evidence"]["facts"]
    assert len(facts) == whole["evidence"]["facts_n"] and sum(fact["required"] for fact in facts) == whole["evidence"]["facts_required_n"] > 0
    for fact in facts:
        assert set(fact) == {"name", "value", "expected", "source", "verdict", "after", "required"}
    assert set(re.findall(r"`(\w+)`", fields["evidence"])) - {"facts"} == (set(status["evidence"]) | set(facts[0]))
    assert set(re.findall(r"`(\w+)`", fields["error"])) - {"null"} == set(ERROR_TYPES)
    assert 0 < status["duration_us"] < 60e6 and status["cpu_us"] >= 0 and 0 < status["peak_bytes"] < status["memory_bytes"]


def test_json_of_a_refusal_is_as_documented(own_box):
    done = own_box.js("console.log(1)", "--floor", "vm", "--json")
    assert done.code == 125 and json.loads(done.out) == done.status
    assert set(done.status) == {"isolation", "evidence", "reach", "not_dispatched", "exit_code", "exit_status", "error"}
    assert {name: type(value) for name, value in done.status["error"].items()} == ERROR_TYPES
    assert done.status["not_dispatched"] == "isolation" and done.status["exit_code"] is None and done.status["exit_status"] == 125


def test_evidence_tells_nothing_about_the_host(own_box):
    """Values that would are hashed: no path, no pid, no number of a namespace."""
    facts = own_box.json("console.log(1)", "--evidence")["evidence"]["facts"]
    for fact in facts:
        assert not re.search(r"/home|/tmp/plimsoll|/root|\b4026\d{6}\b|pid:\[", fact["value"]), fact
        if fact["name"].startswith("ns."):
            assert fact["value"] == "", fact


# --- nothing left ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("code, exit_code", [
    ("console.log(1)", 0), ("throw 1", 1), ("process.exit(3)", 3), ("for(;;){}", 124), ("const b = []; for (;;) b.push('y'.repeat(1e6) + b.length)", 137),
    ("for (;;) console.log('x'.repeat(1e5))", 124), ("(", 1), ("await new Promise(() => {})", 13), ("setTimeout(() => {}, 1e9)", 124),
], ids=["end", "throw", "exit", "timeout", "memory", "flood", "syntax", "never settled", "timer"])
def test_nothing_left_after_a_run(box, code, exit_code):
    nothing_left()
    assert box.js(code, "--timeout", "500ms" if exit_code == 124 else "10s", memory="64MiB").code == exit_code
    nothing_left()


def test_nothing_left_after_a_refusal(box):
    assert box.js("1", "--floor", "vm").code == 125
    assert box.js("1", "--timeout", "x").code == 125
    nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("delay_s", [0, 0.003, 0.01, 0.03, 0.3])
def test_nothing_left_after_a_signal(box, number, delay_s):
    """At whatever moment it comes: the line, the opening, the run."""
    process = box.start("--timeout", "1m", "-e", "for(;;){}")
    time.sleep(delay_s)
    process.send_signal(number)
    process.communicate(timeout=2.0 * SLACK)
    # Before our handler is there a signal ends us as it ends any program.
    assert process.returncode in (125, 126, -number)
    nothing_left(well=(0, NO_CALLER))


@pytest.mark.parametrize("delay_s", [0.3])
def test_nothing_left_after_a_killed_supervisor(box, delay_s):
    """Its groups are removed by the next start, within 2 s."""
    nothing_left()
    process = box.start("--timeout", "1m", "-e", "for(;;){}")
    end, pid = time.monotonic() + 10, None
    while pid is None:
        assert time.monotonic() < end
        pid = next((pid for pid, name in descendants().items() if name == "plimsoll-supervisor"), None)
    time.sleep(delay_s)
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=2.0 * SLACK)
    assert process.returncode in (125, 126)
    end = time.monotonic() + 2.0 * SLACK
    while not reap()[1]:
        assert time.monotonic() < end, descendants()
        time.sleep(0.01)
    succeeded(box.js("console.log(1)"), b"1\n")
    end = time.monotonic() + 2.0 * SLACK
    while cgroups_of([pid]):
        assert time.monotonic() < end, cgroups_of([pid])
        time.sleep(0.05)
    nothing_left(killed=[pid])


@pytest.mark.parametrize("user", [user for user in USERS if user == "user"] or [pytest.param(None, marks=pytest.mark.nameless)])
def test_temporary_files(programs, walls, user):
    """A user that nothing else runs as owns no file afterwards, anywhere that files are put."""
    for wall in WALLS:
        if walls[user][wall]["state"] != "ok":
            continue
        for code in ("1", "for(;;){}", "throw 1"):
            assert Box(programs, wall, user).js(code, "--timeout", "200ms").status["not_dispatched"] is None
    found = [os.path.join(folder, name) for top in ("/tmp", "/var/tmp", "/dev/shm", "/run") for folder, folders, names in os.walk(top)
             for name in folders + names if owner(os.path.join(folder, name)) == ORDINARY_ID]
    assert not found


def owner(path):
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def test_many_at_once(own_box):
    """The same wall forty times side by side from eight command lines at a time; each prints its own."""
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda n: (n, own_box.js(f"console.log({n})")), range(40)))
    for n, done in runs:
        succeeded(done, f"{n}\n".encode())
    nothing_left()


def test_doctor_agrees(programs, walls):
    """A wall that doctor calls ok runs, and measures as what it is."""
    for user in USERS:
        for wall in WALLS:
            done = subprocess.run([programs / "plimsoll", "measure", "--wall", wall, "--json"], capture_output=True, cwd="/", check=False,
                                  timeout=60, **as_user(user))
            assert (done.returncode == 0) == (walls[user][wall]["state"] == "ok")
            if done.returncode == 0:
                assert json.loads(done.stdout)["tier"] == wall
    nothing_left()
