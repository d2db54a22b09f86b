"""What every loss asks of its arguments, and how it sums up: checks, casts and the reduction.

Each ``check_*`` function returns the pair ``(logits, targets)`` in the dtype that a loss computes
in. Kinds, shapes and dtypes are always checked. Ranges depend on values, which traced code
(``torch.compile``, ``vmap``, ``make_fx``, meta tensors) does not have, so they are skipped there.
"""

from collections.abc import Callable
from numbers import Integral, Real

import torch
from torch import Tensor

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
REDUCTIONS = ("mean", "sum", "none")


def check_probabilities(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Check targets of the shape of the logits with entries in [0, 1]: the sigmoid losses."""
    logits, targets = _check_pair(logits, targets)
    _check_same_shape(logits, targets)
    targets = targets.to(logits.dtype)
    _check_between(targets, 0, 1)
    return logits, targets


def check_multi_hot(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Check rows of zeros and ones, of the shape of the logits."""
    logits, targets = _check_pair(logits, targets)
    _check_classes(logits)
    _check_same_shape(logits, targets)
    targets = targets.to(logits.dtype)
    _check_between(targets, 0, 1)
    if targets.numel() and _readable():
        # within [0, 1] the product is zero at 0 and at 1 only
        product = targets * (1 - targets)
        _require(
            product.amax() == 0,
            lambda: (
                f"targets must be 0 or 1, got {targets[product != 0][0].item():.7g}; "
                "rows that sum to 1 belong to softmax_cross_entropy"
            ),
        )
    return logits, targets


def check_distribution(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Check one distribution over the classes a row: int64 class indices, or floating rows.

    The answer's targets are int64 of shape (...), or rows (..., n) in the dtype of the logits.
    """
    logits, targets = _check_pair(logits, targets)
    _check_classes(logits)
    if targets.dtype == torch.bool:
        raise TypeError(
            "targets must be integer class indices or floating rows that sum to 1, got torch.bool; "
            "multi-hot rows belong to multilabel_softmax_cross_entropy"
        )
    if targets.is_floating_point():
        return logits, _check_rows(logits, targets)
    return logits, _check_indices(logits, targets)


def check_reduction(reduction: str) -> None:
    """Raise a ValueError unless ``reduction`` is one of the three words."""
    if reduction not in REDUCTIONS:
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')


def check_number(name: str, value: float, wanted: str, good: Callable[[float], bool]) -> None:
    """Raise unless a hyper-parameter is a real number that is ``good``, as ``wanted`` says."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if not good(value):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")


def check_order(order: int) -> None:
    """Raise unless ``order`` is a whole number of terms, at least one."""
    if isinstance(order, bool) or not isinstance(order, Integral):
        raise TypeError(f"order must be an integer, got {type(order).__name__}")
    if order < 1:
        raise ValueError(f"order must be at least 1, got {order}")


def reduce(losses: Tensor, reduction: str, dtype: torch.dtype) -> Tensor:
    """Reduce in the dtype of ``losses`` and round once, to ``dtype``, at the end.

    So the mean of a float16 batch is right although its sum has no float16. The mean over
    nothing is NaN, the sum over nothing is 0.
    """
    check_reduction(reduction)
    if reduction == "mean":
        # as .mean(), but its backward need not fill a tensor with 1/n
        losses = losses.sum() / losses.numel()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(dtype)


def known(condition: Tensor) -> bool:
    """Whether a 0-d condition holds for certain; False in traced code, which has no values.

    A loss may then take a shorter path.
    """
    return _readable() and _holds(condition, otherwise=False)


def _check_pair(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Check the kinds of both arguments and widen half precision to float32."""
    for name, value in (("logits", logits), ("targets", targets)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if logits.dtype not in FLOATS:
        accepted = ", ".join(str(dtype) for dtype in FLOATS)
        raise TypeError(f"logits must have one of the dtypes {accepted}, got {logits.dtype}")
    if targets.device != logits.device:
        raise ValueError(
            f"targets must be on the device of logits, {logits.device}, got {targets.device}"
        )
    if targets.is_complex():
        raise TypeError(f"targets must be real, got {targets.dtype}")
    return (logits.float() if logits.dtype.itemsize == 2 else logits), targets


def _check_same_shape(logits: Tensor, targets: Tensor) -> None:
    if targets.shape != logits.shape:
        raise ValueError(
            f"targets must have the shape of logits {tuple(logits.shape)}, "
            f"got {tuple(targets.shape)}"
        )


def _check_classes(logits: Tensor) -> None:
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(
            "logits must have at least one class in their last dimension, "
            f"got shape {tuple(logits.shape)}"
        )


def _check_indices(logits: Tensor, targets: Tensor) -> Tensor:
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"integer targets are class indices, of shape {tuple(logits.shape[:-1])} for logits "
            f"{tuple(logits.shape)}, got {tuple(targets.shape)}; "
            "multi-hot rows belong to multilabel_softmax_cross_entropy"
        )
    targets = targets.long()
    _check_between(targets, 0, logits.shape[-1] - 1)
    return targets


def _check_rows(logits: Tensor, targets: Tensor) -> Tensor:
    if targets.shape != logits.shape:
        raise ValueError(
            f"floating targets are rows of the shape of logits {tuple(logits.shape)}, got "
            f"{tuple(targets.shape)}; class indices must have an integer dtype"
        )
    tolerance = 1e-2 if targets.dtype.itemsize <= 2 else 1e-4
    targets = targets.to(logits.dtype)
    if _readable():
        lowest, total = targets.amin(-1), targets.sum(-1)
        good = (lowest >= 0) & ((total - 1).abs() <= tolerance)

        def message() -> str:
            row = int((~good).flatten().nonzero()[0])
            return (
                f"targets must be rows that are >= 0 and sum to 1 (within {tolerance:g}), but row "
                f"{row} has the smallest entry {lowest.flatten()[row].item():.7g} and the sum "
                f"{total.flatten()[row].item():.7g}; "
                "multi-hot rows belong to multilabel_softmax_cross_entropy"
            )

        _require(good.all(), message)
    return targets


def _check_between(targets: Tensor, low: int, high: int) -> None:
    if not targets.numel() or not _readable():
        return
    lowest, highest = targets.amin(), targets.amax()

    def message() -> str:
        value = highest if lowest >= low else lowest  # a NaN is both, and fails the comparison
        return f"targets must lie in [{low}, {high}], got {value.item():.7g}"

    _require((lowest >= low) & (highest <= high), message)


def _readable() -> bool:
    # in the graph that torch.compile builds nothing may depend on a value
    return not torch.compiler.is_compiling()


def _holds(condition: Tensor, *, otherwise: bool) -> bool:
    """Whether a condition holds; ``otherwise`` where it has no value to look at."""
    try:
        return bool(condition)
    except RuntimeError:  # what vmap, make_fx, fake and meta tensors answer
        return otherwise


def _require(condition: Tensor, message: Callable[[], str]) -> None:
    if not _holds(condition, otherwise=True):
        raise ValueError(message())
