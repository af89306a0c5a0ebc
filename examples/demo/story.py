"""The story: what the demo says while it runs."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


class Story:
    """Acts with headlines, sentences below them, tables, and bars for what takes time."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._acts = 0
        self._begun = time.perf_counter()

    def act(self, title: str) -> None:
        self._acts += 1
        self.console.print(f"\n[bold cyan]{self._acts}. {title}[/]  [dim]{self.seconds:.0f} s[/]")

    def say(self, *sentences: str) -> None:
        for sentence in sentences:
            self.console.print(f"   {sentence}", soft_wrap=True)

    def table(self, table: Table) -> None:
        self.console.print(table)

    def bars(self) -> Progress:
        return Progress(
            TextColumn("   {task.description:<28}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
        )

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._begun
