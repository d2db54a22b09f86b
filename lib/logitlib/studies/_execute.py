"""Run the units of a study in parallel, resume, and record the result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from logitlib.studies._compare import first_difference
from logitlib.studies._digest import code_digests, code_id, study_digest
from logitlib.studies._record import (
    PartialFile,
    Row,
    read_result,
    result_path,
    rounded,
    write_result,
)
from logitlib.studies._study import (
    find_study,
    plain,
    plan,
    preset_config,
    run_unit,
    short_name,
    summarise,
)

PACKAGES = ("logitlib", "numpy", "scipy", "scikit-learn", "torch")


@dataclass(frozen=True)
class Progress:
    """State of a run after a unit: for a bar or a line of a log."""

    n_done: int
    n_units: int
    n_resumed: int
    elapsed: float
    unit: dict[str, Any] | None
    set_aside: Path | None = None

    @property
    def seconds_left(self) -> float | None:
        """Time left if the remaining units take as long as those of this run did."""
        n_fresh = self.n_done - self.n_resumed
        return self.elapsed / n_fresh * (self.n_units - self.n_done) if n_fresh else None


def record(
    name: str,
    preset: str,
    seeds: list[int],
    *,
    jobs: int = 1,
    out: Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Run a study, or go on with an interrupted run, and write its result file.

    Raises
    ------
    RuntimeError
        If the code behind the study changed while it ran; the finished units are kept.
    """
    study = find_study(name)
    config = preset_config(study, preset)
    path = out or result_path(short_name(name), preset)
    header = study_header(name, preset, config, seeds)
    partial = PartialFile(path.with_name(path.name + ".partial"), header)
    begun, start = datetime.now(UTC), time.monotonic()
    units = plan(study, config, seeds)
    known = [entry["unit"] for entry in partial.finished]
    waiting = [unit for unit in units if unit not in known]
    n_resumed = len(units) - len(waiting)

    def report(unit: dict[str, Any] | None) -> None:
        n_done = len(partial.finished)
        elapsed = time.monotonic() - start
        on_progress(Progress(n_done, len(units), n_resumed, elapsed, unit, partial.set_aside))

    report(None)
    for unit, rows, seconds in _run_all(name, config, waiting, jobs):
        partial.append(unit, rows, seconds)
        report(unit)
    if study_header(name, preset, config, seeds) != header:
        raise RuntimeError(
            f"the code behind {name} changed during the run; its units stay in {partial.path}"
        )
    # Units finish in any order; the file has them in the order of the plan.
    entries = sorted(partial.finished, key=lambda entry: units.index(entry["unit"]))
    rows = [row for entry in entries for row in entry["rows"]]
    provenance = (
        header
        | environment(jobs)
        | {
            "started": begun.isoformat(timespec="seconds"),
            "unit_seconds": round(sum(entry["seconds"] for entry in entries), 1),
        }
    )
    result = rounded(summarise(study, config, rows))
    provenance["same_rows"] = _codes_with_same_rows(study, path, provenance, result)
    write_result(path, provenance, result)
    partial.remove()
    return path


def _codes_with_same_rows(
    study: ModuleType, path: Path, provenance: dict[str, Any], rows: list[Row]
) -> list[str]:
    """Codes that gave these rows before: the file that is replaced vouches for them.

    So an edit that changes no number needs one recorded quick run, not a quick run in every test.
    """
    if not path.is_file():
        return []
    old = read_result(path)
    same = all(old.provenance[key] == provenance[key] for key in ("study", "config", "seeds"))
    if not same or first_difference(old.rows, rows, getattr(study, "TOLERANCES", {})):
        return []
    codes = {code_id(old.provenance["code"]), *old.provenance.get("same_rows", [])}
    return sorted(codes - {code_id(provenance["code"])})


def study_header(name: str, preset: str, config: Any, seeds: list[int]) -> dict[str, Any]:
    """Return what makes two runs the same work: config, seeds, and the digest of the code."""
    code = code_digests(find_study(name).__name__)
    settings = plain(config)
    return {
        "study": short_name(name),
        "preset": preset,
        "config": settings,
        "seeds": seeds,
        "code": code,
        "digest": study_digest(settings, code),
    }


def environment(jobs: int) -> dict[str, Any]:
    """Return versions and machine, which decide the last digits of trained numbers."""
    import torch

    versions = {name: metadata.version(name) for name in PACKAGES}
    return {
        "versions": {"python": platform.python_version(), **versions},
        "machine": {
            "cpu": _cpu_model(),
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "n_cpus": os.cpu_count(),
            "system": platform.system(),
        },
        "jobs": jobs,
    }


def rerun(name: str, preset: str, seeds: list[int]) -> list[Row]:
    """Run a preset here and now, in this process, and return its rounded rows."""
    study = find_study(name)
    config = preset_config(study, preset)
    units = plan(study, config, seeds)
    parts = (rounded(rows) for _, rows, _ in _run_all(name, config, units, 1))
    rows = [row for part in parts for row in part]
    return rounded(summarise(study, config, rows))


def _run_all(
    name: str, config: Any, units: list[dict[str, Any]], jobs: int
) -> Iterator[tuple[dict[str, Any], list[Row], float]]:
    if jobs == 1:
        yield from (_run_unit(name, config, unit) for unit in units)
        return
    import joblib

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
        yield from pool(joblib.delayed(_run_unit)(name, config, unit) for unit in units)


def _run_unit(
    name: str, config: Any, unit: dict[str, Any]
) -> tuple[dict[str, Any], list[Row], float]:
    """Run one unit on one thread: sums come out the same however many cores there are."""
    import torch
    from threadpoolctl import threadpool_limits

    study = find_study(name)
    threads, start = torch.get_num_threads(), time.monotonic()
    try:
        torch.set_num_threads(1)
        with threadpool_limits(1):
            rows = run_unit(study, config, unit)
    finally:
        torch.set_num_threads(threads)
    return unit, rows, time.monotonic() - start


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
