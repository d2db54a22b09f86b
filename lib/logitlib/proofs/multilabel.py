r"""Exact arithmetic with distributions over label sets: what a loss with several labels fits.

A distribution is a mapping from label sets to rational probabilities. A label set is a tuple of
labels, and labels are counted from 1 to ``n_labels``, as in the formulas. Every result is a
:class:`fractions.Fraction`, so an equality of two results is a proof for that distribution.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise

LabelSet = tuple[int, ...]
Distribution = Mapping[LabelSet, Fraction]


def presence(distribution: Distribution, n_labels: int) -> tuple[Fraction, ...]:
    r"""Probability that each label is present, :math:`\eta_i = P(i \in Y)`.

    Parameters
    ----------
    distribution : mapping from tuple of int to Fraction
        Label sets and their probabilities, which sum to 1. The empty tuple is a legal set.
    n_labels : int
        Number of labels.

    Returns
    -------
    tuple of Fraction, length ``n_labels``
        They sum to the expected size :math:`\E|Y|`, not to 1.

    Raises
    ------
    ValueError
        If the probabilities are negative or do not sum to 1, or a label set holds a label outside
        ``1..n_labels`` or holds one twice.

    Examples
    --------
    >>> sets = {(1,): Fraction(2, 5), (2, 3, 4): Fraction(3, 5)}
    >>> print(*presence(sets, 4))
    2/5 3/5 3/5 3/5
    """
    return _sized_presence(distribution, n_labels, divided=False)


def share(distribution: Distribution, n_labels: int) -> tuple[Fraction, ...]:
    r"""Expected share of each label in its set, :math:`\rho_i = \E[\,1[i \in Y] / |Y|\,]`.

    Parameters
    ----------
    distribution : mapping from tuple of int to Fraction
        As in :func:`presence`; here no set may be empty, for its share is 0/0.
    n_labels : int
        Number of labels.

    Returns
    -------
    tuple of Fraction, length ``n_labels``
        They sum to 1.

    Raises
    ------
    ValueError
        As :func:`presence` does, and for an empty label set of positive probability.

    Examples
    --------
    >>> sets = {(1,): Fraction(2, 5), (2, 3, 4): Fraction(3, 5)}
    >>> print(*share(sets, 4))
    2/5 1/5 1/5 1/5
    """
    if distribution.get((), 0):
        raise ValueError("distribution must give the empty set probability 0, a share of it is 0/0")
    return _sized_presence(distribution, n_labels, divided=True)


def normalised(weights: Iterable[Fraction]) -> tuple[Fraction, ...]:
    """Weights divided by their sum: the softmax output with the least loss for that mean target.

    Parameters
    ----------
    weights : iterable of Fraction
        At least one of them positive, none negative.

    Returns
    -------
    tuple of Fraction
        In the order of the weights; the sum is 1.

    Raises
    ------
    ValueError
        If a weight is negative or none is positive.

    Examples
    --------
    >>> sets = {(1,): Fraction(2, 5), (2, 3, 4): Fraction(3, 5)}
    >>> print(*normalised(presence(sets, 4)))
    2/11 3/11 3/11 3/11
    """
    weights = tuple(weights)
    if min(weights, default=0) < 0 or not sum(weights):
        raise ValueError(f"weights must be non-negative with a positive sum, got {weights}")
    return tuple(weight / sum(weights) for weight in weights)


def sets_with_presence(eta: Iterable[Fraction]) -> dict[LabelSet, Fraction]:
    r"""A distribution over label sets in which label i is present with probability ``eta[i - 1]``.

    The construction is systematic sampling: lay segments of lengths :math:`\eta_1, \dots, \eta_n`
    end to end, draw u uniformly from [0, 1), and take the labels whose segment covers one of the
    points u, u + 1, u + 2, ... A segment is no longer than 1, so it covers at most one of them, and
    it covers one with probability :math:`\eta_i`. The size is the sum of ``eta`` rounded down or
    up, so no set is empty once that sum is at least 1.

    Parameters
    ----------
    eta : iterable of Fraction
        Probabilities in [0, 1].

    Returns
    -------
    dict from tuple of int to Fraction
        At most ``len(eta) + 1`` label sets, labels counted from 1.

    Raises
    ------
    ValueError
        If an entry lies outside [0, 1].

    Examples
    --------
    >>> for labels, probability in sets_with_presence([Fraction(1, 2), Fraction(3, 4)]).items():
    ...     print(labels, probability)
    (1, 2) 1/4
    (1,) 1/4
    (2,) 1/2
    """
    eta = [Fraction(probability) for probability in eta]
    if any(not 0 <= probability <= 1 for probability in eta):
        raise ValueError(f"eta must lie in [0, 1], got {[str(value) for value in eta]}")
    ends = [sum(eta[:i], Fraction(0)) for i in range(len(eta) + 1)]
    # the set changes only where a point u + integer crosses the end of a segment
    cuts = sorted({end % 1 for end in ends} | {Fraction(1)})
    distribution: dict[LabelSet, Fraction] = {}
    for start, stop in pairwise(cuts):
        labels = tuple(i for i in range(1, len(ends)) if _covers(ends[i - 1], ends[i], start))
        distribution[labels] = distribution.get(labels, Fraction(0)) + stop - start
    return distribution


def _covers(start: Fraction, stop: Fraction, u: Fraction) -> bool:
    """Whether the segment [start, stop) holds u + integer."""
    return -((u - start) // 1) < stop - u


def _sized_presence(
    distribution: Distribution, n_labels: int, *, divided: bool
) -> tuple[Fraction, ...]:
    _check(distribution, n_labels)
    totals = [Fraction(0)] * n_labels
    for labels, probability in distribution.items():
        for label in labels:
            totals[label - 1] += Fraction(probability) / (len(labels) if divided else 1)
    return tuple(totals)


def _check(distribution: Distribution, n_labels: int) -> None:
    probabilities = [Fraction(probability) for probability in distribution.values()]
    if min(probabilities, default=0) < 0 or sum(probabilities) != 1:
        raise ValueError(
            "distribution must have non-negative probabilities that sum to 1, "
            f"got the sum {sum(probabilities)}"
        )
    for labels in distribution:
        if len(set(labels)) < len(labels) or not set(labels) <= set(range(1, n_labels + 1)):
            raise ValueError(
                f"distribution must hold distinct labels in 1..{n_labels}, got the set {labels}"
            )
