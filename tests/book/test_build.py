"""What makes the build fail, and what makes a chapter run again (PR-14 and PR-15).

Each test builds a miniature book: the configuration and extensions of the real one, one small
chapter, and a stand-in for the library. `make release-check` does the same to the whole book.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

CHAPTER = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec:
  display_name: Python 3
  language: python
  name: python3
depends: [book/results/study.json]
---
# A small chapter

One sentence of prose, and $e^{i\\pi} = -1$.

```{code-cell} ipython3
import json, os, time
from logitlib.losses import scale

with open(os.environ["LOGITLIB_TEST_LOG"], "a") as log:
    log.write("ran\\n")
print("scale is", scale())
```

```{code-cell} ipython3
print("recorded", json.load(open("../book/results/study.json"))["value"])
```
"""


class Book:
    """A miniature book in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder, self.log = folder, folder / "runs.log"
        for name in ("_ext", "_static", "_templates"):
            shutil.copytree(ROOT / "book" / name, folder / "book" / name)
        shutil.copy(ROOT / "book" / "claims.yml", folder / "book")
        self.write("book/index.md", "# Front page\n\nWelcome.\n")
        self.write("book/references.bib", "@book{known, title={T}, author={A, B}, year={2000}}\n")
        self.write("book/results/study.json", '{"value": 1}')
        self.write("chapters/small.md", CHAPTER)
        self.write("lib/logitlib/__init__.py", "")
        self.write("lib/logitlib/losses/__init__.py", "from logitlib.losses.scales import scale\n")
        self.write("lib/logitlib/losses/scales.py", "def scale():\n    return 3\n")
        self.write("lib/logitlib/losses/other.py", "UNUSED = 1\n")
        config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        config["execute"]["timeout"] = 10
        self.write("_config.yml", yaml.safe_dump(config))
        self.write(
            "_toc.yml", "format: jb-book\nroot: book/index\nchapters: [{file: chapters/small}]\n"
        )
        # finished parts need their evidence, which is in the real chapters
        self.edit("book/claims.yml", r"^finished_parts:.*", "finished_parts: []")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, pattern: str, replacement: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        new, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert count, f"{pattern!r} is not in {name}"
        self.write(name, new)

    def add_cell(self, source: str) -> None:
        text = (self.folder / "chapters/small.md").read_text(encoding="utf-8")
        cell = f"\n```{{code-cell}} ipython3\n{textwrap.dedent(source).strip()}\n```\n"
        self.write("chapters/small.md", text + cell)

    def build(self) -> subprocess.CompletedProcess:
        """Run the book recipe of the Makefile, with this folder's library first on the path."""
        env = os.environ | {
            "PYTHONPATH": str(self.folder / "lib"),
            "LOGITLIB_TEST_LOG": str(self.log),
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        shutil.copy(ROOT / "Makefile", self.folder)
        for name in ("pyproject.toml", "requirements.lock"):
            shutil.copy(ROOT / name, self.folder)
        bin_folder = Path(sys.executable).parent
        # this Python is installed already: an old stamp would start an installation
        command = ["make", "book", f"BIN={bin_folder}", "STAMP=Makefile"]
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )

    def page(self) -> str:
        return (self.folder / "book/_build/html/chapters/small.html").read_text(encoding="utf-8")

    def runs(self) -> int:
        return self.log.read_text().count("ran") if self.log.exists() else 0


def failed(result: subprocess.CompletedProcess) -> str:
    """Everything that a failed build printed, without colours."""
    assert result.returncode != 0, result.stdout
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout + result.stderr)


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path / "book")


@pytest.fixture(scope="module")
def built_once(tmp_path_factory):
    """A book that has been built, to copy: saves the first build in tests of the second."""
    book = Book(tmp_path_factory.mktemp("built") / "book")
    result = book.build()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "scale is 3" in book.page()
    assert book.runs() == 1
    return book


def test_an_unchanged_book_runs_nothing_again(built_once):
    assert built_once.build().returncode == 0
    assert built_once.runs() == 1


def test_a_changed_module_runs_its_chapter_again_and_only_then(built_once):
    before = built_once.runs()
    built_once.edit("lib/logitlib/losses/other.py", "UNUSED = 1", "UNUSED = 2")
    assert built_once.build().returncode == 0
    assert built_once.runs() == before
    built_once.edit("lib/logitlib/losses/scales.py", "return 3", "return 4")
    assert built_once.build().returncode == 0
    assert built_once.runs() == before + 1
    assert "scale is 4" in built_once.page()
    assert "scale is 3" not in built_once.page()


def test_changed_prose_is_shown_and_runs_nothing(built_once):
    before = built_once.runs()
    built_once.edit("chapters/small.md", "One sentence of prose", "Another sentence")
    assert built_once.build().returncode == 0
    assert "Another sentence" in built_once.page()
    assert built_once.runs() == before


def test_a_changed_result_runs_the_chapter_that_names_it(built_once):
    before = built_once.runs()
    built_once.edit("book/results/study.json", r"\d+", "2")
    assert built_once.build().returncode == 0
    assert built_once.runs() == before + 1
    assert "recorded 2" in built_once.page()


def test_a_failing_cell_fails_each_build_and_is_named(book):
    book.add_cell("1/0")
    for _ in range(2):  # once failed, a build must not turn green by being run again
        text = failed(book.build())
        assert "chapters/small" in text
        assert "ZeroDivisionError" in text
        assert "1/0" in text


def test_a_cell_that_takes_too_long_fails(book):
    book.add_cell("time.sleep(60)")
    text = failed(book.build())
    assert "chapters/small" in text
    assert "timeout" in text.lower() or "timed out" in text.lower()


def test_a_cell_that_warns_fails(book):
    book.add_cell("import warnings; warnings.warn('careful')")
    assert "chapters/small" in failed(book.build())


def test_an_unknown_kernel_fails(book):
    book.edit("chapters/small.md", "name: python3", "name: conda-env-demo-py")
    text = failed(book.build())
    assert "chapters/small" in text
    assert "conda-env-demo-py" in text


@pytest.mark.parametrize(
    ("prose", "said"),
    [
        ("See [there](nowhere.md).", "nowhere.md"),
        ("See {ref}`no-such-label`.", "no-such-label"),
        ("As {cite:t}`nobody1999` says.", "nobody1999"),
        ("```{claim} SM-999\n```", "SM-999"),
    ],
)
def test_what_points_at_nothing_fails(book, prose, said):
    book.edit("chapters/small.md", "One sentence of prose.*", prose.replace("\\", "\\\\"))
    text = failed(book.build())
    assert "small.md" in text
    assert said in text


def test_a_missing_chapter_fails(book):
    (book.folder / "chapters/small.md").unlink()
    assert "chapters/small" in failed(book.build())


def test_a_removed_chapter_leaves_no_page(built_once, tmp_path):
    shutil.copytree(built_once.folder, tmp_path / "copy")
    book = Book.__new__(Book)
    book.folder, book.log = tmp_path / "copy", tmp_path / "copy" / "runs.log"
    (book.folder / "chapters/small.md").unlink()
    book.write("_toc.yml", "format: jb-book\nroot: book/index\n")
    assert book.build().returncode == 0
    assert not (book.folder / "book/_build/html/chapters/small.html").exists()
