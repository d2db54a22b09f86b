import numpy as np
import pytest

from logitlib.studies._bootstrap import pack
from logitlib.studies._pooled import difference_rows, mean_rows


def replicates(fold, n_rows, values):
    packed = {"mAP": pack(np.array(values))}
    return {"kind": "replicates", "fold": fold, "n_rows": n_rows, "packed": packed}


FIRST = [replicates(0, 100, [0.5, 0.4, 0.6]), replicates(1, 300, [0.7, 0.7, 0.7])]
SECOND = [replicates(1, 300, [0.4, 0.3, 0.5])]
SEEDS = [
    {"fold": fold, "seed": seed, "mAP": value}
    for fold, seed, value in [(0, 0, 0.4), (0, 1, 0.6), (1, 0, 0.7), (1, 1, 0.7)]
]


def test_a_mean_is_weighted_by_the_rows_of_the_folds():
    (row,) = mean_rows({"group": "g"}, SEEDS, FIRST)
    assert (row["kind"], row["group"], row["metric"]) == ("mean", "g", "mAP")
    assert row["mean"] == pytest.approx(0.65, abs=1e-6)
    half = 1.959964 * np.std([0.625, 0.675], ddof=1)
    assert (row["low"], row["high"]) == pytest.approx((0.65 - half, 0.65 + half), abs=1e-6)
    assert row["sd_seeds"] == pytest.approx(np.std([0.55, 0.65], ddof=1))
    assert row["sd_folds"] == pytest.approx(np.std([0.5, 0.7], ddof=1))


def test_a_single_seed_or_fold_has_no_spread():
    (row,) = mean_rows({}, SEEDS[:1], FIRST)
    assert row["sd_seeds"] is None
    assert row["sd_folds"] is None


def test_a_difference_is_paired_by_replicate_on_the_folds_that_both_have():
    (row,) = difference_rows({"first": "a", "second": "b"}, FIRST, SECOND)
    assert row["n_folds"] == 1
    assert row["difference"] == pytest.approx(0.3, abs=1e-6)
    half = 1.959964 * np.std([0.4, 0.2], ddof=1)
    assert (row["low"], row["high"]) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-6)
    (back,) = difference_rows({}, SECOND, FIRST)
    assert back["difference"] == pytest.approx(-row["difference"])


def test_a_common_shift_of_both_sides_leaves_no_uncertainty():
    noisy = [replicates(0, 10, [0.5, 0.1, 0.9])]
    shifted = [replicates(0, 10, [0.4, 0.0, 0.8])]
    (row,) = difference_rows({}, noisy, shifted)
    assert row["high"] - row["low"] == pytest.approx(0, abs=1e-6)
