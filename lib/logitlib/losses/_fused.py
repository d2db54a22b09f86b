r"""The asymmetric polynomial loss and its gradient in one pass over the logits.

Autograd keeps a tensor for every step of a formula and reads them all again. Here the forward pass
computes the derivative beside the value, and keeps nothing else:

.. math::

    \frac{dL_+}{dl} &= -q^{\gamma_+} [\gamma_+ p S + q(\alpha_1 p + 2 \alpha_2 p q + q^2)] \\
    \frac{dL_-}{dl} &= p [\gamma_- q r^{\gamma_- - 1} B + r^{\gamma_-} (\beta_1 q + r q / (1 - r))]

with the brackets :math:`S` and :math:`B` of `logitlib.losses._polynomial`. No term cancels another
while the coefficients are not negative, and no product underflows before the result does.

On a CPU the logits are taken in pieces that stay in the cache, and each half of the loss is
computed only where it is not 0: :math:`L_+` where the target is not 0, :math:`L_-` where the logit
is above that of :math:`p_{th}`, which costs a comparison. Elsewhere the device does everything at
once: there, making a list of indices costs more than the elements that it saves.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from logitlib.losses._check import known, reduce
from logitlib.losses._polynomial import (
    SERIES_END,
    Polynomial,
    atanh_tail,
    elementwise,
    integer_power,
    is_small_integer,
)

# Elements of a piece: its eight or so arrays are at home in the second-level cache.
PIECE = 2**17


def fusable(z: Tensor, t: Tensor) -> bool:
    """Whether the arguments are plain tensors with finite logits and targets without a gradient.

    The rest is for the reference: code that is traced, mapped or differentiated by `torch.func` or
    forwards, infinite and NaN logits, and gradients of the targets.
    """
    return (
        all(type(x) in (Tensor, torch.nn.Parameter) for x in (z, t))
        and not (t.requires_grad and torch.is_grad_enabled())
        and known(z.detach().sum().isfinite())
        and all(_in_memory(x) and unpack_dual(x).tangent is None for x in (z, t))
    )


def fused(z: Tensor, t: Tensor, c: Polynomial, reduction: str) -> Tensor:
    """Reduced loss, in the dtype of the logits, of `fusable` arguments."""
    return _Fused.apply(z, t, c, reduction)  # type: ignore[no-any-return,no-untyped-call]


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, t: Tensor, c: Polynomial, reduction: str) -> Tensor:
        ctx.c, ctx.reduction = c, reduction
        flat = z.detach().reshape(-1)
        losses = torch.zeros_like(flat) if reduction == "none" else None
        slopes = torch.zeros_like(flat) if ctx.needs_input_grad[0] else None
        total = flat.new_zeros(())
        for places, loss, slope in _terms(flat, t.detach().reshape(-1), c):
            if losses is None:
                total += loss.sum()
            else:
                _add(losses, places, loss)
            if slopes is not None:
                _add(slopes, places, slope)
        ctx.save_for_backward(z, t, None if slopes is None else slopes.view(z.shape))
        if losses is not None:
            return losses.view(z.shape)
        return total / z.numel() if reduction == "mean" else total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        z, t, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():
            # the gradient is to be differentiated again, so for once every step is needed
            loss = reduce(elementwise(z, t, ctx.c), ctx.reduction, z.dtype)
            (product,) = torch.autograd.grad(loss, z, grad, create_graph=True)
            return product, None, None, None
        if ctx.reduction == "mean":
            grad = grad / z.numel()
        return slopes * grad, None, None, None


def _in_memory(x: Tensor) -> bool:
    """Whether a tensor holds its own numbers; the wrappers of `torch.func` do not."""
    try:
        x.data_ptr()
    except RuntimeError:
        return False
    return True


# A run of elements, or the indices of some.
Places = slice | Tensor


def _terms(z: Tensor, t: Tensor, c: Polynomial) -> Iterator[tuple[Places, Tensor, Tensor]]:
    """Yield places in the flat arguments, with the losses and the slopes to add there."""
    for places in _above(t, 0.0):
        x, share = _at(z, places), _at(t, places)
        yield places, *_weighted(_positive(x, c), share, c.weight_pos)
    for places in _above(z, c.threshold):
        x, share = _at(z, places), 1 - _at(t, places)
        if isinstance(places, slice) and c.p_th > 0:
            share = torch.where(x > c.threshold, share, 0.0)
            x = x.clamp(min=c.threshold)
        yield places, *_weighted(_negative(x, c), share, c.weight_neg)


def _gathers(values: Tensor) -> bool:
    return values.device.type == "cpu"


def _above(values: Tensor, bound: float) -> Iterator[Places]:
    """Where the values are above a bound, in portions; off the CPU everywhere, at once."""
    if not _gathers(values):
        yield slice(None)
        return
    found, n_found = [], 0
    for start in range(0, len(values), PIECE):
        piece = slice(start, start + PIECE)
        if bound == -math.inf:
            yield piece
            continue
        # many times faster than torch.nonzero
        found.append(np.flatnonzero(values[piece].numpy() > bound) + start)
        n_found += len(found[-1])
        if n_found > PIECE // 4 or (n_found and piece.stop >= len(values)):
            yield torch.from_numpy(np.concatenate(found))
            found, n_found = [], 0


def _at(values: Tensor, places: Places) -> Tensor:
    return values[places] if isinstance(places, slice) else values.index_select(0, places)


def _add(result: Tensor, places: Places, values: Tensor) -> None:
    if isinstance(places, slice):
        result[places].add_(values)
    else:
        result.index_add_(0, places, values)


def _weighted(terms: tuple[Tensor, Tensor], share: Tensor, weight: float) -> tuple[Tensor, Tensor]:
    loss, slope = terms
    if weight != 1:
        share = share * weight
    return loss.mul_(share), slope.mul_(share)


def _positive(x: Tensor, c: Polynomial) -> tuple[Tensor, Tensor]:
    """Losses and slopes for a target of 1."""
    p, q, minus_log_p = _probabilities(x)
    if c.positive_log:
        bracket = minus_log_p.add_(q, alpha=c.alpha1 - 1).add_(q * q, alpha=c.alpha2 - 0.5)
    else:
        s = q / (2 - q)
        series = q * q * q / (2 * (2 - q)) + 2 * s * s * s * atanh_tail(s * s)
        tail = torch.where(q <= SERIES_END, series, minus_log_p - q - q * q / 2)
        bracket = c.alpha1 * q + c.alpha2 * q * q + tail
    slope = -q * (c.alpha1 * p + 2 * c.alpha2 * p * q + q * q)
    if c.gamma_pos == 0:
        return bracket, slope
    focus = _power(q, c.gamma_pos)
    loss = bracket * focus
    slope *= focus
    if not c.detach_focus:
        slope -= c.gamma_pos * p * loss
    return loss, slope


def _negative(x: Tensor, c: Polynomial) -> tuple[Tensor, Tensor]:
    """Losses and slopes for a target of 0, above the threshold."""
    if c.p_th == 0:
        q, r, minus_log_rest = _probabilities(-x)
        p = ratio = r
    else:
        p, q, _ = _probabilities(x)
        # the next number above 0 stands for a difference that rounding makes 0
        r = (p - c.p_th).clamp_(min=torch.finfo(x.dtype).tiny)
        rest = q + c.p_th
        minus_log_rest = torch.where(r <= 0.5, torch.log1p(-r), rest.log()).neg_()
        ratio = r * q / rest
    if c.negative_log:
        bracket = minus_log_rest.add_(r, alpha=c.beta1 - 1) if c.beta1 != 1 else minus_log_rest
    else:
        s = r / (2 - r)
        series = r * r / (2 - r) + 2 * s * s * s * atanh_tail(s * s)
        bracket = c.beta1 * r + torch.where(r <= SERIES_END, series, minus_log_rest - r)
    slope = ratio.add(q, alpha=c.beta1)
    if c.gamma_neg == 0:
        return bracket, slope.mul_(p)
    less = _power(r, c.gamma_neg - 1)
    focus = less * r
    loss = bracket * focus
    slope *= focus
    if not c.detach_focus:
        slope += bracket.mul_(less).mul_(q).mul_(c.gamma_neg)
    return loss, slope.mul_(p)


def _probabilities(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return p, 1 - p and -log p, all with full relative accuracy."""
    e = x.abs().neg_().exp_()
    large = (e + 1).reciprocal_()
    small = e * large
    right = x > 0
    minus_log_p = e.log1p_().sub_(x.clamp(max=0))
    return torch.where(right, large, small), torch.where(right, small, large), minus_log_p


def _power(base: Tensor, gamma: float) -> Tensor:
    if gamma == 0:
        return torch.ones_like(base)
    if is_small_integer(gamma):
        return integer_power(base, int(gamma))
    # a negative power of 0 is infinite, and would meet the 0 beside it
    return base.clamp(min=torch.finfo(base.dtype).tiny).pow(gamma)
