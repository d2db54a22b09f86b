r"""Quality of the first k labels of each row: precision@k and nDCG@k, exact under ties."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from logitlib.metrics._check import Scores, check_choice, check_count, check_pair, row_blocks


def precision_at_k(
    scores: Scores, targets: Any, *, k: int, reduction: Literal["mean", "none"] = "mean"
) -> float | NDArray[np.float64]:
    r"""Share of true labels among the k best-scored ones, :math:`\frac1k \sum_{r=1}^{k} y_{(r)}`.

    Here :math:`y_{(r)}` is the target of the label with the r-th largest score of the row.

    Parameters
    ----------
    scores : array or Tensor, shape (n_rows, n_labels), floating
        Larger means more likely; only their order within a row matters. Infinite is fine, NaN is
        not.
    targets : array, Tensor or SciPy sparse matrix, shape (n_rows, n_labels)
        1 where the label is present, else 0; boolean, integer or floating. A sparse matrix is made
        dense one block of rows at a time.
    k : int
        From 1 to n_labels.
    reduction : {"mean", "none"}
        "mean" averages over rows, "none" gives one value a row, as a paired bootstrap needs.

    Returns
    -------
    float or array of float64, shape (n_rows,)
        In [0, 1].

    Raises
    ------
    TypeError
        If scores are not floating, targets not numeric or k not an integer.
    ValueError
        If the batch is empty, the shapes differ, a score is NaN, a target is neither 0 nor 1, or k
        or reduction is outside its range.

    Notes
    -----
    *Few labels.* A row with fewer than k true labels cannot reach 1, and one without any gets 0.

    *Ties* are worth their expectation when equal scores are put in random order. The usual stable
    sort favours low label indices instead, which in many data sets are the frequent labels.

    Examples
    --------
    >>> precision_at_k([[0.9, 0.2, 0.7, 0.1]], [[1, 0, 0, 1]], k=2)
    0.5
    >>> precision_at_k([[0.5, 0.5, 0.5, 0.5]], [[1, 0, 0, 0]], k=1)  # any of four comes first
    0.25
    """
    check_choice(reduction, "reduction", ("mean", "none"))
    scores, targets = check_pair(scores, targets)
    k = check_count(k, "k", largest=scores.shape[1])
    blocks = [_expected_hits(s, y, k).mean(axis=1) for s, y in row_blocks(scores, targets)]
    per_row = np.concatenate(blocks)
    return per_row if reduction == "none" else float(per_row.mean())


def ndcg_at_k(
    scores: Scores, targets: Any, *, k: int, reduction: Literal["mean", "none"] = "mean"
) -> float | NDArray[np.float64]:
    r"""Discounted gain of the first k labels over the best possible one, gains being 0 or 1.

    .. math:: \mathrm{nDCG@}k = \frac{\sum_{r=1}^{k} y_{(r)} / \log_2(r + 1)}
                                     {\sum_{r=1}^{\min(k, |Y|)} 1 / \log_2(r + 1)}

    for a row with :math:`|Y|` true labels; :math:`y_{(r)}` is the target at rank r.

    Parameters
    ----------
    scores, targets, k, reduction
        As in :func:`precision_at_k`.

    Returns
    -------
    float or array of float64, shape (n_rows,)
        In [0, 1]; exactly 1 where every true label, or k of them, come first.

    Raises
    ------
    TypeError, ValueError
        As in :func:`precision_at_k`.

    Notes
    -----
    *Rows without a true label* have no ideal gain (0/0). They count 0, as in scikit-learn and in
    precision@k, so that every metric here averages over the same rows; drop them before the call
    if they are not meant to count.

    *Ties* are worth their expectation under random order, as in
    ``sklearn.metrics.ndcg_score(ignore_ties=False)`` and McSherry and Najork (2008).

    *The ideal* stops at :math:`\min(k, |Y|)`. Some codes divide by the gain of k true labels even
    where a row has fewer, which makes 1 unreachable.

    References
    ----------
    F. McSherry and M. Najork, "Computing information retrieval performance measures efficiently in
    the presence of tied scores", ECIR 2008.

    Examples
    --------
    >>> round(ndcg_at_k([[0.9, 0.2, 0.7, 0.1]], [[1, 0, 0, 1]], k=2), 4)  # 1 / (1 + 1/log2(3))
    0.6131
    >>> ndcg_at_k([[0.9, 0.2, 0.7, 0.1]], [[1, 0, 0, 0]], k=2)  # one label: the ideal is 1
    1.0
    """
    check_choice(reduction, "reduction", ("mean", "none"))
    scores, targets = check_pair(scores, targets)
    k = check_count(k, "k", largest=scores.shape[1])
    discount = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discount)])
    blocks = []
    for s, y in row_blocks(scores, targets):
        # a running sum, not a dot product: in the order of `ideal`, so a perfect row is exactly 1
        gain = np.cumsum(_expected_hits(s, y, k) * discount, axis=1)[:, -1]
        best = ideal[np.minimum(y.sum(axis=1), k)]
        blocks.append(np.divide(gain, best, out=np.zeros_like(gain), where=best > 0))
    per_row = np.concatenate(blocks)
    return per_row if reduction == "none" else float(per_row.mean())


def _expected_hits(scores: NDArray, targets: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """Return P(the label at rank r is a true one), ranks 1 to k, equal scores in random order."""
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    best = np.take_along_axis(best, order, axis=1)
    top, hits = (np.take_along_axis(a, best, axis=1) for a in (scores, targets))

    # equal scores follow each other: each rank of such a run gets the mean of the run
    starts = np.ones(top.shape, dtype=bool)
    starts[:, 1:] = top[:, 1:] != top[:, :-1]
    run = np.cumsum(starts) - 1
    expected = (np.bincount(run, weights=hits.ravel()) / np.bincount(run))[run].reshape(hits.shape)

    # the last run may go on below rank k, so its mean is taken over the whole row
    last = top[:, -1:]
    tied = scores == last
    mean = (tied & targets).sum(axis=1, keepdims=True) / tied.sum(axis=1, keepdims=True)
    return np.where(top == last, mean, expected)
