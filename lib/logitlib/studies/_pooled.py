"""Means and paired differences over test folds, from the rows of a study's units.

A unit leaves one "seed" row a final seed, with the scores of its fold, and one "replicates" row:
``n_rows`` of the test fold and, by metric, the packed replicates (mean over the seeds).
"""

from __future__ import annotations

import numpy as np

from logitlib.studies._bootstrap import interval, unpack
from logitlib.studies._record import Row


def mean_rows(names: Row, seeds: list[Row], replicates: list[Row]) -> list[Row]:
    """Return a row for each metric: pooled mean, interval, spread over seeds and over folds."""
    rows = []
    for metric, values in _pool(replicates).items():
        low, high = interval(values)
        row = {"kind": "mean", **names, "metric": metric, "mean": float(values[0])}
        row |= {"low": low, "high": high}
        row |= {f"sd_{field}s": _spread(seeds, field, metric) for field in ("seed", "fold")}
        rows.append(row)
    return rows


def difference_rows(names: Row, first: list[Row], second: list[Row]) -> list[Row]:
    """Return a row for each metric: first minus second on the folds that both have, paired."""
    folds = {row["fold"] for row in first} & {row["fold"] for row in second}
    ahead, behind = (
        _pool([row for row in side if row["fold"] in folds]) for side in (first, second)
    )
    rows = []
    for metric in ahead:
        values = ahead[metric] - behind[metric]
        low, high = interval(values)
        row = {"kind": "difference", **names, "metric": metric, "n_folds": len(folds)}
        rows.append(row | {"difference": float(values[0]), "low": low, "high": high})
    return rows


def _pool(replicates: list[Row]) -> dict[str, np.ndarray]:
    """Mean over folds, weighted by test rows; line 0 is the data, the rest are replicates."""
    shares = [row["n_rows"] for row in replicates]
    return {
        name: np.average(
            [unpack(row["packed"][name]) for row in replicates], axis=0, weights=shares
        )
        for name in replicates[0]["packed"]
    }


def _spread(rows: list[Row], field: str, metric: str) -> float | None:
    """Standard deviation of the mean of each seed (or fold); None for a single one."""
    means = [
        np.mean([row[metric] for row in rows if row[field] == value])
        for value in sorted({row[field] for row in rows})
    ]
    return float(np.std(means, ddof=1)) if len(means) > 1 else None
