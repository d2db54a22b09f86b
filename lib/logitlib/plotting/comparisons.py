"""Figures of recorded comparisons: paired differences, scores against the step size, equal fit."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from logitlib.plotting.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from logitlib.studies import select

Row = dict
MARKERS = ("o", "s", "^", "D", "v", "P")
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY, INK)


def difference_forest(
    rows: Sequence[Row],
    pairs: Mapping[str, tuple[str, str]],
    metrics: Sequence[str],
    groups: Mapping[str, str],
) -> Figure:
    """Paired differences with their 95 % intervals, in percentage points.

    Parameters
    ----------
    rows : sequence of dict
        Rows of the kind "difference" of :mod:`logitlib.studies.softmax_vs_sigmoid`.
    pairs : mapping
        From a name in the legend to (first, second): a positive difference favours the first.
    metrics : sequence of str
        One line each, from the top; a metric that a group does not have is left out.
    groups : mapping
        From a group to the title of its panel.
    """
    height = 1.2 + 0.42 * len(metrics)
    figure, panels = plt.subplots(1, len(groups), figsize=(8.4, height), sharey=True, squeeze=False)
    for axes, (group, title) in zip(panels[0], groups.items(), strict=True):
        _forest(axes, select(list(rows), kind="difference", group=group), pairs, metrics)
        axes.set(title=title, xlabel="difference (percentage points)")
    panels[0][0].set_yticks(range(len(metrics)), metrics)
    panels[0][0].invert_yaxis()
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(pairs))
    return figure


def _forest(
    axes: Axes, rows: list[Row], pairs: Mapping[str, tuple[str, str]], metrics: Sequence[str]
) -> None:
    axes.axvline(0.0, color=INK, linewidth=1)
    for number, (name, (first, second)) in enumerate(pairs.items()):
        found = {row["metric"]: row for row in select(rows, first=first, second=second)}
        lines = [(line, found[m]) for line, m in enumerate(metrics) if m in found]
        shift = 0.22 * (number - (len(pairs) - 1) / 2)
        values = np.array([[r["difference"], r["low"], r["high"]] for _, r in lines]) * 100
        axes.errorbar(
            values[:, 0],
            [line + shift for line, _ in lines],
            xerr=np.abs(values[:, 1:] - values[:, :1]).T,
            fmt=MARKERS[number],
            color=COLOURS[number],
            markersize=5,
            capsize=2,
            label=name,
        )


def score_against_rate(
    rows: Sequence[Row],
    groups: Mapping[str, str],
    conditions: Mapping[str, str],
    *,
    score: str = "valid nDCG@5",
) -> Figure:
    """Score of every run of the search against its learning rate, mean over the folds.

    Parameters
    ----------
    rows : sequence of dict
        Rows of the kind "search" of :mod:`logitlib.studies.softmax_vs_sigmoid`.
    groups : mapping
        From a group to the title of its panel.
    conditions : mapping
        From a condition to its name in the legend.
    score : str
        The field that is drawn, in percent.
    """
    figure, panels = plt.subplots(1, len(groups), figsize=(8.4, 3.8), sharey=True, squeeze=False)
    for axes, (group, title) in zip(panels[0], groups.items(), strict=True):
        for number, (condition, name) in enumerate(conditions.items()):
            runs = select(list(rows), kind="search", group=group, condition=condition)
            rates = sorted({run["rate"] for run in runs})
            mean = [100 * np.mean([r[score] for r in runs if r["rate"] == rate]) for rate in rates]
            axes.plot(
                rates, mean, marker=MARKERS[number], color=COLOURS[number], markersize=5, label=name
            )
        ticks = rates if len(rates) <= 5 else rates[1::2]
        axes.set(xscale="log", title=title, xlabel="learning rate")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    panels[0][0].set_ylabel("nDCG@5 on the choosing fold (%)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def equal_fit(rows: Sequence[Row], weight_decays: Sequence[float]) -> Figure:
    """Softmax minus sigmoids at equal training fit: the spread of true logits, and the test score.

    Parameters
    ----------
    rows : sequence of dict
        Rows of :mod:`logitlib.studies.label_coupling`.
    weight_decays : sequence of float
        The weight decays to draw, a line each.
    """
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.8))
    measures = {
        "test spread": ("spread of the true logits", "difference (nats)", 1.0),
        "test nDCG@5": (
            "score on unseen packages",
            "nDCG@5 difference (points)",
            100.0,
        ),
    }
    for axes, (measure, (title, label, scale)) in zip(panels, measures.items(), strict=True):
        axes.axhline(0.0, color=INK, linewidth=1)
        for number, decay in enumerate(weight_decays):
            found = [
                row
                for row in select(
                    list(rows), kind="difference", measure=measure, weight_decay=decay
                )
                if row["low"] is not None
            ]
            values = scale * np.array([[r["difference"], r["low"], r["high"]] for r in found])
            axes.errorbar(
                [100 * row["level"] + 0.5 * (number - 1) for row in found],
                values[:, 0],
                yerr=np.abs(values[:, 1:] - values[:, :1]).T,
                fmt=f"{MARKERS[number]}-",
                color=COLOURS[number],
                markersize=5,
                capsize=2,
                label=f"weight decay {decay:g}",
            )
        axes.set(title=title, xlabel="nDCG@5 on training packages (%)", ylabel=label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(weight_decays))
    return figure
