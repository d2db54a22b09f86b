"""What the book prints of its claims: the box of one claim, and the ledger of all."""

from collections import Counter
from html import escape
from pathlib import Path

from docutils import nodes
from ledger import UNEXAMINED, VERDICTS, Claim, Ledger
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

COLUMNS = ("Id", "Claim", "Verdict", "What decides it")
logger = logging.getLogger(__name__)


class HtmlElement(nodes.General, nodes.TextElement):
    """An HTML element that docutils has no node for."""


class ClaimLink(nodes.General, nodes.TextElement):
    """A link to the label ``to``; left out where no page has that label."""


def element(tag: str, *children: nodes.Node | str, classes=(), **attributes: str) -> HtmlElement:
    """Build an HTML element; underscores in the names of attributes become hyphens."""
    attributes = {name.replace("_", "-"): value for name, value in attributes.items()}
    node = HtmlElement(tag=tag, attributes=attributes, classes=list(classes))
    node.extend(nodes.Text(child) if isinstance(child, str) else child for child in children)
    return node


def badge(verdict: str) -> HtmlElement:
    """Show a verdict as a word on its colour."""
    return element("span", verdict, classes=["claim-verdict", verdict.replace(" ", "-")])


def link(claim: Claim, kind: str, text: str) -> ClaimLink:
    """Link to the claim's evidence cell or to its row in the ledger."""
    # the hidden half tells apart what a screen reader lists out of context
    hidden = element("span", f" {claim.id}", classes=["visually-hidden"])
    return ClaimLink("", "", nodes.Text(text), hidden, to=f"{kind}-{claim.id.lower()}")


def set_label(document: nodes.document, node: nodes.Element, label: str) -> None:
    """Give the node an id that {ref} finds from other pages too, unless the page has it already."""
    if label not in document.nameids:
        # docutils' own function gives a node with several names one id only
        node["ids"].append(label)
        document.ids[label] = node
        document.nameids[label] = label
        document.nametypes[label] = True


def ledger_path(app: Sphinx) -> Path:
    return Path(app.srcdir) / "book" / "claims.yml"


class LedgerDirective(SphinxDirective):
    """What the two directives share."""

    def run(self) -> list[nodes.Node]:
        # an edited ledger makes Sphinx read this page again
        self.env.note_dependency(str(ledger_path(self.env.app)))
        self.ledger: Ledger = self.env.app.claims_ledger
        return self.content_nodes()

    def inline(self, text: str) -> list[nodes.Node]:
        children, messages = self.parse_inline(text)
        return [*children, *messages]

    def reasons(self, claim: Claim, label: str = "") -> list[HtmlElement]:
        """What decided the verdict and what was tried; nothing before there is a verdict."""
        if self.ledger.verdict(claim) == UNEXAMINED:
            return []
        texts = ((label, claim.note), ("What was tried: ", claim.tried))
        return [
            element("p", element("strong", name) if name else "", *self.inline(text))
            for name, text in texts
            if text
        ]

    def source(self, claim: Claim) -> list[nodes.Node]:
        source = self.ledger.sources[claim.source]
        citation = f" {{cite:p}}`{source.cite}`" if source.cite else ""
        return self.inline(f"Source: {source.text}{citation}")


class ClaimBox(LedgerDirective):
    """``{claim} SM-1``: claim, verdict, what decides it, source, links."""

    required_arguments = 1

    def content_nodes(self) -> list[nodes.Node]:
        claim = self.ledger.claims.get(self.arguments[0])
        if claim is None:
            message, place = "no claim has the id %r", self.get_location()
            logger.warning(message, self.arguments[0], location=place, type="claims")
            return []
        verdict = self.ledger.verdict(claim)
        head = element("p", element("strong", claim.id), " ", badge(verdict))
        foot = element("p", element("span", *self.source(claim)), classes=["claim-foot"])
        if verdict != UNEXAMINED:
            foot += link(claim, "evidence", "evidence")
        foot += link(claim, "claim", "ledger")
        text = element("p", *self.inline(claim.claim))
        decides = "What would decide it: " if verdict == "open" else "What decides it: "
        reasons = self.reasons(claim, decides)
        classes = ["claim", verdict.replace(" ", "-")]
        name = f"Claim {claim.id}"
        return [
            element(
                "div", head, text, *reasons, foot, classes=classes, role="group", aria_label=name
            )
        ]


class ClaimsLedger(LedgerDirective):
    """``{claims-ledger}``: counts, filter, and one table for each part."""

    def content_nodes(self) -> list[nodes.Node]:
        counts = Counter(map(self.ledger.verdict, self.ledger.claims.values()))
        sections = [self.section(part, title) for part, title in self.ledger.parts.items()]
        return [summary(counts), filter_form(counts, self.ledger.parts), *sections]

    def section(self, part: int, title: str) -> nodes.section:
        heading = f"Part {part}: {title}"
        names = (element("th", name, scope="col", role="columnheader") for name in COLUMNS)
        head = element("thead", element("tr", *names, role="row"), role="rowgroup")
        rows = (self.row(claim) for claim in self.ledger.claims.values() if claim.part == part)
        body = element("tbody", *rows, role="rowgroup")
        # CSS turns rows into cards on phones; the roles keep them a table for screen readers
        style = {"classes": ["table", "claims-table"], "role": "table", "aria_label": heading}
        section = nodes.section(
            "", nodes.title(heading, heading), element("table", head, body, **style)
        )
        section["classes"].append("claims-part")
        section["names"].append(nodes.fully_normalize_name(heading))
        self.state.document.note_implicit_target(section)
        return section

    def row(self, claim: Claim) -> HtmlElement:
        verdict = self.ledger.verdict(claim)
        statement = element("p", *self.inline(claim.claim))
        source = element("p", *self.source(claim), classes=["claim-source"])
        evidence = "" if verdict == UNEXAMINED else link(claim, "evidence", "evidence")
        head = element("th", claim.id, scope="row", role="rowheader")
        contents = ([statement, source], [badge(verdict), " ", evidence], self.reasons(claim))
        cells = (
            element("td", *content, role="cell", data_label=name)
            for name, content in zip(COLUMNS[1:], contents, strict=True)
        )
        data = {"data_verdict": verdict, "data_part": str(claim.part)}
        row = element("tr", head, *cells, role="row", **data)
        set_label(self.state.document, row, f"claim-{claim.id.lower()}")
        return row


def summary(counts: Counter) -> HtmlElement:
    """Count the verdicts and say what each means."""
    meanings = VERDICTS | {UNEXAMINED: "its part of the book is not finished"}
    items = (
        element("li", badge(verdict), element("strong", f" {counts[verdict]} "), meaning)
        for verdict, meaning in meanings.items()
    )
    return element("ul", *items, classes=["claims-summary"])


def filter_form(counts: Counter, parts: dict[int, str]) -> nodes.raw:
    """Write the form; claims.js unhides it, since without scripts it does nothing."""
    verdicts = {verdict: verdict for verdict in (*VERDICTS, UNEXAMINED) if counts[verdict]}
    titles = {str(part): f"{part}: {title}" for part, title in parts.items()}
    html = (
        '<form class="claims-filter" hidden>'
        + select("verdict", "Verdict", verdicts)
        + select("part", "Part", titles)
        + '<div><label for="claims-text">Text</label> '
        + '<input id="claims-text" type="search" name="text"></div>'
        + '<button type="reset">Show all</button>'
        + '<p role="status"></p></form>'
    )
    return nodes.raw("", html, format="html")


def select(name: str, label: str, options: dict[str, str]) -> str:
    """Write a labelled select whose first entry is all."""
    entries = "".join(
        f'<option value="{escape(value)}">{escape(text)}</option>'
        for value, text in {"": "all", **options}.items()
    )
    id_ = f"claims-{name}"
    field = f'<select id="{id_}" name="{name}">{entries}</select>'
    return f'<div><label for="{id_}">{label}</label> {field}</div>'
