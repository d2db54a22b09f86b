"""A toy study in a package of its own, with a folder for its results."""

import sys

import pytest

STUDY = '''"""Squares, plus one."""
from dataclasses import dataclass
from pathlib import Path

from toylib import square

TOLERANCES = {}


@dataclass(frozen=True)
class Config:
    numbers: tuple[int, ...]
    shift: float = 1.0


PRESETS = {"quick": Config((1, 2)), "full": Config((1, 2, 3, 4))}
HERE = Path(__file__).parent


def units(config, seeds):
    return [{"x": x, "seed": seed} for x in config.numbers for seed in seeds]


def run_unit(config, *, x, seed):
    with (HERE / "log").open("a") as log:
        log.write(f"{x}/{seed} ")
    if (HERE / "stop").exists() and x == 3:
        raise KeyboardInterrupt
    return [{"x": x, "seed": seed, "y": square(x) + config.shift}]


def summarise(config, rows):
    return [*rows, {"total": sum(row["y"] for row in rows)}]


def run(config, *, seed):
    return summarise(config, [run_unit(config, **unit) for unit in units(config, [seed])])
'''


class Toy:
    """The toy's files, and what was run."""

    name = "toylib.study"

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "toylib"
        self.results = folder / "book" / "results"
        self.package.mkdir()
        self.results.mkdir(parents=True)
        self.edit("__init__.py", "from toylib.maths import square\n")
        self.edit("maths.py", "def square(x):\n    return x * x / 3\n")
        self.edit("study.py", STUDY)

    def edit(self, file, text):
        (self.package / file).write_text(text)
        self.forget()

    def replace(self, file, old, new):
        text = (self.package / file).read_text()
        assert old in text
        self.edit(file, text.replace(old, new))

    def forget(self):
        """Let the next import read the files again."""
        for name in [name for name in sys.modules if name.partition(".")[0] == "toylib"]:
            del sys.modules[name]

    def log(self):
        """Units that ran since the last call, as "x/seed"."""
        log = self.package / "log"
        text = log.read_text() if log.exists() else ""
        log.unlink(missing_ok=True)
        return text.split()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    # an edit within the same second must not be hidden by a compiled file
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    toy = Toy(tmp_path)
    yield toy
    toy.forget()
