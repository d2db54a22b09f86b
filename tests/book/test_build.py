"""What makes the build fail, and what makes a chapter run again (PR-14 and PR-15).

Each test builds a miniature book: the configuration and extensions of the real one, one small
chapter, and a stand-in for the library. `make release-check` does the same to the whole book.
"""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from making import ROOT, edit, failed, make_book, succeeded

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
        config["execute"]["timeout"] = 8
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
        edit(self.folder / name, pattern, replacement)

    def add_chapter(self, name: str, cell: str = "pass", edits=("", "")) -> None:
        """One more chapter: the small one, edited, with one more cell."""
        text, count = re.subn(*edits, CHAPTER)
        assert count, f"{edits[0]!r} is not in the chapter"
        self.write(f"chapters/{name}.md", f"{text}\n```{{code-cell}} ipython3\n{cell}\n```\n")
        edit(self.folder / "_toc.yml", r"\]", f", {{file: chapters/{name}}}]")

    def build(self):
        for name in ("Makefile", "pyproject.toml", "requirements.lock"):
            shutil.copy(ROOT / name, self.folder)
        return make_book(self.folder, LOGITLIB_TEST_LOG=str(self.log))

    def page(self) -> str:
        return (self.folder / "book/_build/html/chapters/small.html").read_text(encoding="utf-8")

    def runs(self) -> int:
        return self.log.read_text().count("ran") if self.log.exists() else 0


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path / "book")


@pytest.fixture(scope="module")
def built_once(tmp_path_factory):
    """A book that has been built, to copy: saves the first build in tests of the second."""
    book = Book(tmp_path_factory.mktemp("built") / "book")
    succeeded(book.build())
    assert "scale is 3" in book.page()
    assert book.runs() == 1
    return book


def test_an_unchanged_book_runs_nothing_again(built_once):
    succeeded(built_once.build())
    assert built_once.runs() == 1


def test_a_changed_module_runs_its_chapter_again_and_only_then(built_once):
    before = built_once.runs()
    built_once.edit("lib/logitlib/losses/other.py", "UNUSED = 1", "UNUSED = 2")
    succeeded(built_once.build())
    assert built_once.runs() == before
    built_once.edit("lib/logitlib/losses/scales.py", "return 3", "return 4")
    succeeded(built_once.build())
    assert built_once.runs() == before + 1
    assert "scale is 4" in built_once.page()
    assert "scale is 3" not in built_once.page()


def test_changed_prose_is_shown_and_runs_nothing(built_once):
    before = built_once.runs()
    built_once.edit("chapters/small.md", "One sentence of prose", "Another sentence")
    succeeded(built_once.build())
    assert "Another sentence" in built_once.page()
    assert built_once.runs() == before


def test_a_changed_style_sheet_reaches_the_site_and_runs_nothing(built_once):
    before = built_once.runs()
    built_once.edit("book/_static/site.css", r"\A", "/* edited */\n")
    succeeded(built_once.build())
    copied = built_once.folder / "book/_build/html/_static/site.css"
    assert copied.read_text(encoding="utf-8").startswith("/* edited */")
    assert built_once.runs() == before


def test_a_changed_result_runs_the_chapter_that_names_it(built_once):
    before = built_once.runs()
    built_once.edit("book/results/study.json", r"\d+", "2")
    succeeded(built_once.build())
    assert built_once.runs() == before + 1
    assert "recorded 2" in built_once.page()


def warnings_of(result):
    """Map page -> text of the warnings that a failed build gave about it."""
    found = {}
    for line in failed(result).splitlines():
        match = re.search(r"/([\w-]+)\.md\b.*(WARNING|ERROR)", line)
        if match:
            name = match[1]
            found[name] = found.get(name, "") + line
        elif found:
            found[name] += "\n" + line
    return found


def test_every_kind_of_failing_chapter_fails_each_build_and_is_named(book):
    kinds = {
        "raises": ("1/0", "ZeroDivisionError"),
        "slow": ("time.sleep(60)", "imeout"),
    }
    for name, (cell, _) in kinds.items():
        book.add_chapter(name, cell=cell)
    book.add_chapter("warns", cell="import warnings; warnings.warn('careful')")
    kinds["warns"] = ("", "stderr was found")  # and the line of the cell
    for _ in range(2):  # once failed, a build must not turn green by being run again
        named = warnings_of(book.build())
        assert named.keys() >= kinds.keys()
        for name, (cell, said) in kinds.items():
            assert said in named[name]
            assert cell in named[name]
    assert "small" not in named


def test_an_unknown_kernel_fails_and_is_named(book):
    book.add_chapter("kernel", edits=("name: python3", "name: conda-env-demo-py"))
    text = failed(book.build())
    assert "chapters/kernel" in text
    assert "conda-env-demo-py" in text


def test_every_pointer_at_nothing_fails_and_is_named(book):
    prose = {
        "page": ("See [there](nowhere.md).", "nowhere.md"),
        "label": ("See {ref}`no-such-label`.", "no-such-label"),
        "citation": ("As {cite:t}`nobody1999` says.", "nobody1999"),
        "claim": ("```{claim} SM-999\n```", "SM-999"),
    }
    for name, (text, _) in prose.items():
        book.add_chapter(name, edits=("One sentence of prose.*", text))
    named = warnings_of(book.build())
    for name, (_, said) in prose.items():
        assert said in named[name]


def test_a_missing_chapter_fails(book):
    (book.folder / "chapters/small.md").unlink()
    assert "chapters/small" in failed(book.build())


def test_a_removed_chapter_leaves_no_page(built_once, tmp_path):
    shutil.copytree(built_once.folder, tmp_path / "copy")
    book = Book.__new__(Book)
    book.folder, book.log = tmp_path / "copy", tmp_path / "copy" / "runs.log"
    (book.folder / "chapters/small.md").unlink()
    book.write("_toc.yml", "format: jb-book\nroot: book/index\n")
    succeeded(book.build())
    assert not (book.folder / "book/_build/html/chapters/small.html").exists()
