"""Listeners: who of each producer group can be asked now what became of a transaction."""

from collections import deque
from collections.abc import Callable

from onemq.message import Record

Ask = Callable[[str, int, Record], None]
"""Asks about (transaction, the how manieth time, its first message). The answer is a commit, a rollback, or none."""


class Listeners:
    """Those who listen, by their groups. They take turns."""

    def __init__(self, on_come: Callable[[str], None]) -> None:
        """`on_come` is told of each group that somebody begins to listen for."""
        self._by_group: dict[str, deque[Ask]] = {}
        self._on_come = on_come

    def __contains__(self, group: str) -> bool:
        return group in self._by_group

    def add(self, group: str, ask: Ask) -> Callable[[], None]:
        """Somebody listens, until what this returns is called."""
        self._by_group.setdefault(group, deque()).append(ask)

        def cancel() -> None:
            others = self._by_group.get(group)
            if others is not None and ask in others:
                others.remove(ask)
                if not others:
                    del self._by_group[group]

        self._on_come(group)
        return cancel

    def take_over(self, other: "Listeners") -> None:
        """Those who listen there listen here from now on, and can still go."""
        self._by_group = other._by_group
        other._on_come = self._on_come

    def next(self, group: str) -> Ask | None:
        """Whose turn it is, if anybody listens."""
        waiting = self._by_group.get(group)
        if waiting is None:
            return None
        waiting.rotate(-1)
        return waiting[-1]
