from dataclasses import replace

import numpy as np
import pytest
import torch

from logitlib.losses import binary_cross_entropy, multilabel_softmax_cross_entropy
from logitlib.metrics import ndcg_at_k
from logitlib.studies import _models, select, softmax_vs_sigmoid
from logitlib.studies._folds import debtags_fold
from logitlib.studies._models import LOSSES, make_model, ranking_scores
from logitlib.studies.softmax_vs_sigmoid import (
    PAIRS,
    PRESETS,
    RANKING,
    Group,
    ml4_overall,
    ml4_verdict,
)
from logitlib.training import predict

CONDITIONS = {"bce_sum/zero": 1, "bce_sum/log_odds": 1, "softmax/zero": 1}
TINY = replace(
    PRESETS["quick"],
    groups=(
        Group("adam", "hidden", "adam", CONDITIONS, (0.001, 0.01), epochs=2),
        Group("linear", "linear", "sgd", {"softmax/zero": 2}, (0.1,), epochs=1),
    ),
    min_label_count=200,
    n_features=16,
    n_resamples=20,
)


@pytest.fixture(scope="module")
def rows():
    units = softmax_vs_sigmoid.units(TINY, [4, 5])
    rows = [row for unit in units for row in softmax_vs_sigmoid.run_unit(TINY, **unit)]
    return softmax_vs_sigmoid.summarise(TINY, rows)


def test_the_plan_has_a_unit_for_each_group_fold_and_condition():
    plan = [(u["group"], u["fold"], u["condition"]) for u in softmax_vs_sigmoid.units(TINY, [0])]
    assert plan == [("adam", 0, name) for name in CONDITIONS] + [
        ("linear", 0, "softmax/zero"),
        ("linear", 1, "softmax/zero"),
    ]


def test_every_rate_is_searched_with_one_seed_and_the_best_on_valid_trains_all_seeds(rows):
    for condition in CONDITIONS:
        names = {"group": "adam", "condition": condition}
        search = select(rows, kind="search", **names)
        assert [row["rate"] for row in search] == [0.001, 0.01]
        best = max(search, key=lambda row: row["valid nDCG@5"])
        finals = select(rows, kind="seed", **names)
        assert [(row["seed"], row["rate"]) for row in finals] == [
            (4, best["rate"]),
            (5, best["rate"]),
        ]
        # the run of the search is the first of the final seeds
        assert finals[0]["valid nDCG@5"] == best["valid nDCG@5"]
        assert finals[1]["valid nDCG@5"] != best["valid nDCG@5"]


def test_nothing_is_chosen_on_the_test_fold(monkeypatch):
    """Another test fold must leave the search, the epochs and the threshold as they are."""
    group, thresholds, score_fold = TINY.groups[0], [], softmax_vs_sigmoid.score_fold

    def spy(*arguments, threshold, **options):
        thresholds.append(threshold)
        return score_fold(*arguments, threshold=threshold, **options)

    monkeypatch.setattr(softmax_vs_sigmoid, "score_fold", spy)
    unit = {"group": "adam", "fold": 0, "condition": "softmax/zero", "seeds": [4]}
    before = softmax_vs_sigmoid.run_unit(TINY, **unit)
    fold = softmax_vs_sigmoid._data(TINY, group, 0)
    test = replace(fold.test, targets=fold.test.targets.flip(0))
    monkeypatch.setattr(softmax_vs_sigmoid, "_data", lambda *_: replace(fold, test=test))
    after = softmax_vs_sigmoid.run_unit(TINY, **unit)
    chosen = ("rate", "best_epoch", "ended", "valid nDCG@5")
    for old, new in zip(before[:-1], after[:-1], strict=True):
        assert [old[key] for key in chosen] == [new[key] for key in chosen]
    assert before[-2]["nDCG@5"] != after[-2]["nDCG@5"]
    assert thresholds[0] == thresholds[1]


def test_means_and_differences_agree_with_the_rows_of_the_seeds(rows):
    def mean(condition, metric):
        return np.mean(
            [r[metric] for r in select(rows, kind="seed", group="adam", condition=condition)]
        )

    (row,) = select(rows, kind="mean", group="adam", condition="softmax/zero", metric="mAP")
    assert row["mean"] == pytest.approx(mean("softmax/zero", "mAP"), abs=1e-6)
    assert row["low"] < row["mean"] < row["high"]
    pair = {"first": "softmax/zero", "second": "bce_sum/log_odds"}
    (row,) = select(rows, kind="difference", group="adam", metric="P@3", **pair)
    want = mean("softmax/zero", "P@3") - mean("bce_sum/log_odds", "P@3")
    assert row["difference"] == pytest.approx(want, abs=1e-6)
    assert row["low"] < row["difference"] < row["high"]
    assert not select(rows, kind="replicates")


def test_only_pairs_whose_conditions_a_group_has_are_compared(rows):
    compared = {(r["group"], r["first"], r["second"]) for r in select(rows, kind="difference")}
    assert compared == {
        ("adam", "softmax/zero", "bce_sum/zero"),
        ("adam", "softmax/zero", "bce_sum/log_odds"),
        ("adam", "bce_sum/log_odds", "bce_sum/zero"),
    }


def test_a_seed_repeats_to_the_bit(rows):
    unit = {"group": "adam", "fold": 0, "condition": "bce_sum/zero", "seeds": [4, 5]}
    again = softmax_vs_sigmoid.run_unit(TINY, **unit)
    assert select(again, kind="seed") == select(
        rows, kind="seed", group="adam", condition="bce_sum/zero"
    )


def test_the_half_threshold_is_reported_for_sigmoids_only(rows):
    for row in select(rows, kind="seed"):
        assert ("micro-F1 at 1/2" in row) == row["condition"].startswith("bce")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.01, 0.02, "softmax"), (-0.02, -0.01, "sigmoid"), (-0.01, 0.01, "undecided")],
)
def test_the_verdict_follows_the_interval(low, high, verdict):
    first, second = PAIRS[0]
    row = {"kind": "difference", "group": "adam", "first": first, "second": second}
    other = row | {"group": "sgd", "metric": "mAP", "low": 1, "high": 2}
    rows = [other, row | {"metric": "mAP", "low": low, "high": high}]
    assert ml4_verdict(rows, first=first, second=second) == {"mAP": verdict}


@pytest.mark.parametrize(
    ("against_zero", "against_log_odds", "verdict"),
    [
        ("+....", "+....", "holds"),
        ("+++++", "++++-", "qualified"),
        ("+....", ".....", "qualified"),
        (".....", "....+", "qualified"),
        ("-....", "+++++", "qualified"),
        (".....", ".....", "refuted"),
        ("....-", "-----", "refuted"),
    ],
)
def test_the_overall_verdict_needs_a_lead_against_both_starts(
    against_zero, against_log_odds, verdict
):
    bounds = {"+": (1, 2), "-": (-2, -1), ".": (-1, 1)}
    rows = [
        {"kind": "difference", "group": "adam", "first": "softmax/zero", "second": second}
        | {"metric": metric, "low": bounds[sign][0], "high": bounds[sign][1]}
        for second, signs in (
            ("bce_sum/zero", against_zero),
            ("bce_sum/log_odds", against_log_odds),
        )
        for metric, sign in zip(RANKING, signs, strict=True)
    ]
    other = {"metric": "macro-F1", "low": 1, "high": 2}  # no ranking metric: has no say
    assert ml4_overall([*rows, rows[0] | other, rows[-1] | other]) == verdict


def test_a_comparison_that_was_not_made_is_an_error():
    with pytest.raises(ValueError, match="rows must compare a and b in group 'adam'"):
        ml4_verdict([], first="a", second="b")


def test_the_full_preset_tunes_all_conditions_of_a_group_alike_within_the_budget():
    groups = PRESETS["full"].groups
    assert all(len(group.rates) <= 12 for group in groups)
    assert {name for group in groups for name in group.conditions} >= {n for p in PAIRS for n in p}
    assert next(g for g in groups if g.name == "adam").conditions["softmax/zero"] == 10


def test_losses_are_averaged_over_rows_and_summed_or_averaged_over_labels():
    logits, targets = torch.randn(5, 7), (torch.rand(5, 7) < 0.5).float()
    targets[:, 0] = 1
    each = binary_cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(LOSSES["bce_sum"](logits, targets), each.sum(1).mean())
    torch.testing.assert_close(LOSSES["bce_mean"](logits, targets), each.sum(1).mean() / 7)
    divided = multilabel_softmax_cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(LOSSES["softmax"](logits, targets), divided.mean())
    undivided = (divided * targets.sum(1)).mean()
    torch.testing.assert_close(LOSSES["softmax_undivided"](logits, targets), undivided)


@pytest.mark.parametrize("kind", ["hidden", "linear"])
def test_a_start_sets_the_output_bias_and_nothing_else(kind):
    fold = debtags_fold(0, 200)
    zero, odds = (make_model(kind, fold, start=s, seed=1) for s in ("zero", "log_odds"))
    assert zero[-1].bias.abs().max() == 0
    np.testing.assert_allclose(odds[-1].bias.sigmoid().detach(), fold.rates, rtol=1e-4)
    for name, value in zero.state_dict().items():
        assert name.endswith("bias") or torch.equal(value, odds.state_dict()[name])


def test_the_linear_model_ranks_by_frequency_before_training():
    fold = debtags_fold(0, 200)
    model = make_model("linear", fold, start="log_odds", seed=0)
    logits = predict(model, fold.test.inputs)
    assert (logits.std(0) == 0).all()
    rates = torch.from_numpy(fold.rates).float().expand_as(logits)
    assert ndcg_at_k(logits, fold.test.targets, k=5) == pytest.approx(
        ndcg_at_k(rates, fold.test.targets, k=5)
    )


def test_the_canvas_model_gives_a_logit_a_digit():
    fold = _models.Fold(0, *[_part()] * 3)
    model = make_model("canvas", fold, start="zero", seed=0)
    assert predict(model, fold.test.inputs).shape == (4, 10)


def _part():
    from logitlib.studies._folds import Part

    return Part(torch.rand(4, 1, 36, 36), torch.ones(4, 10), np.arange(4))


def test_softmax_scores_are_log_probabilities_and_sigmoid_scores_are_logits():
    logits = torch.tensor([[0.0, 1.0], [100.0, 101.0]])
    assert torch.equal(ranking_scores("bce_sum", logits), logits)
    scores = ranking_scores("softmax", logits)
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(2))
    torch.testing.assert_close(scores[0], scores[1])
