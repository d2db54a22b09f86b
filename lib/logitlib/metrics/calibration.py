r"""Do labels of predicted probability p occur with frequency p? The expected calibration error."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from logitlib.metrics._check import Scores, check_choice, check_count, check_pair, row_blocks


def expected_calibration_error(
    probabilities: Scores,
    targets: Any,
    *,
    n_bins: int = 15,
    binning: Literal["width", "mass"] = "width",
) -> float:
    r"""Mean gap between the frequency and the probability of labels, over bins of probability.

    .. math:: \mathrm{ECE} = \sum_b \frac{|B_b|}{N} \, |\bar y_b - \bar p_b|

    All N (row, label) pairs are put in bins by their probability; :math:`\bar y_b` is the share of
    positives in bin b and :math:`\bar p_b` its mean probability.

    Parameters
    ----------
    probabilities : array or Tensor, shape (n_rows, n_labels), floating
        Probability that the label is present, in [0, 1].
    targets : array, Tensor or SciPy sparse matrix, shape (n_rows, n_labels)
        1 where the label is present, else 0.
    n_bins : int
        At least 1. Empty bins count nothing.
    binning : {"width", "mass"}
        "width": bins ((b - 1)/n_bins, b/n_bins], 0 in the first. "mass": bounds at the quantiles of
        the probabilities, as many pairs in each bin as ties allow; equal probabilities always share
        a bin, so the order of rows does not matter.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    TypeError
        If probabilities are not floating, targets not numeric or n_bins not an integer.
    ValueError
        If the batch is empty, the shapes differ, a probability is NaN or outside [0, 1], a target
        is neither 0 nor 1, or n_bins or binning is outside its range.

    Notes
    -----
    The definition for the probability of an event is that of Naeini et al. (2015), with 10 bins.
    Guo et al. (2017) apply it to the top-scored class and whether it is right, in bins of equal
    width. A row of a multi-label problem has no single right class, so here every pair counts.

    *Read with care.* With many labels nearly all pairs have a probability near 0 and share the
    first bin of equal width: the value is then small for any model with the right mean, and equal
    mass tells more. The value depends on n_bins, and is positive even for a calibrated model, since
    the frequency in a bin scatters. Nixon et al. (2019) discuss the choice of bins.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining well calibrated probabilities using
    Bayesian binning", AAAI 2015.
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks",
    ICML 2017.
    J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel and D. Tran, "Measuring calibration in deep
    learning", arXiv:1904.01685.

    Examples
    --------
    >>> round(expected_calibration_error([[0.8, 0.8], [0.1, 0.8]], [[1, 0], [0, 1]], n_bins=2), 4)
    0.125
    """
    check_choice(binning, "binning", ("width", "mass"))
    n_bins = check_count(n_bins, "n_bins")
    probabilities, targets = check_pair(probabilities, targets)
    for bound in (probabilities.min(), probabilities.max()):
        if not 0 <= bound <= 1:
            raise ValueError(
                f"probabilities must be in [0, 1], got {bound} (logits need a sigmoid)"
            )
    bounds = _inner_bounds(probabilities, n_bins, binning)
    surplus = np.zeros(n_bins)
    for p, y in row_blocks(probabilities, targets):
        p = p.ravel().astype(np.float64)
        surplus += np.bincount(np.searchsorted(bounds, p), weights=p - y.ravel(), minlength=n_bins)
    # |B| / N * |mean y - mean p| is |sum of p - y| / N: no bin is divided by its size
    return float(np.abs(surplus).sum() / probabilities.size)


def _inner_bounds(probabilities: NDArray, n_bins: int, binning: str) -> NDArray[np.float64]:
    steps = np.linspace(0, 1, n_bins + 1)[1:-1]
    return steps if binning == "width" else np.quantile(probabilities, steps)
