"""What `make` says when the machine lacks something: one line that tells what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def fake_python(folder: Path, fails_at: str) -> Path:
    """A stand-in for python3 that fails at one step of the installation and does nothing else."""
    script = folder / "python3"
    script.write_text(f'#!/bin/sh\ncase "$*" in *{fails_at}*) exit 1;; esac\nexit 0\n')
    script.chmod(0o755)
    return script


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = ["make", *arguments, f"VENV={folder / 'venv'}", f"BIN={folder}"]
    env = {k: v for k, v in os.environ.items() if k not in ("CI", "MAKEFLAGS")} | environment
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("fails_at", "says"),
    [
        ("version_info", "Python 3.11 or newer is needed"),
        ("'-m venv'", "apt-get install python3-venv"),
        ("'pip install'", "no wheel for this Python"),
    ],
)
def test_a_failed_installation_says_what_to_do_in_one_line(tmp_path, fails_at, says):
    python = fake_python(tmp_path, fails_at)
    (tmp_path / "python").symlink_to(python)
    done = make(tmp_path, "book", f"PYTHON={python}")
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("make: ")]
    assert [line for line in lines if says in line], done.stderr


def test_help_names_every_target_of_the_readme():
    done = make(ROOT, "help")
    for target in ("make book", "make test", "make notebooks", "make lint", "make release-check"):
        assert target in done.stdout


def test_without_chromium_one_line_says_what_to_install_or_how_to_do_without(tmp_path):
    script = ROOT / "tests" / "book" / "chromium.py"
    empty = {"PATH": str(tmp_path), "CHROMIUM": ""}
    python = sys.executable
    alone = subprocess.run([python, script], env=empty, capture_output=True, text=True, check=False)
    assert alone.returncode == 1
    (line,) = alone.stderr.splitlines()
    assert "apt-get install chromium" in line
    assert "BROWSER=no" in line
    without = subprocess.run(
        [python, script, "--browser", "no"], env=empty, capture_output=True, text=True, check=False
    )
    assert without.returncode == 0
    assert "left out" in without.stdout
