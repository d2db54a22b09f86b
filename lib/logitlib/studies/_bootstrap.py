r"""Scores of one test fold together with their bootstrap replicates.

Groups of rows (source packages) are drawn with replacement within the fold. The draws depend on
the fold alone, so that replicate b of one model and replicate b of another saw the same rows and
their difference is a paired one.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from logitlib.metrics import (
    bootstrap_weights,
    ndcg_at_k,
    precision_at_k,
    weighted_mean_average_precision,
)

LABEL_GROUPS = ("head", "torso", "tail")


def fold_weights(groups: np.ndarray, n_resamples: int, *, fold: int) -> np.ndarray:
    """How often each row is drawn, shape (1 + n_resamples, n_rows); line 0 is the data itself."""
    draws = bootstrap_weights(groups, n_resamples=n_resamples, seed=fold)
    return np.vstack([np.ones((1, len(groups)), dtype=draws.dtype), draws])


def score_fold(
    scores: Tensor,
    targets: Tensor,
    weights: np.ndarray,
    *,
    threshold: float,
    label_groups: Sequence[str] | None = None,
) -> dict[str, np.ndarray]:
    """Metrics under each line of ``weights``: by name, an array of shape (1 + n_resamples,)."""
    by_row = {f"P@{k}": precision_at_k(scores, targets, k=k, reduction="none") for k in (1, 3, 5)}
    by_row |= {f"nDCG@{k}": ndcg_at_k(scores, targets, k=k, reduction="none") for k in (3, 5)}
    lines = weights.astype(np.float64)
    result = {name: lines @ values / lines.sum(axis=1) for name, values in by_row.items()}
    result["mAP"] = weighted_mean_average_precision(scores, targets, weights)
    for group in LABEL_GROUPS if label_groups is not None else ():
        part = np.flatnonzero(np.asarray(label_groups) == group)
        if targets[:, part].any():
            result[f"mAP {group}"] = weighted_mean_average_precision(
                scores[:, part], targets[:, part], weights
            )
    # rounded to the dtype of the scores, as logitlib.metrics.micro_f1 does
    chosen = scores >= torch.tensor(threshold, dtype=scores.dtype)
    result["micro-F1"], result["macro-F1"] = _f1(chosen, targets, weights)
    return result


def _f1(chosen: Tensor, targets: Tensor, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Micro-F1, and macro-F1 over the labels that the resample has in its targets."""
    lines = torch.as_tensor(weights, dtype=torch.float32)
    truth = targets.bool()
    # sums of small counts: exact in float32
    hits, said, true = (lines @ part.float() for part in (chosen & truth, chosen, truth))
    micro = 2 * hits.sum(1) / (said.sum(1) + true.sum(1))
    each = torch.where(true > 0, 2 * hits / (said + true), torch.nan)
    return micro.double().numpy(), each.double().nanmean(1).numpy()


def pack(values: np.ndarray) -> str:
    """Write an array as base64 of little-endian float32."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii")


def unpack(text: str) -> np.ndarray:
    """Read an array written by :func:`pack`, as float64.

    Examples
    --------
    >>> unpack(pack(np.array([0.5, 2.0])))
    array([0.5, 2. ])
    """
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float64)


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of ``values[0]``: 1.96 standard deviations of the replicates ``values[1:]``.

    Not the percentile interval: a row that is drawn twice ties with itself, which lifts the
    average precision of every resample, and percentiles would be off-centre by that.

    Examples
    --------
    >>> low, high = interval(np.array([0.5, 0.4, 0.6]))
    >>> round(low, 3), round(high, 3)
    (0.223, 0.777)
    """
    half = 1.959964 * values[1:].std(ddof=1)
    return float(values[0] - half), float(values[0] + half)
