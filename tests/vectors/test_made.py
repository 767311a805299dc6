# SPDX-License-Identifier: Apache-2.0
"""The vectors are what make.py computes, and say what they should: equal where two cases mean the same, else different."""

import itertools
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def test_files_are_what_make_computes():
    done = subprocess.run([sys.executable, os.path.join(HERE, "make.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_digests_differ_where_they_should():
    with open(os.path.join(HERE, "evidence.json"), encoding="ascii") as file:
        cases = {case["title"]: case for case in json.load(file)}
    same = {"out of order", "the same in order"}
    for one, two in itertools.combinations(cases, 2):
        assert (cases[one]["instance"] == cases[two]["instance"]) == ({one, two} == same or {one, two} <= same | {"another tier"}), (one, two)
    assert cases["out of order"]["policy"] == cases["the same in order"]["policy"] == cases["another salt"]["policy"]
    assert cases["out of order"]["policy"] != cases["another tier"]["policy"]
