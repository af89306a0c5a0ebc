"""Search: messages by id, key, time and filter, without a group and without changing anything.

There is no index of keys. A search looks through the messages, from the place on that the time says, and a batch
that does not hold the bytes of the key or id is not even decoded. An id says where its message lies, unless the
message moved: then it is in a header, and is found as a key is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from onemq.core.filter import Filter
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.scan import Scan, ScanResult, Scans, Span, Then
from onemq.core.start import Start, positions
from onemq.core.topics import Topic, Topics
from onemq.errors import Corrupt, InvalidArgument
from onemq.limits import SEARCH_COUNT_MAX
from onemq.log.engine import Log
from onemq.message import ID, Record, header, message_id

_TIME_MS_MAX = 2**62


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for; all conditions must hold."""

    id: str | None = None
    key: bytes | None = None
    from_ms: int | None = None
    """Stored at this time or later."""
    to_ms: int | None = None
    """Stored at this time or earlier. What a clock that went back stored behind later messages is not found."""
    filter: Filter | None = None
    number: int | None = None
    """The only partition to look at, if not all."""
    most: int = 10
    newest: bool = False
    """The last ones, newest first; else the first ones, oldest first. Several partitions are merged by time."""

    @property
    def plain_id(self) -> bytes | None:
        """The id as headers have it."""
        return None if self.id is None else message_id(*place_of(self.id)).encode()

    def check(self) -> None:
        """Raises `InvalidArgument` for what makes no sense."""
        if not 1 <= self.most <= SEARCH_COUNT_MAX:
            raise InvalidArgument(f"a search finds 1 to {SEARCH_COUNT_MAX} messages, not {self.most}")
        if self.id is not None:
            place_of(self.id)


def place_of(id: str) -> tuple[int, int, int]:
    """(topic, partition, offset): where the message of an id was stored first."""
    try:
        topic_id, number, offset = (int(part, 16) for part in id.split("-"))
    except ValueError:
        raise InvalidArgument(f"this is not a message id: {id!r}") from None
    return topic_id, number, offset


class Searching:
    """Finds messages."""

    def __init__(self, log: Log, topics: Topics, reading: Reading, scans: Scans) -> None:
        self._log = log
        self._topics = topics
        self._reading = reading
        self._scans = scans

    def search(self, topic: str, query: Query, then: Then) -> Scan | None:
        """Begins a search; `then` is called once, at once or in a later turn, unless the scan is cancelled.

        Returns the scan while it is under way. Raises `NotFound`, `InvalidArgument`, and `Busy` if too many are.
        """
        found = self._topics.get(topic)
        query.check()
        if query.number is not None:
            found.choose(None, query.number)
        self._scans.check()
        under_way: list[Scan] = []

        def looked(result: ScanResult) -> None:
            if result.found:
                then(result)
            else:
                self._bounds(found, query, lambda spans: begin(spans, result))

        def begin(spans: list[Span], result: ScanResult) -> None:
            under_way.append(self._scan(found, spans, query, result, then))

        self._at_place(found, query, looked)
        return under_way[0] if under_way and not under_way[0].over else None

    def _at_place(self, topic: Topic, query: Query, then: Then) -> None:
        """Looks where the id says first. What lies there is the only one, unless copies moved."""
        result = ScanResult()
        if query.id is None:
            then(result)
            return
        topic_id, number, offset = place_of(query.id)
        if topic_id != topic.id or number >= len(topic.partitions) or query.number not in (None, number):
            then(result)
            return
        partition = topic.partitions[number]
        matching = wanted(query, topic.id)

        def read(records: list[Record]) -> None:
            result.found = [(number, record) for record in matching(partition, records)]
            then(result)

        try:
            self._reading.records_at(partition, [offset], read)
        except Corrupt as damage:
            result.note_damage(damage)
            then(result)

    def _scan(self, topic: Topic, spans: list[Span], query: Query, so_far: ScanResult, then: Then) -> Scan:
        needles = (query.key, query.plain_id)
        needle = max((each for each in needles if each is not None), key=len, default=None)
        scan = Scan(
            self._reading, topic, spans, wanted(query, topic.id), then,
            most=query.most, newest=query.newest, needle=needle or None,
        )  # fmt: skip
        scan.result.damage += so_far.damage
        return self._scans.begin(scan)

    def _bounds(self, topic: Topic, query: Query, then: Callable[[list[Span]], None]) -> None:
        """The part of each partition in which messages of the wanted time can be."""
        ends = [partition.end for partition in topic.partitions]

        def first(offsets: list[int]) -> None:
            offsets = [_first(*each, query.from_ms) for each in zip(topic.partitions, offsets, strict=True)]
            self._offsets_at(topic, query.to_ms, 1, ends, lambda stops: then(self._spans(topic, query, offsets, stops)))

        self._offsets_at(topic, query.from_ms, 0, [partition.start for partition in topic.partitions], first)

    def _offsets_at(
        self, topic: Topic, time_ms: int | None, after_ms: int, otherwise: list[int], then: Callable[[list[int]], None]
    ) -> None:
        if time_ms is None:
            then(otherwise)
            return
        answers: list[list[int]] = []
        try:
            positions(self._log, topic, Start("time", min(max(time_ms, 0), _TIME_MS_MAX) + after_ms), answers.append)
        except Corrupt:  # the scan itself finds out, and tells
            answers.append(otherwise)
        then(answers[0] if answers else otherwise)  # an engine that answers later is spared the question

    def _spans(self, topic: Topic, query: Query, firsts: list[int], ends: list[int]) -> list[Span]:
        spans = [Span(*each) for each in zip(topic.partitions, firsts, ends, strict=True)]
        return [span for span in spans if query.number in (None, span.partition.number)]


def _first(partition: Partition, offset: int, from_ms: int | None) -> int:
    """Where a search begins. To readers, a batch that is kept as it came is never older than what came before it, also
    if that is gone by now; the index of the log knows only the times in the batches."""
    return partition.start if from_ms is not None and partition.floor_ms >= from_ms else offset


def wanted(query: Query, topic_id: int) -> Callable[[Partition, list[Record]], list[Record]]:
    """What keeps the records that a query asks for."""
    id = query.plain_id
    place = None if query.id is None else place_of(query.id)
    key, filter = query.key, query.filter
    from_ms = 0 if query.from_ms is None else query.from_ms
    to_ms = _TIME_MS_MAX if query.to_ms is None else query.to_ms
    bounded = query.from_ms is not None or query.to_ms is not None

    def keep(partition: Partition, records: list[Record]) -> list[Record]:
        if key is not None:
            records = [record for record in records if record[2] == key]
        if bounded:
            records = [record for record in records if from_ms <= record[1] <= to_ms]
        if id is not None:
            here = place[2] if place is not None and place[:2] == (topic_id, partition.number) else -1
            records = [record for record in records if _has_id(record, id, here)]
        return filter.at(topic_id, partition.number).select(records) if filter is not None and records else records

    return keep


def _has_id(record: Record, id: bytes, here: int) -> bool:
    stored = header(record[4], ID) if record[4] else None
    return stored == id if stored is not None else record[0] == here
