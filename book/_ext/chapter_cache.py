"""Run a chapter again exactly when something that it uses has changed.

jupyter-cache recognises a notebook by its code cells and its kernelspec, and Sphinx reads a page
again when its source file changes. Neither looks at the library. So this extension computes a
digest of what a chapter uses and writes it into the kernelspec that Sphinx sees:

* every module of `logitlib` that the chapter's cells import, directly or through other modules,
* the data files in those modules' folders,
* the files that the chapter's front matter names under `depends`.

A name imported from a package whose `__init__` only re-exports is followed to the module that
defines it, so a chapter about one loss does not depend on all the others.
"""

import ast
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

import jupytext

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "logitlib"
HEADER = re.compile(r"^kernelspec:\n", re.MULTILINE)


class Library:
    """The import graph of one package, read from its sources without importing it."""

    def __init__(self, folder: Path, package: str = PACKAGE):
        self.folder, self.package = folder, package

    def path(self, module: str) -> Path | None:
        """Source file of a dotted module name, None where the name is no module."""
        base = self.folder.joinpath(*module.split("."))
        for candidate in (base / "__init__.py", base.with_suffix(".py")):
            if candidate.is_file():
                return candidate
        return None

    @cache  # noqa: B019 (one object a build)
    def imports(self, module: str) -> tuple[str, ...]:
        """Dotted names of the package that the module's source imports."""
        path = self.path(module)
        inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
        return tuple(imported_names(path.read_text(encoding="utf-8"), self.package, inside))

    @cache  # noqa: B019
    def reexports(self, module: str) -> dict[str, str] | None:
        """Map name -> dotted name for an `__init__` that holds nothing but re-exports."""
        if self.path(module).name != "__init__.py":
            return None
        names = {}
        for node in ast.parse(self.path(module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            elif not (is_docstring(node) or is_dunder(node)):
                return None
        return names

    def files(self, names) -> set[Path]:
        """All source and data files behind these dotted names."""
        seen, files, queue = set(), set(), list(names)
        while queue:
            name = queue.pop()
            if name in seen or name.split(".")[0] != self.package:
                continue
            seen.add(name)
            if self.path(name) is None:  # a name inside a module
                parent, _, attribute = name.rpartition(".")
                if not parent:
                    continue
                exported = self.reexports(parent) if self.path(parent) else None
                known = exported is not None and attribute in exported
                queue.append(exported[attribute] if known else parent)
                continue
            files.add(self.path(name))
            files |= data_files(self.path(name).parent)
            queue += self.imports(name)
        return files


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_dunder(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and all(
        isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets
    )


def data_files(folder: Path) -> set[Path]:
    skip = {".py", ".pyc", ".typed"}
    return {p for p in folder.iterdir() if p.is_file() and p.suffix not in skip}


def imported_names(source: str, package: str, inside: str = ""):
    """Dotted names of `package` that a source text imports; `inside` resolves relative ones."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = inside.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1] + [base] * bool(base))
            names = [f"{base}.{alias.name}" for alias in node.names]
            if any(alias.name == "*" for alias in node.names):
                names = [base]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == package)


def digest(text: str, library: Library, root: Path) -> str:
    """Digest of all that the chapter with this source text uses."""
    notebook = jupytext.reads(text, fmt="md:myst")
    names = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # lines for IPython are no Python
            lines = [line for line in cell.source.splitlines() if line[:1] not in ("%", "!")]
            names += imported_names("\n".join(lines), library.package)
    files = library.files(names) | {root / name for name in notebook.metadata.get("depends", [])}
    state = hashlib.sha256(sys.version.encode())
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        state.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return state.hexdigest()[:16]


def stamp(app, docname, source):
    """Write the digest into the header that myst-nb is about to read."""
    if HEADER.search(source[0]):
        value = digest(source[0], Library(ROOT / "lib"), ROOT)
        app.env.chapter_digests[docname] = value
        source[0] = HEADER.sub(f"kernelspec:\n  depends: {value}\n", source[0], count=1)


def outdated(app, env, added, changed, removed):
    """Chapters whose digest is no longer the one they were read with."""
    known = getattr(env, "chapter_digests", {})
    env.chapter_digests = {d: v for d, v in known.items() if d in env.found_docs}
    library = Library(ROOT / "lib")
    sources = {d: Path(env.doc2path(d)).read_text(encoding="utf-8") for d in env.chapter_digests}
    return [d for d, v in env.chapter_digests.items() if digest(sources[d], library, ROOT) != v]


def setup(app):
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", stamp)
    return {"version": "1", "env_version": 1, "parallel_read_safe": False}
