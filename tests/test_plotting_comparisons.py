"""The figures of recorded comparisons draw the recorded numbers, in the units that they name."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from logitlib.plotting.comparisons import difference_forest, equal_fit, score_against_rate


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def points(axes):
    """Positions of the markers of each container of error bars."""
    return [container.lines[0].get_xydata() for container in axes.containers]


def bars(axes):
    """Ends of the bars of each container."""
    return [np.array(container.lines[2][0].get_segments()) for container in axes.containers]


def test_the_forest_draws_differences_and_intervals_in_points():
    row = {"kind": "difference", "group": "g", "first": "a", "second": "b"}
    rows = [
        row | {"metric": "P@1", "difference": 0.01, "low": -0.01, "high": 0.03},
        row | {"metric": "mAP", "difference": -0.02, "low": -0.03, "high": -0.01},
        row | {"group": "other", "metric": "P@1", "difference": 9, "low": 9, "high": 9},
    ]
    figure = difference_forest(rows, {"a - b": ("a", "b")}, ("P@1", "nDCG@5", "mAP"), {"g": "G"})
    (axes,) = figure.axes
    np.testing.assert_allclose(points(axes)[0], [[1, 0], [-2, 2]])
    np.testing.assert_allclose(bars(axes)[0][:, :, 0], [[-1, 3], [-3, -1]])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["P@1", "nDCG@5", "mAP"]
    assert axes.yaxis_inverted()
    assert "percentage points" in axes.get_xlabel()


def test_pairs_of_the_forest_do_not_cover_each_other():
    row = {"kind": "difference", "group": "g", "metric": "P@1", "low": -1, "high": 1}
    rows = [row | {"first": "a", "second": s, "difference": 0.0} for s in ("b", "c")]
    figure = difference_forest(rows, {"x": ("a", "b"), "y": ("a", "c")}, ("P@1",), {"g": "G"})
    heights = [each[0, 1] for each in points(figure.axes[0])]
    assert heights[0] < 0 < heights[1]


def test_scores_against_rates_are_means_over_folds_in_percent():
    row = {"kind": "search", "group": "sgd", "condition": "c"}
    rows = [
        row | {"fold": fold, "rate": rate, "valid nDCG@5": score}
        for fold, rate, score in [(0, 0.1, 0.5), (1, 0.1, 0.7), (0, 0.4, 0.2), (1, 0.4, 0.4)]
    ]
    (axes,) = score_against_rate(rows, {"sgd": "SGD"}, {"c": "loss"}).axes
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[0.1, 60], [0.4, 30]])
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.1", "0.4"]


def test_equal_fit_draws_both_measures_and_leaves_out_what_was_not_reached():
    row = {"kind": "difference", "weight_decay": 0.0}
    rows = [
        row | {"measure": measure, "level": level, "difference": value, "low": low, "high": high}
        for measure, level, value, low, high in [
            ("test spread", 0.8, -0.5, -0.6, -0.4),
            ("test nDCG@5", 0.8, -0.01, -0.02, 0.0),
            ("test nDCG@5", 0.9, None, None, None),
        ]
    ]
    spread, score = equal_fit(rows, [0.0]).axes
    np.testing.assert_allclose(points(spread)[0][:, 1], [-0.5])
    np.testing.assert_allclose(points(score)[0][:, 1], [-1.0])
    np.testing.assert_allclose(bars(score)[0][0, :, 1], [-2, 0])
    assert "nats" in spread.get_ylabel()
    assert "points" in score.get_ylabel()
