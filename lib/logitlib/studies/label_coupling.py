r"""Does softmax help or harm by tying the logits of the true labels together (claim ML-7)?

Softmax with targets y/k is lowest where all true labels of a row have the same logit; sigmoids
let each logit grow alone. The claim: this constraint acts as a regulariser, for good or ill. Two
numbers test it. The *coupling* is the standard deviation of the true labels' logits within a
row, averaged over the rows with at least two labels. The *effect* is the test nDCG@5 at equal fit:
both losses are followed over the epochs and compared where they reach the same nDCG@5 on the
training rows (linear interpolation between epochs, at the levels of ``Config.levels``).

Both losses start their bias at the log-odds (measured: it is the better start for sigmoids and
changes little for softmax), with Adam and decoupled weight decay. Folds by source package as in
:mod:`logitlib.studies.softmax_vs_sigmoid`; the whole curve is reported, nothing is chosen, so the
choosing fold is left out and the test fold is used as it is. Differences are paired by fold, seed
and weight decay. Their interval is Student's over the pairs: it covers seeds, and folds as far as
a few of them can.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn

from logitlib.metrics import ndcg_at_k
from logitlib.studies._folds import Part, debtags_fold
from logitlib.studies._models import LOSSES, make_model
from logitlib.studies._record import Row
from logitlib.training import fit, predict

SIGMOID, SOFTMAX = "bce_sum", "softmax"


@dataclass(frozen=True)
class Config:
    """Everything that decides the numbers, but the seeds."""

    folds: tuple[int, ...] = (0, 1, 2)
    weight_decays: tuple[float, ...] = (0.0, 0.1, 1.0)
    learning_rate: float = 0.006
    epochs: int = 15
    levels: tuple[float, ...] = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    n_probe: int = 1500  # training rows that measure the fit, the same for all
    min_label_count: int = 5
    n_features: int = 256


PRESETS = {
    "quick": Config(
        folds=(0,), weight_decays=(0.0, 1.0), epochs=6, min_label_count=50, n_features=128
    ),
    "full": Config(),
}

# A sum in another order changes the last bit and training spreads it: between SSE, AVX2 and
# AVX-512, or two forms of a loss, the quick rows moved by up to .0004. The ends of an interval from
# two pairs move by Student's 12.7 times the standard error.
TOLERANCES = dict.fromkeys(
    ("train nDCG@5", "test nDCG@5", "train spread", "test spread", "difference"), 0.002
) | dict.fromkeys(("low", "high"), 0.02)


def units(config: Config, seeds: list[int]) -> list[dict[str, Any]]:
    """One unit a fold, seed, loss and weight decay."""
    return [
        {"fold": fold, "seed": seed, "loss": loss, "weight_decay": decay}
        for fold in config.folds
        for seed in seeds
        for decay in config.weight_decays
        for loss in (SIGMOID, SOFTMAX)
    ]


def run_unit(config: Config, *, fold: int, seed: int, loss: str, weight_decay: float) -> list[Row]:
    """Train once; one row an epoch with fit, test score and coupling on both."""
    data = debtags_fold(fold, config.min_label_count)
    probe = _first_rows(data.train, config.n_probe)
    names = {"fold": fold, "seed": seed, "loss": loss, "weight_decay": weight_decay}
    rows: list[Row] = []

    def measure(epoch: int, model: nn.Module) -> None:
        row = {"kind": "epoch", **names, "epoch": epoch}
        for name, part in (("train", probe), ("test", data.test)):
            logits = predict(model, part.inputs)
            row[f"{name} nDCG@5"] = ndcg_at_k(logits, part.targets, k=5)
            row[f"{name} spread"] = true_logit_spread(logits, part.targets)
        rows.append(row)

    model = make_model("hidden", data, start="log_odds", seed=seed, n_features=config.n_features)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=weight_decay, fused=True
    )
    fit(
        model,
        LOSSES[loss],
        data.train.inputs,
        data.train.targets,
        optimizer=optimizer,
        valid_score=lambda model: 0.0,  # nothing is chosen: the curve is the result
        on_epoch=measure,
        epochs=config.epochs,
        patience=config.epochs,
        seed=seed,
    )
    return rows


def true_logit_spread(logits: Tensor, targets: Tensor) -> float:
    """Standard deviation of the true labels' logits in a row, mean over rows with two or more.

    Examples
    --------
    >>> true_logit_spread(torch.tensor([[1.0, 3.0, 9.0], [5.0, 5.0, 5.0]]),
    ...                   torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    1.0
    """
    several = targets.sum(1) >= 2
    z, y = logits[several].double(), targets[several].double()
    size = y.sum(1)
    center = (z * y).sum(1) / size
    variance = ((z - center[:, None]) ** 2 * y).sum(1) / size
    return variance.sqrt().mean().item()


def _first_rows(part: Part, n_rows: int) -> Part:
    return Part(part.inputs[:n_rows], part.targets[:n_rows], part.groups[:n_rows])


def summarise(config: Config, rows: list[Row]) -> list[Row]:
    """Add softmax minus sigmoid at equal fit, paired by fold and seed, for each weight decay."""
    kept = list(rows)
    for decay in config.weight_decays:
        pairs = _pairs([row for row in rows if row["weight_decay"] == decay])
        for level in config.levels:
            for measure in ("test nDCG@5", "train spread", "test spread"):
                values = [
                    at_fit(soft, level, measure) - at_fit(sigmoid, level, measure)
                    for sigmoid, soft in pairs
                ]
                kept.append(_difference(decay, level, measure, values))
    return kept


def _pairs(rows: list[Row]) -> list[tuple[list[Row], list[Row]]]:
    """Return curves of both losses for each fold and seed."""
    keys = sorted({(row["fold"], row["seed"]) for row in rows})
    curve = {
        (key, loss): [r for r in rows if (r["fold"], r["seed"]) == key and r["loss"] == loss]
        for key in keys
        for loss in (SIGMOID, SOFTMAX)
    }
    return [(curve[key, SIGMOID], curve[key, SOFTMAX]) for key in keys]


def at_fit(curve: list[Row], level: float, measure: str) -> float:
    """Value of ``measure`` where the training nDCG@5 first reaches ``level``; NaN if never.

    Examples
    --------
    >>> curve = [{"train nDCG@5": 0.5, "x": 1.0}, {"train nDCG@5": 0.7, "x": 2.0}]
    >>> round(at_fit(curve, 0.6, "x"), 9)
    1.5
    """
    for before, after in pairwise(curve):
        low, high = before["train nDCG@5"], after["train nDCG@5"]
        if low < level <= high:
            share = (level - low) / (high - low)
            return before[measure] + share * (after[measure] - before[measure])
    return float("nan")


def _difference(decay: float, level: float, measure: str, values: list[float]) -> Row:
    reached = np.array([value for value in values if not np.isnan(value)])
    row: Row = {
        "kind": "difference",
        "weight_decay": decay,
        "level": level,
        "measure": measure,
        "n_pairs": len(reached),
        "difference": None,
        "low": None,
        "high": None,
    }
    # A level that some pairs never reach would compare the easy pairs only.
    if len(reached) == len(values):
        row["difference"] = float(reached.mean())
        if len(reached) > 1:
            half = stats.t.ppf(0.975, len(reached) - 1) * stats.sem(reached)
            row["low"], row["high"] = row["difference"] - half, row["difference"] + half
    return row


def run(config: Config, *, seed: int) -> list[Row]:
    """All units for one seed, summarised."""
    rows = [row for unit in units(config, [seed]) for row in run_unit(config, **unit)]
    return summarise(config, rows)


def ml7_verdict(rows: list[Row], *, weight_decay: float = 0.0) -> dict[float, str]:
    """Say at each level of fit whether the coupling helps: "helps", "harms" or "undecided".

    Parameters
    ----------
    rows : list of dict
        Rows of this study.
    weight_decay : float
        One of the config's.

    Returns
    -------
    dict
        From training nDCG@5 to the verdict on test nDCG@5 of softmax minus sigmoids: "helps" if
        its interval is above 0, "harms" if below, else "undecided". Levels that a run did not
        reach are left out.
    """
    return {
        row["level"]: _verdict(row["low"], row["high"])
        for row in rows
        if row["kind"] == "difference"
        and row["measure"] == "test nDCG@5"
        and row["weight_decay"] == weight_decay
        and row["low"] is not None
    }


def ml7_overall(rows: list[Row]) -> tuple[str, set[str]]:
    """Return the verdict on ML-7, and what the coupling does somewhere: "helps", "harms".

    Intervals are widened for the number of comparisons (levels times weight decays, Bonferroni).
    The claim that the coupling may help or harm holds if each is seen somewhere, is qualified if
    only one is, and refuted if neither is.

    Parameters
    ----------
    rows : list of dict
        Rows of this study, of three or more pairs of fold and seed.
    """
    compared = [
        row
        for row in rows
        if row["kind"] == "difference"
        and row["measure"] == "test nDCG@5"
        and row["low"] is not None
    ]
    seen = set()
    for row in compared:
        half = (row["high"] - row["low"]) / 2 * _widening(row["n_pairs"], len(compared))
        seen.add(_verdict(row["difference"] - half, row["difference"] + half))
    seen.discard("undecided")
    return {2: "holds", 1: "qualified", 0: "refuted"}[len(seen)], seen


def _widening(n_pairs: int, n_comparisons: int) -> float:
    """Ratio of Student's quantiles: an interval for one of many against an interval for one."""
    one, many = stats.t.ppf([0.975, 1 - 0.025 / n_comparisons], n_pairs - 1)
    return many / one


def _verdict(low: float, high: float) -> str:
    return "helps" if low > 0 else "harms" if high < 0 else "undecided"
