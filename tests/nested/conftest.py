# SPDX-License-Identifier: Apache-2.0
"""What the nested tests share: plimsoll started inside an enclosure (another sandbox, or a machine that denies something), as
root and as an ordinary user; what it claims there; and a look from outside at the process that really ran the program.

This process is a subreaper and stands outside of every enclosure, so whatever was started inside is a descendant of it, and
/proc here shows it with the host's numbers."""
import collections
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("PLIMSOLL_BUILD", ROOT / "build")).resolve()
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN", BUILD / "bin")).resolve()
PROGRAMS = ["plimsoll", "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker"]
IS_ROOT = os.geteuid() == 0
USER_ID = 12345  # nobody's: no name, no home, no group
PEOPLE = ["root", "user"] if IS_ROOT else ["user"]
NAMESPACES = ["pid", "mnt", "net", "ipc", "uts", "user", "cgroup", "time"]
RANK = {"process": 1, "container": 2}
WITHIN_S = 1.0 * 10  # the promise, for a busy machine
MEMORY = 96 << 20

# Long enough to be looked at, and it knows how to say that it ran.
WORKS = "const t = Date.now(); while (Date.now() - t < 500); console.log(6*7)"

Done = collections.namedtuple("Done", "code out err seconds looks")


def become(who):
    """The command that makes a command who's."""
    if who == "user" and IS_ROOT:
        return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
    return []


# --- the look from outside -----------------------------------------------------------------------------------------------------

def descendants():
    """{pid: [the words of its command line]}"""
    parents, words = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words[int(entry.name)] = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (OSError, IndexError):
            continue

    def is_ours(pid):
        while pid in parents and parents[pid] != os.getpid():
            pid = parents[pid]
        return pid in parents

    return {pid: words[pid] for pid in words if is_ours(pid)}, parents


def readable(read):
    """What may be read of it: an ordinary user may not look at everything of a process that is not dumpable."""
    try:
        return read()
    except PermissionError:
        return None


def look(pid, parent, who):
    """What the host's /proc says of this process, or None: it has gone meanwhile, or has not worked yet."""
    proc = pathlib.Path("/proc") / str(pid)
    try:
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        stat = (proc / "stat").read_text().rsplit(")", 1)[1].split()
        limits = {line[:26].strip(): line[26:].split()[:2] for line in (proc / "limits").read_text().splitlines()[1:]}
        seen = {
            "worked": int(stat[11]) >= 3,  # ticks of 10 ms: the program is running, not our code before it
            "uids": {int(number) for number in status["Uid"].split()}, "groups": status["Groups"].split(),
            "caps": {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")}, "nnp": status["NoNewPrivs"],
            "seccomp": status["Seccomp"], "threads": status["Threads"], "limits": limits,
            "parent": pathlib.Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")[0],
            "namespaces": readable(lambda: {name: os.readlink(proc / "ns" / name) for name in NAMESPACES}),
            "parent_namespaces": readable(lambda: {name: os.readlink(f"/proc/{parent}/ns/{name}") for name in NAMESPACES}),
            "mounts": readable(lambda: [line.split()[4:6] for line in (proc / "mountinfo").read_text().splitlines()]),
            "root": readable(lambda: os.listdir(proc / "root")),
            "descriptors": readable(lambda: os.listdir(proc / "fd")),
            "links": readable(lambda: [line.split(":")[0].strip() for line in (proc / "net" / "dev").read_text().splitlines()[2:]]),
            "who": who,
        }
    except (OSError, KeyError, IndexError):
        return None
    return seen if seen["worked"] else None


def guests(who):
    """[(wall, look)] of everything of ours that is at work on a program just now."""
    found = []
    words, parents = descendants()
    for pid, argv in words.items():
        if argv[0] == "plimsoll-guest":
            found.append(("container", look(pid, parents[pid], who)))
        # The zygote is a plimsoll-worker too, below init; a worker is below the zygote.
        elif argv[0] == "plimsoll-worker" and words.get(parents[pid], [""])[0] == "plimsoll-worker":
            found.append(("process", look(pid, parents[pid], who)))
    return [(wall, seen) for wall, seen in found if seen]


def own_namespaces():
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}


def container_holds(seen):
    """From outside: it is walled as the tier says."""
    assert seen["parent"] == b"plimsoll-launch"
    assert seen["caps"] == {"0" * 16} and seen["nnp"] == "1" and seen["seccomp"] == "2" and seen["threads"] == "1"
    assert len(seen["uids"]) == 1 and 0 not in seen["uids"]
    if seen["who"] == "root":
        assert all(1966080 <= uid < 1998000 for uid in seen["uids"]) and not seen["groups"]
    else:
        assert seen["uids"] == {USER_ID if IS_ROOT else os.getuid()}
    if seen["namespaces"] is None:
        return
    own = own_namespaces()
    for name in NAMESPACES:
        assert seen["namespaces"][name] != own[name] and seen["namespaces"][name] == seen["parent_namespaces"][name], name
    assert sorted(path for path, _ in seen["mounts"]) == ["/", "/tmp"]
    assert "ro" in dict(seen["mounts"])["/"].split(",") and "noexec" in dict(seen["mounts"])["/tmp"].split(",")
    assert seen["root"] == ["tmp"] and seen["descriptors"] == ["0"] and seen["links"] == ["lo"]


def process_holds(seen):
    assert seen["parent"] == b"plimsoll-worker"
    assert {cap for cap in seen["caps"]} <= {"0" * 16} or seen["uids"] == {0} or seen["who"] == "user"
    assert seen["nnp"] == "1" and seen["seccomp"] == "2" and seen["threads"] == "1"
    assert seen["limits"]["Max data size"][0] == str(MEMORY) and seen["limits"]["Max processes"] == ["1", "1"]
    assert seen["descriptors"] in (None, ["0"])


HOLDS = {"container": container_holds, "process": process_holds}


# --- plimsoll inside -----------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def programs():
    """A copy that everybody may run and that every enclosure shows: the tree may stand where only its owner can go."""
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    assert (BIN / "plimsoll").exists(), f"no plimsoll in {BIN}: make build, or set PLIMSOLL_BIN"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-nested-", dir="/tmp"))
    for path in [*(BIN / name for name in PROGRAMS), HERE / "under_filter.py"]:
        shutil.copy(path, folder / path.name)
    (folder / "root").mkdir()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def machine():
    """What a careless test here could change for everybody: /proc's mount options, and the limits on namespaces."""
    proc = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4] == "/proc"]
    return proc, {path.name: path.read_text() for path in pathlib.Path("/proc/sys/user").iterdir()}


@pytest.fixture(scope="session", autouse=True)
def the_machine_stays_as_it_was():
    before = machine()
    yield
    assert machine() == before


class Inside:
    """plimsoll behind a prefix. slow: how much longer the enclosure itself may take."""

    def __init__(self, prefix, path, who, slow=0.0):
        self.prefix, self.path, self.who, self.slow = prefix, str(path), who, slow

    def start(self, *args):
        return subprocess.Popen([*self.prefix, self.path, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd="/")

    def command(self, *args, watch=False):
        """Waits for it; with watch it is looked at from outside while it runs."""
        began, looks = time.monotonic(), {}
        process = self.start(*args)
        while watch and process.poll() is None:
            looks.update(guests(self.who))
            time.sleep(0.02)
        out, err = process.communicate(timeout=120)
        return Done(process.returncode, out, err, time.monotonic() - began, looks)

    def run(self, floor=None, code=WORKS, wall="auto", watch=False):
        """(Done, its JSON)"""
        done = self.command("run", "--json", "--evidence", "--wall", wall, *(["--floor", floor] if floor else []), "--memory",
                            f"{MEMORY >> 20}MiB", "-e", code, watch=watch)
        return done, json.loads(done.out.decode()) if done.out else None

    def doctor(self):
        """{name: row}, or None and the line of the refusal."""
        done = self.command("doctor", "--json")
        if done.code == 125:
            return None, one_line(done)
        assert done.err == b"", done.err
        return {(row["kind"], row["name"]): row for row in json.loads(done.out)["rows"]}, None


def one_line(done):
    line = done.err.decode()
    assert line.count("\n") == 1 and line.endswith("\n"), done
    return line


def refused(done, answer, slow=0.0):
    """Nothing ran, in one line that says why, where, and what to do; returns the line."""
    line = one_line(done)
    assert done.code == 125 and line.startswith(("plimsoll: nothing ran (environment): ", "plimsoll: nothing ran (isolation): ")), done
    assert done.seconds < WITHIN_S + slow, f"{done.seconds:.1f} s until the refusal"
    assert not done.looks, done.looks
    if answer is not None:
        error = answer["error"]
        assert answer["not_dispatched"] == error["reason"] in ("environment", "isolation")
        assert answer["isolation"] is None and answer["evidence"] is None and answer["exit_code"] is None
        assert (error["step"] or error["fact"]) and error["message"] in line
        # What was found, then what to do about it.
        assert "; " in error["message"], error["message"]
    return line


def ran_behind(wall, done, answer, looked=True):
    """It ran; every required fact of that very wall was met; and who looks from outside sees the same."""
    assert done.code == 0 and done.err == b"", done
    assert answer["stdout"] == "42\n" and answer["not_dispatched"] is None and answer["exit_code"] == 0
    evidence = answer["evidence"]
    assert answer["isolation"] == evidence["tier"] == evidence["wall"] == wall
    needed = [fact for fact in evidence["facts"] if fact["required"]]
    assert len(needed) == evidence["facts_required_n"] >= {"container": 29, "process": 9}[wall]
    assert {fact["verdict"] for fact in needed} == {"met"}, needed
    if looked:
        assert list(done.looks) == [wall], f"seen at work from outside: {list(done.looks)}"
        HOLDS[wall](done.looks[wall])


def fact_of(answer, name):
    return next(fact for fact in answer["evidence"]["facts"] if fact["name"] == name)


# --- what every enclosure is asked -----------------------------------------------------------------------------------------------

def refusal_is_as_expected(line, words):
    for word in words:
        assert word in line, (word, line)


def nothing_starts(inside, words):
    """Where not even the supervisor can look, every command says so alike."""
    rows, line = inside.doctor()
    assert rows is None, rows
    refusal_is_as_expected(line, words)
    assert "; " in line
    for floor in ("container", "process", None):
        done, answer = inside.run(floor, watch=True)
        refusal_is_as_expected(refused(done, answer, inside.slow), words)
    measured = inside.command("measure", "--json")
    refusal_is_as_expected(refused(measured, None, inside.slow), words)


def wall_is_as_expected(inside, rows, wall, expected):
    """expected: "runs"; words that the refusal and doctor must say; or None, where either may be. True: it ran."""
    row = rows[("wall", wall)]
    done, answer = inside.run(floor=wall, wall=wall, watch=True)
    if row["state"] == "ok":
        assert expected in ("runs", None), row
        ran_behind(wall, done, answer)
        return answer
    assert expected != "runs", row
    line = refused(done, answer, inside.slow)
    for text in (line, row["found"] + row["remedy"]):
        refusal_is_as_expected(text, expected or ())
    assert row["state"] == "unavailable" and row["found"] and row["remedy"]
    return None


def every_claim_holds(inside, container, process):
    """The tests of this folder in one: doctor, each wall by its name and by its floor, without a floor, and measured."""
    rows, line = inside.doctor()
    assert rows is not None, line
    answers = {wall: wall_is_as_expected(inside, rows, wall, expected)
               for wall, expected in (("container", container), ("process", process))}
    ok = [wall for wall in ("container", "process") if answers[wall]]
    for floor in ("container", "process", None):
        enough = [wall for wall in ok if not floor or RANK[wall] >= RANK[floor]]
        done, answer = inside.run(floor, code="console.log(6*7)")
        if enough:
            ran_behind(enough[0], done, answer, looked=False)
        else:
            refused(done, answer, inside.slow)
    measured = inside.command("measure", "--json")
    if ok:
        evidence = json.loads(measured.out)
        assert measured.code == 0 and evidence["tier"] == evidence["wall"] == ok[0]
        assert evidence["policy"] == answers[ok[0]]["evidence"]["policy"]
    else:
        refused(measured, None, inside.slow)
    return rows, answers
