r"""Softmax with targets y/k against sigmoids, on Debian tags and digit canvases (claim ML-4).

Protocol
--------
*Folds.* Ten folds of all rows by source package. For test fold f, everything is chosen on fold
(f + 1) mod 10 and trained on the other eight: words and their weights, the list of labels (tags
with at least ``min_label_count`` training rows; rows left without a label are dropped), label
rates, learning rate, epoch, threshold. Fold f is scored once, with the chosen settings.

*Groups.* "adam": words -> 256 ReLU -> labels, Adam. "sgd": the same, SGD with momentum .9 and a
wide grid, since BCE averaged over n labels has a gradient n times smaller than the sum. "linear":
words -> labels, Adam. "digits" and "digits-tail": a small convolutional network on canvases of 1
to 5 digits, all digits alike or each half as frequent as the one before. Canvases for training,
choosing and testing come from three disjoint sets of digits.

*Budget.* Within a group every condition has the same learning rates to choose from (one seed in
the search, by nDCG@5 on the choosing fold), the same epochs and patience. The search run at the
chosen rate is the first of the final seeds. Each run says how it ended: "epochs" with a late
best epoch was cut off while it still improved.

*Losses.* All averaged over the rows of a batch. ``bce_sum`` and ``bce_mean``: binary cross-entropy
summed or averaged over labels. ``softmax``: cross-entropy to y/k. ``softmax_undivided``: to y.
"zero" and "log_odds" are the start of the output bias.

*Scores.* The logit for BCE, log p for softmax. mAP is the mean over the labels with a positive
test row, also apart for labels in at least 5 % of the training rows (head), in .5 to 5 % (torso)
and in fewer (tail). F1 is at one threshold for all labels, chosen for micro-F1; "micro-F1 at 1/2"
needs no choice and exists for BCE only.

*Intervals.* Source packages (or canvases) of each test fold are drawn with replacement, alike for
all conditions. A replicate is the mean over seeds, then over folds (weighted by rows). The 95 %
intervals are 1.96 standard deviations of the replicates: they cover the choice of test packages,
not the training set, and are not corrected for the number of comparisons. Spreads over seeds
and over folds stand beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from logitlib.metrics import best_threshold, micro_f1, ndcg_at_k
from logitlib.studies._bootstrap import fold_weights, pack, score_fold
from logitlib.studies._folds import Fold, canvas_fold, debtags_fold
from logitlib.studies._models import LOSSES, is_softmax, make_model, ranking_scores
from logitlib.studies._pooled import difference_rows, mean_rows
from logitlib.studies._record import Row, select
from logitlib.training import History, fit, predict


@dataclass(frozen=True)
class Group:
    """Conditions that share a model, an optimiser and a tuning budget.

    ``conditions`` maps each to its number of test folds, from fold 0 on. Differences are pooled
    over the folds that both sides have.
    """

    name: str
    model: str
    optimizer: str
    conditions: dict[str, int]
    rates: tuple[float, ...]
    epochs: int
    patience: int = 5
    batch_size: int = 256


@dataclass(frozen=True)
class Config:
    """Everything that decides the numbers, but the seeds."""

    groups: tuple[Group, ...]
    min_label_count: int = 5
    n_features: int = 256
    dropout: float = 0.3
    n_canvases: tuple[int, int, int] = (2000, 1000, 2000)  # train, valid, test
    n_resamples: int = 500


BCE = ("bce_sum/zero", "bce_sum/log_odds")
MEAN = ("bce_mean/zero", "bce_mean/log_odds")
SOFTMAX = ("softmax/zero", "softmax/log_odds")
UNDIVIDED = "softmax_undivided/zero"
ADAM_RATES = (0.003, 0.006, 0.012, 0.024, 0.048)
LINEAR_RATES = (0.012, 0.024, 0.048, 0.096)
SGD_RATES = tuple(0.025 * 4**power for power in range(8))


def _on(n_folds: int, *conditions: str) -> dict[str, int]:
    return dict.fromkeys(conditions, n_folds)


PRESETS = {
    "quick": Config(
        groups=(
            Group("adam", "hidden", "adam", _on(1, *BCE, "softmax/zero"), (0.006, 0.012), 6),
            Group("sgd", "hidden", "sgd", _on(1, BCE[0], MEAN[0]), (0.1,), 4),
            Group(
                "digits", "canvas", "adam", _on(1, *BCE, "softmax/zero"), (0.006,), 6, batch_size=64
            ),
        ),
        min_label_count=50,
        n_features=128,
        n_canvases=(500, 500, 500),
        n_resamples=200,
    ),
    "full": Config(
        groups=(
            # Adam does not see the scale of a loss: two folds are enough to show that
            Group(
                "adam",
                "hidden",
                "adam",
                _on(10, *BCE, *SOFTMAX, UNDIVIDED) | _on(2, *MEAN),
                ADAM_RATES,
                epochs=25,
            ),
            Group(
                "sgd",
                "hidden",
                "sgd",
                _on(2, *BCE, *MEAN, SOFTMAX[0], UNDIVIDED),
                SGD_RATES,
                epochs=20,
                patience=4,
                batch_size=64,
            ),
            Group("linear", "linear", "adam", _on(2, *BCE, SOFTMAX[0]), LINEAR_RATES, epochs=40),
            *(
                Group(
                    name,
                    "canvas",
                    "adam",
                    _on(1, *BCE, SOFTMAX[0], UNDIVIDED),
                    ADAM_RATES[:4],
                    epochs=25,
                    batch_size=64,
                )
                for name in ("digits", "digits-tail")
            ),
        )
    ),
}

METRICS = (
    *("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "mAP", "mAP head", "mAP torso", "mAP tail"),
    *("micro-F1", "macro-F1", "micro-F1 at 1/2", "valid nDCG@5"),
)

# A sum in another order changes the last bit and training spreads it: between SSE, AVX2 and
# AVX-512 the quick rows moved by up to .0023 (macro-F1), the others by half of that.
TOLERANCES = dict.fromkeys(METRICS, 0.005) | dict.fromkeys(
    ("mean", "low", "high", "difference", "sd_seeds", "sd_folds"), 0.005
)

# the metrics that decide ML-4
RANKING = ("P@1", "P@3", "P@5", "nDCG@5", "mAP")

# (ahead if positive, behind): every group reports the pairs whose conditions it has
PAIRS = (
    ("softmax/zero", "bce_sum/zero"),
    ("softmax/zero", "bce_sum/log_odds"),
    ("softmax/log_odds", "bce_sum/log_odds"),
    ("softmax/zero", "bce_mean/zero"),
    ("bce_sum/log_odds", "bce_sum/zero"),
    ("bce_sum/zero", "bce_mean/zero"),
    ("softmax/log_odds", "softmax/zero"),
    ("softmax/zero", "softmax_undivided/zero"),
)


def units(config: Config, seeds: list[int]) -> list[dict[str, Any]]:
    """One unit a group, fold and condition; those of a fold follow each other (one data load)."""
    return [
        {"group": group.name, "fold": fold, "condition": condition, "seeds": list(seeds)}
        for group in config.groups
        for fold in range(max(group.conditions.values()))
        for condition, n_folds in group.conditions.items()
        if fold < n_folds
    ]


def run_unit(
    config: Config, *, group: str, fold: int, condition: str, seeds: list[int]
) -> list[Row]:
    """Search the rate on the choosing fold, train the final seeds, score the test fold."""
    settings = next(item for item in config.groups if item.name == group)
    data = _data(config, settings, fold)
    names = {"group": group, "fold": fold, "condition": condition}
    tried = {
        rate: _train(config, settings, data, condition, rate, seeds[0]) for rate in settings.rates
    }
    rate = max(tried, key=lambda rate: tried[rate][1].best_score)
    rows = [
        {"kind": "search", **names, "rate": each, **_ending(history)}
        for each, (_, history) in tried.items()
    ]
    trained = [tried[rate]] + [
        _train(config, settings, data, condition, rate, seed) for seed in seeds[1:]
    ]
    return rows + _score(config, data, condition, seeds, trained, names | {"rate": rate})


def _data(config: Config, group: Group, fold: int) -> Fold:
    if group.model == "canvas":
        return canvas_fold(fold, config.n_canvases, group.name.endswith("tail"))
    return debtags_fold(fold, config.min_label_count)


def _train(
    config: Config, group: Group, data: Fold, condition: str, rate: float, seed: int
) -> tuple[torch.nn.Module, History]:
    loss, _, start = condition.partition("/")
    model = make_model(
        group.model,
        data,
        start=start,
        seed=seed,
        n_features=config.n_features,
        dropout=config.dropout,
    )
    if group.optimizer == "sgd":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(
            model.parameters(), lr=rate, momentum=0.9
        )
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)

    def valid_score(model: torch.nn.Module) -> float:
        return float(ndcg_at_k(predict(model, data.valid.inputs), data.valid.targets, k=5))

    history = fit(
        model,
        LOSSES[loss],
        data.train.inputs,
        data.train.targets,
        optimizer=optimizer,
        valid_score=valid_score,
        epochs=group.epochs,
        patience=group.patience,
        batch_size=group.batch_size,
        seed=seed,
    )
    return model, history


def _ending(history: History) -> Row:
    return {
        "valid nDCG@5": history.best_score,
        "best_epoch": history.best_epoch,
        "ended": history.ended,
    }


def _score(
    config: Config,
    data: Fold,
    condition: str,
    seeds: list[int],
    trained: list[tuple[torch.nn.Module, History]],
    names: Row,
) -> list[Row]:
    """One row a seed with its scores on the test fold, and one with the replicates."""
    loss = condition.partition("/")[0]
    weights = fold_weights(data.test.groups, config.n_resamples, fold=data.number)
    rows, replicates = [], []
    for seed, (model, history) in zip(seeds, trained, strict=True):
        valid, test = (
            ranking_scores(loss, predict(model, part.inputs)) for part in (data.valid, data.test)
        )
        threshold = best_threshold(valid, data.valid.targets)[0]
        scores = score_fold(
            test, data.test.targets, weights, threshold=threshold, label_groups=data.label_groups
        )
        replicates.append(scores)
        row = {"kind": "seed", **names, "seed": seed, **_ending(history)}
        row |= {name: float(values[0]) for name, values in scores.items()}
        if not is_softmax(loss):
            row["micro-F1 at 1/2"] = float(micro_f1(test, data.test.targets, threshold=0.0))
        rows.append(row)
    mean = {name: np.mean([each[name] for each in replicates], axis=0) for name in replicates[0]}
    packed = {name: pack(values) for name, values in mean.items()}
    n_rows = data.test.targets.shape[0]
    return [*rows, {"kind": "replicates", **names, "n_rows": n_rows, "packed": packed}]


def summarise(config: Config, rows: list[Row]) -> list[Row]:
    """Keep the rows of search and seeds; add means and paired differences pooled over folds."""
    kept = [row for row in rows if row["kind"] != "replicates"]
    for group in config.groups:
        replicates = {name: _of(rows, "replicates", group.name, name) for name in group.conditions}
        for name, parts in replicates.items():
            seeds = _of(rows, "seed", group.name, name)
            kept += mean_rows({"group": group.name, "condition": name}, seeds, parts)
        for first, second in PAIRS:
            if first in replicates and second in replicates:
                names = {"group": group.name, "first": first, "second": second}
                kept += difference_rows(names, replicates[first], replicates[second])
    return kept


def _of(rows: list[Row], kind: str, group: str, condition: str) -> list[Row]:
    return select(rows, kind=kind, group=group, condition=condition)


def run(config: Config, *, seed: int) -> list[Row]:
    """All units for one seed, summarised."""
    rows = [row for unit in units(config, [seed]) for row in run_unit(config, **unit)]
    return summarise(config, rows)


def ml4_verdict(rows: list[Row], *, group: str = "adam", first: str, second: str) -> dict[str, str]:
    """Say for each metric who is ahead in a group: "softmax", "sigmoid" or "undecided".

    Parameters
    ----------
    rows : list of dict
        Rows of this study.
    group : str
        For example "adam".
    first, second : str
        A softmax condition and a sigmoid condition of :data:`PAIRS`.

    Returns
    -------
    dict
        From metric to "softmax" (interval of first - second above 0), "sigmoid" (below 0) or
        "undecided" (0 inside).

    Raises
    ------
    ValueError
        If the rows do not compare the two.
    """
    found = select(rows, kind="difference", group=group, first=first, second=second)
    if not found:
        raise ValueError(f"rows must compare {first} and {second} in group {group!r}, they do not")
    return {row["metric"]: _ahead(row["low"], row["high"]) for row in found}


def ml4_overall(rows: list[Row], *, group: str = "adam") -> str:
    """Return the verdict on ML-4 in a group: "holds", "qualified" or "refuted".

    Softmax (target y/k, biases at zero) meets sigmoids that start at zero and sigmoids that start
    at the log-odds, on :data:`RANKING`. The claim holds if softmax is ahead on some metric and
    behind on none, against both; it is refuted if softmax is ahead on none, against either.
    Anything else depends on the start or on the metric, and is "qualified".

    Parameters
    ----------
    rows : list of dict
        Rows of this study.
    group : str
        For example "adam".
    """
    leads = []
    for sigmoids in BCE:
        each = ml4_verdict(rows, group=group, first=SOFTMAX[0], second=sigmoids)
        leads.append({each[metric] for metric in RANKING})
    if all("softmax" in lead and "sigmoid" not in lead for lead in leads):
        return "holds"
    return "qualified" if any("softmax" in lead for lead in leads) else "refuted"


def _ahead(low: float, high: float) -> str:
    return "softmax" if low > 0 else "sigmoid" if high < 0 else "undecided"
