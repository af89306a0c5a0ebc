"""Fetch: batches as they are stored, for those who read by offset; waits until there are enough of them."""

import logging

from onemq.core.fetching import fetch as fetch_batches
from onemq.core.fetching import fetch_unread
from onemq.errors import OneMQError
from onemq.limits import FETCH_BYTES_MAX, KAFKA_SESSIONLESS_FETCH_BYTES_MAX
from onemq.log.stretch import Stretch
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.fetch_sessions import FetchSession, Wanted
from onemq.protocols.kafka.gap import gap_before
from onemq.protocols.kafka.schemas.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

_logger = logging.getLogger(__name__)

_READ_COMMITTED = 1
_GAPS_MAX = 16
"""Reads of one partition that bring nothing, before the client is told to go on behind them."""


def fetch(call: Call[FetchRequest]) -> FetchResponse | None:
    try:
        session = call.service.fetch_sessions.open(call.request, call.service.now_ms)
    except Refused as error:
        return FetchResponse(error_code=error.error)
    return _Fetching(call, session).begin()


class _Part:
    """One partition that has something for the client, in the course of a fetch."""

    __slots__ = ("error", "next_offset", "partition", "pieces", "size", "wanted")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.partition = wanted.partition
        self.pieces: list[bytes | Stretch] = []
        self.size = 0
        self.next_offset = wanted.request.fetch_offset
        self.error = wanted.error

    @property
    def is_behind_gap(self) -> bool:
        """Whether all that was read brought nothing."""
        return self.error is None and not self.size and self.next_offset > self.wanted.request.fetch_offset

    def add(self, piece: bytes | Stretch) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    @property
    def ends_it(self) -> bool:
        """Whether nothing is waited for: the client is to know, or has room for nothing more of what is there."""
        if self.error is not None:
            return True
        return self.partition is not None and self.size > 0 and self.next_offset < self.partition.end


class _Fetching:
    """One request: reads the partitions that have something, one after the other, and waits for those that end. There
    may be thousands of the latter, so nothing is made for them."""

    def __init__(self, call: Call[FetchRequest], session: FetchSession) -> None:
        request = call.request
        self._call = call
        self._session = session
        self._until_ms = call.service.now_ms + max(request.max_wait_ms, 0)
        usual = FETCH_BYTES_MAX if session.id else KAFKA_SESSIONLESS_FETCH_BYTES_MAX
        most = min(max(min(call.session.fetch_bytes_max, usual), request.min_bytes), FETCH_BYTES_MAX)
        self._bytes_max = min(max(request.max_bytes, 0), most)
        self._bytes_min = min(request.min_bytes, self._bytes_max)
        self._is_incremental = bool(session.id) and request.session_epoch > 0
        self._waits = False  # the answer comes later
        self._response: FetchResponse | None = None
        self._start_over()

    def begin(self) -> FetchResponse | None:
        self._go_on()
        if self._response is None:
            self._waits = True
        return self._response

    def _start_over(self) -> None:
        topics = self._call.service.topics
        for wanted in self._session.wanted.values():
            wanted.find(topics)
        self._parts: dict[Wanted, _Part] = {}
        self._size = 0
        self._begin_round()

    # A round: one look at each partition.

    def _begin_round(self) -> None:
        parts = self._parts
        for wanted in self._session.wanted.values():
            partition = wanted.partition
            if (partition is None or partition.end != wanted.request.fetch_offset) and wanted not in parts:
                parts[wanted] = _Part(wanted)
        self._todo = todo = list(parts.values())
        if todo and not self._session.id:
            first = self._call.session.fetched_partitions % len(todo)
            self._todo = todo[first:] + todo[:first]
        self._place = self._gaps = 0
        self._arrived, self._looping, self._is_full = True, False, False

    def _go_on(self) -> None:
        """Reads until an answer takes longer, or all partitions were looked at."""
        # A loop and not a chain of calls: most engines answer at once.
        self._looping = True
        while self._arrived and self._place < len(self._todo) and not self._is_full:
            self._look(self._todo[self._place])
        self._looping = False
        if self._arrived:
            self._finish_round()

    def _look(self, part: _Part) -> None:
        room = self._room(part)
        partition = part.partition
        if part.error is not None or partition is None or room <= 0 or part.next_offset == partition.end:
            self._place += 1
            return
        self._arrived = False
        reading = self._call.service.core.reading
        try:
            unread = fetch_unread(reading, partition, part.next_offset, room)
            # One that goes beyond the limit is given only if it is the first, and then read: mostly at the beginning of
            # a connection, whose socket gets its size by what is written to it.
            if unread is not None and (self._size or len(unread[0]) <= room):
                self._found(*unread)
            else:
                fetch_batches(reading, partition, part.next_offset, room, self._found)
        except OneMQError as error:
            part.error = error
            self._arrived = True
            self._place += 1

    def _room(self, part: _Part) -> int:
        """How much of a partition may still be given; the first batch of all in any case."""
        room = min(part.wanted.request.partition_max_bytes - part.size, self._bytes_max - self._size)
        return room if self._size else max(room, 1)

    def _found(self, data: bytes | Stretch, next_offset: int) -> None:
        part = self._todo[self._place]
        self._arrived = True
        is_gap = not data and next_offset > part.next_offset and self._gaps < _GAPS_MAX
        if not self._size or len(data) <= self._room(part):
            part.next_offset = next_offset
            if data:
                part.add(data)
                self._size += len(data)
        elif self._size + len(data) > self._bytes_max:
            self._is_full = True  # what others have would be read in vain as well
        if is_gap:
            self._gaps += 1
        else:
            self._place, self._gaps = self._place + 1, 0
        if not self._looping:
            self._go_on()

    def _finish_round(self) -> None:
        for part in self._todo:
            if part.is_behind_gap:
                part.add(gap_before(part.next_offset))
                self._size += part.size
                self._is_full = True  # nothing is waited for: the client is to ask again
        is_over = self._call.service.now_ms >= self._until_ms
        enough = self._is_full or self._size >= self._bytes_min
        if is_over or enough or any(part.ends_it for part in self._todo):
            self._answer()
        else:
            self._wait()

    # Waiting.

    def _wait(self) -> None:
        core, wanted = self._call.service.core, self._session.wanted.values()
        partitions = [each.partition for each in wanted if each.partition is not None]
        self._call.on_lost = core.waiting.wait(partitions, self._until_ms, self._look_again).cancel

    def _look_again(self) -> None:
        self._call.on_lost = None
        is_current = self._call.service.topics.is_current
        if all(each.topic is None or is_current(each.topic) for each in self._session.wanted.values()):
            self._begin_round()
        else:
            self._start_over()
        self._go_on()

    # The answer.

    def _answer(self) -> None:
        session, topics = self._session, dict[tuple[str, bytes], FetchableTopicResponse]()
        served: list[Wanted] = []
        for wanted in session.wanted.values():
            part = self._parts.get(wanted)
            is_news = wanted.tell(part is not None and part.error is not None) or not self._is_incremental
            if not is_news and (part is None or (part.error is None and not part.size)):
                continue
            name, id, _ = wanted.place
            topic = topics.get((name, id))
            if topic is None:
                topic = topics[name, id] = FetchableTopicResponse(name, id, [])
            topic.partitions.append(self._data(wanted, part))
            if part is not None and part.size:
                served.append(wanted)
        if session.id:
            for wanted in served:
                session.served(wanted)
        else:
            self._call.session.fetched_partitions += len(served)
        if self._size:
            self._call.session.fetch_bytes_max = min(2 * self._call.session.fetch_bytes_max, FETCH_BYTES_MAX)
        self._response = FetchResponse(session_id=session.id, responses=list(topics.values()))
        if self._waits:
            self._call.answer(self._response)

    def _data(self, wanted: Wanted, part: _Part | None) -> PartitionData:
        """The answer about one partition."""
        number, partition = wanted.place[2], wanted.partition
        if part is not None and part.error is not None:
            return PartitionData(number, code_of(part.error), -1, records=b"")
        assert partition is not None
        start, end = partition.start, partition.end
        pieces = part.pieces if part is not None else []
        try:
            records = pieces[0] if len(pieces) == 1 else b"".join(map(_bytes, pieces))
        except OSError as problem:
            _logger.error("partition %d of %s cannot be read (%s): check the disk", number, wanted.place[0], problem)
            return PartitionData(number, ErrorCode.KAFKA_STORAGE_ERROR, -1, records=b"")
        aborted: list[AbortedTransaction] | None = [] if self._call.request.isolation_level == _READ_COMMITTED else None
        return PartitionData(number, 0, end, end, start, aborted_transactions=aborted, records=records)


def _bytes(piece: bytes | Stretch) -> bytes:
    if isinstance(piece, bytes):
        return piece
    data = b""
    while len(piece):
        data += piece.read(len(piece))
    return data
