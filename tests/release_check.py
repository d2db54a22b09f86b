"""The long checks, before a release: `make release-check`.

The mutations of PR-14 and PR-15 on a copy of the whole book, chapters with the package installed
from a wheel, two clean builds compared, and the environment for conda users.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from making import ROOT, edit, failed, make_book, succeeded
from nbclient import NotebookClient
from plain_notebook import load_claims, to_notebook

CHAPTERS = sorted(p.relative_to(ROOT) for p in (ROOT / "chapters").rglob("*.md"))
CHAPTER = Path("chapters/1-foundations/softmax-gradient.md")
CELL = "\n```{{code-cell}} ipython3\n{}\n```\n"


def copy_of_the_repository(target: Path) -> Path:
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def html(folder: Path) -> dict[str, str]:
    site = folder / "book" / "_build" / "html"
    return {p.relative_to(site).as_posix(): p.read_text("utf-8") for p in site.rglob("*.html")}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A copy of the whole book, built from nothing."""
    folder = copy_of_the_repository(tmp_path_factory.mktemp("clean") / "repository")
    succeeded(make_book(folder))
    return folder


@pytest.fixture
def book(built, tmp_path):
    """A fresh copy of the built book; its executed cells come from the cache."""
    return Path(shutil.copytree(built, tmp_path / "repository"))


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_two_clean_builds_give_the_same_pages(built, tmp_path):
    second = copy_of_the_repository(tmp_path / "second")
    succeeded(make_book(second))
    first, again = html(built), html(second)
    assert first.keys() == again.keys()
    assert [name for name in first if first[name] != again[name]] == []


def test_a_second_build_is_quick(book):
    import time

    start = time.monotonic()
    succeeded(make_book(book))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda p: p.stem)
def test_a_failing_cell_in_any_chapter(book, chapter):
    append(book / chapter, CELL.format("1/0"))
    text = failed(make_book(book))
    assert chapter.with_suffix("").as_posix() in text
    assert "ZeroDivisionError" in text


def test_a_cell_beyond_the_time_limit(book):
    edit(book / "_config.yml", r"timeout: 600", "timeout: 60")
    append(book / CHAPTER, CELL.format("import time; time.sleep(90)"))
    assert CHAPTER.stem in failed(make_book(book))


def test_an_unknown_kernel(book):
    edit(book / CHAPTER, r"name: python3", "name: conda-env-demo-py")
    assert CHAPTER.stem in failed(make_book(book))


def test_an_unresolved_reference_and_an_unresolved_citation(book):
    append(book / CHAPTER, "\nSee {ref}`no-such-place` and {cite:t}`nobody1899`.\n")
    text = failed(make_book(book))
    assert "no-such-place" in text
    assert "nobody1899" in text


def test_a_chapter_that_is_gone(book):
    (book / CHAPTER).unlink()
    assert CHAPTER.stem in failed(make_book(book))


def test_a_wrong_sign_in_the_library_stops_the_book(book):
    edit(book / "lib/logitlib/losses/__init__.py", r"\Z", "\n")  # no change of meaning: passes
    succeeded(make_book(book))
    append(
        book / "lib/logitlib/losses/softmax.py",
        "\n_right = softmax_cross_entropy\n\n\n"
        "def softmax_cross_entropy(logits, targets, *, reduction='mean'):\n"
        "    return _right(-logits, targets, reduction=reduction)\n",
    )
    assert CHAPTER.stem in failed(make_book(book))


def test_prose_alone_runs_no_cell(book):
    cache = book / "book" / "_build" / ".jupyter_cache"
    before = sorted(p.name for p in cache.rglob("base.ipynb"))
    append(book / CHAPTER, "\nOne more sentence, unheard of.\n")
    succeeded(make_book(book))
    assert any("One more sentence, unheard of." in page for page in html(book).values())
    assert sorted(p.name for p in cache.rglob("base.ipynb")) == before


def test_a_changed_result_runs_its_chapter_again(book):
    for chapter in CHAPTERS:
        text = (book / chapter).read_text(encoding="utf-8")
        for name in re.findall(r"book/results/[\w-]+\.jsonl", text.split("---")[1]):
            (book / name).write_text("not a result\n", encoding="utf-8")
            assert chapter.stem in failed(make_book(book))
            return
    pytest.fail("no chapter depends on a recorded result")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package installed from a wheel, in a folder that goes first on the path."""
    folder = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_repository(folder / "source")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(source)], check=True)
    (file,) = folder.glob("*.whl")
    target = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(file)], check=True)
    return target


@pytest.mark.parametrize("start", ["root", "own folder"])
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda p: p.stem)
def test_a_chapter_runs_with_the_wheel_from(chapter, start, wheel, tmp_path, monkeypatch):
    folder = copy_of_the_repository(tmp_path / "repository")
    shutil.rmtree(folder / "lib")
    monkeypatch.setenv("PYTHONPATH", str(wheel))
    text = (folder / chapter).read_text(encoding="utf-8")
    notebook = to_notebook(text, load_claims(folder / "book" / "claims.yml"))
    first = "import logitlib; from pathlib import Path\n"
    first += f"assert Path(logitlib.__file__).is_relative_to({str(wheel)!r})"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first))
    place = folder if start == "root" else (folder / chapter).parent
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": place}}).execute()


def test_the_pip_section_of_environment_yml_resolves(tmp_path):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (section,) = (item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    requirements = copy_of_the_repository(tmp_path / "repository") / "environment.txt"
    requirements.write_text("\n".join(section), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [
        str(tmp_path / "venv" / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
    ]
    command = [*pip, "--requirement", requirements.name]
    subprocess.run(command, cwd=requirements.parent, env=dict(os.environ), check=True)
