r"""Losses on softmax probabilities :math:`p_i = e^{z_i} / \sum_j e^{z_j}`: one choice among n."""

import torch
from torch import Tensor

from logitlib.losses._check import check_distribution, check_multi_hot, known_finite, reduce

#: Logits up to this one are exponentiated as they are: sums of exp(64) are finite in float32.
_LARGEST = {torch.float32: 64.0, torch.float64: 650.0}


def softmax_cross_entropy(logits: Tensor, targets: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Softmax cross-entropy, :math:`-\sum_i t_i \log p_i`, of one distribution a row.

    The loss of choosing one class; for class indices it is :math:`-\log p_y`.

    Parameters
    ----------
    logits : Tensor, shape (..., n), floating
        Unnormalised log-probabilities in nats, n >= 1. -inf masks a class. A row with +inf, or
        with -inf only, has no softmax: its loss is NaN.
    targets : Tensor
        Integer class indices in [0, n - 1], shape (...), or floating rows of probabilities, shape
        (..., n), >= 0 and with sum 1 (within 1e-4, or 1e-2 in half precision). Rows are used as
        given, not rescaled, in the dtype of the logits, and get no gradient.
    reduction : {"mean", "sum", "none"}
        "mean" averages over the rows; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or shape (...) for "none".

    Raises
    ------
    TypeError
        If an argument is no tensor, ``logits`` is not floating or ``targets`` is bool or complex.
    ValueError
        If the shapes do not fit, n is 0, an index is out of range or a row is no distribution
        (neither is checked in traced code), ``targets`` requires a gradient or ``reduction`` is
        another word. For rows with several ones see `multilabel_softmax_cross_entropy`.

    Notes
    -----
    The gradient is :math:`p - t`, the Hessian :math:`\mathrm{diag}(p) - p p^\top`. What torch
    computes as a difference of near numbers is a sum here: with
    :math:`R = \sum_{j \ne y} e^{z_j - z_y}` the loss of a right and dominant class is
    :math:`\log(1 + R)` and its derivative :math:`-R / (1 + R)`. For class indices value, gradient
    and Hessian have a relative error below 1e-14 in float64 and 2e-6 in float32 wherever they are
    normal numbers; for rows the value has, too. An entry :math:`p_i - t_i` of the gradient of a
    soft row crosses zero; its absolute error is a few units of rounding of its two terms.

    There is no ignored index and no class weight: select rows, or take ``reduction="none"``,
    multiply, and reduce.

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[70.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    >>> softmax_cross_entropy(logits, torch.tensor([0, 1]), reduction="none")
    tensor([5.4379e-31, 1.0986e+00])
    """
    z, t = check_distribution(logits, targets)
    losses = _class_losses(z, t) if t.dtype == torch.int64 else _row_losses(z, t)
    return reduce(losses, reduction, logits.dtype)


def multilabel_softmax_cross_entropy(
    logits: Tensor, targets: Tensor, *, normalize: bool = True, reduction: str = "mean"
) -> Tensor:
    r"""Softmax cross-entropy of label sets, :math:`-\frac{1}{k} \sum_{i \in Y} \log p_i`.

    The loss of a label set :math:`Y` of k labels that share one softmax.

    Parameters
    ----------
    logits : Tensor, shape (..., n), floating
        As in `softmax_cross_entropy`.
    targets : Tensor, shape (..., n), floating, integer or bool
        Multi-hot rows: 1 for the labels in the set, 0 for the others. A row without a label has
        the loss 0 and the gradient 0, and counts in the mean.
    normalize : bool
        Divide by the number of labels k of the row, as if the target were 1/k on each. False
        leaves it out: k times the loss, so that an example counts as often as it has labels.
    reduction : {"mean", "sum", "none"}
        "mean" averages over the rows; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or shape (...) for "none".

    Raises
    ------
    TypeError
        If an argument is no tensor, ``logits`` is not floating or ``targets`` is complex.
    ValueError
        If the shapes differ, n is 0, a target is neither 0 nor 1 (not checked in traced code),
        ``targets`` requires a gradient or ``reduction`` is another word.

    Notes
    -----
    The gradient is :math:`p - y / k`, or :math:`k p - y` without the division. The infimum is
    :math:`\log k` (:math:`k \log k`), reached in the limit of equal logits on Y far above the rest.
    `torch.nn.functional.cross_entropy` takes multi-hot rows without a word and does not divide.
    For the accuracy see `softmax_cross_entropy`.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1, 1, 0]])
    >>> multilabel_softmax_cross_entropy(logits, targets)
    tensor(1.9076)
    >>> multilabel_softmax_cross_entropy(logits, targets, normalize=False)
    tensor(3.8152)
    """
    z, t = check_multi_hot(logits, targets)
    losses = _row_losses(z, t)
    if normalize:
        losses = losses / t.sum(-1).clamp(min=1)
    return reduce(losses, reduction, logits.dtype)


def softmax_squared_error(logits: Tensor, targets: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Squared error of the softmax, :math:`\sum_i (p_i - t_i)^2`, the Brier score of a row.

    Bounded by 2, and flat where the model is confidently wrong: each entry of the gradient has a
    factor :math:`p_i`.

    Parameters
    ----------
    logits : Tensor, shape (..., n), floating
        As in `softmax_cross_entropy`.
    targets : Tensor
        Class indices or rows, as in `softmax_cross_entropy`.
    reduction : {"mean", "sum", "none"}
        "mean" averages over the rows, not over the classes; it is NaN over nothing.

    Returns
    -------
    Tensor
        Of the dtype of ``logits``; a scalar, or shape (...) for "none".

    Raises
    ------
    TypeError, ValueError
        As `softmax_cross_entropy`.

    Notes
    -----
    The gradient is :math:`2 p_i (d_i - \sum_j p_j d_j)` with :math:`d = p - t`. Like the
    cross-entropy it is computed without :math:`1 - p_k` of a dominant class, so for class indices
    the loss :math:`10^{-60}` of a sure and right answer, its gradient and its Hessian are right.
    `torch.nn.functional.mse_loss` on probabilities divides by n, too.

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[20.0, 0.0], [0.0, 0.0], [-20.0, 0.0]])
    >>> softmax_squared_error(logits, torch.tensor([0, 0, 0]), reduction="none")
    tensor([8.4967e-18, 5.0000e-01, 2.0000e+00])
    """
    z, t = check_distribution(logits, targets)
    if t.dtype == torch.int64:
        t = torch.zeros_like(z).scatter(-1, t.unsqueeze(-1), 1.0)
    top, others, shift, dominant = _split(z)
    reference, scale, change = _anchor(z.gather(-1, top), shift, dominant)
    rest = others.sum(-1, keepdim=True) * scale
    total = 1 + rest + change
    # p - t of a dominant class is (1 - t) - (1 - p), and 1 - p is the share of the others
    target = t.gather(-1, top)
    own = torch.where(dominant, (1 - target) - rest / total, (1 + change) / total - target)
    difference = (others * (scale / total) - t).scatter(-1, top, own)
    return reduce(difference.square().sum(-1), reduction, logits.dtype)


def _class_losses(z: Tensor, targets: Tensor) -> Tensor:
    r"""Return :math:`(z_k - z_y) + \log \sum_j e^{z_j - z_k}`: k the largest logit, y the target.

    Neither term is negative, so nothing cancels; the logarithm is log1p of the sum without k.
    """
    top, others, shift, dominant = _split(z)
    index = targets.unsqueeze(-1)
    own, target = z.gather(-1, torch.cat([top, index], -1)).chunk(2, -1)
    reference, scale, change = _anchor(own, shift, dominant)
    # a constant where it is 0, so that the derivative of the logarithm is not lost beside +1 - 1
    gap = torch.where(dominant & (top == index), 0.0, reference - target)
    rest = others.sum(-1, keepdim=True) * scale
    return (gap + torch.log1p(rest + change)).squeeze(-1)


def _row_losses(z: Tensor, t: Tensor) -> Tensor:
    """Return the same, averaged over the classes with the weights t >= 0, whatever their sum."""
    top, others, shift, dominant = _split(z)
    reference, scale, change = _anchor(z.gather(-1, top), shift, dominant)
    rest = others.sum(-1, keepdim=True) * scale
    # as above: the gap of a dominant class is a constant
    weight = t.scatter(-1, top, t.gather(-1, top).masked_fill(dominant, 0.0))
    if known_finite(z):
        gaps = weight * (reference - z)
    else:  # a masked class that is no target costs nothing: 0 * inf is 0 here
        gaps = torch.where(weight == 0, 0.0, weight * (reference - z))
    return gaps.sum(-1) + t.sum(-1) * torch.log1p(rest + change).squeeze(-1)


def _split(z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split off the largest logit of each row.

    Returns its index, exp(z - shift) with 0 in its place, the shift of the row (constant), and
    whether its class is dominant: more probable than all others together.

    The usual shift, the largest logit, rounds the difference z - shift, which exp magnifies: 4e-6
    at -87 in float32. An integer, 0 for most rows, leaves it exact or nearly so.
    """
    level, top = z.detach().max(-1, keepdim=True)
    shift = (level.clamp(max=0) + (level - _LARGEST[z.dtype]).clamp(min=0)).floor()
    others = torch.exp(z.scatter(-1, top, -torch.inf) - shift)
    dominant = others.detach().sum(-1, keepdim=True) < torch.exp(level - shift)
    return top, others, shift, dominant


def _anchor(own: Tensor, shift: Tensor, dominant: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r"""Choose what each row is measured from, given its largest logit ``own``.

    Returns that reference, exp(shift - reference), and exp(own - reference) - 1.

    Softmax does not change when a constant is subtracted. For a dominant class k that is
    :math:`z_k` itself: :math:`p_k` then depends on the others only, and its derivatives come out
    as sums over them, where :math:`1 - p_k` would cancel. Else it is the value of :math:`z_k`
    as a constant, the textbook formula, right while all :math:`p \le 1/2`.
    """
    level = own.detach()
    reference = torch.where(dominant, own, level)
    # the value is 0 in both cases
    change = torch.where(dominant, 0.0, torch.expm1(own - level))
    return reference, torch.exp(shift - reference), change
