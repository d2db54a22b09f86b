"""The models and losses that the studies compare."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from logitlib.losses import binary_cross_entropy, multilabel_softmax_cross_entropy
from logitlib.studies._folds import Fold
from logitlib.training import BagOfWords, log_odds, seeded


def bce_sum(logits: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy summed over labels, averaged over rows."""
    return binary_cross_entropy(logits, targets, reduction="sum") / logits.shape[0]


def bce_mean(logits: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy averaged over labels and rows."""
    return binary_cross_entropy(logits, targets)


def softmax(logits: Tensor, targets: Tensor) -> Tensor:
    """Softmax cross-entropy to y/k, averaged over rows."""
    return multilabel_softmax_cross_entropy(logits, targets)


def softmax_undivided(logits: Tensor, targets: Tensor) -> Tensor:
    """Softmax cross-entropy to y, averaged over rows."""
    return multilabel_softmax_cross_entropy(logits, targets, normalize=False)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    function.__name__: function for function in (bce_sum, bce_mean, softmax, softmax_undivided)
}


def is_softmax(loss: str) -> bool:
    """Whether the probabilities of the loss are those of a softmax."""
    return loss.startswith("softmax")


def make_model(
    kind: str, fold: Fold, *, start: str, seed: int, n_features: int = 256, dropout: float = 0.3
) -> nn.Module:
    """Build a model for a fold: ``kind`` "hidden", "linear" or "canvas".

    ``start`` "zero" or "log_odds" is the start of the output bias. The same seed gives the same
    weights under either start.
    """
    n_labels = fold.train.targets.shape[1]
    with seeded(seed):
        if kind == "linear":
            # A convex problem: the start is no source of spread, so it is zero.
            model = nn.Sequential(BagOfWords(fold.train.inputs.shape[1], n_labels, std=0.0))
        elif kind == "hidden":
            words = BagOfWords(fold.train.inputs.shape[1], n_features)
            head = nn.Linear(n_features, n_labels)
            model = nn.Sequential(words, nn.ReLU(), nn.Dropout(dropout), head)
        else:
            model = _canvas_model(n_labels, dropout)
    bias = log_odds(fold.rates) if start == "log_odds" else torch.zeros(n_labels)
    model[-1].bias = nn.Parameter(bias)
    return model


def _canvas_model(n_labels: int, dropout: float) -> nn.Sequential:
    """Look for a digit everywhere, keep the strongest response of each filter."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 64, 4),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(64, n_labels),
    )


def ranking_scores(loss: str, logits: Tensor) -> Tensor:
    """Scores that rank and meet a threshold: logits of sigmoids, log p of a softmax.

    The logits of a softmax have no common zero over rows; its log-probabilities do.
    """
    return torch.log_softmax(logits, 1) if is_softmax(loss) else logits
