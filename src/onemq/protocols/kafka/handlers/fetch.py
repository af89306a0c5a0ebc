"""Fetch: batches as they are stored, for those who read by offset; waits until there are enough of them."""

from onemq.core.fetching import fetch as fetch_batches
from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.core.waiting import Wait
from onemq.errors import OneMQError
from onemq.limits import FETCH_BYTES_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.epochs import check_epoch
from onemq.protocols.kafka.errors import Refused, code_of
from onemq.protocols.kafka.fetch_sessions import FetchSession, Wanted
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schemas.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData

_READ_COMMITTED = 1
_GAPS_MAX = 64
"""Reads of one partition that bring nothing, before an empty answer."""


def fetch(call: Call[FetchRequest]) -> FetchResponse | None:
    try:
        session = call.service.fetch_sessions.open(call.request, call.service.now_ms)
    except Refused as error:
        return FetchResponse(error_code=error.error)
    return _Fetching(call, session).begin()


class _Part:
    """One partition in the course of a fetch."""

    __slots__ = ("error", "next_offset", "partition", "pieces", "size", "topic", "wanted")

    def __init__(self, call: Call[FetchRequest], wanted: Wanted) -> None:
        self.wanted = wanted
        self.topic: Topic | None = None
        self.partition: Partition | None = None
        self.pieces: list[bytes] = []
        self.size = 0
        self.next_offset = wanted.request.fetch_offset
        self.error: OneMQError | None = None
        try:
            self._find(call)
        except OneMQError as error:
            self.error = error

    def _find(self, call: Call[FetchRequest]) -> None:
        name, id, number = self.wanted.place
        topics = call.service.topics
        topic = topics.get(name) if name else topics.get_by_id(id)
        self.topic, self.partition = topic, partition_of(topic, number)
        check_epoch(self.wanted.request.current_leader_epoch)

    def is_current(self, call: Call[FetchRequest]) -> bool:
        """Whether the partition is still there, and what was read of it counts."""
        return self.topic is None or call.service.core.topics.by_id(self.topic.id) is self.topic

    def data(self, committed: bool) -> PartitionData:
        """The answer."""
        number, partition = self.wanted.place[2], self.partition
        if self.error is not None:
            start, end = (partition.start, partition.end) if partition is not None else (-1, -1)
            return PartitionData(number, code_of(self.error), end, end, start, records=b"")
        assert partition is not None
        records = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        end = partition.end
        return PartitionData(
            number, 0, end, end, partition.start, aborted_transactions=[] if committed else None, records=records
        )


class _Fetching:
    """One request: reads the partitions one after the other, and waits where they end."""

    def __init__(self, call: Call[FetchRequest], session: FetchSession) -> None:
        request = call.request
        self._call = call
        self._session = session
        self._until_ms = call.service.now_ms + max(request.max_wait_ms, 0)
        self._bytes_max = min(max(request.max_bytes, 0), FETCH_BYTES_MAX)
        self._bytes_min = min(request.min_bytes, self._bytes_max)
        self._is_incremental = bool(session.id) and request.session_epoch > 0
        self._waits = False  # the answer comes later
        self._start_over()

    def begin(self) -> FetchResponse | None:
        self._go_on()
        if self._response is None:
            self._waits = True
        return self._response

    def _start_over(self) -> None:
        self._response: FetchResponse | None = None
        self._parts = [_Part(self._call, wanted) for wanted in self._session.wanted.values()]
        self._size = 0
        self._begin_round()

    # A round: one look at each partition.

    def _begin_round(self) -> None:
        self._place = self._gaps = 0
        self._arrived, self._looping = True, False

    def _go_on(self) -> None:
        """Reads until an answer takes longer, or all partitions were looked at."""
        # A loop and not a chain of calls: most engines answer at once.
        self._looping = True
        while self._arrived and self._place < len(self._parts):
            self._look(self._parts[self._place])
        self._looping = False
        if self._arrived:
            self._finish_round()

    def _look(self, part: _Part) -> None:
        room = self._room(part)
        partition = part.partition
        if part.error is not None or partition is None or room <= 0 or self._is_at_end(part, partition):
            self._place += 1
            return
        self._arrived = False
        try:
            fetch_batches(self._call.service.core.reading, partition, part.next_offset, room, self._found)
        except OneMQError as error:
            part.error = error
            self._arrived = True
            self._place += 1

    def _room(self, part: _Part) -> int:
        """How much of a partition may still be given; the first batch of all in any case."""
        room = min(part.wanted.request.partition_max_bytes - part.size, self._bytes_max - self._size)
        return room if self._size else max(room, 1)

    def _is_at_end(self, part: _Part, partition: Partition) -> bool:
        return part.next_offset == partition.end

    def _found(self, data: bytes, next_offset: int) -> None:
        part = self._parts[self._place]
        self._arrived = True
        is_gap = not data and next_offset > part.next_offset and self._gaps < _GAPS_MAX
        if not self._size or len(data) <= self._room(part):
            part.next_offset = next_offset
            if data:
                part.pieces.append(data)
                part.size += len(data)
                self._size += len(data)
        if is_gap:
            self._gaps += 1
        else:
            self._place, self._gaps = self._place + 1, 0
        if not self._looping:
            self._go_on()

    def _finish_round(self) -> None:
        is_over = self._call.service.now_ms >= self._until_ms
        if is_over or self._size >= self._bytes_min or any(part.error is not None for part in self._parts):
            self._answer()
        else:
            self._wait()

    # Waiting.

    def _wait(self) -> None:
        partitions = [part.partition for part in self._parts if part.partition is not None]
        wait: Wait = self._call.service.core.waiting.wait(partitions, self._until_ms, self._look_again)
        self._call.on_lost = wait.cancel

    def _look_again(self) -> None:
        self._call.on_lost = None
        if all(part.is_current(self._call) for part in self._parts):
            self._begin_round()
        else:
            self._start_over()
        self._go_on()

    # The answer.

    def _answer(self) -> None:
        committed = self._call.request.isolation_level == _READ_COMMITTED
        topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
        for part in self._parts:
            data, wanted = part.data(committed), part.wanted
            if self._session.id and not wanted.is_news(data) and self._is_incremental:
                continue
            name, id, _ = wanted.place
            topic = topics.get((name, id))
            if topic is None:
                topic = topics[name, id] = FetchableTopicResponse(name, id, [])
            topic.partitions.append(data)
            if part.size and self._session.id:
                self._session.served(wanted)
        self._response = FetchResponse(session_id=self._session.id, responses=list(topics.values()))
        if self._waits:
            self._call.answer(self._response)
