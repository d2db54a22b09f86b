"""The counts behind a precision-recall curve, at the only thresholds that matter."""

import numpy as np
from numpy.typing import NDArray


def counts_at_positives(scores: NDArray, positive: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Count what a threshold at each positive's score lets through.

    Parameters
    ----------
    scores : array, any shape
        All scores.
    positive : array, shape (n_positives,)
        The scores of the positives among them.

    Returns
    -------
    thresholds : array, shape (n_positives,)
        The positives' scores, rising.
    hits, selected : arrays of int, shape (n_positives,)
        How many positives, and how many of all, score at least as much.
    """
    # sorting values and bisecting is several times faster than an argsort of everything
    ranked, thresholds = np.sort(scores, axis=None), np.sort(positive)
    hits = thresholds.size - np.searchsorted(thresholds, thresholds, side="left")
    selected = ranked.size - np.searchsorted(ranked, thresholds, side="left")
    return thresholds, hits, selected
