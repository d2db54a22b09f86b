"""The digest of a chapter: what it follows, and what it leaves alone."""

import pytest
from chapter_cache import Library, digest, imported_names

HEADER = "---\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n"


@pytest.fixture
def library(tmp_path):
    files = {
        "__init__.py": '"""Nothing."""\n__version__ = "1"\n',
        "losses/__init__.py": "from logitlib.losses.a import f\nfrom logitlib.losses.b import g\n",
        "losses/a.py": "from logitlib.losses._check import check\ndef f(): ...\n",
        "losses/b.py": "def g(): ...\n",
        "losses/_check.py": "def check(): ...\n",
        "data/__init__.py": "from logitlib.data.load import load\n",
        "data/load.py": "def load():\n    import logitlib.losses.b\n",
        "data/table.tsv": "1\n",
        "busy/__init__.py": "from logitlib.losses.a import f\nprint(f)\n",
    }
    for name, text in files.items():
        path = tmp_path / "lib" / "logitlib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Library(tmp_path / "lib")


def names(library, *imports):
    folder = library.folder / "logitlib"
    return {p.relative_to(folder).as_posix() for p in library.files(imports)}


def test_a_name_is_followed_through_a_reexport_to_its_module_alone(library):
    assert names(library, "logitlib.losses.f") == {"losses/a.py", "losses/_check.py"}


def test_a_whole_package_brings_all_that_it_exports(library):
    everything = {"losses/__init__.py", "losses/a.py", "losses/b.py", "losses/_check.py"}
    assert names(library, "logitlib.losses") == everything


def test_data_files_and_imports_inside_functions_count(library):
    assert names(library, "logitlib.data.load") >= {"data/load.py", "data/table.tsv", "losses/b.py"}


def test_an_init_that_does_something_counts_itself(library):
    assert "busy/__init__.py" in names(library, "logitlib.busy.f")


def test_other_packages_are_left_alone(library):
    assert names(library, "numpy.linalg", "logitlibrary.x") == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import logitlib.losses as L", ["logitlib.losses"]),
        ("from logitlib.losses import f, g", ["logitlib.losses.f", "logitlib.losses.g"]),
        ("from . import b", ["logitlib.losses.b"]),
        ("from ._check import check", ["logitlib.losses._check.check"]),
        ("from logitlib.losses import *", ["logitlib.losses"]),
        ("import numpy", []),
    ],
)
def test_imported_names(source, found):
    assert list(imported_names(source, "logitlib", "logitlib.losses")) == found


def test_the_digest_moves_with_what_is_used_and_with_nothing_else(library, tmp_path):
    cell = "```{code-cell} ipython3\n%matplotlib inline\nfrom logitlib.losses import f\n```\n"
    text = HEADER.replace("---\nk", "---\ndepends: [result.json]\nk", 1) + cell
    (tmp_path / "result.json").write_text("1")

    def now():
        return digest(text, Library(tmp_path / "lib"), tmp_path)

    first = now()
    (tmp_path / "lib/logitlib/losses/b.py").write_text("def g(): return 1\n")
    assert now() == first
    (tmp_path / "result.json").write_text("2")
    second = now()
    assert second != first
    (tmp_path / "lib/logitlib/losses/_check.py").write_text("def check(): return 1\n")
    assert now() not in (first, second)
