from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import average_precision_score

from logitlib.metrics import (
    average_precision,
    bootstrap_weights,
    mean_average_precision,
    weighted_mean_average_precision,
)

TIED = st.sampled_from([-2.0, 0.0, 0.25, 3.0])


def batches(elements=TIED):
    shapes = st.tuples(st.integers(1, 9), st.integers(1, 4))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.float64, shape, elements=elements), arrays(np.bool_, shape)
        )
    )


def batch_without_ties(n_rows=40, n_labels=7, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n_rows, n_labels))
    targets = rng.random(scores.shape) < np.linspace(0.05, 0.6, n_labels)
    assert targets.any(axis=0).all()
    assert len(np.unique(scores)) == scores.size
    return scores, targets


def exact_average_precision(scores, targets):
    """The definition, over the rows of one label, in rational arithmetic."""
    positive = np.flatnonzero(targets)
    share = Fraction(0)
    for i in positive:
        ahead = scores >= scores[i]
        share += Fraction(int((ahead & targets).sum()), int(ahead.sum()))
    return float(share / len(positive))


def test_average_precision_by_hand():
    scores = np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.2], [0.1, 0.4]])
    targets = [[1, 0], [0, 0], [1, 1], [1, 0]]
    # label 0: ranks 1, 3, 4; label 1: rank 3
    want = [(1 + 2 / 3 + 3 / 4) / 3, 1 / 3]
    assert_allclose(mean_average_precision(scores, targets, reduction="none"), want, rtol=1e-15)
    assert mean_average_precision(scores, targets) == pytest.approx(np.mean(want), rel=1e-15)


@given(batches())
def test_each_label_is_that_of_scikit_learn_and_of_the_definition(batch):
    scores, targets = batch
    got = mean_average_precision(scores, targets, reduction="none")
    for label in range(scores.shape[1]):
        s, y = scores[:, label], targets[:, label]
        if y.any():
            assert got[label] == pytest.approx(average_precision_score(y, s), rel=1e-14)
            assert got[label] == pytest.approx(exact_average_precision(s, y), rel=1e-14)
        else:
            assert np.isnan(got[label])


def test_labels_without_a_positive_are_left_out_of_the_mean():
    scores, targets = batch_without_ties()
    padded = np.hstack([targets, np.zeros((len(targets), 3), dtype=bool)])
    extra = np.random.default_rng(1).standard_normal((len(targets), 3))
    got = mean_average_precision(np.hstack([scores, extra]), padded)
    assert got == mean_average_precision(scores, targets)
    assert got == pytest.approx(average_precision_score(targets, scores, average="macro"))


def test_the_transpose_gives_the_mean_over_rows():
    scores, targets = batch_without_ties()
    targets[:, 0] |= ~targets.any(axis=1)
    want = average_precision_score(targets, scores, average="samples")
    assert mean_average_precision(scores.T, targets.T) == pytest.approx(want, rel=1e-14)
    assert mean_average_precision(scores, targets) != pytest.approx(want, rel=0.05)


@given(batches(), st.integers(0, 99))
def test_rising_transforms_of_each_label_and_permutations_change_nothing(batch, seed):
    scores, targets = batch
    rng = np.random.default_rng(seed)
    want = mean_average_precision(scores, targets, reduction="none")
    slope, offset = rng.uniform(0.5, 2, scores.shape[1]), rng.uniform(-9, 9, scores.shape[1])
    got = mean_average_precision(np.exp(scores) * slope + offset, targets, reduction="none")
    assert_allclose(got, want, rtol=1e-14)
    rows, labels = (rng.permutation(size) for size in scores.shape)
    got = mean_average_precision(
        scores[rows][:, labels], targets[rows][:, labels], reduction="none"
    )
    assert_allclose(got, want[labels], rtol=1e-14)


@given(batches())
def test_sparse_targets_give_the_same_bits(batch):
    scores, targets = batch
    want = mean_average_precision(scores, targets, reduction="none")
    for build in (sparse.csr_array, sparse.csc_matrix, sparse.lil_array):
        got = mean_average_precision(scores, build(targets), reduction="none")
        assert_array_equal(got, want)


def test_bounds_are_reached_by_a_perfect_and_a_reversed_ranking():
    scores = np.arange(20.0)[:, None]
    assert mean_average_precision(scores, scores >= 15) == 1
    last = mean_average_precision(scores, scores == 0)
    assert last == pytest.approx(1 / 20)


def test_infinite_scores_rank_first_and_last():
    scores = [[np.inf], [1e308], [-np.inf]]
    assert mean_average_precision(scores, [[1], [0], [0]]) == 1
    assert mean_average_precision(scores, [[0], [0], [1]]) == pytest.approx(1 / 3)


# replicates under row weights


@given(batches())
def test_unit_weights_give_the_plain_mean_ties_included(batch):
    scores, targets = batch
    assume(targets.any())
    got = weighted_mean_average_precision(scores, targets, np.ones((2, len(scores))))
    assert got.shape == (2,)
    assert_allclose(got, mean_average_precision(scores, targets), rtol=1e-14)


@given(batches(), st.integers(0, 99))
def test_a_replicate_is_the_metric_of_the_resampled_rows(batch, seed):
    scores, targets = batch
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), size=4)
    assume((weights @ targets).any(axis=1).all())
    got = weighted_mean_average_precision(scores, targets, weights)
    drawn = [np.repeat(np.arange(len(scores)), w) for w in weights]
    want = [mean_average_precision(scores[rows], targets[rows]) for rows in drawn]
    assert_allclose(got, want, rtol=1e-14)


@given(batches(), st.integers(0, 99))
def test_real_weights_are_those_of_scikit_learn(batch, seed):
    scores, targets = batch
    assume(targets.any())
    weights = np.random.default_rng(seed).uniform(0.1, 3, size=(3, len(scores)))
    got = weighted_mean_average_precision(scores, targets, weights)
    for w, value in zip(weights, got, strict=True):
        each = [
            average_precision_score(y, s, sample_weight=w)
            for s, y in zip(scores.T, targets.T, strict=True)
            if y.any()
        ]
        assert value == pytest.approx(np.mean(each), rel=1e-12)


def test_labels_that_a_resample_misses_are_left_out_of_it():
    scores, targets = [[0.9, 0.1], [0.8, 0.3], [0.7, 0.2]], [[1, 0], [0, 0], [0, 1]]
    weights = [[1, 1, 0], [0, 1, 1], [0, 1, 0]]
    got = weighted_mean_average_precision(scores, targets, weights)
    assert_array_equal(got, [1, 0.5, np.nan])


def test_sparse_targets_and_small_blocks_change_no_replicate(monkeypatch):
    scores, targets = batch_without_ties()
    weights = bootstrap_weights(np.arange(40) // 3, n_resamples=50)
    want = weighted_mean_average_precision(scores, targets, weights)
    assert want.std() > 0.01
    assert_array_equal(
        weighted_mean_average_precision(scores, sparse.csr_array(targets), weights), want
    )
    monkeypatch.setattr(average_precision, "_BLOCK", 90 * 3)  # three positives at a time
    assert_allclose(weighted_mean_average_precision(scores, targets, weights), want, rtol=1e-14)


def test_whole_weights_are_exact_in_single_precision():
    scores, targets = batch_without_ties(n_rows=3000, n_labels=2)
    whole = np.random.default_rng(0).integers(0, 5000, size=(3, 3000))
    assert whole.sum(axis=1).max() < 2**24
    got = weighted_mean_average_precision(scores, targets, whole)
    # the same weights in another unit are no whole numbers, and take the float64 path
    assert_allclose(got, weighted_mean_average_precision(scores, targets, whole / 8), rtol=1e-13)
    # above 2**24 single precision would round: the answer must not
    large = whole * 1001
    assert large.sum(axis=1).min() > 2**24
    assert_allclose(weighted_mean_average_precision(scores, targets, large), got, rtol=1e-13)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(3), ValueError, r"shape \(n_resamples, 3\), got \(3,\)"),
        (np.ones((2, 4)), ValueError, r"shape \(n_resamples, 3\), got \(2, 4\)"),
        (np.ones((0, 3)), ValueError, r"shape \(n_resamples, 3\), got \(0, 3\)"),
        ([[1, -1, 1]], ValueError, "weights must be finite and at least 0"),
        ([[1, np.nan, 1]], ValueError, "weights must be finite and at least 0"),
        ([[1, np.inf, 1]], ValueError, "weights must be finite and at least 0"),
        ([["1", "1", "1"]], TypeError, "weights must be numeric"),
    ],
)
def test_bad_weights_are_named(weights, error, message):
    with pytest.raises(error, match=message):
        weighted_mean_average_precision(np.zeros((3, 1)), [[1], [0], [1]], weights)


def test_a_mean_over_no_label_is_an_error_and_not_a_number():
    nothing = np.zeros((2, 2), dtype=int)
    for build in (np.array, sparse.csr_array):
        with pytest.raises(ValueError, match="targets must hold at least one 1"):
            mean_average_precision(np.zeros((2, 2)), build(nothing))
        with pytest.raises(ValueError, match="targets must hold at least one 1"):
            weighted_mean_average_precision(np.zeros((2, 2)), build(nothing), np.ones((1, 2)))
    assert np.isnan(mean_average_precision(np.zeros((2, 2)), nothing, reduction="none")).all()
