"""Figures of the chapter on softmax with several labels.

Each function opens one figure and draws numbers that the chapter has computed. Nothing is returned:
a figure that a cell returns would be shown twice.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from logitlib.metrics.bootstrap import Interval
from logitlib.plotting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE

_LINES = tuple(zip((BLUE, ORANGE, GREEN, PURPLE), ("-", "--", ":", "-."), strict=True))


def excess_loss(excess: Mapping[str, Sequence[float]]) -> None:
    """Loss above its infimum, over the mass of the target, along gradient descent.

    Parameters
    ----------
    excess : mapping from name to sequence of float, length n_steps
        Entry s is the excess before step s + 1, nats; both axes are logarithmic.
    """
    _, axes = plt.subplots()
    for (name, values), (colour, line) in zip(excess.items(), _LINES, strict=False):
        steps = np.arange(1, len(values) + 1)
        axes.loglog(steps, values, color=colour, linestyle=line, label=name)
    axes.set(xlabel="step of gradient descent", ylabel="excess per unit of mass (nats)")
    axes.legend()


def gap_closing(times: ArrayLike, gaps: Mapping[str, ArrayLike]) -> None:
    """Difference of two true logits along gradient flow; an exponential is a straight line.

    Parameters
    ----------
    times : array_like, shape (s,)
        Times of gradient flow.
    gaps : mapping from name to array_like, shape (s,)
        Difference of the two logits, nats, above 0.
    """
    _, axes = plt.subplots()
    for (name, gap), (colour, line) in zip(gaps.items(), _LINES, strict=False):
        axes.semilogy(times, gap, color=colour, linestyle=line, label=name)
    axes.set(xlabel="time of gradient flow", ylabel="gap of two true logits (nats)")
    axes.legend()


def fitted_shares(presence: Sequence[float], fits: Mapping[str, Sequence[float]]) -> None:
    """What each target fits, label by label, beside the probability that the label is present.

    Parameters
    ----------
    presence : sequence of float, length n_labels
        True probabilities of presence.
    fits : mapping from name to sequence of float, length n_labels
        Softmax outputs; each sums to 1.
    """
    _, axes = plt.subplots()
    series = {"P(present)": presence, **fits}
    width = 0.8 / len(series)
    labels = np.arange(1, len(presence) + 1)
    for index, ((name, values), colour) in enumerate(
        zip(series.items(), (GREY, BLUE, ORANGE), strict=True)
    ):
        offset = (index - (len(series) - 1) / 2) * width
        axes.bar(labels + offset, values, width, color=colour, label=name)
    axes.set(xticks=labels, xlabel="label", ylabel="probability", ylim=(0, 0.85))
    axes.grid(False, axis="x")
    axes.legend(ncols=3, loc="upper left")


def size_factors(presence: ArrayLike, factors: ArrayLike, names: Mapping[int, str]) -> None:
    """How much the divided target favours each label, against how common the label is.

    Parameters
    ----------
    presence : array_like, shape (n_labels,)
        Share of the rows that have the label.
    factors : array_like, shape (n_labels,)
        Divided over undivided softmax output; 1 where they agree.
    names : mapping from int to str
        Names of the labels to write into the figure.
    """
    presence, factors = np.asarray(presence), np.asarray(factors)
    _, axes = plt.subplots(figsize=(6.4, 4.2))
    axes.axhline(1, color=INK, linewidth=1)
    axes.scatter(presence, factors, s=12, color=BLUE, alpha=0.6, linewidths=0, rasterized=True)
    for label, name in names.items():
        axes.annotate(
            name, (presence[label], factors[label]), (5, 3), textcoords="offset points", fontsize=9
        )
    axes.set(
        xscale="log", yscale="log", xlabel="share of packages with the tag",
        ylabel="divided / undivided output", yticks=[0.5, 1, 2, 4], ylim=(0.3, 6),
    )  # fmt: skip
    axes.set_yticks([], minor=True)
    axes.set_yticklabels(["½", "1", "2", "4"])
    axes.set_xlim(right=1)


def paired_differences(cutoffs: Sequence[int], differences: Mapping[str, Interval]) -> None:
    """Paired differences of two rankings with their intervals, one row for each cutoff.

    Parameters
    ----------
    cutoffs : sequence of int, length m
        Numbers of labels looked at.
    differences : mapping from metric to Interval of arrays, shape (m,)
        Undivided minus divided.
    """
    _, axes = plt.subplots()
    rows = np.arange(len(cutoffs), 0, -1)
    styles = zip((0.12, -0.12), (BLUE, ORANGE), ("o", "s"), strict=True)
    for (metric, (mean, low, high)), (shift, colour, marker) in zip(
        differences.items(), styles, strict=True
    ):
        reach = 100 * np.abs(np.stack([mean - low, high - mean]))
        axes.errorbar(
            100 * mean, rows + shift, xerr=reach, fmt=marker, color=colour, capsize=3, label=metric
        )
    axes.axvline(0, color=INK, linewidth=1)
    axes.set(
        yticks=rows, yticklabels=[f"first {m}" for m in cutoffs], ylim=(0.4, len(cutoffs) + 0.9),
        xlabel="undivided − divided target (percentage points)",
    )  # fmt: skip
    axes.legend(loc="upper left", ncols=2)
