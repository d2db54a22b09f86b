import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from logitlib.metrics import Interval
from logitlib.plotting import multilabel


@pytest.fixture(autouse=True)
def no_open_figures():
    plt.close("all")
    yield
    plt.close("all")


def the_axes():
    """Axes of the one open figure."""
    assert len(plt.get_fignums()) == 1
    (axes,) = plt.gcf().axes
    return axes


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_excess_loss_counts_steps_from_1_on_two_logarithmic_axes():
    multilabel.excess_loss({"one": [0.4, 0.2, 0.1], "other": [0.8, 0.4, 0.3]})
    axes = the_axes()
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), [[1, 0.8], [2, 0.4], [3, 0.3]])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "nats" in axes.get_ylabel()
    assert legend(axes) == ["one", "other"]


def test_gap_closing_shows_an_exponential_as_a_straight_line():
    times = np.linspace(0, 3, 5)
    multilabel.gap_closing(times, {"gap": np.exp(-times)})
    axes = the_axes()
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.exp(-times))
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert "nats" in axes.get_ylabel()
    assert legend(axes) == ["gap"]


def test_fitted_shares_draws_presence_first_and_every_bar_once():
    presence, fits = [0.4, 0.6], {"divided": [0.7, 0.3], "undivided": [0.4, 0.5]}
    multilabel.fitted_shares(presence, fits)
    axes = the_axes()
    heights = [[bar.get_height() for bar in container] for container in axes.containers]
    assert heights == [presence, *fits.values()]
    assert legend(axes) == ["P(present)", "divided", "undivided"]
    edges = sorted(bar.get_x() for container in axes.containers for bar in container)
    assert np.diff(edges).min() > 0.2  # no bar hides another


def test_size_factors_writes_the_names_at_their_tags():
    multilabel.size_factors([0.01, 0.1, 0.5], [0.5, 1.0, 4.0], {2: "lonely"})
    axes = the_axes()
    np.testing.assert_allclose(axes.collections[0].get_offsets()[2], [0.5, 4.0])
    (note,) = axes.texts
    assert note.get_text() == "lonely"
    assert note.xy == (0.5, 4.0)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["½", "1", "2", "4"]


def test_paired_differences_shows_mean_and_both_ends_in_percentage_points():
    precision = Interval(np.array([0.01, 0.02]), np.array([0.005, 0.01]), np.array([0.02, 0.05]))
    recall = Interval(-precision.mean, -precision.high, -precision.low)
    multilabel.paired_differences([1, 5], {"precision": precision, "recall": recall})
    axes = the_axes()
    points, _, (bars,) = axes.containers[0].lines
    np.testing.assert_allclose(points.get_xdata(), [1.0, 2.0])
    ends = [[segment[0, 0], segment[1, 0]] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.5, 2.0], [1.0, 5.0]])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first 1", "first 5"]
    assert legend(axes) == ["precision", "recall"]
    assert "percentage points" in axes.get_xlabel()
