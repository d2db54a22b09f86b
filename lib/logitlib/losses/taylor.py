r"""Binary cross-entropy cut after the first terms of its series."""

from torch import Tensor

from logitlib.losses._check import check_order, check_probabilities, reduce
from logitlib.losses._polynomial import probabilities


def taylor_binary_cross_entropy(
    logits: Tensor, targets: Tensor, *, order: int, reduction: str = "mean"
) -> Tensor:
    r"""Binary cross-entropy's series to a given order, :math:`\sum_{m=1}^{M} q^m / m`.

    Here :math:`q` is the probability of the wrong answer, :math:`1 - p` for a target of 1 and
    :math:`p = \sigma(z)` for a target of 0; soft targets average the two. The loss is at most
    :math:`H_M = 1 + 1/2 + \dots + 1/M`, and tends to `logitlib.losses.binary_cross_entropy` as
    :math:`M` grows, slowly where :math:`q` is near 1.

    Parameters
    ----------
    logits : Tensor, shape (...), floating
        Log-odds in nats.
    targets : Tensor, same shape, floating, integer or bool
        Probabilities in [0, 1] that the label is present, most often 0 or 1.
    order : int
        Number of terms :math:`M \ge 1`. Time grows in proportion to it.
    reduction : {"mean", "sum", "none"}
        "mean" averages over every element; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or the shape of ``logits`` for "none".

    Raises
    ------
    TypeError
        If an argument is no tensor, ``logits`` is not floating, ``targets`` is complex or
        ``order`` is no integer.
    ValueError
        If the shapes differ, a target is outside [0, 1] or NaN (not checked in traced code),
        ``order`` is below 1, or ``reduction`` is another word.

    Notes
    -----
    For a target of 1 the derivative is :math:`-q(1 - q^M)`, for 0 it is :math:`p(1 - p^M)`: unlike
    that of the full series it goes to 0 at both ends, so the worst mistakes teach nothing.

    References
    ----------
    Feng, Shu, Lin, Lv, Li and An, "Can cross entropy loss be robust to label noise?", IJCAI 2020,
    cut the series of softmax cross-entropy; this is the same cut for independent labels.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([0.0, 0.0]), torch.tensor([1, 0])
    >>> taylor_binary_cross_entropy(logits, targets, order=2, reduction="none")
    tensor([0.6250, 0.6250])
    """
    check_order(order)
    z, t = check_probabilities(logits, targets)
    p, q, _, _ = probabilities(z)
    losses = t * _series(q, order) + (1 - t) * _series(p, order)
    return reduce(losses, reduction, logits.dtype)


def _series(q: Tensor, order: int) -> Tensor:
    """Sum of q**m / m up to ``order``, by Horner's rule."""
    total = q / order
    for m in range(order - 1, 0, -1):
        total = q * (1 / m + total)
    return total
