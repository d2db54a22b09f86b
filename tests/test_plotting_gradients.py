"""The pictures show what the losses and the chapter computed."""

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.quiver import Quiver

from logitlib.losses import softmax_cross_entropy, softmax_squared_error
from logitlib.plotting import gradients

LOSSES = {"cross-entropy": softmax_cross_entropy, "squared error": softmax_squared_error}
POINTS = np.array([[0.0, 0.0], [1.0, -2.0], [-6.0, 3.0]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def probabilities(points):
    weights = np.exp(points @ gradients.PLANE)
    return weights / weights.sum(1, keepdims=True)


def test_the_plane_is_orthonormal_and_its_logits_sum_to_zero():
    np.testing.assert_allclose(gradients.PLANE @ gradients.PLANE.T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(gradients.PLANE.sum(1), 0, atol=1e-15)


def test_cross_entropy_descends_along_truth_minus_prediction():
    want = (np.eye(3)[0] - probabilities(POINTS)) @ gradients.PLANE.T
    got = gradients.descent_directions(softmax_cross_entropy, POINTS)
    np.testing.assert_allclose(got, want, atol=1e-14)


def test_squared_error_descends_along_the_hessian_times_that():
    p = probabilities(POINTS)
    hessian = p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]
    want = 2 * np.einsum("mij,mj->mi", hessian, np.eye(3)[0] - p) @ gradients.PLANE.T
    got = gradients.descent_directions(softmax_squared_error, POINTS)
    np.testing.assert_allclose(got, want, atol=1e-14)


def test_the_fields_draw_these_directions_at_few_points():
    figure = gradients.gradient_fields(LOSSES, radius=4.0)
    assert [axes.get_title() for axes in figure.axes] == list(LOSSES)
    for axes, loss in zip(figure.axes, LOSSES.values(), strict=True):
        (arrows,) = (child for child in axes.get_children() if isinstance(child, Quiver))
        want = gradients.descent_directions(loss, arrows.XY)
        np.testing.assert_allclose(np.c_[arrows.U, arrows.V], want, atol=1e-14)
        assert 20 < len(arrows.XY) < 2000
        assert np.hypot(*arrows.XY.T).max() <= 4.0


def test_the_race_draws_its_numbers_under_the_right_names():
    times, margins = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0])
    paths = {name: np.linspace(0, 1, 3) ** k for k, name in enumerate(LOSSES, start=1)}
    measured = {name: margins * k for k, name in enumerate(LOSSES, start=1)}
    exact = {"cross-entropy": lambda x: x, "squared error": np.exp}
    figure = gradients.escape_race(times, paths, margins, measured, exact)
    lines = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    for name in LOSSES:
        np.testing.assert_array_equal(lines[name].get_ydata(), paths[name])
        np.testing.assert_array_equal(lines[f"{name}, descent"].get_ydata(), measured[name])
        curve = lines[f"{name}, exact"]
        np.testing.assert_array_equal(curve.get_ydata(), exact[name](curve.get_xdata()))


def test_the_dots_of_the_frequencies_are_root_mean_squares():
    errors = np.array([[3.0, 4.0], [0.3, 0.4]])
    (axes,) = gradients.frequency_errors([10, 1000], errors, np.array([3.5, 0.35])).axes
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["root mean square"].get_ydata(), np.sqrt([12.5, 0.125]))
    np.testing.assert_array_equal(lines["exact"].get_ydata(), [3.5, 0.35])


def test_the_growth_of_the_logits_is_drawn_against_the_truth():
    gaps = {"few": np.array([1.0, 2.0]), "many": np.array([0.5, 0.5])}
    (axes,) = gradients.logit_growth([1, 10], gaps, truth=0.85).axes
    lines = {line.get_label(): line for line in axes.lines}
    for name, gap in gaps.items():
        np.testing.assert_array_equal(lines[name].get_ydata(), gap)
    assert set(lines["truth"].get_ydata()) == {0.85}
