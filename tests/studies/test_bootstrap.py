import numpy as np
import pytest
import torch

from logitlib import metrics
from logitlib.studies._bootstrap import fold_weights, interval, pack, score_fold, unpack

N_ROWS, N_LABELS = 80, 12
GROUPS = np.array([f"source-{i // 3}" for i in range(N_ROWS)])
LABEL_GROUPS = ["head"] * 2 + ["torso"] * 4 + ["tail"] * 6


def data():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(N_ROWS, N_LABELS, generator=generator)
    targets = (torch.rand(N_ROWS, N_LABELS, generator=generator) < 0.3).float()
    targets[:, 0] = (scores[:, 0] > 0).float()
    targets[:, -1] = 0  # a label without a test row
    return scores, targets


def score(weights, threshold=0.4):
    return score_fold(*data(), weights, threshold=threshold, label_groups=LABEL_GROUPS)


def expected(scores, targets):
    part = slice(2, 6)
    return {
        "P@1": metrics.precision_at_k(scores, targets, k=1),
        "P@3": metrics.precision_at_k(scores, targets, k=3),
        "P@5": metrics.precision_at_k(scores, targets, k=5),
        "nDCG@3": metrics.ndcg_at_k(scores, targets, k=3),
        "nDCG@5": metrics.ndcg_at_k(scores, targets, k=5),
        "mAP": metrics.mean_average_precision(scores, targets),
        "mAP head": metrics.mean_average_precision(scores[:, :2], targets[:, :2]),
        "mAP torso": metrics.mean_average_precision(scores[:, part], targets[:, part]),
        "mAP tail": metrics.mean_average_precision(scores[:, 6:], targets[:, 6:]),
        "micro-F1": metrics.micro_f1(scores, targets, threshold=0.4),
        "macro-F1": metrics.macro_f1(scores, targets, threshold=0.4),
    }


def test_line_0_is_the_data_itself_by_the_library_s_metrics():
    got = score(fold_weights(GROUPS, 10, fold=0))
    assert {name: values[0] for name, values in got.items()} == pytest.approx(expected(*data()))
    assert all(values.shape == (11,) for values in got.values())


def test_a_replicate_is_the_metric_of_the_rows_it_drew():
    weights = fold_weights(GROUPS, 10, fold=0)
    got = score(weights)
    scores, targets = data()
    for number in (1, 7):
        rows = np.repeat(np.arange(N_ROWS), weights[number].astype(int))
        want = expected(scores[rows], targets[rows])
        assert {name: values[number] for name, values in got.items()} == pytest.approx(want)


def test_rows_of_one_source_are_drawn_together_and_as_many_sources_as_there_are():
    weights = fold_weights(GROUPS, 50, fold=3)
    assert (weights[0] == 1).all()
    by_source = weights[1:, ::3]
    assert (weights[1:, 1::3] == by_source[:, : weights[1:, 1::3].shape[1]]).all()
    assert (by_source.sum(axis=1) == len(set(GROUPS))).all()
    assert by_source.std(axis=1).min() > 0


def test_draws_depend_on_the_fold_alone():
    """So two models of one fold are compared on the same rows."""
    first = fold_weights(GROUPS, 5, fold=1)
    assert (fold_weights(GROUPS, 5, fold=1) == first).all()
    assert (fold_weights(GROUPS, 5, fold=2) != first).any()


def test_a_group_of_labels_without_a_test_row_is_left_out():
    groups = ["head"] * (N_LABELS - 1) + ["tail"]
    got = score_fold(*data(), fold_weights(GROUPS, 2, fold=0), threshold=0.0, label_groups=groups)
    assert "mAP head" in got
    assert "mAP tail" not in got
    assert "mAP torso" not in got


def test_packed_replicates_come_back_in_float32():
    values = np.random.default_rng(0).random(7)
    assert (unpack(pack(values)) == values.astype(np.float32)).all()


def test_the_interval_has_the_stated_coverage():
    """Means of 40 normal values: 95 % of the intervals hold the true mean, within 4 sigma."""
    rng = np.random.default_rng(0)
    hits = 0
    for number in range(400):
        sample = rng.normal(size=40)
        draws = np.random.default_rng(number).integers(40, size=(300, 40))
        low, high = interval(np.concatenate([[sample.mean()], sample[draws].mean(axis=1)]))
        hits += low <= 0 <= high
    assert 0.95 - 4 * 0.011 < hits / 400 < 0.95 + 3 * 0.011
