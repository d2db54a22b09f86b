r"""Average precision of each label's ranking of the rows: mean and bootstrap replicates."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from logitlib.metrics._check import (
    Scores,
    Targets,
    check_choice,
    check_pair,
    dense,
    positive_pairs,
    to_numpy,
)
from logitlib.metrics._counts import counts_at_positives

# (rows + resamples) x positives handled at once: about 100 MB of working memory
_BLOCK = 2**22


def mean_average_precision(
    scores: Scores, targets: Any, *, reduction: Literal["mean", "none"] = "mean"
) -> float | NDArray[np.float64]:
    r"""Mean over labels of the average precision with which a label ranks the rows.

    .. math:: \mathrm{AP}_l = \frac{1}{|P_l|} \sum_{i \in P_l}
              \frac{|\{j \in P_l : s_{jl} \ge s_{il}\}|}{|\{j : s_{jl} \ge s_{il}\}|}

    with :math:`P_l` the rows that carry label l. Scores of different labels are never compared.

    Parameters
    ----------
    scores : array or Tensor, shape (n_rows, n_labels), floating
        Larger means more likely. Infinite is fine, NaN is not.
    targets : array, Tensor or SciPy sparse matrix, shape (n_rows, n_labels)
        1 where the label is present, else 0. A sparse matrix is not made dense.
    reduction : {"mean", "none"}
        "mean" averages over the labels that have a positive row; "none" gives one value a label,
        NaN where it has none.

    Returns
    -------
    float or array of float64, shape (n_labels,)
        In (0, 1].

    Raises
    ------
    TypeError
        If scores are not floating or targets not numeric.
    ValueError
        If the batch is empty, the shapes differ, a score is NaN, a target is neither 0 nor 1, or
        the mean is asked for and no label has a positive.

    Notes
    -----
    *Two means go by the name mAP.* In tagging and image classification it is this one, over labels
    (macro). In retrieval it is the mean over queries, that is over rows, each of which ranks the
    labels: ``mean_average_precision(scores.T, targets.T)``. They can order two models differently.

    *Labels without a positive* are left out; ``sklearn.metrics.average_precision_score(
    average="macro")`` counts them as 0, so its value depends on how many labels a test fold misses.

    *Ties* are as in scikit-learn: rows of equal score enter together, and the precision after the
    last of them holds for all. That is not the mean over random orders: two tied rows, one of them
    positive, give 1/2 here and 3/4 on average.

    Examples
    --------
    >>> scores = [[0.9, 0.1], [0.8, 0.3], [0.7, 0.2]]
    >>> mean_average_precision(scores, [[1, 0], [0, 0], [1, 0]], reduction="none").round(4)
    array([0.8333,    nan])
    >>> round(mean_average_precision(scores, [[1, 0], [0, 0], [1, 0]]), 4)  # (1/1 + 2/3) / 2
    0.8333
    """
    check_choice(reduction, "reduction", ("mean", "none"))
    scores, targets = check_pair(scores, targets)
    rows, labels = positive_pairs(targets)
    first = np.searchsorted(labels, np.arange(scores.shape[1] + 1))
    average = np.full(scores.shape[1], np.nan)
    for label in np.flatnonzero(np.diff(first)):
        column = scores[:, label]
        positive = column[rows[first[label] : first[label + 1]]]
        _, hits, selected = counts_at_positives(column, positive)
        average[label] = (hits / selected).mean()
    if reduction == "none":
        return average
    _check_any_positive(rows)
    return float(np.nanmean(average))


def weighted_mean_average_precision(
    scores: Scores, targets: Any, weights: Any
) -> NDArray[np.float64]:
    r"""Mean average precision under each of many row weightings: its bootstrap replicates.

    With weights :math:`w_j` of the rows, label l has

    .. math:: \mathrm{AP}_l = \frac{1}{\sum_{i \in P_l} w_i} \sum_{i \in P_l} w_i
              \frac{\sum_{j \in P_l} w_j [s_{jl} \ge s_{il}]}{\sum_j w_j [s_{jl} \ge s_{il}]}.

    A resample that draws row j :math:`w_j` times has exactly this average precision, so one matrix
    product of the weights with the comparisons replaces a sort for each resample and label.

    Parameters
    ----------
    scores, targets
        As in :func:`mean_average_precision`.
    weights : array or Tensor, shape (n_resamples, n_rows)
        Finite, at least 0; for a bootstrap, what :func:`~logitlib.metrics.bootstrap_weights` gives.

    Returns
    -------
    array of float64, shape (n_resamples,)
        Mean over the labels that have a positive row of weight above 0 in that resample, a set that
        varies between resamples as it varies between samples; NaN where there is none.

    Raises
    ------
    TypeError, ValueError
        As in :func:`mean_average_precision`, and if weights are not numeric, of another shape,
        negative or not finite.

    Notes
    -----
    Unit weights give :func:`mean_average_precision`, ties included, and each label agrees with
    ``sklearn.metrics.average_precision_score(sample_weight=w)``. Whole weights that sum to less
    than 2²⁴ in a row, as counts do, are multiplied in float32, where every sum is exact; others in
    float64. The cost is ``4 n_resamples n_rows n_positives`` operations.

    Examples
    --------
    >>> scores, targets = [[0.9], [0.8], [0.7]], [[1], [0], [1]]
    >>> weighted_mean_average_precision(scores, targets, [[1, 1, 1], [0, 1, 2]]).round(4)
    array([0.8333, 0.6667])
    """
    scores, targets = check_pair(scores, targets)
    weights = _check_weights(weights, len(scores))
    rows, labels = positive_pairs(targets)
    _check_any_positive(rows)
    total = np.zeros((len(weights), scores.shape[1]))
    mass = np.zeros_like(total)
    step = max(1, _BLOCK // (len(scores) + len(weights)))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        own = weights[:, rows[block]].astype(np.float64)
        precision = _weighted_precision(scores, targets, weights, rows[block], labels[block])
        label, first = np.unique(labels[block], return_index=True)
        total[:, label] += np.add.reduceat(own * precision, first, axis=1)
        mass[:, label] += np.add.reduceat(own, first, axis=1)
    average = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    n_labels = (mass > 0).sum(axis=1)
    nothing = np.full(len(weights), np.nan)
    return np.divide(average.sum(axis=1), n_labels, out=nothing, where=n_labels > 0)


def _weighted_precision(
    scores: NDArray, targets: Targets, weights: NDArray, rows: NDArray, labels: NDArray
) -> NDArray[np.float64]:
    """Return the precision at each positive pair, (n_resamples, n_pairs); 0 where none is drawn."""
    ahead = scores[:, labels] >= scores[rows, labels]
    selected = weights @ ahead.astype(weights.dtype)
    hits = weights @ (ahead & dense(targets[:, labels])).astype(weights.dtype)
    nothing = np.zeros(hits.shape)
    return np.divide(hits, selected, out=nothing, where=selected > 0, dtype=np.float64)


def _check_any_positive(rows: NDArray) -> None:
    if rows.size == 0:
        raise ValueError("targets must hold at least one 1: the mean over labels with a positive")


def _check_weights(weights: Any, n_rows: int) -> NDArray:
    weights = to_numpy(weights, "weights")
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"weights must be numeric, got {weights.dtype}")
    if weights.ndim != 2 or weights.shape[1] != n_rows or len(weights) == 0:
        raise ValueError(f"weights must have shape (n_resamples, {n_rows}), got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("weights must be finite and at least 0")
    exact = (weights == np.rint(weights)).all() and weights.sum(
        axis=1, dtype=np.float64
    ).max() < 2**24
    return weights.astype(np.float32 if exact else np.float64, copy=False)
