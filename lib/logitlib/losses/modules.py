"""The losses as `torch.nn.Module`, for code that expects one.

Each class names its function; arguments, defaults and meaning are those of the function.

>>> import torch
>>> loss = MultilabelSoftmaxCrossEntropy(normalize=False)
>>> loss
MultilabelSoftmaxCrossEntropy(normalize=False, reduction='mean')
>>> loss(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1, 1, 0]]))
tensor(3.8152)
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from logitlib.losses.asymmetric import (
    asymmetric_loss,
    asymmetric_polynomial_loss,
    focal_loss,
)
from logitlib.losses.binary import binary_cross_entropy
from logitlib.losses.softmax import (
    multilabel_softmax_cross_entropy,
    softmax_cross_entropy,
    softmax_squared_error,
)
from logitlib.losses.taylor import taylor_binary_cross_entropy


class Loss(nn.Module):
    """Base of the modules: keeps the keyword arguments of ``function`` as attributes."""

    function: ClassVar[Callable[..., Tensor]]
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        # what help() shows and __init__ binds: the function's keyword-only arguments
        options = signature(cls.function).parameters.values()
        cls.__signature__ = Signature([p for p in options if p.kind is Parameter.KEYWORD_ONLY])

    def __init__(self, **options: Any) -> None:
        super().__init__()
        bound = self.__signature__.bind(**options)
        bound.apply_defaults()
        # the loss of nothing checks the options, here and not in the first batch
        nothing = torch.zeros(0, 1)
        type(self).function(nothing, nothing, **bound.arguments)
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        return self.function(logits, targets, **self._options())

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._options().items())

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__signature__.parameters}


class SoftmaxCrossEntropy(Loss):
    """Module of `logitlib.losses.softmax_cross_entropy`, with its keyword arguments."""

    function = staticmethod(softmax_cross_entropy)


class MultilabelSoftmaxCrossEntropy(Loss):
    """Module of `logitlib.losses.multilabel_softmax_cross_entropy`, with its keyword arguments."""

    function = staticmethod(multilabel_softmax_cross_entropy)


class SoftmaxSquaredError(Loss):
    """Module of `logitlib.losses.softmax_squared_error`, with its keyword arguments."""

    function = staticmethod(softmax_squared_error)


class BinaryCrossEntropy(Loss):
    """Module of `logitlib.losses.binary_cross_entropy`, with its keyword arguments."""

    function = staticmethod(binary_cross_entropy)


class TaylorBinaryCrossEntropy(Loss):
    """Module of `logitlib.losses.taylor_binary_cross_entropy`, with its keyword arguments."""

    function = staticmethod(taylor_binary_cross_entropy)


class FocalLoss(Loss):
    """Module of `logitlib.losses.focal_loss`, with its keyword arguments."""

    function = staticmethod(focal_loss)


class AsymmetricLoss(Loss):
    """Module of `logitlib.losses.asymmetric_loss`, with its keyword arguments."""

    function = staticmethod(asymmetric_loss)


class AsymmetricPolynomialLoss(Loss):
    """Module of `logitlib.losses.asymmetric_polynomial_loss`, with its keyword arguments."""

    function = staticmethod(asymmetric_polynomial_loss)
