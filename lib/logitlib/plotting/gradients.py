"""Figures of the chapter on the gradient of softmax.

Each function draws numbers that the chapter or the library has computed; the gradients come from
automatic differentiation of the losses, so a picture cannot disagree with the code.
"""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from logitlib.plotting.style import BLUE, GREY, INK, ORANGE

Loss = Callable[..., Tensor]

#: Orthonormal basis of the plane in which three logits sum to 0: to the right label 2 gains on
#: label 3, upwards label 1 gains on both.
PLANE = np.array([[0.0, 1.0, -1.0], [2.0, -1.0, -1.0]]) / np.sqrt([[2.0], [6.0]])

COLOURS = {"cross-entropy": BLUE, "squared error": ORANGE}


def descent_directions(loss: Loss, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minus the gradient of a loss of three logits whose true label is the first.

    Parameters
    ----------
    loss : callable
        ``loss(logits, targets, *, reduction)`` with class indices as targets.
    points : array, shape (m, 2)
        Coordinates in the plane of logits that sum to 0, nats.

    Returns
    -------
    array, shape (m, 2)
        In the same coordinates. Nothing is lost: no gradient of a softmax leaves the plane.
    """
    logits = torch.tensor(points @ PLANE, requires_grad=True)
    targets = torch.zeros(len(points), dtype=torch.long)
    (gradient,) = torch.autograd.grad(loss(logits, targets, reduction="sum"), logits)
    return -gradient.numpy() @ PLANE.T


def gradient_fields(losses: Mapping[str, Loss], *, radius: float = 7.0) -> Figure:
    """Descent directions of some losses side by side, on all triples of logits near 0.

    Lines join the points of equal gradient norm: 0.1 solid, 0.01 dashed.

    Parameters
    ----------
    losses : mapping from name to loss
        One panel each.
    radius : float
        Largest distance from equal logits, nats.
    """
    figure, panels = plt.subplots(
        1, len(losses), figsize=(8.4, 4.6), sharey=True, squeeze=False, layout="compressed"
    )
    for axes, (name, loss) in zip(panels[0], losses.items(), strict=True):
        points = _triangular_grid(radius, spacing=1.25)
        arrows = descent_directions(loss, points)
        axes.quiver(
            *points.T, *arrows.T, angles="xy", scale_units="xy", scale=1.1,
            color=COLOURS.get(name, INK), width=0.007, headwidth=4, minlength=0.05,
        )  # fmt: skip
        _speed_contours(axes, loss, radius)
        _label_corners(axes, radius)
        axes.set(title=name, xlabel="label 2 against label 3 (nats)", aspect="equal")
        axes.grid(False)
    panels[0][0].set_ylabel("true label 1 against the rest (nats)")
    return figure


def escape_race(
    times: NDArray[np.float64],
    paths: Mapping[str, NDArray[np.float64]],
    margins: Sequence[float],
    measured: Mapping[str, Sequence[float]],
    exact: Mapping[str, Callable[[NDArray[np.float64]], ArrayLike]],
) -> Figure:
    """Two losses that start equally wrong: paths of one start, and escape times of several.

    Parameters
    ----------
    times : array, shape (s,)
        Times of gradient flow, above 0.
    paths : mapping from name to array, shape (s,)
        Probability of the true label at these times.
    margins : sequence of float, length m
        How far the true logit starts below the wrong one, nats.
    measured : mapping from name to sequence of float, length m
        When each loss had the two logits equal.
    exact : mapping from name to function
        The same time as a function of the margin.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6))
    smooth = np.linspace(0.25, max(margins), 100)
    for name, path in paths.items():
        left.plot(times, path, color=COLOURS[name], label=name)
        right.plot(smooth, exact[name](smooth), color=COLOURS[name], label=f"{name}, exact")
        right.plot(margins, measured[name], "o", color=COLOURS[name], label=f"{name}, descent")
    left.axhline(0.5, color=GREY, linewidth=1, linestyle="--")
    left.set(
        xscale="log", xlabel="time (steps × step size)", ylabel="probability of the true label"
    )
    right.set(yscale="log", xlabel="initial margin of the wrong label (nats)", ylabel="escape time")
    left.legend(loc="upper left")
    right.legend(loc="upper left", fontsize=9)
    return figure


def frequency_errors(
    counts: Sequence[int], errors: NDArray[np.float64], expected: NDArray[np.float64]
) -> Figure:
    """Distance of fitted from true probabilities against the number of repetitions of one input.

    Parameters
    ----------
    counts : sequence of int, length m
        Repetitions of the input.
    errors : array, shape (m, r)
        Root of the summed squared error of each of r fits.
    expected : array, shape (m,)
        Root of the exact mean squared error.
    """
    figure, axes = plt.subplots()
    low, high = np.quantile(errors, [0.05, 0.95], axis=1)
    axes.fill_between(counts, low, high, color=BLUE, alpha=0.2, label="middle 90 % of the fits")
    axes.plot(counts, np.sqrt((errors**2).mean(1)), "o", color=BLUE, label="root mean square")
    axes.plot(counts, expected, color=INK, label="exact")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="repetitions of the input",
        ylabel="distance to the truth",
    )
    axes.legend()
    return figure


def logit_growth(steps: ArrayLike, gaps: Mapping[str, ArrayLike], *, truth: float) -> Figure:
    """Logit gap of two labels during training, on data sets with and without a minimiser.

    Parameters
    ----------
    steps : array_like, shape (s,)
        Steps of gradient descent, above 0.
    gaps : mapping from name to array_like, shape (s,)
        Mean absolute logit gap of each data set, nats.
    truth : float
        Gap of the true probabilities, nats.
    """
    figure, axes = plt.subplots()
    for (name, gap), colour in zip(gaps.items(), (ORANGE, BLUE), strict=True):
        axes.plot(steps, gap, color=colour, label=name)
    axes.axhline(truth, color=GREY, linestyle="--", label="truth")
    axes.set(xscale="log", xlabel="step of gradient descent", ylabel="mean logit gap (nats)")
    axes.legend()
    return figure


def _triangular_grid(radius: float, spacing: float) -> NDArray[np.float64]:
    half = int(2 * radius / spacing)
    steps = np.array([(c, r) for r in range(-half, half + 1) for c in range(-half, half + 1)])
    points = steps @ (spacing * np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]]))
    return points[np.hypot(*points.T) <= radius]


def _speed_contours(axes: Axes, loss: Loss, radius: float) -> None:
    side = np.linspace(-radius, radius, 81)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    speed = np.hypot(*descent_directions(loss, grid.reshape(-1, 2)).T).reshape(81, 81)
    inside = np.where(np.hypot(*grid.T) <= radius, speed, np.nan)
    axes.contour(
        side, side, inside, levels=[0.01, 0.1], colors=INK, linewidths=1, linestyles=["--", "-"]
    )


def _label_corners(axes: Axes, radius: float) -> None:
    for label, direction in enumerate(PLANE.T, start=1):
        x, y = direction / np.hypot(*direction) * (radius + 0.8)
        axes.text(x, y, f"label {label}", ha="center", va="center", fontsize=9)
    axes.set(xlim=(-radius - 1.5, radius + 1.5), ylim=(-radius - 1.5, radius + 1.5))
