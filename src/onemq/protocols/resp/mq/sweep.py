"""A sweep over topics: looks at all their messages, a slice in each turn, and does something with those it wants."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.limits import MQ_SWEEP_BYTES
from onemq.message import Record
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Wanted = Callable[[Topic, int, Record], bool]
Act = Callable[[Topic, int, list[Record]], None]
"""Takes wanted records of one partition."""

_PAUSE_MS = 1


class Sweep:
    """Goes through topics, oldest messages first, until all were looked at or enough were found."""

    def __init__(
        self, session: "RespSession", topics: list[Topic], wanted: Wanted, most: int, act: Act,
        finish: Callable[[], bytes], answer: Answer,
    ) -> None:  # fmt: skip
        self._session = session
        self._core = session.service.core
        self._wanted = wanted
        self._left = most
        self._act = act
        self._finish = finish
        self._answer = answer
        self._places: list[tuple[Topic, Partition, int, int]] = [
            (topic, partition, partition.start, partition.end)
            for topic in reversed(topics)
            for partition in reversed(topic.partitions)
        ]
        """(topic, partition, next offset, end) of what is left. The end stays where it was when this began."""

    def go_on(self) -> None:
        """Looks at one slice, or at all inside a transaction, and goes on in a later turn."""
        try:
            read_bytes = 0
            while self._places and self._left:
                if read_bytes >= MQ_SWEEP_BYTES and not self._session.atomic:
                    until_ms = self._core.stage.now_ms + _PAUSE_MS
                    self._answer.stop = self._core.waiting.wait([], until_ms, self.go_on).cancel
                    return
                read_bytes += self._page(*self._places.pop())
            self._answer.give(self._finish())
        except OneMQError as error:
            self._answer.fail(error)

    def _page(self, topic: Topic, partition: Partition, offset: int, end: int) -> int:
        """Looks at one page of a partition; returns about how many bytes that were."""
        offset = max(offset, partition.start)
        if self._core.topics.by_id(topic.id) is not topic or offset >= end:
            return 0
        records, next_offset = self._core.reading.page(partition, offset, MQ_SWEEP_BYTES)
        found = [each for each in records if each[0] < end and self._wanted(topic, partition.number, each)]
        found = found[: self._left]
        self._left -= len(found)
        self._places.append((topic, partition, next_offset, end))
        if found:
            self._act(topic, partition.number, found)
        return MQ_SWEEP_BYTES // 4 + sum(len(each[3] or b"") for each in records)
