r"""F1 of the label sets that a threshold on the scores predicts, and the best threshold."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitlib.metrics._check import Scores, Targets, check_pair, positive_pairs, row_blocks
from logitlib.metrics._counts import counts_at_positives


def micro_f1(scores: Scores, targets: Any, *, threshold: float) -> float:
    r"""F1 of all (row, label) pairs together, :math:`2\,TP / (2\,TP + FP + FN)`.

    Parameters
    ----------
    scores : array or Tensor, shape (n_rows, n_labels), floating
        Logits or probabilities. Infinite is fine, NaN is not.
    targets : array, Tensor or SciPy sparse matrix, shape (n_rows, n_labels)
        1 where the label is present, else 0.
    threshold : float
        A label is predicted where its score is at least this; in the unit of scores, so 0.5 for
        probabilities is 0 for logits. It is rounded to their dtype (float32 for bfloat16), so that
        0.7 stored in float32 reaches a threshold of 0.7.

    Returns
    -------
    float
        In [0, 1]; 0 when there is neither a positive nor a prediction (``zero_division=0``).

    Raises
    ------
    TypeError
        If scores are not floating, targets not numeric or threshold not a number.
    ValueError
        If the batch is empty, the shapes differ, a score or the threshold is NaN, or a target is
        neither 0 nor 1.

    Notes
    -----
    Frequent labels dominate. A loss that shifts all probabilities moves this value without any
    better ranking: compare models at their own :func:`best_threshold`, chosen on other rows.

    Examples
    --------
    >>> micro_f1([[0.9, 0.2], [0.6, 0.4]], [[1, 0], [0, 1]], threshold=0.5)  # TP 1, FP 1, FN 1
    0.5
    """
    scores, targets = check_pair(scores, targets)
    counts = _label_counts(scores, targets, threshold)
    return float(_f1(*(count.sum() for count in counts)))


def macro_f1(scores: Scores, targets: Any, *, threshold: float) -> float:
    r"""Mean of :math:`2\,TP_l / (2\,TP_l + FP_l + FN_l)` over the labels l that have a positive.

    Parameters
    ----------
    scores, targets, threshold
        As in :func:`micro_f1`; one threshold for all labels.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        As in :func:`micro_f1`, and a ValueError when no label has a positive.

    Notes
    -----
    *Which labels count.* Those with at least one positive row, as in
    :func:`~logitlib.metrics.mean_average_precision`. ``sklearn.metrics.f1_score(average="macro",
    zero_division=0)`` averages over all labels: one that a test fold misses counts 0 there, whether
    predicted or not. Here false alarms on such a label cost nothing; micro-F1 sees them.

    *Which macro-F1.* The mean of F1 values, not the F1 of mean precision and mean recall, which is
    larger and can order models differently (Opitz and Burst 2019).

    References
    ----------
    J. Opitz and S. Burst, "Macro F1 and Macro F1", arXiv:1911.03347.

    Examples
    --------
    >>> macro_f1([[0.9, 0.2], [0.6, 0.4]], [[1, 0], [0, 1]], threshold=0.5)  # (2/3 + 0) / 2
    0.3333333333333333
    """
    scores, targets = check_pair(scores, targets)
    hits, predicted, present = _label_counts(scores, targets, threshold)
    labels = present > 0
    if not labels.any():
        raise ValueError(
            "targets must hold at least one 1: the mean is over labels with a positive"
        )
    return float(_f1(hits[labels], predicted[labels], present[labels]).mean())


def best_threshold(scores: Scores, targets: Any) -> tuple[float, float]:
    r"""Find the one threshold for all labels that maximises micro-F1, exactly.

    Choose it on validation rows: on the rows it is reported for, the value is optimistic.

    Parameters
    ----------
    scores, targets
        As in :func:`micro_f1`, with at least one positive.

    Returns
    -------
    threshold : float
        A score of a positive; the largest one, so the smallest prediction, where several are best.
    f1 : float
        ``micro_f1(scores, targets, threshold=threshold)``.

    Raises
    ------
    TypeError, ValueError
        As in :func:`micro_f1`, and a ValueError when no target is 1: every threshold gives 0.

    Notes
    -----
    Only the positives' scores need trying: a threshold between two of them lets the same positives
    through as the upper one, with at least as many false alarms. One sort of all scores (the one
    copy that is made) then counts what each lets through.

    Examples
    --------
    >>> best_threshold([[0.9, 0.2], [0.6, 0.4]], [[1, 0], [0, 1]])  # TP 2, FP 1
    (0.4, 0.8)
    """
    scores, targets = check_pair(scores, targets)
    rows, labels = positive_pairs(targets)
    if rows.size == 0:
        raise ValueError("targets must hold at least one 1: without, every threshold gives F1 = 0")
    thresholds, hits, selected = counts_at_positives(scores, scores[rows, labels])
    f1 = _f1(hits, selected, np.asarray(rows.size))
    best = np.flatnonzero(f1 == f1.max())[-1]
    return float(thresholds[best]), float(f1[best])


def _label_counts(
    scores: NDArray, targets: Targets, threshold: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Return (n_labels,) counts of hits, of predictions and of positives."""
    if not isinstance(threshold, Real) or isinstance(threshold, bool):
        raise TypeError(f"threshold must be a number, got {threshold!r}")
    if np.isnan(threshold):
        raise ValueError("threshold must not be NaN")
    with np.errstate(over="ignore"):  # beyond the range of float32 it is infinite, as it should be
        cut = scores.dtype.type(threshold)
    hits, predicted, present = np.zeros((3, scores.shape[1]), dtype=np.int64)
    for s, y in row_blocks(scores, targets):
        above = s >= cut
        hits += (above & y).sum(axis=0)
        predicted += above.sum(axis=0)
        present += y.sum(axis=0)
    return hits, predicted, present


def _f1(hits: NDArray, predicted: NDArray, present: NDArray) -> NDArray[np.float64]:
    # 2 TP + FP + FN = predicted + present; with neither there is no hit, and 0 / 1 is 0
    return 2 * hits / np.maximum(predicted + present, 1)
