"""Deliveries: what was handed out, and the members that have it."""

from typing import TYPE_CHECKING

from onemq.core.assignment import NO_ATTRIBUTES, Attributes

if TYPE_CHECKING:
    from onemq.core.cursor import Cursor

READY = 0
BURYING = -1
GIVEN_UP = -2
"""Nobody has the message, and it is not handed out again before someone claims it."""
COUNT_MAX = 2**63 - 1

Attempt = tuple[int, str, int, str]
"""(handed out at, to whom, failed at, why)"""


class Member:
    """A receiver with a name."""

    __slots__ = ("attributes", "held", "in_flight", "leased", "name", "seen_ms")

    def __init__(self, name: str, leased: bool, seen_ms: int) -> None:
        self.name = name
        self.seen_ms = seen_ms
        """When it last asked for something, as far as a protocol keeps it. Not durable: a restart counts as asking."""
        self.leased = leased
        """Whether its deliveries go back when its connection ends."""
        self.attributes: Attributes = NO_ATTRIBUTES
        self.held: dict[Delivery, None] = {}
        self.in_flight = 0
        """How many messages it has."""


class Delivery:
    """Messages of one partition that were handed out together and share owner, time and count."""

    __slots__ = ("count", "cursor", "due_ms", "history", "left", "member", "offsets", "since_ms", "times")

    def __init__(
        self,
        cursor: "Cursor",
        member: Member | None,
        offsets: range | list[int],
        since_ms: int,
        count: int,
        history: tuple[Attempt, ...] = (),
        due_ms: int = READY,
    ) -> None:
        self.cursor = cursor
        self.member = member
        """Who has it; none: nobody, it waits for `due_ms` or is ready."""
        self.offsets = offsets
        self.left = len(offsets)
        self.since_ms = since_ms
        self.count = count
        self.history = history
        self.due_ms = due_ms
        self.times: list[tuple[int, bytes]] | None = None
        """For a protocol that knows messages by their times: (offset from which on, time)."""
        if member is not None:
            member.held[self] = None
            member.in_flight += self.left

    def release(self, count: int = 1) -> None:
        """So many of its messages are no longer in this delivery."""
        self.left -= count
        member = self.member
        if member is not None:
            member.in_flight -= count
            if not self.left:
                member.held.pop(self, None)
