import math
from dataclasses import replace

import pytest
import torch

from logitlib.studies import label_coupling, load_result, select
from logitlib.studies.label_coupling import (
    at_fit,
    ml7_overall,
    ml7_verdict,
    summarise,
    true_logit_spread,
)

CONFIG = replace(
    label_coupling.PRESETS["quick"], epochs=2, n_features=16, min_label_count=200, levels=(0.3,)
)


def curve(loss, fit, test, seed=0):
    """Epoch rows of one run; both spreads are the fit, so that only the score differs."""
    return [
        {
            "kind": "epoch",
            "fold": 0,
            "seed": seed,
            "loss": loss,
            "weight_decay": 0.0,
            "epoch": epoch,
            "train nDCG@5": x,
            "test nDCG@5": y,
            "train spread": x,
            "test spread": x,
        }
        for epoch, (x, y) in enumerate(zip(fit, test, strict=True), start=1)
    ]


def made_up(gains):
    """Softmax that is ahead by the gain of each seed at every fit, with other epochs."""
    rows = []
    for seed, gain in enumerate(gains):
        rows += curve("bce_sum", [0.2, 0.6], [0.1, 0.5], seed)
        rows += curve("softmax", [0.1, 0.3, 0.7], [0.0 + gain, 0.2 + gain, 0.6 + gain], seed)
    return rows


def differences(gains, levels=(0.5,)):
    config = replace(CONFIG, weight_decays=(0.0,), levels=levels)
    return [row for row in summarise(config, made_up(gains)) if row["kind"] == "difference"]


def test_the_spread_is_that_of_the_true_logits_of_rows_with_two_or_more():
    logits = torch.tensor([[1.0, 5.0, 3.0, 99.0], [7.0, 0.0, 0.0, 0.0]])
    targets = torch.tensor([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    assert true_logit_spread(logits, targets) == pytest.approx(math.sqrt(8 / 3))
    shifted = logits + torch.tensor([[100.0], [-3.0]])
    assert true_logit_spread(shifted, targets) == pytest.approx(math.sqrt(8 / 3))


def test_a_curve_is_read_between_epochs_and_not_beyond():
    rows = curve("softmax", [0.2, 0.4, 0.3, 0.8], [1.0, 2.0, 3.0, 4.0])
    assert at_fit(rows, 0.3, "test nDCG@5") == pytest.approx(1.5)  # the first crossing
    assert at_fit(rows, 0.4, "test nDCG@5") == pytest.approx(2.0)
    assert at_fit(rows, 0.55, "test nDCG@5") == pytest.approx(3.5)
    assert math.isnan(at_fit(rows, 0.9, "test nDCG@5"))
    assert math.isnan(at_fit(rows, 0.1, "test nDCG@5"))


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [((0.02, 0.03, 0.04), "helps"), ((-0.02, -0.03, -0.04), "harms"), ((-0.1, 0.1), "undecided")],
)
def test_the_verdict_follows_the_interval_at_equal_fit_not_at_equal_epochs(gains, verdict):
    rows = differences(gains)
    (row,) = select(rows, measure="test nDCG@5")
    assert row["difference"] == pytest.approx(sum(gains) / len(gains))
    assert ml7_verdict(rows) == {0.5: verdict}


def test_spreads_are_compared_at_the_same_fit():
    (row,) = select(differences((0.1, 0.2)), measure="train spread")
    assert row["difference"] == pytest.approx(0)


def test_a_level_that_one_run_does_not_reach_has_no_difference_and_no_verdict():
    rows = differences((0.1, 0.2), levels=(0.5, 0.65))
    unreached = select(rows, measure="test nDCG@5", level=0.65)
    assert [(row["n_pairs"], row["difference"]) for row in unreached] == [(0, None)]
    assert list(ml7_verdict(rows)) == [0.5]


def test_one_pair_has_a_difference_but_no_interval():
    (row,) = select(differences((0.1,)), measure="test nDCG@5")
    assert row["difference"] == pytest.approx(0.1)
    assert (row["low"], ml7_verdict([row])) == (None, {})


def test_a_run_has_a_row_for_each_epoch_of_each_curve_and_repeats_to_the_bit():
    rows = label_coupling.run(CONFIG, seed=3)
    assert len(select(rows, kind="epoch")) == 2 * 2 * 2  # losses, weight decays, epochs
    one = select(rows, kind="epoch", loss="softmax", weight_decay=1.0)
    assert [row["epoch"] for row in one] == [1, 2]
    again = label_coupling.run_unit(CONFIG, fold=0, seed=3, loss="softmax", weight_decay=1.0)
    assert again == one


def test_weight_decay_reaches_the_optimiser():
    rows = label_coupling.run(CONFIG, seed=3)
    free, decayed = (
        select(rows, kind="epoch", loss="bce_sum", weight_decay=decay, epoch=2)[0]
        for decay in (0.0, 1.0)
    )
    assert free["train nDCG@5"] != decayed["train nDCG@5"]


def test_the_recorded_quick_run_shows_the_coupling():
    rows = load_result("label_coupling", "quick").select(kind="difference", measure="train spread")
    assert all(row["difference"] < 0 for row in rows if row["difference"] is not None)


@pytest.mark.parametrize(
    ("intervals", "verdict", "seen"),
    [
        ([(1.0, 1.1), (-1.1, -1.0)], "holds", {"helps", "harms"}),
        ([(-1.1, -1.0), (-0.1, 0.1)], "qualified", {"harms"}),
        ([(1.0, 1.1), (0.9, 1.0)], "qualified", {"helps"}),
        ([(-0.1, 0.1), (-0.2, 0.1)], "refuted", set()),
        # just above zero as one of one, not as one of eight
        ([(0.001, 1.0)], "qualified", {"helps"}),
        ([(0.001, 1.0)] + [(-0.1, 0.1)] * 7, "refuted", set()),
    ],
)
def test_the_overall_verdict_counts_the_comparisons(intervals, verdict, seen):
    rows = [
        {"kind": "difference", "measure": "test nDCG@5", "n_pairs": 15, "level": 0.8}
        | {"weight_decay": 0.0, "difference": (low + high) / 2, "low": low, "high": high}
        for low, high in intervals
    ]
    unreached = rows[0] | {"difference": None, "low": None, "high": None}
    other = rows[0] | {"measure": "test spread", "low": 5.0, "high": 6.0}
    assert ml7_overall([*rows, unreached, other, {"kind": "epoch"}]) == (verdict, seen)
