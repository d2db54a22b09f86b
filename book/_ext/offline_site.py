"""A site that asks no other host for anything, and that a screen reader can walk through.

* Maths: one MathJax component and its fonts, copied from the installed wheel.
* Icons: the theme's icon font and script (1.5 MB) are dropped; `site.css` draws the few it needs.
* Policy: a Content-Security-Policy in every page makes the browser refuse other hosts.
* Roles: mends what axe-core finds in the theme's own markup.
* Site files: an edited style sheet, script or extension renews the pages, without running cells.
* Leftovers: removes pages and images of earlier builds that no page of this one has.
"""

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path

MATHJAX = ("tex-chtml.js", "output/chtml/fonts", "input/tex/extensions")
POLICY = (
    "default-src 'self' data: blob:; "
    "script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'"
)
ICON_SCRIPT = re.compile(r"\s*<script[^>]*fontawesome\.js[^>]*></script>")
ICON_FONT = re.compile(r"@font-face\s*\{[^}]*fontawesome[^}]*\}")
# the theme boxes the tables of pages, but not those that a cell makes
BARE_TABLE = re.compile(
    r'(?<!<div class="pst-scrollable-table-container">)(<table class="table">.*?</table>)',
    re.DOTALL,
)
MENDED = (
    # docutils gives the bibliography the role list, but its entries are no list items
    ('role="doc-biblioentry"', 'role="listitem"'),
    # the theme leaves logo and search outside every landmark
    (
        '<div id="pst-primary-sidebar" class=',
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class=',
    ),
    # and gives the control that unfolds a part of the contents no name
    (
        '<summary><span class="toctree-toggle"',
        '<summary aria-label="Pages of this section"><span class="toctree-toggle"',
    ),
    # a table that scrolls must be reachable by keyboard
    (
        '<div class="pst-scrollable-table-container">',
        '<div class="pst-scrollable-table-container" tabindex="0">',
    ),
)


def site_files_digest(app) -> str:
    """Digest of the style sheets, scripts and extensions of the site."""
    state = hashlib.sha256()
    for folder in ("_static", "_ext"):
        for path in sorted((Path(app.srcdir) / "book" / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()


def outdated_by_site_files(app, env, added, changed, removed):
    """Every page, when a site file has changed: Sphinx looks at the sources of pages only."""
    before, env.site_files_digest = getattr(env, "site_files_digest", None), site_files_digest(app)
    return [] if env.site_files_digest == before else sorted(env.found_docs)


def is_html(app) -> bool:
    return app.builder.format == "html"


def copy_mathjax(app):
    if not is_html(app):
        return
    # the distribution's name has hyphens, so it can't be imported by a statement
    package = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    source, target = package / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for name in MATHJAX:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            shutil.copy(source / name, target / name)


def add_policy(app, pagename, templatename, context, doctree):
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>'
    context["metatags"] = context.get("metatags", "") + meta


def mend_pages(app, exception):
    if exception or not is_html(app):
        return
    for page in Path(app.outdir).rglob("*.html"):
        old = new = page.read_text(encoding="utf-8")
        new = ICON_SCRIPT.sub("", new)
        if 'pst-scrollable-table-container" tabindex' not in new:  # not mended by an earlier build
            new = BARE_TABLE.sub(r'<div class="pst-scrollable-table-container">\1</div>', new)
        for before, after in MENDED:
            new = new.replace(before, after)
        if page == Path(app.outdir) / "index.html" and "icon" not in new:
            # Jupyter Book's redirect to the front page: without a favicon the browser asks for one
            new = new.replace("<meta", '<link rel="icon" href="_static/favicon.svg"><meta', 1)
        if new != old:
            page.write_text(new, encoding="utf-8")


def drop_icon_font(app, exception):
    if exception or not is_html(app):
        return
    static = Path(app.outdir) / "_static"
    style = static / "styles" / "pydata-sphinx-theme.css"
    style.write_text(ICON_FONT.sub("", style.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for leftover in {*static.rglob("*.map"), *static.glob("scripts/fontawesome.js*")}:
        leftover.unlink()


def drop_leftovers(app, exception):
    if exception or not is_html(app):
        return
    out = Path(app.outdir)
    for page in [*out.glob("book/**/*.html"), *out.glob("chapters/**/*.html")]:
        if page.relative_to(out).with_suffix("").as_posix() not in app.env.found_docs:
            page.unlink()
    pages = "".join(p.read_text(encoding="utf-8") for p in out.rglob("*.html"))
    for image in (out / "_images").glob("*"):
        if image.name not in pages:
            image.unlink()


def setup(app):
    app.connect("builder-inited", copy_mathjax)
    app.connect("env-get-outdated", outdated_by_site_files)
    app.connect("html-page-context", add_policy, priority=600)
    app.connect("build-finished", mend_pages)
    app.connect("build-finished", drop_icon_font)
    app.connect("build-finished", drop_leftovers)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
