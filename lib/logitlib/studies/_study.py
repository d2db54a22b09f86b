"""Find a study module and read what the command needs from it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

PRESET_NAMES = ("quick", "full")
DEFAULT_SEEDS = {"quick": 2, "full": 5}


def study_names() -> list[str]:
    """Names of the studies in the package, sorted; imports none of them."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if not module.name.startswith("_"))


def study_summary(name: str) -> str:
    """Return the first line of a study's docstring, without importing the study."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def find_study(name: str) -> ModuleType:
    """Import the study ``name``: one of the package, or any module by its dotted import path."""
    path = name if "." in name else f"logitlib.studies.{name}"
    if "." not in name and name not in study_names():
        raise ValueError(f"NAME must be one of {', '.join(study_names())}, got {name!r}")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        # a module that the study itself misses is another error
        if error.name and not f"{path}.".startswith(f"{error.name}."):
            raise
        raise ValueError(f"NAME must be a study or its import path, got {name!r}") from None


def plan(study: ModuleType, config: Any, seeds: list[int]) -> list[dict[str, Any]]:
    """Cut the work into units; a study without ``units`` has one a seed."""
    if hasattr(study, "units"):
        return study.units(config, seeds)
    return [{"seed": seed} for seed in seeds]


def run_unit(study: ModuleType, config: Any, unit: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one unit of :func:`plan`."""
    function = study.run_unit if hasattr(study, "run_unit") else study.run
    return function(config, **unit)


def summarise(study: ModuleType, config: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows to record; those of the units where a study has no ``summarise``."""
    return study.summarise(config, rows) if hasattr(study, "summarise") else rows


def preset_config(study: ModuleType, preset: str) -> Any:
    """Return the config of a preset."""
    if preset not in study.PRESETS:
        raise ValueError(f"--preset must be one of {', '.join(study.PRESETS)}, got {preset!r}")
    return study.PRESETS[preset]


def short_name(name: str) -> str:
    """Return the last part of a study's import path, the name its results are filed under."""
    return name.rpartition(".")[2]


def plain(config: Any) -> dict[str, Any]:
    """Return a config dataclass as JSON knows it: dicts, lists, numbers, strings."""
    return _plain(asdict(config))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
