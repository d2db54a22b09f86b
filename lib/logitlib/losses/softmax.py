r"""Losses on softmax probabilities :math:`p_i = e^{z_i} / \sum_j e^{z_j}`: one choice among n."""

from typing import NamedTuple

import torch
from torch import Tensor

from logitlib.losses._check import check_distribution, check_multi_hot, known, reduce


def softmax_cross_entropy(logits: Tensor, targets: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Softmax cross-entropy, :math:`-\sum_i t_i \log p_i`, of one distribution a row.

    The loss of choosing one class; for class indices it is :math:`-\log p_y`.

    Parameters
    ----------
    logits : Tensor, shape (..., n), floating
        Unnormalised log-probabilities in nats, n >= 1. -inf masks a class, and a masked target
        costs infinity. A row with +inf, or with -inf only, has no softmax: its loss is NaN.
    targets : Tensor
        Integer class indices in [0, n - 1], shape (...), or floating rows of probabilities, shape
        (..., n), >= 0 and with sum 1 (within 1e-4, or 1e-2 in half precision). Rows are cast to
        the dtype of the logits and used as given, not rescaled.
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
        (neither is checked in traced code), or ``reduction`` is another word. For rows with
        several ones see `multilabel_softmax_cross_entropy`.

    Notes
    -----
    The gradient is :math:`p - t`, the Hessian :math:`\mathrm{diag}(p) - p p^\top`. What torch
    computes as a difference of near numbers is a sum here: with
    :math:`R = \sum_{j \ne y} e^{z_j - z_y}` the loss of a right and dominant class is
    :math:`\log(1 + R)` and its derivative :math:`-R / (1 + R)`. The value has a relative error
    below 1e-14 in float64 and 2e-6 in float32 wherever it is a normal number, and for class
    indices so have the gradient and the Hessian. An entry :math:`p_i - t_i` of the gradient of a
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
        If the shapes differ, n is 0, a target is neither 0 nor 1 (not checked in traced code), or
        ``reduction`` is another word.

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
    Elsewhere entries of the derivatives cross zero; their absolute error is a few units of
    rounding of their terms.
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
    split = _split(z)
    _, scale, change = _anchor(z.gather(-1, split.top), split)
    rest = split.others.sum(-1, keepdim=True) * scale
    total = 1 + rest + change
    # p - t of a dominant class is (1 - t) - (1 - p), and 1 - p is the share of the others
    target = t.gather(-1, split.top)
    own = torch.where(split.dominant, (1 - target) - rest / total, (1 + change) / total - target)
    difference = (split.others * (scale / total) - t).scatter(-1, split.top, own)
    return reduce(difference.square().sum(-1), reduction, logits.dtype)


def _class_losses(z: Tensor, targets: Tensor) -> Tensor:
    r"""Return :math:`(z_k - z_y) + \log \sum_j e^{z_j - z_k}`: k the largest logit, y the target.

    Neither term is negative, so nothing cancels; the logarithm is log1p of the sum without k.
    """
    split = _split(z)
    index = targets.unsqueeze(-1)
    own, target = z.gather(-1, torch.cat([split.top, index], -1)).chunk(2, -1)
    reference, scale, change = _anchor(own, split)
    # a constant where it is 0, so that the derivative of the logarithm is not lost beside +1 - 1
    gap = torch.where(split.dominant & (split.top == index), 0.0, reference - target)
    rest = split.others.sum(-1, keepdim=True) * scale
    return (gap + torch.log1p(rest + change)).squeeze(-1)


def _row_losses(z: Tensor, t: Tensor) -> Tensor:
    """Return the same, summed over the classes with the weights t >= 0, whatever their sum."""
    split = _split(z)
    reference, scale, change = _anchor(z.gather(-1, split.top), split)
    # as above: the gap of a dominant class is a constant
    own = t.gather(-1, split.top).masked_fill(split.dominant, 0.0)
    weight = t.scatter(-1, split.top, own)
    gaps = weight * (reference - z)
    if not split.narrow:
        # a masked class that is no target costs nothing: 0 * inf is 0 here. Any other NaN is one
        # of the logarithm, too.
        gaps = torch.where(gaps.isnan(), 0.0, gaps)
    rest = split.others.sum(-1, keepdim=True) * scale
    return gaps.sum(-1) + t.sum(-1) * torch.log1p(rest + change).squeeze(-1)


class _Split(NamedTuple):
    top: Tensor  # the index of the largest logit
    others: Tensor  # exp(z - shift), and 0 for the largest
    shift: Tensor  # an integer, constant
    dominant: Tensor  # whether the largest is more probable than all others together
    narrow: bool  # whether all logits are known to be finite and near the largest


def _split(z: Tensor) -> _Split:
    """Split off the largest logit of each row."""
    constant = z.detach()
    level, top = constant.max(-1, keepdim=True)
    narrow = known((level - constant.amin(-1, keepdim=True) <= 31).all())
    shift = level.floor()
    distance = z - shift
    others = torch.exp(distance)
    if not narrow:
        # exp magnifies the rounding error of the distance, to 4e-6 at -87 in float32. As the shift
        # is an integer, the error is a difference without rounding; exp(error) is 1 + error.
        error = constant - (distance.detach() + shift)
        others = others * (1 + error.nan_to_num(nan=0.0))  # NaN where the logit is -inf
    others = others.scatter(-1, top, 0.0)
    dominant = others.detach().sum(-1, keepdim=True) < torch.exp(level - shift)
    return _Split(top, others, shift, dominant, narrow)


def _anchor(own: Tensor, split: _Split) -> tuple[Tensor, Tensor, Tensor]:
    r"""Choose what each row is measured from, given its largest logit ``own``.

    Returns that reference, exp(shift - reference), and exp(own - reference) - 1.

    Softmax does not change when a constant is subtracted. For a dominant class k that is
    :math:`z_k` itself: :math:`p_k` then depends on the others only, and its derivatives come out
    as sums over them, where :math:`1 - p_k` would cancel. Else it is the value of :math:`z_k`
    as a constant, the textbook formula, right while all :math:`p \le 1/2`.
    """
    level = own.detach()
    reference = torch.where(split.dominant, own, level)
    # the value is 0 in both cases
    change = torch.where(split.dominant, 0.0, torch.expm1(own - level))
    return reference, torch.exp(split.shift - reference), change
