"""The ledger of claims: its rules, its evidence, and what the book prints of it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from chromium import QUIET, find
from claims import read_ledger
from ledger import (
    UNEXAMINED,
    Evidence,
    LedgerError,
    evidence_cells,
    evidence_problems,
    load_ledger,
)
from playwright.sync_api import expect, sync_playwright
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"

LEDGER = """
parts: {1: Foundations, 2: Polynomial losses}
finished_parts: [1]
sources:
  S3: {text: a *blog* post}
claims:
- {id: SM-1, part: 1, source: S3, kind: symbolic, verdict: holds, claim: It is $p - e_y$.,
   note: For every $n$.}
- {id: SM-2, part: 1, source: S3, kind: empirical, verdict: open, claim: It helps.,
   tried: Five seeds.}
- {id: SM-3, part: 1, source: S3, kind: quoted, verdict: recorded, claim: The figure is 3.}
- {id: BCE-1, part: 2, source: S3, kind: symbolic, verdict: refuted, claim: It converges.,
   note: A secret.}
"""


@pytest.fixture
def load(tmp_path):
    def load(text=LEDGER):
        path = tmp_path / "claims.yml"
        path.write_text(text, encoding="utf-8")
        return load_ledger(path)

    return load


# --- the file -------------------------------------------------------------------------------------


def test_a_claim_of_an_unfinished_part_has_no_verdict_yet(load):
    ledger = load()
    assert [ledger.verdict(claim) for claim in ledger.claims.values()] == [
        "holds",
        "open",
        "recorded",
        UNEXAMINED,
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: quoted",
            "kind: rumour",
            r"SM-3: unknown kind 'rumour'; accepted are symbolic, num",
        ),
        (
            "verdict: open",
            "verdict: true",
            r"SM-2: verdict must be a text that is not empty, got T",
        ),
        ("verdict: open", "verdict: maybe", r"SM-2: unknown verdict 'maybe'; accepted are holds, "),
        ("part: 2", "part: 3", r"BCE-1: unknown part 3; accepted are 1, 2"),
        ("part: 2", "part: [2]", r"BCE-1: unknown part \[2\]; accepted are 1, 2"),
        ("SM-2, part: 1, source: S3", "SM-2, part: 1, source: S9", r"SM-2: unknown source 'S9'"),
        ("id: SM-2", "id: SM-1", r"SM-1: this id is used twice"),
        ("id: SM-2", "id: sm2", r"sm2: an id is capitals, a hyphen and a number"),
        ("id: SM-2, ", "", r"claim number 2: id is missing"),
        ("id: SM-2", "id: 7", r"7: id must be a text that is not empty, got 7"),
        ("kind: quoted, ", "", r"SM-3: kind is missing"),
        ("tried: Five", "tryed: Five", r"SM-2: unknown key tryed; known are id, part, .*tried"),
        ("claim: It helps.", "claim: ", r"SM-2: claim must be a text that is not empty, got None"),
        (",\n   note: A secret.", "", r"BCE-1: refuted needs a note that says what decides it"),
        (
            "note: A secret.",
            "note: A., tried: All.",
            r"BCE-1: only an open claim has a field tried",
        ),
        ("- {id: SM-3", "- SM-3\n- {id: SM-3", r"claim number 3: expected a mapping, got 'SM-3'"),
        ("finished_parts: [1]", "finished_parts: [4]", r"finished_parts: unknown part 4"),
        ("finished_parts: [1]", "finished_parts: 1", r"finished_parts must be a list, got 1"),
        ("finished_parts: [1]\n", "", r"the file: finished_parts is missing"),
        ("finished_parts", "colour: red\nfinished_parts", r"the file: unknown key colour"),
        ("{text: a *blog* post}", "a blog", r"source S3: expected a mapping, got 'a blog'"),
        ("{text: a *blog* post}", "{url: a}", r"source S3: unknown key url; known are text, cite"),
        ("claims:\n", "claims: [\n", r"line \d+, column"),
    ],
)
def test_a_broken_ledger_is_refused_by_a_message_that_names_the_entry(load, old, new, message):
    assert old in LEDGER
    with pytest.raises(LedgerError, match=rf"(?s)^claims\.yml: .*{message}"):
        load(LEDGER.replace(old, new))


def test_an_empty_ledger_is_refused(load):
    with pytest.raises(LedgerError, match=r"^claims\.yml: the file: expected a mapping, got None"):
        load("")


# --- the evidence ---------------------------------------------------------------------------------

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""


def page(*cells):
    """A chapter with a title and one code cell for each pair of tags and source."""
    code = "".join(
        f"\nProse.\n\n```{{code-cell}} ipython3\n:tags: [{tags}]\n{source}\n```\n"
        for tags, source in cells
    )
    return f"{HEADER}# Chapter\n{code}"


@pytest.mark.parametrize(
    "source",
    [
        "assert x == 1",
        "if x:\n    assert x == 1, 'x'",
        "for x in y:\n    assert x",
        "torch.testing.assert_close(x, y)",
        "assert_allclose(x, y)",
        "%matplotlib inline\nassert x",
    ],
)
def test_a_cell_that_asserts_is_evidence(source):
    assert evidence_cells(page(("verifies-SM-1, hide-input", source)), "a") == [
        Evidence("SM-1", "verifies", "a")
    ]


@pytest.mark.parametrize(
    "source",
    [
        "x == 1",
        "print('assert x')",
        "# assert x",
        "assert True",
        "assert (x == 1, 'never fails')",
        "def check():\n    assert x",
        "check = lambda: assert_close(x, y)",
        "assert x ==",
    ],
)
def test_a_cell_that_cannot_fail_is_no_evidence(source):
    (cell,) = evidence_cells(page(("verifies-SM-1", source)), "a")
    assert cell.flaw == "asserts nothing"


@pytest.mark.parametrize(
    ("tag", "flaw"),
    [
        ("remove-input", "is not shown (remove-input)"),
        ("remove-cell", "is not shown (remove-cell)"),
        ("raises-exception", "may fail unnoticed (raises-exception)"),
        ("skip-execution", "may fail unnoticed (skip-execution)"),
    ],
)
@pytest.mark.parametrize("role", ["verifies", "records"])
def test_a_cell_that_is_hidden_or_may_fail_is_no_evidence(role, tag, flaw):
    (cell,) = evidence_cells(page((f"{role}-SM-1, {tag}", "assert x")), "a")
    assert cell.flaw == flaw


def test_a_cell_may_answer_several_claims_and_a_record_need_not_assert():
    text = page(("verifies-SM-1, verifies-SM-2", "assert x"), ("records-SM-3", "table"), ("x", "y"))
    assert evidence_cells(text, "a") == [
        Evidence("SM-1", "verifies", "a"),
        Evidence("SM-2", "verifies", "a"),
        Evidence("SM-3", "records", "a"),
    ]


def test_prose_that_only_mentions_a_tag_is_no_evidence():
    assert evidence_cells(page(("x", "y")) + "\nA cell tagged `verifies-SM-1`.\n", "a") == []


COMPLETE = [Evidence("SM-1", "verifies", "a"), Evidence("SM-3", "records", "a")]


def test_a_ledger_with_all_its_evidence_has_no_problem(load):
    assert evidence_problems(load(), COMPLETE) == []


def test_several_cells_on_one_page_may_answer_one_claim(load):
    assert evidence_problems(load(), [*COMPLETE, COMPLETE[0]]) == []


@pytest.mark.parametrize("verdict", ["holds", "qualified", "refuted"])
def test_a_judged_claim_needs_a_verifying_cell(load, verdict):
    ledger = load(LEDGER.replace("verdict: holds", f"verdict: {verdict}"))
    wanted = [f"SM-1: {verdict}, but no cell is tagged verifies-SM-1"]
    assert evidence_problems(ledger, COMPLETE[1:]) == wanted
    assert evidence_problems(ledger, [*COMPLETE[1:], Evidence("SM-1", "records", "a")]) == wanted


def test_a_recorded_claim_needs_a_recording_cell(load):
    wanted = ["SM-3: recorded, but no cell is tagged records-SM-3"]
    assert evidence_problems(load(), COMPLETE[:1]) == wanted
    cells = [COMPLETE[0], Evidence("SM-3", "verifies", "a")]
    assert evidence_problems(load(), cells) == wanted


def test_an_open_claim_says_what_was_tried(load):
    ledger = load(LEDGER.replace("tried: Five", "note: Five"))
    assert evidence_problems(ledger, COMPLETE) == [
        "SM-2: open in a finished part needs a field tried: what was tried"
    ]


def test_an_unfinished_part_needs_no_evidence(load):
    assert evidence_problems(load(LEDGER.replace("[1]", "[]")), []) == []


def test_a_tag_that_names_no_claim_is_a_problem(load):
    cells = [*COMPLETE, Evidence("SM-9", "verifies", "b")]
    assert evidence_problems(load(), cells) == [
        "b: no claim has the id that the tag verifies-SM-9 names"
    ]


def test_a_flawed_cell_is_a_problem_even_in_an_unfinished_part(load):
    cells = [*COMPLETE, Evidence("BCE-1", "verifies", "b", "asserts nothing")]
    assert evidence_problems(load(), cells) == ["b: the cell tagged verifies-BCE-1 asserts nothing"]


def test_evidence_on_two_pages_is_a_problem_that_names_both(load):
    cells = [*COMPLETE, Evidence("SM-1", "verifies", "b")]
    assert evidence_problems(load(), cells) == ["SM-1: evidence belongs on one page, found a and b"]


def test_the_book_has_evidence_for_every_claim_of_its_finished_parts():
    cells = [
        cell
        for path in sorted((ROOT / "chapters").rglob("*.md"))
        for cell in evidence_cells(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert evidence_problems(load_ledger(BOOK / "claims.yml"), cells) == []


def test_every_claim_of_a_finished_part_has_its_box_in_a_chapter():
    ledger = load_ledger(BOOK / "claims.yml")
    chapters = "".join(p.read_text("utf-8") for p in (ROOT / "chapters").rglob("*.md"))
    boxes = set(re.findall(r"^```\{claim\} (\S+)$", chapters, re.MULTILINE))
    finished = {c.id for c in ledger.claims.values() if c.part in ledger.finished_parts}
    assert finished <= boxes
    assert boxes <= set(ledger.claims)


# --- the pages ------------------------------------------------------------------------------------

CONF = f"""
import sys
sys.path.insert(0, {str(BOOK / "_ext")!r})
extensions = ["myst_nb", "claims"]
exclude_patterns = ["jupyter_execute"]
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
html_static_path = [{str(BOOK / "_static")!r}]
html_css_files = ["claims.css"]
html_js_files = [["claims.js", {{"defer": "defer"}}]]
"""
INDEX = """# Front

```{claim} SM-1
```

```{claim} BCE-1
```

```{claim} SM-2
```

{ref}`A row <claim-sm-1>`.

```{toctree}
chapters/one
chapters/two
book/claims
```
"""
PAGES = {
    "conf.py": CONF,
    "index.md": INDEX,
    "book/claims.yml": LEDGER,
    "book/claims.md": "# Claims\n\n```{claims-ledger}\n```\n",
    "chapters/one.md": page(
        ("verifies-SM-1", "assert 1 + 1 == x"),
        ("verifies-SM-1, records-SM-3, hide-input", "assert 1 == x"),
    )
    + "\n```{claim} SM-3\n```\n",
    "chapters/two.md": page(("verifies-BCE-1", "assert x")),
}


def write(folder, pages):
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def build(folder):
    """Build the site in a process of its own: Sphinx and docutils keep global state."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", folder, folder / "html"]
    command += ["-d", folder / "doctrees", "--no-color"]
    env = os.environ | {"PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def built(folder):
    """Build the site and return the HTML of a page by its name."""
    result = build(folder)
    assert result.returncode == 0, result.stderr
    return lambda name: (folder / "html" / name).read_text("utf-8")


def box(html, claim):
    return re.search(rf'<div aria-label="Claim {claim}".*?</div>', html, re.DOTALL)[0]


def row(html, claim):
    return re.search(rf'<tr[^>]*id="claim-{claim.lower()}".*?</tr>', html, re.DOTALL)[0]


def ids(html):
    return set(re.findall(r' id="([^"]*)"', html))


def words(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("book"), PAGES)
    return folder, built(folder)


def test_a_box_on_a_plain_page_says_claim_verdict_condition_and_source(site):
    html = box(site[1]("index.html"), "SM-1")
    assert words(html) == (
        r"SM-1 holds It is \(p - e_y\) . What decides it: For every \(n\) . "
        "Source: a blog post evidence SM-1 ledger SM-1"
    )
    assert "<em>blog</em>" in html
    assert 'href="chapters/one.html#evidence-sm-1"' in html
    assert 'href="book/claims.html#claim-sm-1"' in html


def test_a_box_of_an_open_claim_says_what_was_tried(site):
    assert words(box(site[1]("index.html"), "SM-2")) == (
        "SM-2 open It helps. What was tried: Five seeds. Source: a blog post ledger SM-2"
    )


def test_a_box_of_an_unfinished_part_keeps_its_verdict_to_itself(site):
    html = site[1]("index.html")
    assert words(box(html, "BCE-1")).startswith(f"BCE-1 {UNEXAMINED} It converges.")
    for text in (html, site[1]("book/claims.html")):
        assert "A secret" not in text
        assert "evidence-bce-1" not in text


def test_the_first_tagged_cell_is_the_anchor(site):
    html = site[1]("chapters/one.html")
    assert re.findall(r'<div class="cell ([^"]*)docutils container" id="([^"]*)"', html) == [
        ("tag_verifies-SM-1 ", "evidence-sm-1"),
        ("tag_verifies-SM-1 tag_records-SM-3 tag_hide-input ", "evidence-sm-3"),
    ]


def test_the_ledger_has_a_row_for_every_claim_and_links_to_the_evidence(site):
    html = site[1]("book/claims.html")
    assert re.findall(r'<tr[^>]*id="(claim-[^"]*)"', html) == [
        "claim-sm-1",
        "claim-sm-2",
        "claim-sm-3",
        "claim-bce-1",
    ]
    assert words(row(html, "SM-1")) == (
        r"SM-1 It is \(p - e_y\) . Source: a blog post holds evidence SM-1 For every \(n\) ."
    )
    assert 'href="../chapters/one.html#evidence-sm-1"' in row(html, "SM-1")
    assert 'href="../chapters/one.html#evidence-sm-3"' in row(html, "SM-3")
    assert words(row(html, "BCE-1")) == f"BCE-1 It converges. Source: a blog post {UNEXAMINED}"


def test_the_ledger_counts_its_verdicts(site):
    text = words(site[1]("book/claims.html"))
    counts = dict(re.findall(rf"(holds|qualified|refuted|recorded|open|{UNEXAMINED}) (\d)", text))
    assert counts == {
        "holds": "1",
        "qualified": "0",
        "refuted": "0",
        "recorded": "1",
        "open": "1",
        UNEXAMINED: "1",
    }


def test_any_page_can_refer_to_a_row(site):
    assert re.search(r'href="book/claims.html#claim-sm-1"><span[^>]*>A row', site[1]("index.html"))


def test_pages_follow_an_edited_ledger_and_evidence_that_moves(tmp_path):
    """Three builds of one folder; only what the edits touch is read again."""
    read = built(write(tmp_path, PAGES))
    edited = LEDGER.replace("verdict: holds", "verdict: qualified").replace("[1]", "[1, 2]")
    write(tmp_path, {"book/claims.yml": edited})
    built(tmp_path)
    for part in (box(read("index.html"), "SM-1"), row(read("book/claims.html"), "SM-1")):
        assert "qualified" in words(part)
        assert "holds" not in words(part)
    for part in (box(read("index.html"), "BCE-1"), row(read("book/claims.html"), "BCE-1")):
        assert "A secret." in words(part)
        assert "chapters/two.html#evidence-bce-1" in part

    (tmp_path / "chapters/one.md").unlink()
    two = page(("verifies-BCE-1, verifies-SM-1, records-SM-3", "assert x"))
    index = INDEX.replace("chapters/one\n", "")
    write(tmp_path, {"chapters/two.md": two, "index.md": index})
    built(tmp_path)
    for part in (box(read("index.html"), "SM-1"), row(read("book/claims.html"), "SM-1")):
        assert "chapters/two.html#evidence-sm-1" in part
    assert {"evidence-bce-1", "evidence-sm-1", "evidence-sm-3"} <= ids(read("chapters/two.html"))


def test_the_build_fails_on_an_unknown_id_and_on_missing_evidence(tmp_path):
    pages = {
        "index.md": INDEX.replace("{claim} SM-1", "{claim} SM-7"),
        "chapters/one.md": page(("verifies-SM-1", "x == 1"), ("verifies-SM-8", "assert x")),
    }
    result = build(write(tmp_path, PAGES | pages))
    assert result.returncode == 1
    assert re.search(r"index\.md:3: WARNING: no claim has the id 'SM-7'", result.stderr)
    for problem in (
        "chapters/one: the cell tagged verifies-SM-1 asserts nothing",
        "chapters/one: no claim has the id that the tag verifies-SM-8 names",
        "SM-3: recorded, but no cell is tagged records-SM-3",
    ):
        assert re.search(rf"WARNING: claims ledger: {problem}", result.stderr)


def test_the_build_stops_at_a_broken_ledger(tmp_path):
    write(tmp_path, {"book/claims.yml": LEDGER.replace("kind: quoted", "kind: rumour")})
    with pytest.raises(ExtensionError, match=r"claims\.yml: SM-3: unknown kind 'rumour'"):
        read_ledger(SimpleNamespace(srcdir=tmp_path))


# --- the filter -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=find(), args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.mark.browser
def test_the_filter_works_from_the_file_system_and_by_keyboard(site, browser):
    tab = browser.new_page()
    tab.goto((site[0] / "html" / "book" / "claims.html").as_uri())
    verdict, part = (tab.get_by_role("combobox", name=n, exact=True) for n in ("Verdict", "Part"))
    text = tab.get_by_role("searchbox", name="Text", exact=True)
    reset = tab.get_by_role("button", name="Show all")

    def shows(*claims):
        expect(tab.get_by_role("status")).to_have_text(f"{len(claims)} of 4 claims")
        assert tab.locator("tbody tr:visible th").all_inner_texts() == list(claims)

    shows("SM-1", "SM-2", "SM-3", "BCE-1")
    verdict.focus()
    tab.keyboard.type("recorded")
    shows("SM-3")
    reset.press("Enter")
    shows("SM-1", "SM-2", "SM-3", "BCE-1")
    part.select_option("2")
    shows("BCE-1")
    assert tab.get_by_role("heading", level=2).all_inner_texts() == ["Part 2: Polynomial losses"]
    text.fill("helps")
    shows()
    reset.click()
    text.fill(" IT HELPS ")
    shows("SM-2")
    tab.close()


@pytest.mark.browser
def test_without_scripts_the_whole_table_is_there_and_no_form(site, browser):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site[0] / "html" / "book" / "claims.html").as_uri())
    assert tab.locator("tbody tr:visible").count() == 4
    assert not tab.locator("form.claims-filter").is_visible()
    context.close()
