"""Train, choose and test parts of the data sets, with nothing of the test part in the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from logitlib.datasets.debtags import Debtags, load_debtags, tfidf_vectorizer
from logitlib.datasets.digits import make_digit_canvases
from logitlib.datasets.folds import grouped_folds

N_FOLDS = 10
HEAD, TORSO = 0.05, 0.005  # label rates on the training rows: head from 5 %, torso from 0.5 %


@dataclass(frozen=True)
class Part:
    """Rows of one part: inputs for the model, targets (m, n) float32, group of each row."""

    inputs: Any
    targets: Tensor
    groups: np.ndarray


@dataclass(frozen=True)
class Fold:
    """One split into train, choose ("valid") and test."""

    number: int
    train: Part
    valid: Part
    test: Part

    @property
    def rates(self) -> np.ndarray:
        """Share of the training rows that have each label."""
        return self.train.targets.double().mean(0).numpy()

    @property
    def label_groups(self) -> list[str]:
        """ "head", "torso" or "tail" for each label, by its training rate."""
        return ["head" if r >= HEAD else "torso" if r >= TORSO else "tail" for r in self.rates]


@lru_cache(maxsize=2)
def debtags_fold(fold: int, min_label_count: int) -> Fold:
    """Test on ``fold``, choose on the next, train on the other eight.

    Words, their weights and the list of labels (tags with at least ``min_label_count`` rows) come
    from the training rows; rows left without a label are dropped from every part.
    """
    data = _debtags()
    numbers = grouped_folds(data.sources, N_FOLDS)
    next_fold = (fold + 1) % N_FOLDS
    train = np.flatnonzero((numbers != fold) & (numbers != next_fold))
    counts = data.labels[train].astype(np.int64).sum(axis=0)
    labels = data.labels[:, np.flatnonzero(counts >= min_label_count)].toarray()
    vectorizer = tfidf_vectorizer().fit([data.texts[i] for i in train])

    def part(rows: np.ndarray) -> Part:
        rows = rows[labels[rows].any(axis=1)]
        inputs = vectorizer.transform([data.texts[i] for i in rows])
        return Part(inputs, torch.from_numpy(labels[rows]).float(), data.sources[rows])

    valid, test = (np.flatnonzero(numbers == number) for number in (next_fold, fold))
    return Fold(fold, part(train), part(valid), part(test))


@lru_cache(maxsize=2)
def canvas_fold(draw: int, sizes: tuple[int, int, int], tail: bool) -> Fold:
    """Digit canvases from three disjoint pools of digits; each canvas is its own group.

    With ``tail`` digit c is drawn with weight 2 ** -c.
    """
    weights = [2.0**-c for c in range(10)] if tail else None
    parts = []
    for split, size in zip(("train", "valid", "test"), sizes, strict=True):
        canvases = make_digit_canvases(size, split=split, seed=draw, label_weights=weights)
        images = torch.from_numpy(canvases.images).unsqueeze(1)
        parts.append(Part(images, torch.from_numpy(canvases.labels).float(), np.arange(size)))
    return Fold(draw, *parts)


@lru_cache(maxsize=1)
def _debtags() -> Debtags:
    # Every tag that occurs: the list of labels is chosen for each fold on its training rows.
    return load_debtags(min_train_count=1)
