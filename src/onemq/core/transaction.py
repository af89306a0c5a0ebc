"""A transaction: the half messages that one producer group wants to be seen together, or not at all."""

from typing import Any, NamedTuple

from onemq.limits import RECEIVE_BYTES_MAX


class Transaction:
    """An open transaction. One that commits stays open until its last message is where it goes."""

    __slots__ = ("born_ms", "bytes", "checks", "committing", "group", "messages", "moving", "name", "next_ms",
                 "planned_ms", "runs", "waits_until_ms")  # fmt: skip

    def __init__(self, name: str, group: str, born_ms: int) -> None:
        self.name = name
        self.group = group
        self.born_ms = born_ms
        self.runs: list[list[int]] = []
        """[first, last, bytes] of its messages that are still to be moved, of about as many bytes as one read
        brings."""
        self.messages = 0
        """How many it has, those that were moved already included."""
        self.bytes = 0
        """Of those that are still to be moved."""
        self.checks = 0
        """How often somebody was asked what became of it."""
        self.next_ms = 0
        """When somebody is to be asked next."""
        self.committing = False
        # What is not stored:
        self.planned_ms: int | None = None
        """When the next check is thought of."""
        self.waits_until_ms = 0
        """Until when it waits for somebody who could be asked, while nobody can."""
        self.moving = False
        """Whether its messages are being read."""

    def add(self, offset: int, size: int) -> None:
        """It has one more message."""
        last = self.runs[-1] if self.runs else None
        if last is not None and last[1] + 1 == offset and last[2] + size <= RECEIVE_BYTES_MAX:
            last[1] = offset
            last[2] += size
        else:
            self.runs.append([offset, offset, size])
        self.messages += 1
        self.bytes += size

    def portion(self, bytes_max: int) -> int:
        """How many of its runs have so many bytes together; at least one."""
        count = size = 0
        for _, _, run_bytes in self.runs:
            size += run_bytes
            if count and size > bytes_max:
                break
            count += 1
        return count

    def moved(self, count: int) -> list[int]:
        """The first runs are done; returns their offsets."""
        done = self.offsets(count)
        self.bytes -= sum(size for _, _, size in self.runs[:count])
        del self.runs[:count]
        return done

    def offsets(self, count: int) -> list[int]:
        """The offsets of its first runs."""
        return [offset for first, last, _ in self.runs[:count] for offset in range(first, last + 1)]

    def row(self) -> list[object]:
        """For the snapshot."""
        return [self.name, self.group, self.born_ms, self.runs, self.messages, self.bytes, self.checks, self.next_ms,
                self.committing]  # fmt: skip

    @classmethod
    def from_row(cls, row: list[Any]) -> "Transaction":
        """The reverse of `row`."""
        name, group, born_ms, *rest = row
        found = cls(name, group, born_ms)
        found.runs, found.messages, found.bytes, found.checks, found.next_ms, found.committing = rest
        return found


class Half(NamedTuple):
    """A message that waits for the end of its transaction."""

    transaction: str
    offset: int
    """Where it waits, in the internal topic."""


class Ended(NamedTuple):
    """How a transaction ended."""

    committed: bool
    messages: int
    at_ms: int
    again: bool = False
    """Whether it had ended so already."""


class OpenTransaction(NamedTuple):
    """An open transaction for people to look at."""

    name: str
    group: str
    messages: int
    born_ms: int
    checks: int
    next_ms: int
    """When somebody is asked next, if somebody is there."""
    committing: bool
