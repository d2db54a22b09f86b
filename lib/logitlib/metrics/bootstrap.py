r"""Intervals for paired differences of rows that come in groups, as packages of one source do."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from logitlib.metrics._check import check_count, to_numpy

# group counts drawn at once: 32 MiB
_BLOCK = 2**22


class Interval(NamedTuple):
    """An estimate with the two ends of its confidence interval; floats, or arrays of one shape."""

    mean: float | NDArray[np.float64]
    low: float | NDArray[np.float64]
    high: float | NDArray[np.float64]


def paired_bootstrap(
    differences: Any,
    groups: Any,
    *,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    r"""Mean of per-row differences with a percentile interval, whole groups being resampled.

    Rows of one group resemble each other, so they are drawn together: a resample takes as many
    groups as there are, with replacement, and its mean is
    :math:`\sum_g c_g S_g / \sum_g c_g n_g`, with :math:`c_g` the draws of group g, :math:`S_g` the
    sum of its differences and :math:`n_g` its rows. (The cluster bootstrap; a ratio, since the
    number of rows varies with the groups drawn.)

    Parameters
    ----------
    differences : array or Tensor, shape (n_rows,) or (n_rows, n_metrics)
        Metric of one model minus that of the other on the same row. Finite.
    groups : array, shape (n_rows,)
        Group of each row: integers or strings. ``range(n_rows)`` is the ordinary bootstrap.
    n_resamples : int
        At least 1.
    confidence : float
        Between 0 and 1, exclusive.
    seed : int
        The same seed gives the same resamples, for every metric and in :func:`bootstrap_weights`.

    Returns
    -------
    Interval
        ``mean``, ``low``, ``high``: floats, or arrays of shape (n_metrics,).

    Raises
    ------
    TypeError
        If differences are not numeric or n_resamples is no integer.
    ValueError
        If there is no row, a difference is not finite, the lengths differ, there are fewer than two
        groups, or n_resamples or confidence is outside its range.

    Notes
    -----
    The interval covers the choice of test rows alone: not the training set, not the seeds of
    training, and it is not corrected for several comparisons. With few groups a percentile interval
    is too short: where a shared normal effect and 1 to 6 rows make a group, the 95 % interval was
    measured to cover 92 % of the time with 20 groups, 93.5 % with 40 and 95 % with 400, in 2,000
    simulations each.

    References
    ----------
    C. A. Field and A. H. Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical
    Society B 69 (2007).

    Examples
    --------
    >>> mean, low, high = paired_bootstrap([0.1, 0.3, 0.2, -0.2], ["a", "a", "b", "c"])
    >>> round(mean, 4), round(low, 4), round(high, 4)
    (0.1, -0.2, 0.2)
    """
    differences = to_numpy(differences, "differences")
    if differences.dtype.kind not in "biuf":
        raise TypeError(f"differences must be numeric, got {differences.dtype}")
    if differences.ndim not in (1, 2) or differences.size == 0:
        raise ValueError(
            "differences must have shape (n_rows,) or (n_rows, n_metrics) and hold a row, "
            f"got {differences.shape}"
        )
    if not np.isfinite(differences).all():
        raise ValueError("differences must be finite")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
    group = _check_groups(groups)
    if len(group) != len(differences):
        raise ValueError(f"groups must have {len(differences)} rows, got {len(group)}")

    sizes = np.bincount(group).astype(np.float64)
    columns = differences.reshape(len(group), -1).T
    sums = np.stack([np.bincount(group, weights=column) for column in columns], axis=1)
    replicates = np.concatenate(
        [
            counts @ sums / (counts @ sizes)[:, None]
            for counts in _group_counts(len(sizes), n_resamples, seed)
        ]
    )
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    mean = sums.sum(axis=0) / len(group)
    if differences.ndim == 1:
        return Interval(float(mean[0]), float(low[0]), float(high[0]))
    return Interval(mean, low, high)


def bootstrap_weights(
    groups: Any, *, n_resamples: int = 2000, seed: int = 0
) -> NDArray[np.float32]:
    """Count how often each resample of :func:`paired_bootstrap` draws each row.

    For metrics that are no mean over rows, such as :func:`weighted_mean_average_precision`.

    Parameters
    ----------
    groups, n_resamples, seed
        As in :func:`paired_bootstrap`; with the same values the resamples are the same.

    Returns
    -------
    array of float32, shape (n_resamples, n_rows)
        Whole numbers; rows of one group have the same.

    Raises
    ------
    TypeError, ValueError
        As in :func:`paired_bootstrap`.

    Examples
    --------
    >>> bootstrap_weights(["a", "a", "b"], n_resamples=3, seed=1)
    array([[1., 1., 1.],
           [0., 0., 2.],
           [2., 2., 0.]], dtype=float32)
    """
    group = _check_groups(groups)
    blocks = _group_counts(group.max() + 1, n_resamples, seed)
    return np.concatenate([counts.astype(np.float32)[:, group] for counts in blocks])


def _check_groups(groups: Any) -> NDArray:
    """Return the groups numbered from 0."""
    groups = to_numpy(groups, "groups")
    if groups.ndim != 1:
        raise ValueError(f"groups must have shape (n_rows,), got {groups.shape}")
    names, group = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups must hold at least 2 groups to resample, got {len(names)}")
    return group


def _group_counts(n_groups: int, n_resamples: int, seed: int) -> Iterator[NDArray]:
    """Yield the draws of each group, (block, n_groups); the size of a block changes no number."""
    n_resamples = check_count(n_resamples, "n_resamples")
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n_groups)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        # counting uniform draws is several times faster than a multinomial, and has the same law
        draws = generator.integers(n_groups, size=(size, n_groups))
        draws += n_groups * np.arange(size)[:, None]
        yield np.bincount(draws.ravel(), minlength=size * n_groups).reshape(size, n_groups)
