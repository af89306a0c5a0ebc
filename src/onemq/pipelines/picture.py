"""The books as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

COLOURS = {
    "handled": "#3b7a57", "dead": "#8c6d31", "waiting": "#6f8fb5", "lost": "#c0392b", "duplicated": "#d98200",
    "out_of_order": "#8e44ad", "unexpected": "#7f7f7f",
}  # fmt: skip
STATES = ("handled", "dead", "waiting", "lost")


def draw(path: str, title: str, totals: Mapping[str, int | None], history: Sequence[Mapping[str, Any]]) -> None:
    """A PNG: how many keys are in each state, and the states by the time at which they were sent.

    `history` has rows with `at` (datetime) and a number for each of STATES.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    bars, times = figure.subplots(1, 2, width_ratios=(2, 3))
    _draw_totals(bars, {name: totals.get(name) or 0 for name in COLOURS})
    _draw_history(times, history)
    figure.savefig(path, dpi=110)


def _draw_totals(axes: Any, totals: Mapping[str, int]) -> None:
    names = list(totals)[::-1]
    bars = axes.barh([name.replace("_", " ") for name in names], [totals[name] for name in names],
                     color=[COLOURS[name] for name in names])  # fmt: skip
    axes.bar_label(bars, labels=[f"{totals[name]:,}" for name in names], padding=3)
    axes.margins(x=0.2)
    axes.set_xlabel("keys")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_history(axes: Any, history: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib import dates

    times: list[datetime] = [row["at"] for row in history]
    axes.stackplot(
        times, *([row[state] for row in history] for state in STATES), labels=STATES,
        colors=[COLOURS[state] for state in STATES], step="post",
    )  # fmt: skip
    axes.set_xlabel("sent at (UTC)")
    axes.set_ylabel("keys")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(STATES), frameon=False)
    drawn: Any = dates
    locator = drawn.AutoDateLocator(maxticks=6)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(drawn.ConciseDateFormatter(locator))
    axes.spines[["top", "right"]].set_visible(False)
