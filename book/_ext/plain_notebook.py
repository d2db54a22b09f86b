"""Chapters as notebooks that any Jupyter shows well.

A chapter's prose uses directives and roles that only the book's builder knows. `to_notebook`
turns them into plain markdown: a claim becomes a quotation, a theorem a bold heading, a role its
text. Used for the downloads of the site and by `make notebooks`.

Usage: python plain_notebook.py CHAPTERS OUT
"""

import re
import sys
from pathlib import Path

import jupytext
import yaml

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"^(`{3,}|:{3,})\{([\w:-]+)\}[ ]*([^\n]*)\n(.*?)^\1[ ]*$\n?", re.MULTILINE | re.DOTALL
)
OPTION = re.compile(r"^:[\w-]+:.*\n", re.MULTILINE)
LABEL = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
ROLE = re.compile(r"\{([\w:-]+)\}`(?:([^`<]*?)\s*<[^`>]*>|([^`]*))`")
EQUATION_LABEL = re.compile(r"^\$\$ \(([\w-]+)\)$", re.MULTILINE)


def load_claims(path: Path) -> dict:
    ledger = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {claim["id"]: claim for claim in ledger["claims"]}


def plain_markdown(text: str, claims: dict) -> str:
    """Markdown without the builder's own directives, roles and labels."""
    text, before = EQUATION_LABEL.sub("$$", LABEL.sub("", text)), None
    while before != text:  # directives inside directives
        before, text = text, FENCE.sub(lambda m: directive(m[2], m[3].strip(), m[4], claims), text)
    return ROLE.sub(role, text)


def directive(name: str, argument: str, body: str, claims: dict) -> str:
    body = OPTION.sub("", body)
    if name == "claim":
        # an unknown id is reported by the directive itself
        claim = claims.get(argument, {"verdict": "unknown", "claim": ""})
        return f"> **Claim {argument}** ({claim['verdict']}): {claim['claim']}\n"
    if name == "math":
        return f"$$\n{body.strip()}\n$$\n"
    title = name.split(":")[-1].capitalize()
    heading = (
        f"**{title}** ({argument})"
        if argument and name.startswith("prf:")
        else f"**{argument or title}**"
    )
    return f"{heading}\n\n{body}"


def role(match: re.Match) -> str:
    text = match[2] or match[3]
    if match[1].startswith("glue"):
        return f"`{text.split(':')[0]}`"  # the variable of that name, computed in a cell
    if match[1].startswith("cite"):
        return f"[{text}]"
    return text


def to_notebook(text: str, claims: dict):
    """The notebook of a chapter's MyST source, with plain markdown cells."""
    notebook = jupytext.reads(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        # the same id from build to build
        cell["id"] = f"cell-{number}"
        if cell.cell_type == "markdown":
            cell.source = plain_markdown(cell.source + "\n", claims).strip()
        cell.metadata.pop("mystnb", None)
    notebook.metadata.pop("jupytext", None)
    return notebook


def main(chapters: str, out: str) -> None:
    claims = load_claims(ROOT / "book" / "claims.yml")
    for path in sorted(Path(chapters).rglob("*.md")):
        target = (Path(out) / path.relative_to(chapters)).with_suffix(".ipynb")
        target.parent.mkdir(parents=True, exist_ok=True)
        jupytext.write(to_notebook(path.read_text(encoding="utf-8"), claims), target, fmt="ipynb")
        print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
