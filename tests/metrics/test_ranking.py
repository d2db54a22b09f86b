from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import ndcg_score

from logitlib.metrics import _check, ndcg_at_k, precision_at_k

METRICS = [precision_at_k, ndcg_at_k]
# five values only, so that most rows have ties
TIED = st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 3.0])


def batches(max_rows=4, max_labels=6, elements=TIED):
    shapes = st.tuples(st.integers(1, max_rows), st.integers(2, max_labels))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.float64, shape, elements=elements),
            arrays(np.bool_, shape),
            st.integers(1, shape[1]),
        )
    )


def average_over_tie_breaks(scores, targets, k, value):
    """Sort one row stably after every permutation of its labels, and average the value."""
    orders = [np.array(p) for p in permutations(range(len(scores)))]
    ranked = [targets[p][np.argsort(-scores[p], kind="stable")][:k] for p in orders]
    return np.mean([value(hits) for hits in ranked])


def test_precision_of_a_row_by_hand():
    scores, targets = [[0.9, 0.2, 0.7, 0.1], [0.1, 0.2, 0.3, 0.4]], [[1, 0, 0, 1], [0, 0, 1, 1]]
    assert_array_equal(precision_at_k(scores, targets, k=1, reduction="none"), [1, 1])
    assert_array_equal(precision_at_k(scores, targets, k=2, reduction="none"), [0.5, 1])
    assert_allclose(precision_at_k(scores, targets, k=3, reduction="none"), [1 / 3, 2 / 3])
    assert precision_at_k(scores, targets, k=2) == 0.75


def test_ndcg_of_a_row_by_hand():
    scores, targets = [[0.9, 0.2, 0.7, 0.1], [0.1, 0.2, 0.3, 0.4]], [[1, 0, 0, 1], [1, 0, 0, 0]]
    second, third, fourth = 1 / np.log2([3, 4, 5])
    each = ndcg_at_k(scores, targets, k=4, reduction="none")
    assert_allclose(each, [(1 + fourth) / (1 + second), fourth], rtol=1e-15)
    each = ndcg_at_k(scores, [[1, 1, 1, 0], [0, 1, 0, 0]], k=3, reduction="none")
    assert_allclose(each, [1, third], rtol=1e-15)


@given(batches(max_rows=1, max_labels=5))
def test_ties_are_worth_the_mean_over_all_orders(batch):
    scores, targets, k = batch
    discount = 1 / np.log2(np.arange(2, k + 2))
    best = discount[: targets.sum()].sum() or 1.0
    assert_allclose(
        precision_at_k(scores, targets, k=k),
        average_over_tie_breaks(scores[0], targets[0], k, np.mean),
        atol=1e-14,
    )
    assert_allclose(
        ndcg_at_k(scores, targets, k=k),
        average_over_tie_breaks(scores[0], targets[0], k, lambda hits: hits @ discount / best),
        atol=1e-14,
    )


@given(batches(max_rows=6, max_labels=9, elements=TIED.filter(np.isfinite)))
def test_ndcg_is_that_of_scikit_learn_with_ties(batch):
    scores, targets, k = batch
    assert_allclose(ndcg_at_k(scores, targets, k=k), ndcg_score(targets, scores, k=k), atol=1e-14)


@given(batches(elements=st.floats(-50, 50)))
def test_precision_without_ties_counts_the_first_k_of_a_sort(batch):
    scores, targets, k = batch
    scores = scores + np.arange(scores.size).reshape(scores.shape) * 1e3  # no two are equal
    order = np.argsort(-scores, axis=1)[:, :k]
    want = np.take_along_axis(targets, order, axis=1).mean(axis=1)
    assert_allclose(precision_at_k(scores, targets, k=k, reduction="none"), want, rtol=1e-15)


@pytest.mark.parametrize("metric", METRICS)
@given(batch=batches(), seed=st.integers(0, 99))
def test_order_of_rows_and_of_labels_does_not_matter(metric, batch, seed):
    scores, targets, k = batch
    rng = np.random.default_rng(seed)
    rows, labels = (rng.permutation(size) for size in scores.shape)
    want = metric(scores, targets, k=k, reduction="none")[rows]
    got = metric(scores[rows][:, labels], targets[rows][:, labels], k=k, reduction="none")
    assert_allclose(got, want, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS)
@given(batch=batches())
def test_a_rising_transform_of_the_scores_changes_nothing(metric, batch):
    scores, targets, k = batch
    want = metric(scores, targets, k=k, reduction="none")
    assert_array_equal(metric(np.exp(scores) * 2 - 7, targets, k=k, reduction="none"), want)


@given(batches())
def test_bounds(batch):
    scores, targets, k = batch
    precision = precision_at_k(scores, targets, k=k, reduction="none")
    n_true = targets.sum(axis=1)
    n_false = scores.shape[1] - n_true
    # k labels hold at most all true ones, and at least those left when the false ones run out
    assert (precision <= np.minimum(n_true, k) / k + 1e-15).all()
    assert (precision >= np.maximum(k - n_false, 0) / k - 1e-15).all()
    ndcg = ndcg_at_k(scores, targets, k=k, reduction="none")
    assert (ndcg >= 0).all()
    assert (ndcg <= 1 + 1e-15).all()


@pytest.mark.parametrize("n_true", range(1, 31))
def test_ndcg_of_a_perfect_row_is_exactly_one(n_true):
    scores = -np.arange(30.0)[None]
    targets = np.arange(30)[None] < n_true
    for k in range(1, 31):
        assert ndcg_at_k(scores, targets, k=k) == 1


def test_a_row_without_labels_counts_zero():
    scores, targets = [[0.3, 0.1], [0.3, 0.1]], [[0, 0], [1, 0]]
    assert_array_equal(ndcg_at_k(scores, targets, k=1, reduction="none"), [0, 1])
    assert ndcg_at_k(scores, targets, k=1) == 0.5
    assert precision_at_k(scores, targets, k=1) == 0.5


def test_constant_scores_are_no_gift_to_the_first_labels():
    targets = np.zeros((3, 10), dtype=int)
    targets[:, :2] = 1
    assert_allclose(precision_at_k(np.zeros((3, 10)), targets, k=3), 0.2)


@pytest.mark.parametrize("metric", METRICS)
@given(batch=batches())
def test_sparse_and_small_blocks_give_the_same_bits(metric, batch):
    scores, targets, k = batch
    want = metric(scores, targets, k=k, reduction="none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_check, "_BLOCK", 1)  # one row at a time
        for build in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
            got = metric(scores, build(targets.astype(float)), k=k, reduction="none")
            assert_array_equal(got, want)


@pytest.mark.parametrize("metric", METRICS)
def test_working_memory_is_a_fraction_of_the_scores(metric):
    import tracemalloc

    rng = np.random.default_rng(0)
    scores = rng.random((4000, 5000), dtype=np.float32)
    targets = sparse.random_array(scores.shape, density=1e-3, rng=rng, dtype=bool)
    tracemalloc.start()
    metric(scores, targets, k=5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < scores.nbytes / 2
