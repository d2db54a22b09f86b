"""Sphinx extension: claims with their verdict and their evidence.

* ``{claim} SM-1`` prints the claim's box, on notebooks and plain pages alike.
* ``{claims-ledger}`` prints the table of all claims with its filter.
* A cell tagged ``verifies-SM-1`` or ``records-SM-1`` gets the anchor ``evidence-sm-1``, to which
  both link. Rows of the ledger have anchors of the form ``claim-sm-1``.

Claims come from ``book/claims.yml``. An unknown id and missing evidence are warnings.
"""

from collections.abc import Iterable
from pathlib import Path

from claim_directives import (
    ClaimBox,
    ClaimLink,
    ClaimsLedger,
    HtmlElement,
    ledger_path,
    set_label,
)
from docutils import nodes
from ledger import (
    Evidence,
    LedgerError,
    evidence_cells,
    evidence_problems,
    evidence_tags,
    load_ledger,
)
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def read_ledger(app: Sphinx) -> None:
    try:
        app.claims_ledger = load_ledger(ledger_path(app))
    except (LedgerError, OSError) as error:
        raise ExtensionError(str(error)) from error


class EvidenceAnchors(SphinxTransform):
    """Give a label to the first cell that is tagged as evidence of a claim."""

    default_priority = 840  # before Sphinx collects the labels

    def apply(self) -> None:
        for cell in self.document.findall(nodes.container):
            for _, claim in evidence_tags(cell.get("cell_metadata", {})):
                set_label(self.document, cell, f"evidence-{claim.lower()}")


class ClaimsCollector(EnvironmentCollector):
    """Keep the evidence on each page, and know which pages link to claims."""

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        evidence_by_page(env).pop(docname, None)
        pages_with_links(env).discard(docname)

    def merge_other(self, app, env, docnames: Iterable[str], other: BuildEnvironment) -> None:
        pages_with_links(env).update(pages_with_links(other) & set(docnames))
        for docname in docnames:
            evidence_by_page(env)[docname] = evidence_by_page(other)[docname]

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        env, page = app.env, app.env.docname
        text = Path(env.doc2path(page)).read_text(encoding="utf-8")
        evidence_by_page(env)[page] = evidence_cells(text, page)
        if next(doctree.findall(ClaimLink), None):
            pages_with_links(env).add(page)

    def get_updated_docs(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """Pages to write again because a link on them leads elsewhere than it did."""
        labels = env.get_domain("std").anonlabels
        targets = {k: v for k, v in labels.items() if k.startswith(("claim-", "evidence-"))}
        moved = targets != getattr(env, "claims_targets", None)
        env.claims_targets = targets
        return sorted(pages_with_links(env)) if moved else []


def evidence_by_page(env: BuildEnvironment) -> dict[str, list[Evidence]]:
    return env.__dict__.setdefault("claims_evidence", {})


def pages_with_links(env: BuildEnvironment) -> set[str]:
    return env.__dict__.setdefault("claims_pages", set())


def check_evidence(app: Sphinx, env: BuildEnvironment) -> None:
    pages = evidence_by_page(env)
    cells = [cell for page in sorted(pages) for cell in pages[page]]
    for problem in evidence_problems(app.claims_ledger, cells):
        logger.warning("claims ledger: %s", problem, type="claims")


def resolve_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    labels = app.env.get_domain("std").anonlabels
    for node in list(doctree.findall(ClaimLink)):
        if node["to"] not in labels:
            node.parent.remove(node)
            continue
        page, anchor = labels[node["to"]]
        address = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
        node.replace_self(nodes.reference("", "", *node.children, refuri=address, internal=True))


def visit_html_element(self: HTML5Translator, node: HtmlElement) -> None:
    self.body.append(self.starttag(node, node["tag"], "", **node["attributes"]))


def depart_html_element(self: HTML5Translator, node: HtmlElement) -> None:
    self.body.append(f"</{node['tag']}>\n")


def setup(app: Sphinx) -> dict:
    app.add_node(HtmlElement, html=(visit_html_element, depart_html_element))
    app.add_directive("claim", ClaimBox)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_transform(EvidenceAnchors)
    app.add_env_collector(ClaimsCollector)
    app.connect("builder-inited", read_ledger)
    app.connect("env-updated", check_evidence)
    app.connect("doctree-resolved", resolve_links)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
