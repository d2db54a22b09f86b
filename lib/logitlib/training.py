r"""One small training loop: deterministic, early stopping on valid, best state kept.

The loop serves the studies of this book, whose models are small and run on one thread of a CPU.
It seeds nothing outside itself: the caller's random state is the same before and after.

*Limits*: one device (CPU), no learning-rate schedule, no mixed precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, csr_matrix
from torch import Tensor, nn

__all__ = ["BagOfWords", "History", "fit", "log_odds", "predict", "seeded"]


@dataclass(frozen=True)
class History:
    r"""What one call of :func:`fit` did.

    Attributes
    ----------
    train_loss : tuple of float
        Mean training loss of each epoch, as seen while training (dropout on, weights moving).
    valid_score : tuple of float
        Score on valid; entry 0 is the untrained model, entry e the model after epoch e.
    best_epoch : int
        The epoch whose state was restored (0: no epoch beat the untrained model).
    ended : {"patience", "epochs", "diverged"}
        Why training ended. "epochs" with ``best_epoch`` equal to the last epoch means that the
        run was cut off while it still improved.
    """

    train_loss: tuple[float, ...]
    valid_score: tuple[float, ...]
    best_epoch: int
    ended: str

    @property
    def best_score(self) -> float:
        """Score on valid of the restored state."""
        return self.valid_score[self.best_epoch]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    r"""Draw torch's CPU random numbers from ``seed`` inside the block, and restore them after.

    Parameters
    ----------
    seed : int
        Any integer that :meth:`torch.Generator.manual_seed` takes.

    Examples
    --------
    >>> with seeded(0):
    ...     first = nn.Linear(2, 1).weight
    >>> with seeded(0):
    ...     second = nn.Linear(2, 1).weight
    >>> torch.equal(first, second)
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


class BagOfWords(nn.Module):
    r"""Linear map of sparse rows, :math:`x \mapsto W^\top x + b`, as a weighted embedding bag.

    Computes what ``nn.Linear`` computes on the dense rows, without ever making them dense.

    Parameters
    ----------
    n_words : int
        Columns of the input.
    out_features : int
        Width of the result.
    std : float
        Standard deviation of the normal start of W; 0 starts at zero. b starts at zero.

    Examples
    --------
    >>> rows = csr_array(np.array([[0.0, 2.0], [0.0, 0.0]], dtype=np.float32))
    >>> layer = BagOfWords(2, 3, std=0.0)
    >>> layer.bias.data += 1.0
    >>> layer(rows).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, n_words: int, out_features: int, *, std: float = 0.1) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(n_words, out_features, mode="sum")
        nn.init.normal_(self.bag.weight, std=std)
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, rows: csr_array | csr_matrix) -> Tensor:
        """Map scipy CSR rows, shape (m, n_words), float32, to a Tensor (m, out_features)."""
        if rows.shape[1] != self.bag.num_embeddings:
            raise ValueError(
                f"rows must have {self.bag.num_embeddings} columns, got shape {rows.shape}"
            )
        words, offsets, weights = (
            torch.from_numpy(part) for part in (rows.indices, rows.indptr[:-1], rows.data)
        )
        return self.bag(words, offsets, per_sample_weights=weights) + self.bias


def fit(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    inputs: Any,
    targets: Tensor,
    *,
    optimizer: torch.optim.Optimizer,
    valid_score: Callable[[nn.Module], float],
    epochs: int,
    patience: int,
    seed: int,
    batch_size: int = 256,
    on_epoch: Callable[[int, nn.Module], None] | None = None,
    progress: bool = False,
) -> History:
    r"""Train ``model``, stop when valid no longer improves, restore the best state.

    Parameters
    ----------
    model : nn.Module
        Maps a batch of ``inputs`` to logits. Trained in place.
    loss : callable
        ``loss(logits, targets)`` of one batch, a scalar.
    inputs : Tensor or scipy CSR array, shape (m, ...)
        Anything with ``shape`` that an integer array indexes by rows.
    targets : Tensor, shape (m, ...)
        Indexed with the same rows.
    optimizer : torch.optim.Optimizer
        Made by the caller over ``model.parameters()``.
    valid_score : callable
        ``valid_score(model)``, higher is better; called in evaluation mode without gradients,
        once before training and after each epoch.
    epochs : int
        At most so many passes over the rows, at least 1.
    patience : int
        Training ends after so many epochs in a row that do not beat the best score, at least 1.
    seed : int
        Order of the rows and dropout; the caller's random state is left as it was.
    batch_size : int
        Rows a step; the last batch of an epoch may be smaller.
    on_epoch : callable, optional
        ``on_epoch(epoch, model)`` after each epoch, in evaluation mode without gradients.
    progress : bool
        Show a bar, one step an epoch.

    Returns
    -------
    History
        The model holds the state of ``History.best_epoch``.

    Raises
    ------
    ValueError
        If the numbers of rows differ or are zero, or epochs, patience or batch_size is below 1.

    Notes
    -----
    The same seed gives the same numbers bit for bit on one thread of one machine; other CPUs or
    thread counts add in another order. A training loss that is not finite ends the run
    (``ended="diverged"``) with the best state so far.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 64)[:, None]
    >>> with seeded(0):
    ...     line = nn.Linear(1, 1)
    >>> mse = nn.functional.mse_loss
    >>> history = fit(line, mse, x, 3 * x, optimizer=torch.optim.SGD(line.parameters(), lr=0.5),
    ...               valid_score=lambda model: -mse(model(x), 3 * x).item(),
    ...               epochs=50, patience=3, seed=0, batch_size=16)
    >>> history.best_score > -1e-6
    True
    """
    n_rows = inputs.shape[0]
    if n_rows != targets.shape[0] or n_rows == 0:
        raise ValueError(
            f"targets must have as many rows as inputs and at least one, "
            f"got {targets.shape[0]} rows for {n_rows}"
        )
    for name, value in (("epochs", epochs), ("patience", patience), ("batch_size", batch_size)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    with seeded(seed):
        train_loss, scores, best, ended = [], [_score(model, valid_score)], 0, "epochs"
        state = _copy_state(model)
        for epoch in _bar(epochs) if progress else range(1, epochs + 1):
            train_loss.append(_train_epoch(model, loss, inputs, targets, optimizer, batch_size))
            if not isfinite(train_loss[-1]):
                ended = "diverged"
                break
            scores.append(_score(model, valid_score))
            if on_epoch is not None:
                with torch.no_grad():
                    on_epoch(epoch, model)
            if scores[-1] > scores[best]:
                best, state = epoch, _copy_state(model)
            elif epoch - best >= patience:
                ended = "patience"
                break
    model.load_state_dict(state)
    model.eval()
    return History(tuple(train_loss), tuple(scores), best, ended)


def predict(model: nn.Module, inputs: Any, *, batch_size: int = 2048) -> Tensor:
    r"""Return the logits of all rows, in evaluation mode, without gradients.

    Parameters
    ----------
    model : nn.Module
        Left in evaluation mode.
    inputs : Tensor or scipy CSR array, shape (m, ...)
    batch_size : int
        Rows at a time; changes memory, and the result by rounding at most.

    Returns
    -------
    Tensor, shape (m, n_labels)

    Examples
    --------
    >>> predict(nn.Linear(3, 2), torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """
    model.eval()
    with torch.no_grad():
        parts = [model(inputs[i : i + batch_size]) for i in range(0, inputs.shape[0], batch_size)]
    return torch.cat(parts)


def log_odds(rates: Any, *, clip: float = 1e-4) -> Tensor:
    r"""Log-odds :math:`\log\frac{r}{1-r}` of label rates, the start of an output bias.

    A sigmoid layer with zero weights and this bias predicts each label's own rate, so training
    need not spend its first epochs on learning that most labels are absent.

    Parameters
    ----------
    rates : array_like, shape (n_labels,)
        Share of the training rows that have the label, in [0, 1].
    clip : float
        Rates are moved into [clip, 1 - clip] first: a label that never or always occurs in
        training would start at an infinite logit.

    Returns
    -------
    Tensor, shape (n_labels,), float32

    Raises
    ------
    ValueError
        If a rate is outside [0, 1] or not a number, or clip is outside (0, 1/2).

    Examples
    --------
    >>> [round(v, 4) for v in log_odds([0.5, 0.1, 0.0]).tolist()]
    [0.0, -2.1972, -9.2102]
    """
    if not 0 < clip < 0.5:
        raise ValueError(f"clip must be in (0, 1/2), got {clip}")
    values = np.asarray(rates, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"rates must be in [0, 1], got {values.min()} to {values.max()}")
    values = values.clip(clip, 1 - clip)
    return torch.from_numpy(np.log(values / (1 - values))).float()


def _train_epoch(
    model: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    inputs: Any,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    batch_size: int,
) -> float:
    model.train()
    total = 0.0
    for index in torch.randperm(targets.shape[0]).split(batch_size):
        optimizer.zero_grad()
        value = loss(model(inputs[index.numpy()]), targets[index])
        value.backward()
        optimizer.step()
        total += value.item() * len(index)
    return total / targets.shape[0]


def _score(model: nn.Module, valid_score: Callable[[nn.Module], float]) -> float:
    model.eval()
    with torch.no_grad():
        return float(valid_score(model))


def _copy_state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def _bar(epochs: int) -> Iterator[int]:
    from rich.progress import track  # only where a bar is shown

    return iter(track(range(1, epochs + 1), description="training"))
