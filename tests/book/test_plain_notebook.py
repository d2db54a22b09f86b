"""Chapters as plain notebooks: what is left of directives and roles, and that one runs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from plain_notebook import ROOT, load_claims, main, plain_markdown, to_notebook

CHAPTERS = sorted((ROOT / "chapters").rglob("*.md"))
CLAIMS = {"SM-1": {"claim": "the gradient is $p - e_y$", "verdict": "holds"}}


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("```{claim} SM-1\n```\n", "> **Claim SM-1** (holds): the gradient is $p - e_y$\n"),
        ("(sec-x)=\n## Title\n", "## Title\n"),
        ("see {cite:t}`bridle1990`.", "see [bridle1990]."),
        ("is {glue:text}`slope:.3f` nats", "is `slope` nats"),
        ("by {prf:ref}`thm-x`", "by thm-x"),
        ("by {ref}`the theorem <thm-x>`", "by the theorem"),
        ("$$\na = b\n$$ (eq-x)\n", "$$\na = b\n$$ (eq-x)\n"),
        ("$$ (eq-x)\n", "$$\n"),
        (
            "```{prf:theorem} Gibbs\n:label: thm-x\n\nText.\n```\n",
            "**Theorem** (Gibbs)\n\n\nText.\n",
        ),
        ("````{note}\n```{math}\na\n```\n````\n", "**Note**\n\n$$\na\n$$\n"),
        ("```python\nx = {1}\n```\n", "```python\nx = {1}\n```\n"),
    ],
)
def test_plain_markdown(source, plain):
    assert plain_markdown(source, CLAIMS) == plain.replace("$$ (eq-x)", "$$")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_no_directive_or_role_is_left(path):
    text = path.read_text(encoding="utf-8")
    notebook = to_notebook(text, load_claims(ROOT / "book" / "claims.yml"))
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert not re.search(r"^(```|:::)\{|\{[\w:]+\}`|^\([\w-]+\)=$", prose, re.MULTILINE)
    assert notebook == to_notebook(text, load_claims(ROOT / "book" / "claims.yml"))


def test_make_notebooks_writes_every_chapter_and_one_runs_in_another_folder(tmp_path, monkeypatch):
    main(str(ROOT / "chapters"), str(tmp_path / "notebooks"))
    written = sorted(p.stem for p in (tmp_path / "notebooks").rglob("*.ipynb"))
    assert written == sorted(p.stem for p in CHAPTERS)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = shutil.copy(next((tmp_path / "notebooks").rglob("softmax-gradient.ipynb")), elsewhere)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": elsewhere}}).execute()


def test_the_command_of_make_notebooks_works(tmp_path):
    script = ROOT / "book" / "_ext" / "plain_notebook.py"
    command = [sys.executable, str(script), str(ROOT / "chapters"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (
        len(done.stdout.splitlines()) == len(CHAPTERS) == len(list(Path(tmp_path).rglob("*.ipynb")))
    )
