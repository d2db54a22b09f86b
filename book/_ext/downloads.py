"""Each chapter to take away: as notebook (.ipynb), MyST source (.md) and script (.py)."""

from pathlib import Path

import jupytext
from plain_notebook import ROOT, load_claims, to_notebook


def write_downloads(app, docname: str) -> None:
    text = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
    target = Path(app.outdir) / "_sources" / docname
    target.parent.mkdir(parents=True, exist_ok=True)
    notebook = to_notebook(text, load_claims(ROOT / "book" / "claims.yml"))
    jupytext.write(notebook, target.with_name(f"{target.name}.ipynb"), fmt="ipynb")
    jupytext.write(notebook, target.with_name(f"{target.name}.py"), fmt="py:percent")


def add_buttons(app, pagename, templatename, context, doctree):
    groups = [b for b in context.get("header_buttons", []) if b.get("label") == "download-buttons"]
    if doctree is None or not groups:
        return
    base = f"{context['pathto']('_sources', 1)}/{pagename}"
    suffixes = {".md": "MyST source"}
    if "kernelspec" in app.env.metadata.get(pagename, {}):
        write_downloads(app, pagename)
        suffixes = {".ipynb": "Jupyter notebook", **suffixes, ".py": "Python script"}
    buttons = [
        {
            "type": "link",
            "url": base + suffix,
            "text": suffix,
            "icon": "fas fa-file",
            "tooltip": f"Download as {kind}",
            "label": f"download-{suffix[1:]}-button",
        }
        for suffix, kind in suffixes.items()
    ]
    printing = [b for b in groups[0]["buttons"] if b["label"] == "download-pdf-button"]
    groups[0]["buttons"] = buttons + printing


def setup(app):
    # after the theme has made its buttons (priority 501)
    app.connect("html-page-context", add_buttons, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
