"""The report: the books as tables for people, and as report.json for programs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysts import Analysts
from books import Books
from rich.table import Table

GOOD, BAD = "[green]yes[/]", "[bold red]NO[/]"


def books_table(books: Books) -> Table:
    """One row for each service: orders in, what became of them, and what is missing."""
    table = Table(title=f"The books: {books.orders:,} orders")
    for column in ("service", "sent", "handled", "dead", "lost", "twice", "balances"):
        table.add_column(column, justify="left" if column == "service" else "right")
    for account in books.accounts:
        table.add_row(
            account.service,
            f"{books.sent:,}",
            f"{account.handled:,}",
            f"{sum(account.dead.values()):,}",
            _numbers(account.lost),
            _numbers(account.twice),
            GOOD if account.is_balanced else BAD,
        )
    return table


def work_table(books: Books) -> Table:
    """How orders were handled, and by whom."""
    table = Table(title="Who did the work")
    for column in ("service", "after a retry", "taken over", "by instance"):
        table.add_column(column, justify="left" if column in ("service", "by instance") else "right")
    for account in books.accounts:
        instances = ", ".join(f"{name} {count:,}" for name, count in account.by_instance.items())
        table.add_row(account.service, f"{account.retried:,}", f"{account.claimed:,}", instances)
    return table


def dead_table(books: Books) -> Table:
    """Why orders could not be handled."""
    table = Table(title="Dead letters")
    for column in ("service", "reason", "orders"):
        table.add_column(column, justify="right" if column == "orders" else "left")
    for account in books.accounts:
        for reason, count in sorted(account.dead.items()):
            table.add_row(account.service, reason, f"{count:,}")
    return table


def findings_table(analysts: Analysts) -> Table:
    """What Spark counted, beside what the books say."""
    table = Table(title="What Spark found")
    for column in ("", "Spark", "expected", "agrees"):
        table.add_column(column, justify="right" if column else "left")
    for finding in analysts.findings:
        agrees = GOOD if finding.agrees else BAD
        table.add_row(finding.what, f"{finding.spark:,}", f"{finding.books:,}", agrees)
    return table


def write_report(path: Path, books: Books, spark: dict[str, Any] | None, is_good: bool, seconds: float) -> None:
    """Everything above, and what Spark found."""
    report = {
        "orders": books.orders,
        "sent": books.sent,
        "balanced": is_good,
        "points": books.points,
        "points_due": books.points_due,
        "services": {account.service: asdict(account) for account in books.accounts},
        "spark": spark,
        "seconds": round(seconds, 1),
    }
    path.write_text(json.dumps(report, indent=2, default=str) + "\n")


def _numbers(orders: list[int]) -> str:
    return ", ".join(map(str, orders)) if orders else "0"
