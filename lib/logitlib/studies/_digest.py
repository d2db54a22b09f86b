"""A digest of the code behind a study: it changes when the code does, and not with a comment.

The digest covers the study module and, transitively, the modules it imports from ``logitlib`` and
from its own top-level package. An import of a name that a package re-exports is followed to the
module that defines it, so that a new loss does not touch the studies of the old ones. Comments,
docstrings and layout do not count. The shipped data count through the sha256 that their loader
holds; settings count through the config.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any


def code_digests(study: str) -> dict[str, str]:
    """Return the digest of each module behind the study, by module name, sorted."""
    packages = {"logitlib", study.partition(".")[0]}
    digests: dict[str, str] = {}
    waiting = [study]
    while waiting:
        module = waiting.pop()
        if module in digests or module.partition(".")[0] not in packages:
            continue
        tree = _syntax_tree(module)
        code = ast.unparse(_without_docstrings(tree))
        digests[module] = hashlib.sha256(code.encode()).hexdigest()[:16]
        waiting += _imports(module, tree, packages)
    return dict(sorted(digests.items()))


def study_digest(config: dict[str, Any], code: dict[str, str]) -> str:
    """Return one digest of a config and the code digests."""
    text = json.dumps([config, code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def code_id(code: dict[str, str]) -> str:
    """Return one digest of the code digests alone, which the presets of a study share."""
    return study_digest({}, code)


def _syntax_tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"module {module} has no source to take a digest of")
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def _imports(module: str, tree: ast.Module, packages: set[str]) -> list[str]:
    """Modules of ``packages`` that ``module`` imports, inside its functions too."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"module {module} must use absolute imports only")
            origin = str(node.module)
            inside = origin.partition(".")[0] in packages
            found += [_home(origin, alias.name) if inside else origin for alias in node.names]
    return found


def _home(module: str, name: str) -> str:
    """Return the module that ``from module import name`` takes the name from in the end."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.submodule_search_locations is None:
        return module
    if importlib.util.find_spec(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    for node in _syntax_tree(module).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if name in [alias.asname or alias.name for alias in node.names]:
                return _home(node.module, name)
    return module
