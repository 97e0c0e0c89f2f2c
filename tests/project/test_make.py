"""The environment that the Makefile makes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("Makefile", "setup.cfg", "pyproject.toml", "requirements.lock", "tests/tools.lock",
         "tests/unpack_tools.py")


def program(path: Path, text: str) -> Path:
    """Write a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with an environment that is newer than what it is made of."""
    (tmp_path / "tests").mkdir()
    for name in FILES:
        shutil.copyfile(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (0, 0))
    program(tmp_path / ".venv/bin/python", f'exec {sys.executable} "$@"')
    for name in (".ready", ".tests", ".tools"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def planned(folder: Path, *arguments: str, target: str = "environment", **variables: str) -> str:
    """Return what make would do for the environment, or another target."""
    return subprocess.run(["make", "--dry-run", target, *arguments], cwd=folder, check=True, text=True,
                          env={"PATH": os.environ["PATH"], **variables}, capture_output=True).stdout


def test_it_is_kept(folder):
    """It has the interpreter that is asked for, or none is."""
    for told in (planned(folder), planned(folder, f"PYTHON={sys.executable}"),
                 planned(folder, PYTHON=sys.executable)):
        assert "-m venv" not in told


@pytest.mark.parametrize("text", ["echo /opt/python 3.13.0", "exit 1"])
def test_it_is_made_again_with_another_interpreter(folder, text):
    """The recipe refuses one that does not run before it removes anything."""
    other = str(program(folder / "python", text))
    for told in (planned(folder, f"PYTHON={other}"), planned(folder, PYTHON=other)):
        assert told.index("sys.version_info") < told.index(f"{other} -m venv --clear")


@pytest.mark.parametrize(("target", "extras"), [
    ("demo", ["fakes"]),
    ("test", ["fakes", "test"]),
    ("bench", ["fakes", "test"]),
    ("audit", ["fakes", "lock"]),
])
def test_a_target_installs_what_it_needs(folder, target, extras):
    """The demo does without the linters and the tests' libraries."""
    (folder / ".venv/.ready").unlink()
    (folder / ".venv/.tests").unlink()
    assert re.findall(r"--editable '\.\[(\w+)\]'", planned(folder, target=target)) == extras


def test_one_that_will_not_do_changes_nothing(folder):
    done = subprocess.run(["make", "environment", "PYTHON=/nowhere/python3"], cwd=folder, text=True,
                          env={"PATH": os.environ["PATH"]}, capture_output=True, check=False)
    assert done.returncode != 0
    assert "/nowhere/python3 is not there" in done.stderr
    assert (folder / ".venv/.ready").exists()
