"""A transaction: the half messages that one producer group wants to be seen together, or not at all."""

from typing import Any, NamedTuple

from onemq.errors import InvalidArgument, TransactionTooLarge
from onemq.limits import RECEIVE_BYTES_MAX, STAGED_BYTES_MAX, TRANSACTION_MESSAGES_MAX
from onemq.message import PRODUCER_GROUP, TRANSACTION, Headers

OWNED = "\u00a0"
"""Parts the name of an owner from what follows it in the names of its transactions. It is not printable, so that nobody
else can choose such a name."""


class Transaction:
    """An open transaction. One that commits stays open until its last message is where it goes."""

    __slots__ = ("batches", "born_ms", "bytes", "checks", "committing", "group", "messages", "moving", "name",
                 "next_ms", "owned", "planned_ms", "runs", "targets", "waits_until_ms")  # fmt: skip

    def __init__(self, name: str, group: str, born_ms: int) -> None:
        self.name = name
        self.group = group
        self.owned = OWNED in name
        """Whether it has an owner, who alone ends it, or whose time is up (owners.py): nobody is asked about it."""
        self.born_ms = born_ms
        self.runs: list[list[int]] = []
        """[first, last, bytes] of its messages that are still to be moved, of about as many bytes as one read
        brings; of whole batches also [topic, partition, whether some have priorities]."""
        self.messages = 0
        """How many it has, those that were moved already included."""
        self.bytes = 0
        """Of those that are still to be moved."""
        self.batches = 0
        """How many whole batches it has got; 0 if its messages came one by one."""
        self.targets: dict[int, str] = {}
        """Topics that its batches go to, with the names that they had."""
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

    def check_one_more(self) -> None:
        """Raises if it cannot have one more message."""
        if self.batches:
            raise InvalidArgument(f"transaction {self.name!r} has whole batches: single messages need another one")
        if self.messages >= TRANSACTION_MESSAGES_MAX:
            raise TransactionTooLarge(f"transaction {self.name!r} has {self.messages} messages, as many as it can have")

    def check_batch_more(self, size: int) -> None:
        """Raises if it cannot have one more batch of so many bytes."""
        if not self.batches:
            raise InvalidArgument(f"transaction {self.name!r} has single messages: whole batches need another one")
        if self.bytes + size > STAGED_BYTES_MAX:
            raise TransactionTooLarge(f"the batches of a transaction can have {STAGED_BYTES_MAX} bytes together")

    def add(self, offset: int, size: int) -> None:
        """It has one more message."""
        self._add(offset, 1, size, [])

    def add_batch(self, offset: int, messages: int, size: int, topic: int, partition: int, ranked: bool) -> None:
        """It has a whole batch more."""
        self._add(offset, messages, size, [topic, partition, int(ranked)])
        self.batches += 1

    def _add(self, first: int, messages: int, size: int, target: list[int]) -> None:
        run = self.runs[-1] if self.runs else None
        fits = run is not None and run[1] + 1 == first and run[2] + size <= RECEIVE_BYTES_MAX
        if run is not None and fits and run[3:] == target:
            run[1] += messages
            run[2] += size
        else:
            self.runs.append([first, first + messages - 1, size, *target])
        self.messages += messages
        self.bytes += size

    def portion(self, bytes_max: int) -> int:
        """How many of its runs have so many bytes together; at least one."""
        count = size = 0
        for run in self.runs:
            size += run[2]
            if count and size > bytes_max:
                break
            count += 1
        return count

    def moved(self, count: int) -> list[list[int]]:
        """The first runs are done; returns them."""
        done = self.runs[:count]
        self.bytes -= sum(run[2] for run in done)
        del self.runs[:count]
        return done

    def row(self) -> list[object]:
        """For the snapshot."""
        return [self.name, self.group, self.born_ms, self.runs, self.messages, self.bytes, self.checks, self.next_ms,
                self.committing, self.batches, list(self.targets.items())]  # fmt: skip

    @classmethod
    def from_row(cls, row: list[Any]) -> "Transaction":
        """The reverse of `row`."""
        name, group, born_ms, *rest = row
        found = cls(name, group, born_ms)
        found.runs, found.messages, found.bytes, found.checks, found.next_ms, found.committing = rest[:6]
        if len(rest) > 6:  # older snapshots know no batches
            found.batches, found.targets = rest[6], dict(rest[7])
        return found


class Half(NamedTuple):
    """A message that waits for the end of its transaction."""

    transaction: str
    offset: int
    """Where it waits, in the internal topic."""


class StagedBatch(NamedTuple):
    """A whole batch that waits for the end of its transaction."""

    transaction: str
    messages: int
    repeated: bool
    """Whether it was there already."""


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


def named(name: str, group: str) -> Headers:
    """The headers of a half message that tell its transaction."""
    return (TRANSACTION, name.encode()), (PRODUCER_GROUP, group.encode())
