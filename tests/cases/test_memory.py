# SPDX-License-Identifier: Apache-2.0
"""Public reports, group G: memory, processor, descriptors."""

import pytest

from conftest import MIB, SLACK, succeeded

HOGS = ["Array.from({ length: 2 ** 27 }, (_, i) => i)", '"ab".repeat(2 ** 27).split("")', "const b = []; for (;;) b.push({ i: b.length })"]
# What the wall's own part of a guest may be: its program, stack and the engine's start.
OVERHEAD_BYTES = 16 * MIB


@pytest.mark.parametrize("hog", HOGS)
def test_BR_074_memory_limit(box, hog):
    done = box.js(hog, "--timeout", "20s", memory="64MiB")
    assert done.status["not_dispatched"] is None
    if done.status["oom"]:
        assert done.code == 137
    else:
        assert done.code == 1 and (b"RangeError" in done.err or b"InternalError" in done.err), done
    assert done.status["duration_us"] < 5e6 * SLACK
    assert done.status["peak_bytes"] <= 64 * MIB + OVERHEAD_BYTES
    succeeded(box.js("console.log(1)"), b"1\n")


def test_BR_075_array_buffers_count(box):
    done = box.js("const a = []; try { for (;;) a.push(new Uint8Array(1 << 20).fill(1)) } finally { const n = a.length; a.length = 0;"
                  " console.log(n) }", "--timeout", "20s", memory="64MiB")
    if not done.out:  # killed at the limit before it could count
        assert done.status["oom"] and done.code == 137
    else:
        assert 8 <= int(done.out) <= 64
        assert done.code in (1, 137)
    assert done.status["peak_bytes"] <= 64 * MIB + OVERHEAD_BYTES


@pytest.mark.parametrize("memory", ["16MiB", "17MiB", "32MiB", "128MiB", "1GiB", "4GiB"])
def test_memory_that_is_given_can_be_used(own_box, memory):
    """A limit is no less than it says either: half of it can be touched."""
    bytes_n = int(memory[:-3]) * (MIB if memory.endswith("MiB") else 1024 * MIB)
    touched = min(bytes_n // 4, 256 * MIB)
    done = own_box.js(f"console.log(new Uint8Array({touched}).fill(1).length)", "--timeout", "20s", memory=memory)
    succeeded(done, f"{touched}\n".encode())
    assert done.status["memory_bytes"] == bytes_n


def test_BR_083_others_answer_while_all_is_busy(own_box):
    """Eight loops on whatever the machine has: a new run is let in, and cancelling them works."""
    loops = [own_box.start("--timeout", "1m", "--memory", "64MiB", "-e", "for(;;){}") for _ in range(8)]
    try:
        for _ in range(3):
            done = own_box.js("console.log(1)")
            succeeded(done, b"1\n")
            assert done.seconds < 2.0 * SLACK
    finally:
        for process in loops:
            process.terminate()
        ends = [process.wait(timeout=2.0 * SLACK) for process in loops]
        for process in loops:
            process.stdout.close()
            process.stderr.close()
    assert set(ends) <= {125, 126}
