"""The rules that every chapter keeps, and what must never appear on a page."""

import ast
import re
from pathlib import Path

import jupytext
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "book" / "_build" / "html"
CHAPTERS = sorted((ROOT / "chapters").rglob("*.md"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))


def notebook(path):
    return jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst")


def code_cells(path):
    return [cell for cell in notebook(path).cells if cell.cell_type == "code"]


def test_every_chapter_is_in_the_table_of_contents():
    listed = {entry["file"] for part in TOC["parts"] for entry in part["chapters"]}
    there = {p.relative_to(ROOT).with_suffix("").as_posix() for p in CHAPTERS}
    assert there == {name for name in listed if name.startswith("chapters/")}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
class TestChapter:
    def test_its_kernel_is_python3(self, path):
        assert notebook(path).metadata["kernelspec"]["name"] == "python3"

    def test_it_defines_no_class_and_no_long_cell(self, path):
        for cell in code_cells(path):
            if "hide-input" in cell.metadata.get("tags", []):
                continue  # imports and drawing, folded away
            lines = [x for x in cell.source.splitlines() if x.strip()]
            assert len(lines) <= 30, cell.source
            kinds = {type(node) for node in ast.walk(ast.parse(cell.source))}
            assert ast.ClassDef not in kinds, cell.source

    def test_it_names_the_results_that_it_reads(self, path):
        text = path.read_text(encoding="utf-8")
        read = re.findall(r"load_result\(\s*\"([\w-]+)\"(?:,\s*(?:preset=)?\"(\w+)\")?", text)
        depends = notebook(path).metadata.get("depends", [])
        wanted = {f"book/results/{name}-{preset or 'full'}.jsonl" for name, preset in read}
        assert wanted <= set(depends)
        assert all((ROOT / name).is_file() for name in depends)


def pages():
    return sorted(p for p in SITE.rglob("*.html") if "_static" not in p.parts)


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.relative_to(SITE).as_posix())
class TestPage:
    def test_it_names_no_place_and_no_address(self, page):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text
        assert not re.search(r"\bat 0x[0-9a-f]{6,}", text)
        assert not re.search(r"/(home|root|Users|tmp)/", text)

    def test_its_images_say_what_they_show(self, page):
        text = page.read_text(encoding="utf-8")
        for image in re.findall(r"<img[^>]*_images/[^>]*>", text):
            alt = re.search(r'alt="([^"]*)"', image)
            assert alt, image
            assert len(alt[1].split()) >= 5, image
            assert "_images" not in alt[1], image
        assert text.count("<img") == text.count("_images/") or page.parent == SITE

    def test_it_loads_nothing_from_another_host(self, page):
        text = page.read_text(encoding="utf-8")
        # the redirect at the top loads nothing at all
        assert "Content-Security-Policy" in text or page == SITE / "index.html"
        for tag in re.findall(r"<(?:script|link|img|iframe|source|video)\b[^>]*>", text):
            address = re.search(r'(?:src|href)="([^"]*)"', tag)
            canonical = 'rel="canonical"' in tag
            assert canonical or not (address and re.match(r"(https?:)?//", address[1])), tag
