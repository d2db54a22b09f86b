r"""Cross-entropy against squared error on softmax, from neutral and from wrong starts.

A linear softmax classifier learns scikit-learn's digits. It starts either with zero weights or
with weights that are confidently wrong: they were trained on the labels :math:`y + 1 \bmod 10`
and scaled until the wrong logit leads the true one by a given margin, averaged over the training
rows. Each loss has the same rates to choose from on valid; the test rows are scored once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from logitlib.losses import softmax_cross_entropy, softmax_squared_error
from logitlib.training import History, fit, predict, seeded

LOSSES = {"cross-entropy": softmax_cross_entropy, "squared error": softmax_squared_error}
N_LABELS = 10


@dataclass(frozen=True)
class Config:
    r"""Settings of one race.

    Attributes
    ----------
    margins : tuple of float
        Mean lead of the wrong logit at the start, nats; 0 starts at zero weights.
    learning_rates : tuple of float
        Steps of stochastic gradient descent that valid chooses from.
    epochs : int
        Passes over the training rows.
    batch_size : int
        Rows a step.
    """

    margins: tuple[float, ...] = (0.0, 5.0, 10.0)
    learning_rates: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0)
    epochs: int = 20
    batch_size: int = 256


PRESETS = {
    "quick": Config(),
    "full": Config(
        margins=(0.0, 2.5, 5.0, 7.5, 10.0),
        learning_rates=(0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
        epochs=200,
    ),
}


@dataclass(frozen=True)
class Split:
    """Images in [0, 1], shape (m, 64), and digits, shape (m,), of the three parts."""

    train: tuple[Tensor, Tensor]
    valid: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def run(config: Config, *, seed: int) -> list[dict[str, Any]]:
    """Race both losses from every start.

    Parameters
    ----------
    config : Config
    seed : int
        Splits the rows and orders them in training.

    Returns
    -------
    list of dict
        One row a margin and loss: ``seed``, ``margin``, ``loss``, the ``learning_rate`` and
        ``epoch`` that valid chose, and ``accuracy`` on test, in [0, 1].
    """
    split = split_digits(seed)
    wrong = wrong_weights(split, config, seed=seed)
    return [
        {"seed": seed, "margin": margin, "loss": loss}
        | best_of_rates(split, margin * wrong, config, loss=loss, seed=seed)
        for margin in config.margins
        for loss in LOSSES
    ]


def split_digits(seed: int) -> Split:
    """Divide scikit-learn's digits 60 : 20 : 20, each digit in proportion."""
    images, digits = load_digits(return_X_y=True)
    train, rest = train_test_split(
        np.arange(len(digits)), test_size=0.4, random_state=seed, stratify=digits
    )
    valid, test = train_test_split(rest, test_size=0.5, random_state=seed, stratify=digits[rest])
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(digits)
    return Split(*((x[rows], y[rows]) for rows in (train, valid, test)))


def wrong_weights(split: Split, config: Config, *, seed: int) -> Tensor:
    """Weights, shape (10, 64), whose wrong logit leads the true one by 1 nat on average."""
    inputs, digits = split.train
    wrong = (digits + 1) % N_LABELS
    taught = Split((inputs, wrong), (inputs, wrong), (inputs, wrong))
    model, _ = _train(taught, torch.zeros(N_LABELS, 64), config, "cross-entropy", 1.0, seed)
    weights, rows = model.weight.detach(), torch.arange(len(digits))
    logits = inputs @ weights.T  # the race starts without this model's bias
    return weights / (logits[rows, wrong] - logits[rows, digits]).mean()


def best_of_rates(
    split: Split, start: Tensor, config: Config, *, loss: str, seed: int
) -> dict[str, Any]:
    """Train from ``start`` at every rate; score the one that is best on valid on test."""
    best: dict[str, Any] = {}
    best_valid = -1.0
    for rate in config.learning_rates:
        model, history = _train(split, start, config, loss, rate, seed)
        if history.best_score > best_valid:
            best_valid = history.best_score
            best = {
                "learning_rate": rate,
                "epoch": history.best_epoch,
                "accuracy": _accuracy(model, *split.test),
            }
    return best


def _train(
    split: Split, start: Tensor, config: Config, loss: str, rate: float, seed: int
) -> tuple[nn.Linear, History]:
    with seeded(seed):  # its random start is overwritten, the caller's random state must not be
        model = nn.Linear(64, N_LABELS)
    with torch.no_grad():
        model.weight.copy_(start)
        model.bias.zero_()
    history = fit(
        model,
        LOSSES[loss],
        *split.train,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        valid_score=lambda trained: _accuracy(trained, *split.valid),
        epochs=config.epochs,
        patience=config.epochs,
        batch_size=config.batch_size,
        seed=seed,
    )
    return model, history


def _accuracy(model: nn.Module, inputs: Tensor, digits: Tensor) -> float:
    return (predict(model, inputs).argmax(-1) == digits).float().mean().item()
