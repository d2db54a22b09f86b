import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.calibration import calibration_curve

from logitlib.metrics import _check, expected_calibration_error

BINNINGS = ["width", "mass"]
# bin bounds, ties and ordinary values together
PROBABILITIES = st.sampled_from([0.0, 0.2, 0.25, 0.5, 1.0]) | st.floats(0, 1)


def batches():
    shapes = st.tuples(st.integers(1, 8), st.integers(1, 5))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.float64, shape, elements=PROBABILITIES),
            arrays(np.bool_, shape),
            st.integers(1, 12),
        )
    )


def by_the_definition(probabilities, targets, n_bins):
    """Bins ((b - 1) / n, b / n], one comparison at a time."""
    p, y = probabilities.ravel(), targets.ravel()
    bounds = np.linspace(0, 1, n_bins + 1)
    total = 0.0
    for b in range(n_bins):
        inside = (p > bounds[b]) & (p <= bounds[b + 1]) | ((b == 0) & (p == 0))
        if inside.any():
            total += inside.mean() * abs(y[inside].mean() - p[inside].mean())
    return total


def test_gaps_by_hand():
    # bins (0, 1/2] with mean 0.3, frequency 0; and (1/2, 1] with mean 0.8, frequency 1/2
    probabilities, targets = [[0.2, 0.6], [0.4, 1.0]], [[0, 0], [0, 1]]
    assert expected_calibration_error(probabilities, targets, n_bins=2) == pytest.approx(0.3)
    # one bin: mean 0.55 against frequency 1/4
    assert expected_calibration_error(probabilities, targets, n_bins=1) == pytest.approx(0.3)
    # four bins of one pair each
    got = expected_calibration_error(probabilities, targets, n_bins=4, binning="mass")
    assert got == pytest.approx((0.2 + 0.6 + 0.4 + 0) / 4)


def test_a_bound_belongs_to_the_bin_below_and_zero_to_the_first():
    # 1/2 shares the bin of 0, not that of 1, so that surpluses of opposite sign cancel there
    probabilities, targets = [[0.0, 0.5, 1.0]], [[1, 0, 0]]
    got = expected_calibration_error(probabilities, targets, n_bins=2)
    assert got == pytest.approx((abs(0.5 - 1) + 1) / 3)


@given(batches())
def test_equal_width_is_the_definition(batch):
    probabilities, targets, n_bins = batch
    got = expected_calibration_error(probabilities, targets, n_bins=n_bins)
    assert got == pytest.approx(by_the_definition(probabilities, targets, n_bins), abs=1e-14)


@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_bins_are_those_of_scikit_learn(binning, strategy):
    rng = np.random.default_rng(0)
    probabilities = np.round(rng.beta(0.5, 3, size=(200, 5)), 2)  # rounded, so there are ties
    targets = rng.random(probabilities.shape) < probabilities**1.5
    p, y = probabilities.ravel(), targets.ravel()
    frequency, mean = calibration_curve(y, p, n_bins=10, strategy=strategy)
    bounds = np.linspace(0, 1, 11)
    if strategy == "quantile":
        bounds = np.quantile(p, bounds)
    size = np.bincount(np.searchsorted(bounds[1:-1], p))
    want = size[size > 0] / p.size @ np.abs(frequency - mean)
    got = expected_calibration_error(probabilities, targets, n_bins=10, binning=binning)
    assert want > 0.03
    assert got == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("binning", BINNINGS)
@given(batch=batches(), seed=st.integers(0, 99))
def test_order_blocks_and_sparsity_do_not_matter(binning, batch, seed):
    probabilities, targets, n_bins = batch
    rng = np.random.default_rng(seed)
    rows, labels = (rng.permutation(size) for size in probabilities.shape)
    want = expected_calibration_error(probabilities, targets, n_bins=n_bins, binning=binning)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_check, "_BLOCK", 1)
        got = expected_calibration_error(
            probabilities[rows][:, labels],
            sparse.csr_array(targets[rows][:, labels]),
            n_bins=n_bins,
            binning=binning,
        )
    assert_allclose(got, want, atol=1e-14)
    assert 0 <= want <= 1


@pytest.mark.parametrize("binning", BINNINGS)
def test_a_constant_prediction_of_the_frequency_is_calibrated(binning):
    # sorted targets: bins that split equal probabilities by position would see a gap of 1/2
    targets = np.repeat([0, 1], 50)[:, None]
    assert expected_calibration_error(np.full((100, 1), 0.5), targets, binning=binning) == 0


@pytest.mark.parametrize("binning", BINNINGS)
def test_calibrated_probabilities_are_near_zero_and_reversed_ones_near_their_gap(binning):
    rng = np.random.default_rng(0)
    probabilities = rng.random((2000, 20))
    targets = rng.random(probabilities.shape) < probabilities
    # each of 15 bins scatters by about sqrt(p (1 - p) / 2667), which is 0.008 on average
    assert expected_calibration_error(probabilities, targets, binning=binning) < 0.015
    # with p and 1 - p exchanged the gap is |1 - 2p|, whose mean is 1/2
    got = expected_calibration_error(1 - probabilities, targets, binning=binning)
    assert got == pytest.approx(0.5, abs=0.01)


def test_equal_mass_sees_what_equal_width_hides_in_one_bin():
    # rare labels, half at 1 % and half at 3 %, with the two probabilities exchanged
    probabilities = np.tile([0.01, 0.03], (1000, 1))
    targets = np.zeros((1000, 2))
    targets[:30, 0] = targets[:10, 1] = 1
    assert expected_calibration_error(probabilities, targets) == pytest.approx(0, abs=1e-15)
    got = expected_calibration_error(probabilities, targets, binning="mass")
    assert got == pytest.approx(0.02)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.inf, -np.inf])
def test_probabilities_outside_the_unit_interval_are_named(wrong):
    with pytest.raises(ValueError, match=rf"probabilities must be in \[0, 1\], got {wrong}"):
        expected_calibration_error([[0.5, wrong]], [[0, 1]])


def test_bad_bins_are_named():
    for wrong in (2.0, "5", None, True):
        with pytest.raises(TypeError, match="n_bins must be an integer"):
            expected_calibration_error([[0.5]], [[1]], n_bins=wrong)
    for wrong in (0, -3):
        with pytest.raises(ValueError, match=f"n_bins must be at least 1, got {wrong}"):
            expected_calibration_error([[0.5]], [[1]], n_bins=wrong)
    with pytest.raises(ValueError, match="binning must be one of 'width', 'mass', got 'equal'"):
        expected_calibration_error([[0.5]], [[1]], binning="equal")
