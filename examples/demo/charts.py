"""The charts: three pictures of the evening, as PNG files."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import matplotlib
from books import Books
from watch import Watch

matplotlib.use("Agg")
from matplotlib import dates, pyplot
from matplotlib.figure import Figure

COLOURS = {"sent": "#555555", "points": "#1f77b4", "push": "#ff7f0e", "dead": "#d62728"}
SHADES = {"points": ("#1f77b4", "#8fbbd9"), "push": ("#ff7f0e", "#ffbf86")}
SIZE = (10, 5)


def draw_flow(watch: Watch, path: Path) -> None:
    """Orders sent, and orders each service is done with, over the time of the demo."""
    figure, axes = pyplot.subplots(figsize=SIZE)
    seconds = [sample.at for sample in watch.samples]
    sent = [sample.sent for sample in watch.samples]
    axes.plot(seconds, sent, color=COLOURS["sent"], label="orders sent")
    for service in watch.samples[0].done:
        done = [sample.done[service] for sample in watch.samples]
        axes.plot(seconds, done, color=COLOURS[service], label=f"{service}: handled or dead")
    axes.fill_between(seconds, [min(sample.done.values()) for sample in watch.samples], sent, alpha=0.1, color="black")
    for at, what in watch.marks:
        axes.axvline(at, color=COLOURS["dead"], linestyle=":")
        axes.annotate(f" {what}", (at, max(sent) * 0.02), rotation=90, va="bottom", color=COLOURS["dead"])
    axes.set(title="Orders come in and are worked off; grey is the backlog", xlabel="seconds", ylabel="orders")
    axes.legend(loc="lower right")
    _save(figure, path)


def draw_minutes(minutes: Mapping[datetime, int], closed: Mapping[datetime, int], path: Path) -> None:
    """Orders per minute, by the time in the order; with Spark's windows, if there are any, in colour."""
    figure, axes = pyplot.subplots(figsize=SIZE)
    rest = "open: late orders may come" if closed else "from the topic"
    kinds = [(rest, minutes, COLOURS["sent"]), ("closed by Spark", closed, COLOURS["points"])]
    for label, counts, colour in kinds:
        if counts:
            axes.bar(list(counts), list(counts.values()), 0.8 / (24 * 60), align="edge", color=colour, label=label)
    axes.legend()
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))
    axes.set(title="Orders per minute, by the time in the order", xlabel="placed at", ylabel="orders")
    _save(figure, path)


def draw_books(books: Books, path: Path) -> None:
    """What became of every order, for each service."""
    figure, axes = pyplot.subplots(figsize=SIZE)
    for row, account in enumerate(reversed(books.accounts)):
        left = 0
        for turn, (instance, count) in enumerate(account.by_instance.items()):
            axes.barh(row, count, left=left, color=SHADES[account.service][turn % 2])
            axes.annotate(f"{instance}\n{count:,}", (left + count / 2, row), ha="center", va="center")
            left += count
        dead = sum(account.dead.values())
        axes.barh(row, dead, left=left, color=COLOURS["dead"])
        text = f"{account.handled:,} handled + {dead} dead = {account.handled + dead:,}"
        axes.annotate(text, (books.orders, row + 0.45), ha="right", color=COLOURS["dead"] if dead else "black")
    axes.axvline(books.orders, color="black", linestyle="--")
    axes.set_yticks(range(len(books.accounts)), [account.service for account in reversed(books.accounts)])
    verdict = "the books balance" if books.are_balanced else "THE BOOKS DO NOT BALANCE"
    axes.set(title=f"{books.orders:,} orders: {verdict}", xlabel="orders", ylim=(-0.6, len(books.accounts) - 0.3))
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
