"""What every metric promises about its arguments, one test for all of them."""

from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from scipy import sparse

from logitlib.metrics import (
    best_threshold,
    expected_calibration_error,
    macro_f1,
    mean_average_precision,
    micro_f1,
    ndcg_at_k,
    precision_at_k,
    weighted_mean_average_precision,
)

METRICS = {
    "precision_at_k": partial(precision_at_k, k=2),
    "ndcg_at_k": partial(ndcg_at_k, k=2),
    "mean_average_precision": mean_average_precision,
    "weighted_mean_average_precision": lambda scores, targets: weighted_mean_average_precision(
        scores, targets, np.ones((1, np.shape(scores)[0]))
    ),
    "micro_f1": partial(micro_f1, threshold=0.5),
    "macro_f1": partial(macro_f1, threshold=0.5),
    "best_threshold": best_threshold,
    "expected_calibration_error": expected_calibration_error,
}
PER_ROW_OR_LABEL = {
    "precision_at_k": (METRICS["precision_at_k"], 6),
    "ndcg_at_k": (METRICS["ndcg_at_k"], 6),
    "mean_average_precision": (mean_average_precision, 4),
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    # eighths are exact in every floating dtype
    scores = rng.integers(1, 8, size=(6, 4)) / 8
    targets = rng.random(scores.shape) < 0.4
    assert targets.any(axis=0).all()
    return scores, targets


@every_metric
def test_the_kind_of_container_does_not_matter(metric, batch):
    scores, targets = batch
    want = metric(scores, targets)
    assert np.all(np.asarray(want) > 0)
    for dtype in (np.float16, np.float32, np.longdouble):
        assert_array_equal(metric(scores.astype(dtype), targets), want)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = torch.tensor(scores, dtype=dtype, requires_grad=True)
        assert_array_equal(metric(tensor, torch.tensor(targets)), want)
    for same in (targets.tolist(), targets.astype(np.int8), targets.astype(np.float32)):
        assert_array_equal(metric(scores.tolist(), same), want)
    for build in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.dok_array):
        assert_array_equal(metric(scores, build(targets.astype(np.uint8))), want)


@every_metric
def test_arguments_are_read_only_and_may_be_strided(metric, batch):
    scores, targets = batch
    want = metric(scores, targets)
    wide = np.repeat(scores, 2, axis=1)[:, ::2]
    reversed_twice = np.asfortranarray(targets[::-1])[::-1]
    for array in (wide, reversed_twice):
        array.flags.writeable = False
    assert_array_equal(metric(wide, reversed_twice), want)


@every_metric
def test_a_sparse_matrix_out_of_order_is_understood_and_left_alone(metric, batch):
    scores, targets = batch
    want = metric(scores, targets)
    # columns of a row in falling order, and an explicit zero in the place of each absent label
    columns = np.tile(np.arange(4)[::-1], 6)
    values = targets[:, ::-1].astype(np.int8).ravel()
    odd = sparse.csr_array((values.copy(), columns.copy(), np.arange(0, 25, 4)), shape=(6, 4))
    assert_array_equal(metric(scores, odd), want)
    assert_array_equal(odd.indices, columns)
    assert_array_equal(odd.data, values)


def test_one_row_and_one_label_are_enough():
    one = [[1.0]], [[1]]
    assert precision_at_k(*one, k=1) == ndcg_at_k(*one, k=1) == 1
    assert mean_average_precision(*one) == weighted_mean_average_precision(*one, [[3.0]])[0] == 1
    assert micro_f1(*one, threshold=1) == macro_f1(*one, threshold=1) == 1
    assert best_threshold(*one) == (1.0, 1.0)
    assert expected_calibration_error(*one) == expected_calibration_error(*one, binning="mass") == 0


@pytest.mark.parametrize(("metric", "size"), PER_ROW_OR_LABEL.values(), ids=PER_ROW_OR_LABEL)
def test_reduction_none_gives_the_values_behind_the_mean(metric, size, batch):
    each = metric(*batch, reduction="none")
    assert each.shape == (size,)
    assert each.dtype == np.float64
    assert each.std() > 0
    mean = metric(*batch)
    assert isinstance(mean, float)
    assert mean == each.mean()
    for wrong in ("sum", "average", None, 1):
        with pytest.raises(ValueError, match="reduction must be one of 'mean', 'none', got"):
            metric(*batch, reduction=wrong)


@every_metric
@pytest.mark.parametrize("shape", [(0, 4), (6, 0), (0, 0)])
def test_an_empty_batch_is_an_error(metric, shape):
    with pytest.raises(ValueError, match=rf"at least one row and one label, got \({shape[0]}, "):
        metric(np.zeros(shape), np.zeros(shape))


@every_metric
def test_shapes_must_agree(metric, batch):
    scores, targets = batch
    with pytest.raises(ValueError, match=r"shape of scores \(6, 4\), got \(6, 3\)"):
        metric(scores, targets[:, :3])
    with pytest.raises(ValueError, match=r"shape of scores \(6, 4\), got \(4, 6\)"):
        metric(scores, sparse.csr_array(targets.T))
    # neither a broadcast row nor a flat pair
    with pytest.raises(ValueError, match=r"shape of scores \(6, 4\), got \(1, 4\)"):
        metric(scores, targets[:1])
    with pytest.raises(ValueError, match=r"\(n_rows, n_labels\), got \(24,\)"):
        metric(scores.ravel(), targets.ravel())


@every_metric
def test_nan_scores_name_the_first_row(metric, batch):
    scores, targets = batch
    scores[[3, 5], [1, 0]] = np.nan
    with pytest.raises(ValueError, match=r"scores must not be NaN.* row 3"):
        metric(scores, targets)


@every_metric
@pytest.mark.parametrize("wrong", [-1.0, 2.0, 0.5, np.nan, np.inf])
def test_targets_are_zero_or_one(metric, wrong, batch):
    scores, targets = batch
    targets = targets.astype(float)
    targets[2, 1] = wrong
    with pytest.raises(ValueError, match=f"targets must be 0 or 1, got {wrong}"):
        metric(scores, targets)
    with pytest.raises(ValueError, match=f"targets must be 0 or 1, got {wrong}"):
        metric(scores, sparse.csr_array(targets))


@every_metric
def test_duplicate_entries_add_up_and_are_refused(metric, batch):
    twice = sparse.coo_array(([1, 1, 1], ([0, 0, 2], [1, 1, 3])), shape=(6, 4))
    with pytest.raises(ValueError, match="targets must be 0 or 1, got 2"):
        metric(batch[0], twice)


@every_metric
def test_the_wrong_kind_is_a_type_error(metric, batch):
    scores, targets = batch
    # exchanged arguments, the order of scikit-learn
    with pytest.raises(
        TypeError, match=r"scores must be a dense floating array.*scores, targets\)"
    ):
        metric(targets, scores)
    with pytest.raises(TypeError, match="scores must be a dense floating array, got object"):
        metric(sparse.csr_array(scores), targets)
    with pytest.raises(TypeError, match="targets must be boolean, integer or floating, got <U"):
        metric(scores, targets.astype(str))
    with pytest.raises(TypeError, match="targets must be a strided tensor"):
        metric(scores, torch.tensor(targets).to_sparse())


@pytest.mark.parametrize("metric", [precision_at_k, ndcg_at_k])
def test_a_bad_k_is_named(metric, batch):
    for wrong in (1.0, "1", None, True, [1]):
        with pytest.raises(TypeError, match="k must be an integer"):
            metric(*batch, k=wrong)
    for wrong in (-1, 0, 5):
        with pytest.raises(ValueError, match=f"k must be from 1 to 4, .* got {wrong}"):
            metric(*batch, k=wrong)
    assert metric(*batch, k=np.int64(4)) == metric(*batch, k=4)
