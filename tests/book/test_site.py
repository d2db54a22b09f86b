"""The built site in a real browser: what a reader would trip over fails here.

`make test` builds the book first. By hand: `make book`, then `pytest tests/book/test_site.py`.
"""

import functools
import http.server
import threading
from pathlib import Path
from urllib.parse import quote

import axe_playwright_python
import pytest
from chromium import QUIET, find
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "book" / "_build" / "html"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = sorted(
    p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html") if "_static" not in p.parts
)
VIEWS = {"desktop": ("light", 1280), "dark": ("dark", 1280), "phone": ("light", 360)}
MATHS_LEFT = """() => [...document.querySelectorAll('.math')]
    .filter(e => !e.querySelector('mjx-container')).length"""

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def base():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=find(), args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def contexts(browser):
    made = {
        name: browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        for name, (scheme, width) in VIEWS.items()
    }
    yield made
    for context in made.values():
        context.close()


def watch(page, address):
    """Problems that the page meets while it loads, collected as text."""
    problems, local = [], (address, "data:", "blob:")
    page.on("request", lambda r: r.url.startswith(local) or problems.append(f"asks {r.url}"))
    # Jupyter Book's redirect at the top breaks off its own requests
    page.on(
        "requestfailed",
        lambda r: (
            r.failure == "net::ERR_ABORTED" or problems.append(f"failed {r.url}: {r.failure}")
        ),
    )
    page.on("response", lambda r: r.status < 400 or problems.append(f"{r.status} {r.url}"))
    page.on("pageerror", lambda e: problems.append(f"script: {e}"))
    page.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    return problems


def settle(page):
    """Wait until MathJax has typeset the page; an idle network does not say so."""
    page.evaluate("window.MathJax && MathJax.startup.promise.then(() => null)")


def test_the_book_is_built():
    assert PAGES, f"no page under {SITE}: run `make book`"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", PAGES)
def test_page(contexts, base, name, view):
    page = contexts[view].new_page()
    problems = watch(page, base)
    page.goto(f"{base}/{name}", wait_until="networkidle")
    settle(page)
    if page.evaluate(MATHS_LEFT) or page.locator("mjx-merror, [data-mjx-error]").count():
        problems.append("maths not rendered")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    if page.evaluate(wide) > 0:
        problems.append(f"{page.evaluate(wide)} px wider than the window")
    page.evaluate(AXE)
    # its own look at the style sheets would be a request that fails
    report = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    problems += [
        f"axe {rule['id']} ({rule['impact']}): {rule['nodes'][0]['html'][:160]}"
        for rule in report["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
    page.close()
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("words", ["argmaxable", "translation invariance"])
def test_search_finds(contexts, base, words):
    page = contexts["desktop"].new_page()
    page.goto(f"{base}/search.html?q={quote(words)}")
    page.wait_for_selector("#search-results ul.search li", timeout=20_000)
    page.close()


@pytest.mark.parametrize("name", [p for p in PAGES if p.startswith(("book/index", "chapters/"))])
def test_page_from_the_file_system(contexts, name):
    page = contexts["desktop"].new_page()
    problems = watch(page, "file://")
    page.goto((SITE / name).as_uri(), wait_until="networkidle")
    settle(page)
    if page.evaluate(MATHS_LEFT):
        problems.append("maths not rendered")
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
    problems += page.evaluate(broken)
    page.close()
    assert not problems, "\n".join(problems)


def test_every_local_link_has_its_target(contexts, base):
    """Each link of each page leads to a page and an anchor that are there."""
    page = contexts["desktop"].new_page()
    links, anchors = {}, {}
    for name in PAGES:
        if name == "index.html":  # a redirect
            anchors[name], links[name] = set(), []
            continue
        page.goto(f"{base}/{name}", wait_until="domcontentloaded")
        links[name] = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.href)")
        anchors[name] = set(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
    page.close()
    broken = []
    for name, targets in links.items():
        for target in targets:
            path, _, anchor = target.removeprefix(f"{base}/").partition("#")
            path = path.partition("?")[0]
            if target.startswith(base) and not (
                (SITE / path).is_file() and (not anchor or anchor in anchors.get(path, {anchor}))
            ):
                broken.append(f"{name} -> {target}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_the_checks_see_a_foreign_request_and_a_wide_block(contexts, base):
    """The page test can fail: a planted foreign image and a 3,000 px block are both noticed."""
    page = contexts["phone"].new_page()
    problems = watch(page, base)
    page.goto(f"{base}/search.html", wait_until="networkidle")
    page.evaluate("""() => {
        const image = document.createElement('img'); image.src = 'http://other.invalid/x.png';
        const block = document.createElement('div'); block.style.width = '3000px';
        block.textContent = '.'; document.body.append(image, block);
    }""")
    page.wait_for_timeout(300)
    wide = page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    page.close()
    assert wide
    assert any("other.invalid" in text for text in problems)
