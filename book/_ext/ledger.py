"""The ledger of claims: read it, check it, and hold it against the cells that are its evidence.

Nothing here knows of Sphinx: the build (``claims.py``) and the tests call the same functions.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import jupytext
import yaml
from IPython.core.inputtransformer2 import TransformerManager

VERDICTS = {
    "holds": "proved or measured as stated",
    "qualified": "true only under a condition that its source leaves out",
    "refuted": "contradicted by a counterexample or a measurement",
    "recorded": "a published figure whose data we do not have, quoted with its source",
    "open": "tried, and not decided by what we tried",
}
UNEXAMINED = "not yet examined"
SHAPE = {"parts": dict, "finished_parts": list, "sources": dict, "claims": list}
KINDS = ("symbolic", "numeric", "empirical", "quoted")
TAG = re.compile(r"(verifies|records)-(\S+)")
# a cell with one of these tags is no evidence: nobody sees it, or it may fail unnoticed
NOT_SHOWN = {"remove-cell", "remove_cell", "remove-input", "remove_input"}
NOT_BINDING = {"raises-exception", "skip-execution"}


class LedgerError(ValueError):
    """The ledger file breaks one of its rules."""


@dataclass(frozen=True)
class Claim:
    """One checkable statement; ``claim``, ``note`` and ``tried`` are MyST Markdown."""

    id: str
    part: int
    source: str
    kind: str
    claim: str
    verdict: str
    note: str = ""  # what decides the verdict
    tried: str = ""  # of an open claim: what was tried


@dataclass(frozen=True)
class Source:
    """Where claims come from; ``cite`` is a key of the bibliography."""

    text: str
    cite: str = ""


@dataclass(frozen=True)
class Ledger:
    """All claims by id, in the order of the file."""

    parts: dict[int, str]
    finished_parts: tuple[int, ...]
    sources: dict[str, Source]
    claims: dict[str, Claim]

    def verdict(self, claim: Claim) -> str:
        """Return the verdict to print: none before the claim's part is finished."""
        return claim.verdict if claim.part in self.finished_parts else UNEXAMINED


def load_ledger(path: Path) -> Ledger:
    """Read the ledger file; a LedgerError names the file and the entry that is wrong."""
    try:
        return _ledger(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (LedgerError, yaml.YAMLError) as error:
        raise LedgerError(f"{path.name}: {error}") from error


def _ledger(raw: object) -> Ledger:
    raw = _mapping("the file", raw, Ledger)
    for name, kind in SHAPE.items():
        if not isinstance(raw[name], kind):
            raise LedgerError(f"{name} must be a {kind.__name__}, got {raw[name]!r}")
    parts = raw["parts"]
    for part in raw["finished_parts"]:
        _one_of("finished_parts", "part", part, parts)
    sources = {
        name: Source(**_mapping(f"source {name}", entry, Source))
        for name, entry in raw["sources"].items()
    }
    claims: dict[str, Claim] = {}
    for number, entry in enumerate(raw["claims"], start=1):
        where = entry.get("id") if isinstance(entry, dict) else None
        claim = Claim(**_mapping(where or f"claim number {number}", entry, Claim))
        if claim.id in claims:
            raise LedgerError(f"{claim.id}: this id is used twice")
        _check_claim(claim, parts, sources)
        claims[claim.id] = claim
    return Ledger(parts, tuple(raw["finished_parts"]), sources, claims)


def _check_claim(claim: Claim, parts: Iterable[int], sources: Iterable[str]) -> None:
    if not re.fullmatch(r"[A-Z]+-[1-9]\d*", claim.id):
        raise LedgerError(f"{claim.id}: an id is capitals, a hyphen and a number, like SM-1")
    _one_of(claim.id, "part", claim.part, parts)
    _one_of(claim.id, "source", claim.source, sources)
    _one_of(claim.id, "kind", claim.kind, KINDS)
    _one_of(claim.id, "verdict", claim.verdict, VERDICTS)
    if claim.verdict in ("qualified", "refuted") and not claim.note:
        raise LedgerError(f"{claim.id}: {claim.verdict} needs a note that says what decides it")
    if claim.tried and claim.verdict != "open":
        raise LedgerError(f"{claim.id}: only an open claim has a field tried")


def _mapping(where: str, entry: object, model: type) -> dict:
    """Check that the entry has the fields of the model, and text where text is due."""
    if not isinstance(entry, dict):
        raise LedgerError(f"{where}: expected a mapping, got {entry!r}")
    known = {field.name: field for field in fields(model)}
    if unknown := [str(key) for key in entry if key not in known]:
        raise LedgerError(
            f"{where}: unknown key {', '.join(unknown)}; known are {', '.join(known)}"
        )
    for name, field in known.items():
        value = entry.get(name)
        if field.type is str and name in entry and not (isinstance(value, str) and value.strip()):
            raise LedgerError(f"{where}: {name} must be a text that is not empty, got {value!r}")
        if name not in entry and field.default != "":
            raise LedgerError(f"{where}: {name} is missing")
    return entry


def _one_of(where: str, name: str, value: object, allowed: Iterable) -> None:
    if value not in list(allowed):
        accepted = ", ".join(map(str, allowed))
        raise LedgerError(f"{where}: unknown {name} {value!r}; accepted are {accepted}")


@dataclass(frozen=True)
class Evidence:
    """A code cell tagged ``verifies-<id>`` or ``records-<id>``; ``flaw`` says why it is none."""

    claim: str
    role: str
    page: str
    flaw: str = ""


def evidence_cells(text: str, page: str) -> list[Evidence]:
    """List the tagged cells of a page, given its MyST text and a name for messages."""
    if not TAG.search(text):
        return []
    return [
        Evidence(claim, role, page, _flaw(role, cell.source, set(cell.metadata["tags"])))
        for cell in jupytext.reads(text, fmt="md:myst").cells
        if cell.cell_type == "code"
        for role, claim in evidence_tags(cell.metadata)
    ]


def evidence_tags(metadata: dict) -> Iterator[tuple[str, str]]:
    """Yield role and claim id of each evidence tag in a cell's metadata."""
    for tag in metadata.get("tags", []):
        if match := TAG.fullmatch(tag):
            yield match[1], match[2]


def _flaw(role: str, source: str, tags: set[str]) -> str:
    if hidden := tags & NOT_SHOWN:
        return f"is not shown ({', '.join(sorted(hidden))})"
    if loose := tags & NOT_BINDING:
        return f"may fail unnoticed ({', '.join(sorted(loose))})"
    if role == "verifies" and not _asserts(source):
        return "asserts nothing"
    return ""


def _asserts(source: str) -> bool:
    """Whether running the cell checks something: an assert that is outside of any function.

    An assert in a function proves nothing unless the function is called, and one on a constant
    or on a tuple cannot fail.
    """
    try:
        queue: list[ast.AST] = [ast.parse(TransformerManager().transform_cell(source))]
    except SyntaxError:
        return False
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Assert) and not isinstance(node.test, (ast.Constant, ast.Tuple)):
            return True
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called.startswith("assert_"):
                return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            queue += ast.iter_child_nodes(node)
    return False


def evidence_problems(ledger: Ledger, cells: Iterable[Evidence]) -> list[str]:
    """Say what is wrong between the claims and the cells that are to be their evidence."""
    problems = []
    found: dict[str, list[Evidence]] = {}
    for cell in cells:
        found.setdefault(cell.claim, []).append(cell)
        tag = f"{cell.role}-{cell.claim}"
        if cell.claim not in ledger.claims:
            problems.append(f"{cell.page}: no claim has the id that the tag {tag} names")
        elif cell.flaw:
            problems.append(f"{cell.page}: the cell tagged {tag} {cell.flaw}")
    for claim in ledger.claims.values():
        mine = found.get(claim.id, [])
        pages = sorted({cell.page for cell in mine})
        if len(pages) > 1:
            problems.append(
                f"{claim.id}: evidence belongs on one page, found {' and '.join(pages)}"
            )
        if missing := _missing(ledger.verdict(claim), claim, {cell.role for cell in mine}):
            problems.append(f"{claim.id}: {missing}")
    return problems


def _missing(verdict: str, claim: Claim, roles: set[str]) -> str:
    if verdict == UNEXAMINED:
        return ""
    if verdict == "open":
        return "" if claim.tried else "open in a finished part needs a field tried: what was tried"
    role = "records" if verdict == "recorded" else "verifies"
    return "" if role in roles else f"{verdict}, but no cell is tagged {role}-{claim.id}"
