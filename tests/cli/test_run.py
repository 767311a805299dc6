# SPDX-License-Identifier: Apache-2.0
"""plimsoll run: what a program wrote, how it ended, and the answer to the three questions."""
import base64
import json
import os
import re
import subprocess
import time

import pytest

from conftest import only_line

FIELDS_ALWAYS = {"isolation", "evidence", "reach", "not_dispatched", "exit_code", "exit_status", "error"}
FIELDS_RESULT = FIELDS_ALWAYS | {
    "timed_out", "oom", "duration_us", "cpu_us", "peak_bytes", "timeout_ms", "memory_bytes",
    "stdout_total", "stderr_total", "stdout_truncated", "stderr_truncated",
}
FIELDS_JSON = FIELDS_RESULT | {"stdout", "stderr", "stdout_base64", "stderr_base64"}


def status_of(plimsoll, *args, **options):
    """Runs with --status-fd: what was done, and the status."""
    read_fd, write_fd = os.pipe()
    try:
        done = plimsoll("run", "--status-fd", str(write_fd), *args, pass_fds=[write_fd], **options)
    finally:
        os.close(write_fd)
    with os.fdopen(read_fd) as status:
        return done, json.load(status)


def test_prints_42(plimsoll, wall):
    done = plimsoll("run", "--wall", wall, "-e", "console.log(6*7)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"42\n", b"")


def test_floor_is_met(plimsoll, wall):
    done = plimsoll("run", "--wall", wall, "--floor", wall, "-e", "console.log(6*7)")
    assert (done.returncode, done.stdout) == (0, b"42\n")


@pytest.mark.parametrize("wall_name, floor", [("process", "container"), ("process", "vm"), ("container", "kernel"), ("container", "vm")])
def test_floor_is_not_met(plimsoll, wall_name, floor):
    done, status = status_of(plimsoll, "--wall", wall_name, "--floor", floor, "-e", "console.log(6*7)")
    line = only_line(done)
    assert line.startswith("plimsoll: nothing ran (isolation): ")
    assert wall_name in line and floor in line
    assert status["not_dispatched"] == "isolation" and status["isolation"] is None
    assert set(status) == FIELDS_ALWAYS


def test_no_wall_meets_the_floor(plimsoll):
    assert "(isolation)" in only_line(plimsoll("run", "--walls", "container,process", "--floor", "vm", "-e", "1"))


def test_nothing_configured(plimsoll):
    assert "(unsupported)" in only_line(plimsoll("run", "--walls", "", "-e", "1"))
    assert "(unsupported)" in only_line(plimsoll("run", "--walls", "process", "--wall", "container", "-e", "1"))


def test_auto_takes_the_strongest(plimsoll, walls_ok):
    strongest = next(name for name in ["container", "process"] if walls_ok[name]["state"] == "ok")
    for args in [], ["--wall", "auto"]:
        assert plimsoll.json(*args, "-e", "1")[1]["isolation"] == strongest


def test_every_exit_code(plimsoll, wall):
    """No exit code of a guest's can be taken for a refusal."""
    for code in range(256):
        done, status = status_of(plimsoll, "--wall", wall, "-e", f"process.exit({code})")
        assert done.returncode == (123 if code in (124, 125, 126) else code)
        assert (status["exit_code"], status["exit_status"]) == (code, done.returncode)
        assert status["not_dispatched"] is None and status["error"] is None and not status["timed_out"]
        assert status["isolation"] == wall


def test_throw_is_a_result(plimsoll, wall):
    done, status = status_of(plimsoll, "--wall", wall, "-e", "throw new Error('no luck')")
    assert done.returncode == 1 and b"no luck" in done.stderr
    assert status["exit_code"] == 1 and status["error"] is None


def test_timeout_keeps_what_was_written(plimsoll, wall):
    """BR-009. The exit code is 124, and only a timeout has it."""
    start = time.monotonic()
    done, status = status_of(plimsoll, "--wall", wall, "--timeout", "1s", "-e", "console.log('phase one'); for(;;){}")
    assert 1 <= time.monotonic() - start < 3
    assert (done.returncode, done.stdout) == (124, b"phase one\n")
    assert status["timed_out"] and status["exit_code"] == 124 and not status["oom"] and status["timeout_ms"] == 1000
    assert 1000000 <= status["duration_us"] <= 2000000


@pytest.mark.parametrize("code", [
    "/^(a+)+$/.test('a'.repeat(40)+'b')",
    "const a = Array.from({length: 3e5}, (_, i) => i * 7919 % 1000003); a.sort(() => { for(;;); })",
    "'x'.repeat(1e6).split('').map(c => 'y'.repeat(1e3)).join('').indexOf('z'); for(;;) JSON.stringify([...Array(1e5).keys()])",
    "let n = 3n; for (;;) n = n * n % (2n ** 20000n + 1n)",
], ids=["regexp", "sort", "json", "bigint"])
def test_timeout_stops_native_loops(plimsoll, wall, code):
    """BR-034, BR-035."""
    start = time.monotonic()
    done = plimsoll("run", "--wall", wall, "--timeout", "300ms", "-e", code)
    assert done.returncode == 124
    assert time.monotonic() - start < 2.5


def test_timeout_beyond_the_default_ceiling(plimsoll):
    """BR-039: what is asked for is what is in force."""
    assert plimsoll.json("--timeout", "2m", "-e", "1")[1]["timeout_ms"] == 120000


def test_out_of_memory(plimsoll, wall):
    """BR-023, BR-074: named, and never taken for a timeout or a crash."""
    done, status = status_of(plimsoll, "--wall", wall, "--memory", "32MiB", "-e", "const a = []; for(;;) a.push('x'.repeat(1e5) + a.length)")
    assert done.returncode == 137
    assert status["oom"] and not status["timed_out"] and status["exit_code"] == 137
    assert status["memory_bytes"] == 32 << 20


def test_array_buffers_count(plimsoll, wall):
    """BR-075."""
    done, status = status_of(plimsoll, "--wall", wall, "--memory", "32MiB", "-e",
                             "const a = []; for(;;) a.push(new Uint8Array(1e6).fill(1))")
    assert done.returncode == 137 and status["oom"]


def test_streams_are_bytes(plimsoll, wall):
    """BR-001, BR-005, BR-130: each stream as written, whatever is in it, and nothing added."""
    code = "console.log('a\\u0000é€🐟'); console.error('to stderr\\r'); console.log('no newline?')"
    done = plimsoll("run", "--wall", wall, "-e", code)
    assert done.stdout == "a\0é€🐟\nno newline?\n".encode()
    assert done.stderr == b"to stderr\r\n"


@pytest.mark.parametrize("pad", [4095, 8191, 16383, 65535])
def test_characters_across_boundaries(plimsoll, wall, pad):
    """BR-001."""
    done, status = plimsoll.json("--wall", wall, "--max-output", "1MiB", "-e", f"console.log('x'.repeat({pad}) + 'ééé')")
    text = "x" * pad + "ééé\n"
    assert status["stdout"] == text and base64.b64decode(status["stdout_base64"]) == text.encode()
    assert "\ufffd" not in status["stdout"]


def test_output_before_exit_is_whole(plimsoll, wall):
    """BR-010, BR-014."""
    done = plimsoll("run", "--wall", wall, "--max-output", "8MiB", "-e", "console.log('x'.repeat(300000)); process.exit(0)")
    assert (done.returncode, len(done.stdout)) == (0, 300001)


def test_both_streams_full(plimsoll, wall):
    """BR-015."""
    code = "for (let i = 0; i < 4000; i++) { console.log('o'.repeat(99)); console.error('e'.repeat(99)); }"
    done = plimsoll("run", "--wall", wall, "--max-output", "1MiB", "-e", code)
    assert done.stdout == (b"o" * 99 + b"\n") * 4000 and done.stderr == (b"e" * 99 + b"\n") * 4000


def test_truncation_is_a_flag(plimsoll, wall):
    """BR-008: 2500 lines pass by default; beyond the limit a flag says so, and not a byte is added."""
    rows = "for (let i = 0; i < 2500; i++) console.log('row', i)"
    whole = "".join(f"row {i}\n" for i in range(2500)).encode()
    done = plimsoll("run", "--wall", wall, "-e", rows)
    assert (done.returncode, done.stdout) == (0, whole)
    done, status = status_of(plimsoll, "--wall", wall, "--max-output", "1KiB", "-e", rows)
    assert (done.returncode, done.stdout) == (0, whole[:1024])
    assert status["stdout_truncated"] and status["stdout_total"] == len(whole) and not status["stderr_truncated"]


def test_truncation_of_exactly_the_limit(plimsoll, wall):
    done, status = plimsoll.json("--wall", wall, "--max-output", "1000B", "-e", "console.log('x'.repeat(999))")
    assert not status["stdout_truncated"] and status["stdout_total"] == 1000
    done, status = plimsoll.json("--wall", wall, "--max-output", "999B", "-e", "console.log('x'.repeat(999))")
    assert status["stdout_truncated"] and status["stdout"] == "x" * 999


def test_json_holds_everything(plimsoll, wall):
    done, status = plimsoll.json("--wall", wall, "-e", "console.log('out'); console.error('err')")
    assert set(status) == FIELDS_JSON and done.stderr == b"" and done.returncode == 0
    assert (status["stdout"], status["stderr"]) == ("out\n", "err\n")
    assert base64.b64decode(status["stderr_base64"]) == b"err\n"
    assert status["isolation"] == status["evidence"]["tier"] == wall == status["evidence"]["wall"]
    assert re.fullmatch(r"plimsoll-profile:sha256:[0-9a-f]{64}", status["evidence"]["policy"])
    assert re.fullmatch(r"plimsoll-evidence:sha256:[0-9a-f]{64}", status["evidence"]["instance"])
    assert status["reach"] == {"grant": None, "routes": [], "calls": 0}
    assert status["duration_us"] > 0 and status["peak_bytes"] > 0
    assert "facts" not in status["evidence"]
    assert done.stdout.count(b"\n") == 1


def test_json_of_a_refusal(plimsoll):
    done = plimsoll("run", "--json", "--wall", "process", "--floor", "vm", "-e", "1")
    status = json.loads(done.stdout)
    assert set(status) == FIELDS_ALWAYS and done.returncode == status["exit_status"] == 125
    assert status["error"]["reason"] == status["not_dispatched"] == "isolation"
    assert status["error"]["message"] in done.stderr.decode()


def test_json_with_lone_surrogates(plimsoll, wall):
    """BR-006."""
    done, status = plimsoll.json("--wall", wall, "-e", 'const s = "\\ud800a"; console.log(JSON.stringify(s), s.length); console.log("🐟🐠".slice(1))')
    assert status["stdout"] == '"\\ud800a" 2\n\ufffd🐠\n'
    done.stdout.decode()


def test_status_alone(plimsoll, wall):
    done, status = status_of(plimsoll, "--wall", wall, "-e", "console.log('out')")
    assert done.stdout == b"out\n" and done.stderr == b""
    assert set(status) == FIELDS_RESULT


def test_instance_is_new_and_policy_is_not(plimsoll, wall):
    first, second = (plimsoll.json("--wall", wall, "-e", "1")[1]["evidence"] for _ in range(2))
    assert first["policy"] == second["policy"] and first["instance"] != second["instance"]


def test_evidence(plimsoll, wall):
    done, status = plimsoll.json("--wall", wall, "--evidence", "-e", "1")
    facts = status["evidence"]["facts"]
    assert len(facts) == status["evidence"]["facts_n"]
    assert sum(fact["required"] for fact in facts) == status["evidence"]["facts_required_n"] > 0
    for fact in facts:
        assert set(fact) == {"name", "value", "expected", "source", "verdict", "after", "required"}
        assert fact["verdict"] == ("met" if fact["required"] else "stated")
        assert fact["after"] in ("same", "gone", "fixed") and fact["expected"] and fact["source"] in ("host", "runtime", "guest")
    done = plimsoll("run", "--wall", wall, "--evidence", "-e", "console.log(1)")
    assert done.stdout == b"1\n"
    lines = done.stderr.decode().splitlines()
    assert lines[0].split() == ["tier", wall]
    for fact in facts:
        assert any(line.split()[:2] == [fact["name"], fact["verdict"]] and line.endswith(fact["expected"]) for line in lines)


def test_summary(plimsoll, wall):
    done = plimsoll("run", "--wall", wall, "-v", "-e", "console.error('no newline')")
    first, summary = done.stderr.decode().splitlines()
    assert first == "no newline"
    assert re.fullmatch(rf"plimsoll: it ran behind the {wall} wall, measured tier {wall} \(\d+ facts, \d+ required\); "
                        r"it could reach nothing \(no grant\); exit code 0, [0-9.]+ ms, [0-9.]+ [KM]iB", summary)
    done = plimsoll("run", "--wall", wall, "-v", "--timeout", "100ms", "-e", "for(;;);")
    assert b"timed out at 100.0 ms" in done.stderr
    done = plimsoll("run", "--wall", wall, "-v", "--max-output", "1KiB", "-e", "console.log('x'.repeat(2000))")
    assert b"output truncated" in done.stderr


def test_summary_on_a_terminal(plimsoll, wall):
    master, slave = os.openpty()
    done = plimsoll("run", "--wall", wall, "-e", "console.log(1)", stderr=slave)
    os.close(slave)
    assert done.stdout == b"1\n"
    assert os.read(master, 4096).startswith(b"plimsoll: it ran behind the " + wall.encode())
    os.close(master)


def test_module_by_name(plimsoll, wall, tmp_path):
    module, script, auto = tmp_path / "m.mjs", tmp_path / "s.cjs", tmp_path / "a.js"
    module.write_text("console.log(typeof import.meta, this)\n")
    script.write_text("console.log(typeof this)\n")
    auto.write_text("export const a = 1; console.log('module', this)\n")
    assert plimsoll("run", "--wall", wall, str(module)).stdout == b"object undefined\n"
    assert plimsoll("run", "--wall", wall, str(script)).stdout == b"object\n"
    assert plimsoll("run", "--wall", wall, str(auto)).stdout == b"module undefined\n"


def test_stack_traces_name_the_file(plimsoll, wall, tmp_path):
    (tmp_path / "program.js").write_text("\n\nthrow new Error('third line')\n")
    (tmp_path / "größe.js").write_text("throw new Error('x')\n")
    assert b"program.js:3" in plimsoll("run", "--wall", wall, "program.js", cwd=tmp_path).stderr
    assert b"[file]:1" in plimsoll("run", "--wall", wall, "größe.js", cwd=tmp_path).stderr
    assert b"[stdin]:1" in plimsoll("run", "--wall", wall, "-", input=b"throw new Error('x')").stderr


def test_stdin(plimsoll, wall):
    done = plimsoll("run", "--wall", wall, "-", input=b"console.log('from stdin')")
    assert done.stdout == b"from stdin\n"


def test_code_of_the_greatest_length(plimsoll, wall):
    code = b"console.log(1)//" + b"x" * (262144 - 16)
    assert plimsoll("run", "--wall", wall, "-", input=code).stdout == b"1\n"


def test_flags_after_the_program(plimsoll, wall, tmp_path):
    (tmp_path / "--json").write_text("console.log('a file called --json')")
    (tmp_path / "p.js").write_text("console.log(1)")
    assert json.loads(plimsoll("run", "p.js", "--wall", wall, "--json", cwd=tmp_path).stdout)["stdout"] == "1\n"
    assert plimsoll("run", "--wall", wall, "--", "--json", cwd=tmp_path).stdout == b"a file called --json\n"


def test_stdin_is_not_the_programs(plimsoll, wall):
    """BR-046: nothing is read from it, and nothing waits for it."""
    process = plimsoll.start("run", "--wall", wall, "-e", "console.log(1)", stdin=subprocess.PIPE)
    assert process.stdout.read() == b"1\n" and process.wait(10) == 0
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()


def test_runs_do_not_meet(plimsoll, wall):
    """BR-106: what one run leaves behind the next does not see."""
    plimsoll("run", "--wall", wall, "-e", "globalThis.left = 1; Object.prototype.left = 1; Array.prototype.map = null")
    assert plimsoll("run", "--wall", wall, "-e", "console.log(typeof left, typeof {}.left, [1].map(x => x + 1)[0])").stdout == b"undefined undefined 2\n"


# --- output that cannot be delivered ---------------------------------------------------------------------------------------


def test_full_disk(plimsoll, wall):
    with open("/dev/full", "wb") as full:
        done, status = status_of(plimsoll, "--wall", wall, "-e", "console.log(1); process.exit(7)", stdout=full)
    assert done.returncode == 126
    assert b"it ran, and its output cannot be written to stdout: No space left" in done.stderr
    assert status["exit_code"] == 7 and status["exit_status"] == 126 and status["not_dispatched"] is None


def test_closed_pipe(plimsoll, wall):
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    done = plimsoll("run", "--wall", wall, "-e", "console.log(1)", stdout=write_fd)
    os.close(write_fd)
    assert done.returncode == 126 and b"Broken pipe" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(plimsoll, wall, closed):
    """A closed stdout is not the lifeline's number."""
    command = f'exec "$0" run --wall {wall} -e "console.log(1)" {closed}'
    done = subprocess.run(["sh", "-c", command, plimsoll.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    if ">&-" in closed.replace("2>&-", ""):
        assert done.returncode == 126 and done.stdout == b""
    else:
        assert done.returncode == 0 and done.stdout == b"1\n"


def test_status_to_a_closed_pipe(plimsoll, wall):
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    done = plimsoll("run", "--wall", wall, "--status-fd", str(write_fd), "-e", "console.log(1)", pass_fds=[write_fd])
    os.close(write_fd)
    assert done.returncode == 126 and done.stdout == b"1\n" and b"cannot write the status" in done.stderr


def test_json_to_a_full_disk(plimsoll, wall):
    with open("/dev/full", "wb") as full:
        assert plimsoll("run", "--json", "--wall", wall, "-e", "1", stdout=full).returncode == 126
        assert plimsoll("run", "--json", "--wall", "process", "--floor", "vm", "-e", "1", stdout=full).returncode == 125
        assert plimsoll("help", stdout=full).returncode == 126
