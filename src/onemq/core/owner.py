"""An owner of transactions: a producer under a name that has one transaction at a time and ends it itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from onemq.core.marking import Place

Target = tuple[int, int]
"""(topic, partition)"""


class Offsets(NamedTuple):
    """How far a group will be in a topic when the transaction is committed."""

    group: str
    topic: int
    places: dict[int, Place]


class Owner:
    """One owner, with what it has said of its transaction. Its messages are those of the transaction (halves.py)."""

    __slots__ = ("begun_ms", "committed", "count", "former", "groups", "name", "offsets", "targets", "timeout_ms",
                 "transaction")  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.timeout_ms = 0
        self.former: tuple[int, int] | None = None
        """Id and epoch of the producer from which the present one took over, if it named itself."""
        self.count = 0
        """How many transactions it began."""
        self.transaction = ""
        """The name of the last one."""
        self.begun_ms: int | None = None
        """When the one that is open began."""
        self.committed: bool | None = None
        """How the last one ended under the present epoch, if one did."""
        self.targets: dict[Target, None] = {}
        """The partitions to which the open one may send."""
        self.groups: dict[str, None] = {}
        """The groups whose offsets it may commit."""
        self.offsets: dict[tuple[str, int], dict[int, Place]] = {}
        """(group, topic) -> partition -> the place to be committed."""

    @property
    def is_open(self) -> bool:
        """Whether it has a transaction that has not ended."""
        return self.begun_ms is not None

    @property
    def until_ms(self) -> int:
        """When the time of the open transaction is up."""
        return (self.begun_ms or 0) + self.timeout_ms

    @property
    def size(self) -> int:
        """How many places and offsets the open transaction has named."""
        return len(self.targets) + len(self.groups) + sum(map(len, self.offsets.values()))

    def pending(self) -> Iterator[Offsets]:
        """What is to be committed for each group and topic."""
        return (Offsets(group, topic, places) for (group, topic), places in self.offsets.items())

    def end(self) -> None:
        """It has no open transaction any more."""
        self.begun_ms = None
        self.targets, self.groups, self.offsets = {}, {}, {}

    def row(self) -> list[object]:
        """For the snapshot."""
        offsets = [
            [group, topic, [[number, *place] for number, place in places.items()]]
            for (group, topic), places in self.offsets.items()
        ]
        return [self.name, self.timeout_ms, self.former, self.count, self.transaction, self.begun_ms, self.committed,
                [number for target in self.targets for number in target], list(self.groups), offsets]  # fmt: skip

    @classmethod
    def from_row(cls, row: list[Any]) -> "Owner":
        """The reverse of `row`."""
        found = cls(row[0])
        _, found.timeout_ms, former, found.count, found.transaction, found.begun_ms, found.committed, *rest = row
        targets, groups, offsets = rest
        found.former = None if former is None else (former[0], former[1])
        found.targets = dict.fromkeys(zip(targets[::2], targets[1::2], strict=True))
        found.groups = dict.fromkeys(groups)
        for group, topic, rows in offsets:
            found.offsets[group, topic] = {number: Place(*place) for number, *place in rows}
        return found
