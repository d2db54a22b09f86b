"""Do the recorded results of a study still stand for the code as it is now?"""

from __future__ import annotations

from dataclasses import dataclass

from logitlib.studies._compare import first_difference
from logitlib.studies._digest import code_digests, code_id
from logitlib.studies._execute import rerun
from logitlib.studies._record import load_result
from logitlib.studies._study import find_study, plain, short_name


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
        "current": both presets were recorded with the code and the configs as they are now.
        "unchanged numbers": the code changed since the full preset was recorded, but the quick
        preset gives the same rows: it was recorded again with the code as it is now and found the
        rows that it replaced, or it is run again here. So the full result stands.
        "stale": it does not, or a recorded config is no longer the preset's.

    Raises
    ------
    FileNotFoundError
        If a preset is not recorded; the message names the command.

    Notes
    -----
    The same rows are equal rows, but for the fields that the study lists in ``TOLERANCES``: they
    may differ by so much (absolutely). Another CPU or a sum in another order changes the last bit,
    and training carries it into the third or fourth digit of a score.
    """
    study, short = find_study(name), short_name(name)
    recorded = {preset: load_result(short, preset).provenance for preset in study.PRESETS}
    for preset, provenance in recorded.items():
        if provenance["config"] != plain(study.PRESETS[preset]):
            message = f"the {preset} preset of {short} is not the recorded config"
            return Verification("stale", f"{message}: {_command(name, preset)}")
    now = code_digests(study.__name__)
    quick, full = (recorded[preset]["code"] for preset in ("quick", "full"))
    if now == quick == full:
        return Verification("current", f"{short} was recorded with the code as it is now")
    changed = [key for key in {**now, **full} if now.get(key) != full.get(key)]
    since = f"{', '.join(sorted(changed)) or 'nothing'} changed since {short} was recorded"
    if code_id(full) not in (code_id(quick), *recorded["quick"].get("same_rows", [])):
        # rows of another code say nothing on the full result, however often they come out
        message = f"{since}; its quick preset has other rows than with the code of the full one"
        return Verification("stale", f"{message}: {_command(name, 'full')}")
    if now == quick:
        return Verification("unchanged numbers", f"{since}; the quick rows came out the same")
    return _compare_quick(name, since)


def _compare_quick(name: str, since: str) -> Verification:
    recorded = load_result(short_name(name), "quick")
    rows = rerun(name, "quick", recorded.provenance["seeds"])
    tolerances = getattr(find_study(name), "TOLERANCES", {})
    difference = first_difference(recorded.rows, rows, tolerances)
    if difference:
        again = f"{_command(name, 'quick')}, then the full preset"
        return Verification("stale", f"{since}, and in its quick rows {difference}: {again}")
    how = "equal" if rows == recorded.rows else "equal within the stated tolerances"
    return Verification("unchanged numbers", f"{since}; the quick rows, run again, are {how}")


def _command(name: str, preset: str) -> str:
    return f"record it again with `logitlib study {name} --preset {preset}`"
