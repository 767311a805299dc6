# SPDX-License-Identifier: Apache-2.0
"""What is written about the command line and the library agrees with what they are: help, manual pages, completions, the
exported symbols, the example."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT

LIB = BIN.parent / "lib"


def flags_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


@pytest.fixture(scope="module")
def flags(plimsoll):
    text = "".join(plimsoll("help", *words).stdout.decode() for words in ([], ["run"], ["measure"], ["doctor"]))
    found = flags_in(text)
    assert {"--floor", "--wall", "--walls", "--status-fd", "--max-output"} <= found
    return found | {"--help"}


def test_manual_page_has_every_flag(flags):
    text = (ROOT / "docs/man/plimsoll.1").read_text()
    in_page = {"-" + word for word in re.findall(r"Fl (-[a-z][a-z-]+)", text)}
    assert in_page - {"--name"} == flags - {"--help"}


@pytest.mark.parametrize("name", ["plimsoll.bash", "_plimsoll"])
def test_completion_has_every_flag(flags, name):
    assert flags_in((ROOT / "completions" / name).read_text()) == flags | {"--version"}


def test_completion_for_fish_has_every_flag(flags):
    text = (ROOT / "completions/plimsoll.fish").read_text()
    assert {"--" + word for word in re.findall(r" -l ([a-z-]+)", text)} == flags | {"--version"}


@pytest.mark.parametrize("words, expected", [
    (["r"], ["run"]),
    (["run", "--fl"], ["--floor"]),
    (["run", "--floor", "c"], ["container"]),
    (["run", "--floor", "=", "v"], ["vm"]),
    (["run", "--floor", "="], ["process", "container", "kernel", "vm"]),
    (["measure", "--wall", "a"], ["auto"]),
    (["doctor", "--"], ["--json", "--microvm-flavours", "--help"]),
    (["help", ""], ["run", "measure", "doctor"]),
    (["run", "--status-fd", ""], []),
])
def test_completion_in_bash(words, expected):
    script = ('source "$1"; shift; COMP_WORDS=(plimsoll "$@"); COMP_CWORD=$#; _plimsoll; '
              'for word in "${COMPREPLY[@]}"; do echo "$word"; done')
    done = subprocess.run(["bash", "-euc", script, "bash", ROOT / "completions/plimsoll.bash", *words], capture_output=True, text=True)
    assert done.stdout.split() == expected and done.stderr == ""


@pytest.mark.parametrize("shell, file", [("zsh", "_plimsoll"), ("fish", "plimsoll.fish")])
def test_completion_is_understood(shell, file):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", ROOT / "completions" / file], capture_output=True)
    assert done.returncode == 0 and done.stderr == b""


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs/man").iterdir()))
def test_manual_page_is_well_formed(page):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", ROOT / "docs/man" / page], capture_output=True, text=True)
    assert done.stdout == "", done.stdout


def functions_of_the_header():
    text = (ROOT / "include/plimsoll/plimsoll.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"\b(plimsoll_[a-z_]+)\(", text))


def test_symbol_list_is_the_header():
    listed = set(re.findall(r"^\t(plimsoll_[a-z_]+);", (ROOT / "src/lib/plimsoll.sym").read_text(), flags=re.M))
    assert listed == functions_of_the_header()


def test_exported_symbols_are_the_list():
    done = subprocess.run(["nm", "-D", "--defined-only", LIB / "libplimsoll.so"], capture_output=True, text=True, check=True)
    symbols = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.split()[-2] != "A"}
    assert symbols == functions_of_the_header()


def test_manual_page_of_the_library_has_every_main_function():
    text = (ROOT / "docs/man/plimsoll.3").read_text()
    for function in functions_of_the_header():
        if not re.match(r"plimsoll_(result|evidence|tier|reason|doctor_)", function):
            assert re.search(rf"\b{function}\b", text), function


def test_header_is_plain_c_and_cpp(tmp_path):
    for compiler, standard, name in [("cc", "c99", "t.c"), ("c++", "c++11", "t.cc")]:
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        (tmp_path / name).write_text("#include <plimsoll/plimsoll.h>\nint main(void) { return 0; }\n")
        subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}", "-c",
                        tmp_path / name, "-o", os.devnull], check=True)


def test_minimal_example(plimsoll, wall, tmp_path):
    """As its first comment says; built against nothing but the header and the library."""
    example, program = ROOT / "examples/minimal.c", tmp_path / "minimal"
    lines = [line for line in example.read_text().splitlines() if line.strip()]
    assert len(lines) < 45
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", example, f"-L{LIB}", "-lplimsoll", f"-Wl,-rpath,{LIB}",
                    "-o", program], check=True)

    def minimal(*args):
        return subprocess.run([program, *args, BIN], capture_output=True, text=True, timeout=30)

    done = minimal("console.log(6*7)", wall)
    assert done.returncode == 0 and re.fullmatch(r"42\ntier (container|process), exit code 0\n", done.stdout)
    done = minimal("console.log(6*7)", "vm")
    assert done.stdout.startswith("refused: ") and done.stdout.endswith("(nothing ran)\n")
