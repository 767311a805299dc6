# SPDX-License-Identifier: Apache-2.0
"""plimsoll measure and plimsoll doctor."""
import json
import os
import shutil

from conftest import PROGRAMS, BIN, Plimsoll, only_line


def test_measure(plimsoll, wall):
    done = plimsoll("measure", "--wall", wall)
    assert done.returncode == 0 and done.stderr == b""
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["tier", wall] and lines[1].split() == ["wall", wall]
    heads = next(line for line in lines if line.startswith("FACT"))
    assert heads.split() == ["FACT", "VERDICT", "SOURCE", "AFTER", "FOUND", "EXPECTED"]
    facts = lines[lines.index(heads) + 1:]
    assert len(facts) >= 5
    for line in facts:
        # The columns are under their heads.
        assert line[heads.index("VERDICT"):].split()[0] in ("met", "stated")
        assert line[heads.index("SOURCE"):].split()[0] in ("host", "runtime", "guest")
        assert line[heads.index("AFTER"):].split()[0] == "-"


def test_measure_json(plimsoll, wall):
    evidence = json.loads(plimsoll("measure", "--json", "--wall", wall).stdout)
    assert evidence["tier"] == evidence["wall"] == wall
    assert len(evidence["facts"]) == evidence["facts_n"]
    assert all(fact["after"] == "" for fact in evidence["facts"])
    run = json.loads(plimsoll("run", "--json", "--evidence", "--wall", wall, "-e", "1").stdout)["evidence"]
    assert run["policy"] == evidence["policy"]
    assert [fact["name"] for fact in run["facts"]] == [fact["name"] for fact in evidence["facts"]]


def test_measure_takes_the_strongest(plimsoll, walls_ok):
    strongest = next(name for name in ["container", "process"] if walls_ok[name]["state"] == "ok")
    assert json.loads(plimsoll("measure", "--json").stdout)["wall"] == strongest


def test_measure_refused(plimsoll):
    assert "(unsupported)" in only_line(plimsoll("measure", "--walls", ""))
    done = plimsoll("measure", "--walls", "", "--json")
    assert done.returncode == 125 and json.loads(done.stdout)["error"]["reason"] == "unsupported"


def test_doctor(plimsoll, walls_ok):
    done = plimsoll("doctor")
    rows = json.loads(plimsoll("doctor", "--json").stdout)["rows"]
    assert done.returncode == (0 if any(row["state"] == "ok" for row in walls_ok.values()) else 1)
    assert set(walls_ok) >= {"container", "process"}
    for row in rows:
        assert set(row) == {"kind", "name", "state", "found", "remedy"}
        assert row["kind"] in ("wall", "host") and row["state"] in ("ok", "limited", "unavailable") and row["found"]
        # Whatever is not as it could be comes with what to do, unless nothing can be done.
        assert row["state"] == "ok" or row["remedy"] or "this version" in row["found"]
        assert row["name"] in done.stdout.decode() and row["found"] in done.stdout.decode()


def test_doctor_names_what_the_host_offers(plimsoll):
    names = " ".join(row["name"] for row in json.loads(plimsoll("doctor", "--json").stdout)["rows"])
    for word in ["cgroup", "user namespaces", "ptrace", "proc", "container"]:
        assert word in names


def test_no_supervisor(tmp_path):
    shutil.copy2(BIN / "plimsoll", tmp_path / "plimsoll")
    alone = Plimsoll(tmp_path)
    if "No such file" not in alone("doctor").stderr.decode():
        return  # one is installed in the compiled-in directory
    for command in ["doctor"], ["measure"], ["run", "-e", "1"]:
        line = only_line(alone(*command))
        assert "(environment)" in line and "plimsoll-supervisor" in line


def test_another_build(tmp_path):
    """A supervisor that is not of this build is not used."""
    for name in PROGRAMS:
        shutil.copy2(BIN / name, tmp_path / name)
    supervisor = tmp_path / "plimsoll-supervisor"
    supervisor.unlink()
    supervisor.write_text("#!/bin/sh\nprintf '\\012\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\006\\000\\000\\000older\\000' >&3\ncat <&3 >/dev/null\n")
    os.chmod(supervisor, 0o755)
    line = only_line(Plimsoll(tmp_path)("run", "-e", "1"))
    assert "(protocol)" in line and "older" in line
