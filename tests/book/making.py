"""Run `make book` in a copy of the book, with the Python of this test run."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make_book(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """The Makefile's recipe for the book in `folder`, whose own library comes first."""
    stamp = folder / ".installed"
    stamp.touch()  # newer than all it depends on: this Python has everything, install nothing
    command = ["make", "book", f"BIN={Path(sys.executable).parent}", f"STAMP={stamp.name}"]
    env = os.environ | {"PYTHONPATH": str(folder / "lib")} | environment
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def edit(path: Path, pattern: str, replacement: str) -> None:
    """Replace a pattern that must be there."""
    text = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert count, f"{pattern!r} is not in {path.name}"
    path.write_text(new, encoding="utf-8")


def succeeded(result: subprocess.CompletedProcess) -> None:
    assert result.returncode == 0, result.stdout + result.stderr


def failed(result: subprocess.CompletedProcess) -> str:
    """Everything that a failed build printed, without colours."""
    assert result.returncode != 0, result.stdout
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)
