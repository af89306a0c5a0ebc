"""MQ.FETCH: messages in bulk, as batches, by their place in a partition. It changes nothing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.core.fetching import WITHOUT_END
from onemq.core.fetching import fetch as fetch_batches
from onemq.core.filter import Filter
from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.limits import FETCH_BYTES_MAX, RECEIVE_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.messages import map_reply
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


@dataclass(slots=True)
class _Options:
    bytes_max: int = RECEIVE_BYTES_MAX
    wait_ms: int = 0
    until: int = WITHOUT_END
    filter: Filter | None = None


def fetch(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.FETCH")
    number, offset = words.integer("the partition"), words.integer("the offset")
    options = _options(words)
    topic = existing_topic(session, request[1])
    return _Fetch(session, topic, topic.choose(None, number), offset, options).begin()


def _options(words: Words) -> _Options:
    options = _Options()
    while words:
        match words.option():
            case "MAXBYTES":
                options.bytes_max = min(max(words.size("MAXBYTES"), 1), FETCH_BYTES_MAX)
            case "WAIT":
                options.wait_ms = words.duration_ms("WAIT")
            case "UNTIL":
                options.until = words.integer("UNTIL")
            case "FILTER":
                options.filter = words.filter()
            case other:
                raise words.unknown(other)
    return options


class _Fetch:
    """One MQ.FETCH: looks once, and answers how far that was; at the end of the partition it may wait."""

    def __init__(
        self, session: "RespSession", topic: Topic, partition: Partition, offset: int, options: _Options
    ) -> None:
        self._session = session
        self._core = session.service.core
        self._topic = topic
        self._partition = partition
        self._offset = offset
        self._options = options
        self._filter = options.filter and options.filter.at(topic.id, partition.number)
        self._until_ms = self._core.stage.now_ms + options.wait_ms
        self._answer = Answer(session, self._reply(b""))

    def begin(self) -> bytes:
        self._look()
        return self._answer.reply()

    def _look(self) -> None:
        options = self._options
        fetch_batches(
            self._core.reading, self._partition, self._offset, options.bytes_max, self._found, options.until,
            self._filter,
        )  # fmt: skip

    def _look_again(self) -> None:
        try:
            self._look()
        except OneMQError as problem:
            self._answer.fail(problem)

    def _found(self, batches: bytes, next_offset: int) -> None:
        self._offset = next_offset
        core, partition = self._core, self._partition
        at_end = next_offset >= partition.end and next_offset < self._options.until
        is_gone = core.topics.by_id(self._topic.id) is not self._topic
        if batches or not at_end or is_gone or core.stage.now_ms >= self._until_ms:
            self._answer.give(self._reply(batches))
        else:
            self._answer.stop = core.waiting.wait([partition], self._until_ms, self._look_again).cancel

    def _reply(self, batches: bytes) -> bytes:
        return map_reply(self._session.replies, {
            "start": replies.integer(self._partition.start),
            "end": replies.integer(self._partition.end),
            "next": replies.integer(self._offset),
            "batches": replies.bulk(batches),
        })  # fmt: skip
