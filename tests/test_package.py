"""The package as its users meet it: light, typed, documented, and doing what the README says."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import logitlib

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
API = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "book" / "api").glob("*.md")}
PUBLIC = ("losses", "metrics", "datasets", "studies")


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert logitlib.__version__ == project["version"]
    assert f"\nversion: {logitlib.__version__}\n" in citation


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, logitlib, logitlib.cli; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    assert python(code).strip() == "[]"


def test_importing_a_module_has_no_side_effects():
    code = (
        "import torch; before = torch.get_num_threads(), torch.initial_seed()\n"
        "import logitlib.losses, logitlib.metrics, logitlib.datasets, logitlib.training\n"
        "assert before == (torch.get_num_threads(), torch.initial_seed())\n"
        "import sys; print('matplotlib' in sys.modules, 'sympy' in sys.modules)"
    )
    assert python(code).strip() == "False False"


def test_the_readme_code_runs_and_says_what_it_prints():
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(block.strip().splitlines()) <= 13
    assert float(python(block)) == pytest.approx(1.0)


def test_the_readme_links_to_files_that_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    module = import_module(f"logitlib.{name}")
    assert f"logitlib.{name}" in API[name]
    assert module.__all__
    for public in module.__all__:
        doc = getattr(module, public).__doc__
        assert doc, f"{public} has no docstring"
        assert len(doc.split()) > 5, public


def test_the_lock_names_no_build_of_one_machine():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!]*", line) for line in lock)


def test_the_lock_holds_every_direct_dependency_within_its_range():
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    )
    extras = project["optional-dependencies"].values()
    for text in [*project["dependencies"], *(item for extra in extras for item in extra)]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(locked[requirement.name.lower()], prereleases=True)
