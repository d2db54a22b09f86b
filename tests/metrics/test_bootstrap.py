from itertools import product

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from logitlib.metrics import Interval, bootstrap, bootstrap_weights, paired_bootstrap


def clustered(seed, n_groups=40):
    """Differences of mean 1 in the population: a shared effect per group, sizes 1 to 6."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    return 1 + rng.standard_normal(n_groups)[groups] + rng.standard_normal(len(groups)), groups


def test_the_estimate_is_the_mean_over_rows_not_over_groups():
    interval = paired_bootstrap([1.0, 1.0, 1.0, 5.0], ["a", "a", "a", "b"])
    assert interval.mean == 2
    # the three kinds of resample: a twice, one of each, b twice
    assert (interval.low, interval.high) == (1, 5)


def test_replicates_have_the_law_of_all_equally_likely_resamples():
    differences, groups = (
        np.array([1.0, 2.0, 4.0, -3.0, 0.5, 2.5, 1.5]),
        np.array([0, 0, 1, 2, 2, 3, 3]),
    )
    sums, sizes = np.bincount(groups, weights=differences), np.bincount(groups)
    draws = [list(d) for d in product(range(4), repeat=4)]
    exact = np.sort([sums[d].sum() / sizes[d].sum() for d in draws])
    for confidence in (0.5, 0.8, 0.95):
        got = paired_bootstrap(differences, groups, n_resamples=100_000, confidence=confidence)
        want = np.quantile(exact, [(1 - confidence) / 2, (1 + confidence) / 2])
        assert_allclose(got[1:], want, atol=0.03)


def test_without_groups_it_is_the_bootstrap_of_scipy():
    differences = np.random.default_rng(0).exponential(size=60)
    want = stats.bootstrap(
        (differences,), np.mean, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    got = paired_bootstrap(differences, range(60), n_resamples=20_000)
    # one quantile of 20,000 replicates scatters by about 0.02 of their standard deviation, 0.1
    assert_allclose(got[1:], want, atol=0.01)
    assert got.mean == pytest.approx(differences.mean(), rel=1e-14)


def test_coverage_with_groups_is_near_nominal_and_without_far_below():
    def covers(differences, groups):
        _, low, high = paired_bootstrap(differences, groups, n_resamples=400)
        return low <= 1 <= high

    sets = [clustered(seed) for seed in range(600)]
    grouped = np.mean([covers(*one) for one in sets])
    ignored = np.mean([covers(d, np.arange(len(d))) for d, _ in sets])
    # the standard error of a share of .94 in 600 is .01
    assert 0.91 < grouped < 0.965
    assert ignored < 0.85


def test_columns_share_the_resamples_and_agree_with_single_calls():
    differences, groups = clustered(0)
    both = np.column_stack([differences, differences**2])
    mean, low, high = paired_bootstrap(both, groups)
    for column in range(2):
        one = paired_bootstrap(both[:, column], groups)
        assert all(isinstance(value, float) for value in one)
        assert_allclose([mean[column], low[column], high[column]], one, rtol=1e-13)


def test_weights_are_the_draws_behind_the_interval():
    differences, groups = clustered(1)
    weights = bootstrap_weights(groups, n_resamples=500, seed=7)
    replicates = weights.astype(float) @ differences / weights.sum(axis=1)
    got = paired_bootstrap(differences, groups, n_resamples=500, seed=7, confidence=0.9)
    assert_allclose(got[1:], np.quantile(replicates, [0.05, 0.95]), rtol=1e-12)


def test_weights_draw_as_many_groups_as_there_are_and_rows_of_one_together():
    groups = np.array(["b", "a", "b", "c", "a", "b"])
    weights = bootstrap_weights(groups, n_resamples=4000)
    assert weights.shape == (4000, 6)
    assert weights.dtype == np.float32
    counts = weights[:, [1, 0, 3]]  # one row of a, of b and of c
    assert_array_equal(weights, counts[:, [1, 0, 1, 2, 0, 1]])
    assert_array_equal(counts.sum(axis=1), 3)
    # multinomial of 3 in 3: mean 1, variance 2/3, covariance -1/3, standard errors below .02
    assert_allclose(counts.mean(axis=0), 1, atol=0.05)
    assert_allclose(np.cov(counts.T), np.eye(3) - 1 / 3, atol=0.07)


def test_the_seed_decides_and_the_block_size_does_not(monkeypatch):
    differences, groups = clustered(2)
    first = paired_bootstrap(differences, groups)
    assert first != paired_bootstrap(differences, groups, seed=1)
    weights = bootstrap_weights(groups)
    monkeypatch.setattr(bootstrap, "_BLOCK", 130)  # three resamples at a time
    assert_allclose(paired_bootstrap(differences, groups), first, rtol=1e-13)
    assert_array_equal(bootstrap_weights(groups), weights)


def test_equal_models_have_an_interval_of_length_zero():
    assert paired_bootstrap(np.zeros(10), np.arange(10)) == Interval(0.0, 0.0, 0.0)


def test_a_shift_and_a_sign_move_the_interval_along():
    differences, groups = clustered(3)
    mean, low, high = paired_bootstrap(differences, groups)
    assert low < mean < high
    assert_allclose(paired_bootstrap(2 - differences, groups), [2 - mean, 2 - high, 2 - low])


def test_a_higher_confidence_holds_a_lower_one():
    differences, groups = clustered(4)
    wide = paired_bootstrap(differences, groups, confidence=0.99)
    narrow = paired_bootstrap(differences, groups, confidence=0.8)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_tensors_integers_and_booleans_are_accepted():
    want = paired_bootstrap([1.0, 0.0, -1.0, 1.0], range(4))
    assert paired_bootstrap(torch.tensor([1, 0, -1, 1]), torch.arange(4)) == want
    assert paired_bootstrap(np.array([1, 0, 0, 1], dtype=bool), range(4)).mean == 0.5


@pytest.mark.parametrize(
    ("differences", "groups", "options", "error", "message"),
    [
        ([], [], {}, ValueError, r"differences must have shape .* got \(0,\)"),
        (
            np.zeros((3, 0)),
            [1, 2, 3],
            {},
            ValueError,
            r"differences must have shape .* got \(3, 0\)",
        ),
        (np.zeros((2, 2, 2)), [1, 2], {}, ValueError, "differences must have shape"),
        ([0.0, np.nan], [1, 2], {}, ValueError, "differences must be finite"),
        ([0.0, np.inf], [1, 2], {}, ValueError, "differences must be finite"),
        (["a", "b"], [1, 2], {}, TypeError, "differences must be numeric"),
        ([0.0, 1.0], [1, 2, 3], {}, ValueError, "groups must have 2 rows, got 3"),
        (
            [0.0, 1.0],
            [[1], [2]],
            {},
            ValueError,
            r"groups must have shape \(n_rows,\), got \(2, 1\)",
        ),
        ([0.0, 1.0], [4, 4], {}, ValueError, "groups must hold at least 2 groups"),
        (
            [0.0, 1.0],
            [1, 2],
            {"n_resamples": 0},
            ValueError,
            "n_resamples must be at least 1, got 0",
        ),
        ([0.0, 1.0], [1, 2], {"n_resamples": 1e3}, TypeError, "n_resamples must be an integer"),
        ([0.0, 1.0], [1, 2], {"confidence": 95}, ValueError, "between 0 and 1, got 95"),
        ([0.0, 1.0], [1, 2], {"confidence": 0.0}, ValueError, "between 0 and 1, got 0.0"),
    ],
)
def test_bad_input_is_named(differences, groups, options, error, message):
    with pytest.raises(error, match=message):
        paired_bootstrap(differences, groups, **options)
