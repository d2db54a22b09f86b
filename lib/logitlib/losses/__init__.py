"""Losses of logits: functions ``f(logits, targets, *, ..., reduction="mean")`` and modules.

All work from logits in log space, in float16, bfloat16, float32 and float64, accept any leading
shape and check what they are given. Half precision is computed in float32. Derivatives of any
order, in the logits and in real targets, come from plain autograd, so `torch.func` in every nesting
and `torch.compile` in one graph give them, too. Targets are checked value by value, which on a GPU
waits for the device; code traced by `torch.compile` or `vmap` skips that part.
"""

from logitlib.losses.asymmetric import (
    asymmetric_loss,
    asymmetric_polynomial_loss,
    focal_loss,
)
from logitlib.losses.binary import binary_cross_entropy
from logitlib.losses.modules import (
    AsymmetricLoss,
    AsymmetricPolynomialLoss,
    BinaryCrossEntropy,
    FocalLoss,
    MultilabelSoftmaxCrossEntropy,
    SoftmaxCrossEntropy,
    SoftmaxSquaredError,
    TaylorBinaryCrossEntropy,
)
from logitlib.losses.softmax import (
    multilabel_softmax_cross_entropy,
    softmax_cross_entropy,
    softmax_squared_error,
)
from logitlib.losses.taylor import taylor_binary_cross_entropy

__all__ = [
    "asymmetric_loss",
    "asymmetric_polynomial_loss",
    "binary_cross_entropy",
    "focal_loss",
    "multilabel_softmax_cross_entropy",
    "softmax_cross_entropy",
    "softmax_squared_error",
    "taylor_binary_cross_entropy",
    "AsymmetricLoss",
    "AsymmetricPolynomialLoss",
    "BinaryCrossEntropy",
    "FocalLoss",
    "MultilabelSoftmaxCrossEntropy",
    "SoftmaxCrossEntropy",
    "SoftmaxSquaredError",
    "TaylorBinaryCrossEntropy",
]
