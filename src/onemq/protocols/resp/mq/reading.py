"""MQ.READ: messages by their place, without a group. It changes nothing."""

from typing import TYPE_CHECKING

from onemq.core.filter import Filter
from onemq.core.partition import Partition
from onemq.core.start import FIRST, Start, positions
from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.limits import MQ_COUNT_MAX, RECEIVE_BYTES_MAX
from onemq.message import Record
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.group_settings import start_of
from onemq.protocols.resp.mq.messages import message_reply
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_COUNT = 10
_PAGES_PER_TURN = 4
Found = list[tuple[int, Record]]
"""(partition, record)"""


def read(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.READ")
    number, start, count, wait_ms, filter = None, FIRST, _COUNT, 0, None
    while words:
        match words.option():
            case "PARTITION":
                number = words.integer("PARTITION")
            case "OFFSET":
                start = Start("offset", words.integer("OFFSET"))
            case "FROM":
                start = start_of(words, "FROM")
            case "COUNT":
                count = words.integer("COUNT", 1, MQ_COUNT_MAX)
            case "FILTER":
                filter = words.filter()
            case "WAIT":
                wait_ms = words.duration_ms("WAIT")
            case other:
                raise words.unknown(other)
    topic = existing_topic(session, request[1])
    partitions = topic.partitions if number is None else [topic.choose(None, number)]
    answer = Answer(session, replies.EMPTY_ARRAY)

    def placed(offsets: list[int]) -> None:
        places = {each: offsets[each.number] for each in partitions}
        _Reader(session, topic, places, count, filter, answer).begin(wait_ms)

    positions(session.service.core.log, topic, start, placed)
    return answer.reply()


class _Reader:
    """One MQ.READ: reads what there is, a few pages in each turn, or waits for something and reads then."""

    def __init__(
        self, session: "RespSession", topic: Topic, places: dict[Partition, int], count: int, filter: Filter | None,
        answer: Answer,
    ) -> None:  # fmt: skip
        self._session = session
        self._core = session.service.core
        self._topic = topic
        self._places = places
        self._count = count
        self._filters = {each: filter.at(topic.id, each.number) for each in places} if filter is not None else {}
        self._answer = answer
        self._found: Found = []
        self._found_bytes = 0
        self._until_ms = 0

    def begin(self, wait_ms: int) -> None:
        self._until_ms = self._session.service.now_ms + wait_ms
        self._look()

    def _look(self) -> None:
        try:
            self._read_on()
        except OneMQError as problem:
            self._answer.fail(problem)

    def _read_on(self) -> None:
        core = self._core
        pages = 0
        while (partition := self._next()) is not None:
            if pages == _PAGES_PER_TURN and not self._session.atomic:
                self._answer.stop = core.waiting.wait([], core.stage.now_ms + 1, self._look).cancel
                return
            self._read(partition)
            pages += 1
        if self._found or core.stage.now_ms >= self._until_ms or core.topics.by_id(self._topic.id) is not self._topic:
            shown = [message_reply(self._session, self._topic, number, record) for number, record in self._found]
            self._answer.give(replies.array(shown))
        else:
            self._answer.stop = core.waiting.wait(list(self._places), self._until_ms, self._look).cancel

    def _next(self) -> Partition | None:
        """A partition that has more to read, if more is wanted."""
        enough = len(self._found) >= self._count or self._found_bytes >= RECEIVE_BYTES_MAX
        if enough or self._core.topics.by_id(self._topic.id) is not self._topic:
            return None
        return next((each for each, offset in self._places.items() if max(offset, each.start) < each.end), None)

    def _read(self, partition: Partition) -> None:
        offset = max(self._places[partition], partition.start)
        most = None if partition in self._filters else self._count - len(self._found)
        records, next_offset = self._core.reading.page(partition, offset, RECEIVE_BYTES_MAX, most=most)
        if partition in self._filters:
            records = self._filters[partition].select(records)
        records = records[: self._count - len(self._found)]
        self._found_bytes += sum(len(record[3] or b"") for record in records)
        self._found += [(partition.number, record) for record in records]
        self._places[partition] = next_offset
