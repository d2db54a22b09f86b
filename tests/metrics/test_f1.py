import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import f1_score

from logitlib.metrics import _check, best_threshold, macro_f1, micro_f1

TIED = st.sampled_from([-np.inf, -2.0, 0.0, 0.25, 3.0, np.inf])
THRESHOLDS = st.sampled_from([-np.inf, -2.0, 0.1, 0.25, 3.0, np.inf])


def batches(elements=TIED):
    shapes = st.tuples(st.integers(1, 7), st.integers(2, 5))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.float64, shape, elements=elements), arrays(np.bool_, shape)
        )
    )


def test_micro_and_macro_by_hand():
    scores = [[0.9, 0.2, 0.6], [0.6, 0.4, 0.1], [0.1, 0.8, 0.2]]
    targets = [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    # label 0: TP 1, FP 1, FN 1; label 1: TP 1, FN 1; label 2: FP 1 and no positive
    assert micro_f1(scores, targets, threshold=0.5) == pytest.approx(4 / 8)
    assert macro_f1(scores, targets, threshold=0.5) == pytest.approx((1 / 2 + 2 / 3) / 2)


@given(batches(), THRESHOLDS)
def test_micro_is_that_of_scikit_learn(batch, threshold):
    scores, targets = batch
    want = f1_score(targets, scores >= threshold, average="micro", zero_division=0)
    assert micro_f1(scores, targets, threshold=threshold) == pytest.approx(want, rel=1e-15)


@given(batches(), THRESHOLDS)
def test_macro_is_that_of_scikit_learn_on_the_labels_with_a_positive(batch, threshold):
    scores, targets = batch
    present = targets.any(axis=0)
    assume(present.any())
    # two columns at least, or scikit-learn reads the targets as one binary problem
    labels = np.resize(np.flatnonzero(present), 2 * present.sum())
    want = f1_score(
        targets[:, labels], scores[:, labels] >= threshold, average="macro", zero_division=0
    )
    assert macro_f1(scores, targets, threshold=threshold) == pytest.approx(want, rel=1e-14)


def test_a_score_equal_to_the_threshold_is_predicted_in_every_dtype():
    for dtype in (np.float16, np.float32, np.float64):
        # 0.1 is rounded down to float16, 0.7 is rounded down to float32
        for threshold in (0.1, 0.3, 0.7, 0.9):
            scores = np.array([[threshold, 0.01], [threshold, 0.02]], dtype=dtype)
            assert micro_f1(scores, [[1, 0], [1, 0]], threshold=threshold) == 1


def test_a_threshold_beyond_the_dtype_predicts_nothing_or_everything():
    scores, targets = np.array([[1, 2], [3, 4]], dtype=np.float32), [[1, 0], [0, 1]]
    assert micro_f1(scores, targets, threshold=1e300) == 0
    assert micro_f1(scores, targets, threshold=-1e300) == pytest.approx(4 / 6)


def test_neither_positives_nor_predictions_is_zero():
    assert micro_f1([[0.1, 0.2]], [[0, 0]], threshold=0.5) == 0


@given(batches())
def test_best_threshold_beats_every_other(batch):
    scores, targets = batch
    assume(targets.any())
    threshold, f1 = best_threshold(scores, targets)
    assert f1 == micro_f1(scores, targets, threshold=threshold)
    others = {t: micro_f1(scores, targets, threshold=t) for t in np.unique(scores)}
    assert f1 == max(others.values())
    # and of those as good it is the largest
    assert threshold == max(t for t, value in others.items() if value == f1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_best_threshold_is_a_score_in_its_own_dtype(dtype):
    rng = np.random.default_rng(0)
    targets = rng.random((50, 20)) < 0.1
    scores = (rng.standard_normal(targets.shape) + 2 * targets).astype(dtype)
    threshold, f1 = best_threshold(scores, targets)
    assert isinstance(threshold, float)
    assert isinstance(f1, float)
    assert threshold in scores[targets].astype(float)
    assert micro_f1(scores, targets, threshold=threshold) == f1
    assert 0.3 < f1 < 1


@given(batches(), st.integers(0, 99))
def test_sparse_order_and_small_blocks_do_not_matter(batch, seed):
    scores, targets = batch
    assume(targets.any())
    rng = np.random.default_rng(seed)
    rows, labels = (rng.permutation(size) for size in scores.shape)
    moved = scores[rows][:, labels], sparse.csr_array(targets[rows][:, labels])
    want = [f(scores, targets, threshold=0.25) for f in (micro_f1, macro_f1)]
    best = best_threshold(scores, targets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_check, "_BLOCK", 1)
        got = [f(*moved, threshold=0.25) for f in (micro_f1, macro_f1)]
        assert_allclose(got, want, rtol=1e-15)
        assert best_threshold(*moved) == best


def test_a_label_set_without_positives_has_no_macro_mean_and_no_best_threshold():
    scores, targets = [[0.1, 0.2]], [[0, 0]]
    with pytest.raises(ValueError, match="targets must hold at least one 1"):
        macro_f1(scores, targets, threshold=0.5)
    with pytest.raises(ValueError, match="targets must hold at least one 1"):
        best_threshold(scores, targets)


@pytest.mark.parametrize("metric", [micro_f1, macro_f1])
def test_a_bad_threshold_is_named(metric):
    for wrong in ("0.5", None, True, [0.5, 0.5]):
        with pytest.raises(TypeError, match="threshold must be a number"):
            metric([[0.1, 0.2]], [[0, 1]], threshold=wrong)
    with pytest.raises(ValueError, match="threshold must not be NaN"):
        metric([[0.1, 0.2]], [[0, 1]], threshold=float("nan"))
