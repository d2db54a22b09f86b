"""Are two lists of rows the same result?"""

from __future__ import annotations

from typing import Any

from logitlib.studies._record import Row


def first_difference(then: list[Row], now: list[Row], tolerances: dict[str, float]) -> str:
    """Return a sentence on the first field that differs, or an empty string.

    A field in ``tolerances`` may differ by so much (absolutely), every other must be equal.

    Examples
    --------
    >>> first_difference([{"seed": 0, "mAP": 0.5}], [{"seed": 0, "mAP": 0.503}], {"mAP": 0.005})
    ''
    >>> first_difference([{"seed": 0, "mAP": 0.5}], [{"seed": 1, "mAP": 0.5}], {"mAP": 0.005})
    'field seed of row 1 is 1, not 0'
    """
    if len(then) != len(now):
        return f"there are {len(now)} rows, not {len(then)}"
    for number, (old, new) in enumerate(zip(then, now, strict=True), start=1):
        if old.keys() != new.keys():
            return f"row {number} has the fields {sorted(new)}, not {sorted(old)}"
        for key in old:
            if not _close(old[key], new[key], tolerances.get(key, 0.0)):
                return f"field {key} of row {number} is {new[key]!r}, not {old[key]!r}"
    return ""


def _close(old: Any, new: Any, tolerance: float) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= tolerance
    return old == new
