"""Do the recorded results of a study still stand for the code as it is now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from logitlib.studies._execute import environment, rerun, study_header
from logitlib.studies._record import Row, load_result
from logitlib.studies._study import find_study, preset_config, short_name


@dataclass(frozen=True)
class Verification:
    """Outcome of :func:`verify_recorded`: ``status`` and one sentence that explains it."""

    status: str
    message: str


def verify_recorded(name: str) -> Verification:
    """Compare the recorded results of a study with the code as it is now.

    Returns
    -------
    Verification
        "current": the digest of code and config is the recorded one, for both presets.
        "unchanged numbers": the code changed since, but the quick preset, run again here, gives
        the recorded quick rows, so the full result stands.
        "stale": it does not, or a recorded config is no longer the preset's.

    Raises
    ------
    FileNotFoundError
        If a preset is not recorded; the message names the command.

    Notes
    -----
    On the recorded CPU model with the recorded versions the rows must be equal. Elsewhere other
    kernels add floats in another order, and training amplifies the last bit into the third
    digit of a metric; then the fields that the study lists in ``TOLERANCES`` may differ by so
    much (absolutely), every other field must still be equal, and the message says so.
    """
    study, short = find_study(name), short_name(name)
    recorded = {preset: load_result(short, preset) for preset in study.PRESETS}
    changed: set[str] = set()
    for preset, result in recorded.items():
        then = result.provenance
        now = study_header(name, preset, preset_config(study, preset), then["seeds"])
        if then["config"] != now["config"]:
            message = f"the {preset} preset of {short} is not the recorded config"
            return Verification("stale", f"{message}: {_command(name, preset)}")
        if then["digest"] != now["digest"]:
            modules = set(then["code"]) | set(now["code"])
            changed |= {key for key in modules if then["code"].get(key) != now["code"].get(key)}
    if not changed:
        return Verification("current", f"{short} was recorded with the code as it is now")
    return _compare_quick(name, recorded["quick"], ", ".join(sorted(changed)))


def _compare_quick(name: str, recorded: Any, changed: str) -> Verification:
    here = environment(1)
    then = recorded.provenance
    same_place = all(then[key] == here[key] for key in ("versions",)) and _without_count(
        then["machine"]
    ) == _without_count(here["machine"])
    tolerances = {} if same_place else getattr(find_study(name), "TOLERANCES", {})
    rows = rerun(name, "quick", then["seeds"])
    difference = first_difference(recorded.rows, rows, tolerances)
    if difference:
        message = f"{changed} changed since {short_name(name)} was recorded, and {difference}"
        return Verification("stale", f"{message}: {_command(name, 'quick')}, then the full preset")
    how = "equal" if same_place else "equal within the stated tolerances (other CPU or versions)"
    return Verification(
        "unchanged numbers",
        f"{changed} changed since {short_name(name)} was recorded; the quick rows are {how}",
    )


def first_difference(then: list[Row], now: list[Row], tolerances: dict[str, float]) -> str:
    """Return a sentence on the first field that differs, or an empty string."""
    if len(then) != len(now):
        return f"the quick preset has {len(now)} rows, not {len(then)}"
    for number, (old, new) in enumerate(zip(then, now, strict=True), start=1):
        if old.keys() != new.keys():
            return f"row {number} of the quick preset has other fields: {sorted(new)}"
        for key in old:
            if not _close(old[key], new[key], tolerances.get(key, 0.0)):
                return f"field {key} of row {number} is {new[key]!r}, not {old[key]!r}"
    return ""


def _close(old: Any, new: Any, tolerance: float) -> bool:
    if old == new:
        return True
    numbers = (int, float)
    if isinstance(old, numbers) and isinstance(new, numbers):
        return abs(old - new) <= tolerance
    return tolerance == float("inf")


def _without_count(machine: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in machine.items() if key != "n_cpus"}


def _command(name: str, preset: str) -> str:
    return f"record it again with `logitlib study {name} --preset {preset}`"
