"""A request for messages of a group, and what it has got so far."""

from collections.abc import Callable

from onemq.core.group import Group
from onemq.core.lanes import Pick
from onemq.core.measure import bytes_of
from onemq.core.whole import Whole
from onemq.limits import HANDED_BYTES_MAX, RECEIVE_BYTES_MAX
from onemq.message import Record

Handed = tuple[int, Record, int]
"""(partition, record, how often it was handed out, this time included)"""


class Receive:
    """One request for messages. Its answer comes once, at once or later."""

    __slots__ = (
        "_bytes", "_looked", "_measured", "allowance", "answered", "bytes_max", "got", "group", "in_flight", "member",
        "most", "number", "then", "topic_name", "whole",
    )  # fmt: skip

    def __init__(
        self, group: Group, member: str, most: int, then: Callable[[list[Handed]], None], number: int | None
    ) -> None:
        self.group = group
        self.member = member
        self.most = most
        self.then = then
        self.number = number
        """The only partition to look at, if not all."""
        self.in_flight = True
        """Whether what it gets must be acknowledged; else it is done when it is handed out."""
        self.allowance: Callable[[], int] | None = None
        """Says how many it takes now, where that changes while it waits. Such a request is answered when it has
        `RECEIVE_BYTES_MAX`, too, and any other when it has `bytes_max`."""
        self.bytes_max = HANDED_BYTES_MAX
        self.topic_name: str | None = None
        """The name that the topic must keep: if it gets another, the request is answered with nothing."""
        self.whole: Whole | None = None
        """What it wants and has got as whole batches, if it takes such."""
        self.got: list[Handed] = []
        self.answered = self._looked = False
        self._measured = self._bytes = 0

    @property
    def served(self) -> bool:
        """Whether it has got anything."""
        return bool(self.got) or (self.whole is not None and bool(self.whole))

    def is_full(self) -> bool:
        """Whether no more is read for it, because of the size of what it has."""
        if self.allowance is None and not self._looked:
            self._looked = True  # it has a batch at most, and with the next one nearly always as many as it wants
            return False
        self._bytes += bytes_of([record for _, record, _ in self.got[self._measured :]])
        self._measured = len(self.got)
        return self._bytes >= (self.bytes_max if self.allowance is None else RECEIVE_BYTES_MAX)

    def most_of(self, pick: Pick | None) -> int:
        """How many more it gets at once."""
        most = self.most - len(self.got)
        return most if pick is None or pick.most is None else min(most, pick.most)

    def finish(self) -> None:
        """Answers with what is there."""
        if not self.answered:
            self.answered = True
            self.then(self.got)

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self.answered = True
        self.group.waiting.pop(self, None)
