"""What every metric asks of its arguments, and how it walks through them without much memory."""

import operator
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Scores = ArrayLike | torch.Tensor
# a boolean array or a boolean csr_array (SciPy has no type hints)
Targets: TypeAlias = Any

# elements of one block of rows: a few MiB of working memory, whatever the size of the matrix
_BLOCK = 2**20


def check_pair(scores: Scores, targets: Any) -> tuple[NDArray, Targets]:
    """Return scores as a floating array and targets as a boolean array or CSR array."""
    scores = _check_scores(scores)
    if not sparse.issparse(targets):
        targets = to_numpy(targets, "targets")
    if targets.dtype.kind not in "biuf":
        raise TypeError(f"targets must be boolean, integer or floating, got {targets.dtype}")
    if targets.shape != scores.shape:
        raise ValueError(
            f"targets must have the shape of scores {scores.shape}, got {targets.shape}"
        )
    return scores, _sparse_bool(targets) if sparse.issparse(targets) else _dense_bool(targets)


def _check_scores(scores: Scores) -> NDArray:
    scores = to_numpy(scores, "scores")
    if scores.dtype.kind != "f":
        raise TypeError(
            f"scores must be a dense floating array, got {scores.dtype} "
            "(the order of arguments is scores, targets)"
        )
    if scores.ndim != 2:
        raise ValueError(f"scores must have shape (n_rows, n_labels), got {scores.shape}")
    if scores.size == 0:
        raise ValueError(f"scores must hold at least one row and one label, got {scores.shape}")
    if np.isnan(scores.min()):  # min propagates NaN, and needs no array of flags
        row = np.flatnonzero(np.isnan(scores).any(axis=1))[0]
        raise ValueError(f"scores must not be NaN, which has no rank: row {row} holds one")
    return scores


def to_numpy(values: Any, name: str) -> NDArray:
    """Return an array; a tensor is detached, since no metric has a gradient."""
    if isinstance(values, torch.Tensor):
        if values.layout != torch.strided:
            raise TypeError(
                f"{name} must be a strided tensor or a SciPy array, got {values.layout}"
            )
        # NumPy has no bfloat16; as float32 the values are the same
        widened = values.float() if values.dtype == torch.bfloat16 else values
        return widened.numpy(force=True)
    return np.asarray(values)


def _dense_bool(targets: NDArray) -> NDArray[np.bool_]:
    if targets.dtype != np.bool_:
        wrong = (targets != 0) & (targets != 1)
        if wrong.any():
            raise ValueError(f"targets must be 0 or 1, got {targets[wrong][0]}")
    return targets.astype(np.bool_, copy=False)


def _sparse_bool(targets: Any) -> sparse.csr_array:
    # a copy: putting the caller's matrix in canonical form in place would change it
    targets = sparse.csr_array(targets, copy=True)
    targets.sum_duplicates()
    wrong = (targets.data != 0) & (targets.data != 1)
    if wrong.any():
        raise ValueError(f"targets must be 0 or 1, got {targets.data[wrong][0]}")
    targets.eliminate_zeros()
    return targets.astype(np.bool_)


def check_count(value: Any, name: str, largest: int | None = None) -> int:
    """Return value as an int from 1 to largest."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    value = operator.index(value)
    if value < 1 or (largest is not None and value > largest):
        bound = "at least 1" if largest is None else f"from 1 to {largest}, the number of labels"
        raise ValueError(f"{name} must be {bound}, got {value}")
    return value


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def dense(targets: Targets) -> NDArray[np.bool_]:
    """Return a part of the targets, which the caller keeps small, as a dense array."""
    return targets.toarray() if sparse.issparse(targets) else targets


def row_blocks(scores: NDArray, targets: Targets) -> Iterator[tuple[NDArray, NDArray[np.bool_]]]:
    """Yield scores and dense targets, a block of rows at a time."""
    step = max(1, _BLOCK // scores.shape[1])
    for start in range(0, len(scores), step):
        yield scores[start : start + step], dense(targets[start : start + step])


def positive_pairs(targets: Targets) -> tuple[NDArray, NDArray]:
    """Return rows and labels of the positive entries, in the order of the labels."""
    if sparse.issparse(targets):
        by_label = targets.tocsc().tocoo()
        return by_label.row, by_label.col
    labels, rows = np.nonzero(targets.T)
    return rows, labels
