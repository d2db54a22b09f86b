r"""Softmax and its cross-entropy without cancellation, as one function with its derivatives.

Two things are easily lost. When one class :math:`k` dominates, :math:`1 - p_k` and the loss
:math:`-\log p_k` round to 0: here both come from the sum over the other classes,
:math:`\sum_{j \ne k} e^{z_j}`. And :math:`e^{z_j - \max z}` inherits the rounding error of the
difference, 4e-6 at -87 in float32: see `_exponentials`.
"""

from typing import Any

import torch
from torch import Tensor

from logitlib.losses._autograd import BatchedFunction

#: Logits up to this one are exponentiated as they are: a sum of that many nats stays finite.
_LARGEST = {torch.float32: 64.0, torch.float64: 650.0}


def cross_entropy(
    z: Tensor, reference: Tensor, rows: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Return the cross-entropy, shape (...), and the softmax, shape (..., n), of each row.

    Without ``rows`` it is :math:`-\log p_r` of the class in ``reference`` (int64, shape (..., 1)).
    With ``rows`` of targets :math:`t \ge 0` it is :math:`-\sum_i t_i \log p_i`, and ``reference``
    must be the class of the largest logit. Both outputs are differentiable in ``z``, to any order.
    """
    function = _CrossEntropy if torch.compiler.is_compiling() else _DualCrossEntropy
    return function.apply(z, reference, rows)


class _CrossEntropy(BatchedFunction):
    @staticmethod
    def forward(z: Tensor, reference: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        softmax, top, scale = _exponentials(z)
        own = softmax.gather(-1, reference)
        others = softmax.scatter_(-1, reference, 0.0).sum(-1, keepdim=True)
        total = own + others
        # -log p of the reference class, from terms of one sign
        surprise = torch.where(
            others < own,
            torch.log1p(others / own),
            (top - z.gather(-1, reference)) + torch.log(total / scale),
        )
        softmax.div_(total).scatter_(-1, reference, own / total)
        if rows is None:
            return surprise.squeeze(-1), softmax
        # 0 * inf of a masked class without target is 0; a NaN stays one in the surprise
        distance = (top - z).mul_(rows).nan_to_num_(nan=0.0, posinf=torch.inf)
        return distance.sum(-1) + rows.sum(-1) * surprise.squeeze(-1), softmax

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        _, reference, rows = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output[1], reference, rows)
        ctx.save_for_forward(output[1], reference, rows)

    @staticmethod
    def backward(
        ctx: Any, grad_loss: Tensor | None, grad_softmax: Tensor | None
    ) -> tuple[Tensor | None, None, None]:
        softmax, reference, rows = ctx.saved_tensors
        grad = None
        if grad_loss is not None:
            grad = _residual(grad_loss.unsqueeze(-1), softmax, reference, rows)
        if grad_softmax is not None:
            product = _jacobian_product(softmax, grad_softmax)
            grad = product if grad is None else grad + product
        return grad, None, None


class _DualCrossEntropy(_CrossEntropy):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> tuple[Tensor, Tensor]:
        softmax, reference, rows = ctx.saved_tensors
        slope = _residual(torch.ones_like(softmax[..., :1]), softmax, reference, rows)
        return (slope * tangent).sum(-1), _jacobian_product(softmax, tangent)


def _exponentials(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return exp(z - shift), the largest logit, and its exp(top - shift), a shift for each row.

    The usual shift, the largest logit, rounds the difference. An integer (0 where nothing
    overflows) leaves it exact, or close enough: z and z - shift share the last digit.
    """
    top = z.amax(-1, keepdim=True)
    shift = (top.clamp(max=0) + (top - _LARGEST[z.dtype]).clamp(min=0)).floor()
    return (z - shift).exp_(), top, (top - shift).exp_()


def _residual(weight: Tensor, softmax: Tensor, reference: Tensor, rows: Tensor | None) -> Tensor:
    r"""Return weight * (T p - t), the derivative of the cross-entropy, T the sum of the targets t.

    It sums to 0 over the classes. So the entry of the reference class is minus the sum of the
    others, which is exact where :math:`p_r - 1` cancels. (Not so with rows, where p_r is small.)
    """
    if rows is None:
        residual = weight * softmax
    else:
        residual = weight * (rows.sum(-1, keepdim=True) * softmax - rows)
    own = -residual.scatter(-1, reference, 0.0).sum(-1, keepdim=True)
    if rows is not None:
        dominant = softmax.gather(-1, reference) > 0.5
        own = torch.where(dominant, own, residual.gather(-1, reference))
    return residual.scatter(-1, reference, own)


def _jacobian_product(softmax: Tensor, vector: Tensor) -> Tensor:
    r"""Return (diag(p) - p pᵀ) v.

    The Jacobian takes constant vectors to 0. So the entry :math:`v_k` of a dominant class may be
    subtracted first, and :math:`p_k (1 - p_k)` never cancels.
    """
    top = softmax.argmax(-1, keepdim=True)
    dominant = softmax.gather(-1, top) > 0.5
    vector = vector - torch.where(dominant, vector.gather(-1, top), 0.0)
    return softmax * (vector - (softmax * vector).sum(-1, keepdim=True))
