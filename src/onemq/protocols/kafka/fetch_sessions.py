"""Fetch sessions (KIP-227): what a client fetches is remembered, so that it tells, and is told, only what has changed.

    epoch  0, without or with an id     begins a session, in place of that of the id
    epoch  1, 2, ...                    goes on in it: topics to add or change, topics to forget
    epoch -1                            fetches without one, and ends that of the id

A session is no part of a connection. When there are as many as there may be, those that were not used for a while make
room; else clients go without, and lose nothing but bytes.
"""

import secrets

from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.limits import KAFKA_FETCH_SESSION_PARTITIONS_MAX, KAFKA_FETCH_SESSIONS_MAX
from onemq.protocols.kafka.epochs import check_epoch
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schema import INT32_MAX
from onemq.protocols.kafka.schemas.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from onemq.protocols.kafka.topics import KafkaTopics

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
IDLE_MS = 120_000

Place = tuple[str, bytes, int]
"""Name of a topic or nothing, its id or zeros, partition."""


class Wanted:
    """One partition that a client fetches, and what it was told of it last."""

    __slots__ = ("error", "partition", "place", "request", "told_end", "told_start", "topic")

    def __init__(self, place: Place, request: FetchPartition) -> None:
        self.place = place
        self.request = request
        self.topic: Topic | None = None
        self.partition: Partition | None = None
        self.error: OneMQError | None = None
        """Why there is none."""
        self.told_start = self.told_end = -1

    def find(self, topics: KafkaTopics) -> None:
        """Finds the partition, if that was not done before, or was in vain."""
        if self.topic is not None and self.error is None and topics.is_current(self.topic):
            return
        name, id, number = self.place
        self.topic = self.partition = self.error = None
        try:
            self.topic = topics.get(name) if name else topics.get_by_id(id)
            check_epoch(self.request.current_leader_epoch)
            self.partition = partition_of(self.topic, number)
        except OneMQError as error:
            self.error = error

    def tell(self, failed: bool) -> bool:
        """The client is told where the partition begins and ends. Returns whether that is news; it is so, too, when its
        fetch fails, and when it does so no longer."""
        partition = self.partition
        if partition is None or failed:
            self.told_start = self.told_end = -1
            return True
        if self.told_end == partition.end and self.told_start == partition.start:
            return False
        self.told_start, self.told_end = partition.start, partition.end
        return True


class FetchSession:
    """What one client fetches."""

    __slots__ = ("epoch", "id", "used_ms", "wanted")

    def __init__(self, id: int, now_ms: int) -> None:
        self.id = id
        self.epoch = 1
        self.used_ms = now_ms
        self.wanted: dict[Place, Wanted] = {}

    def change(self, topics: list[FetchTopic], forgotten: list[ForgottenTopic]) -> None:
        for topic in topics:
            for request in topic.partitions:
                place = (topic.topic, topic.topic_id, request.partition)
                known = self.wanted.get(place)
                if known is None or known.request.current_leader_epoch != request.current_leader_epoch:
                    self.wanted[place] = Wanted(place, request)
                else:
                    known.request = request
        for gone in forgotten:
            for number in gone.partitions:
                self.wanted.pop((gone.topic, gone.topic_id, number), None)

    def served(self, wanted: Wanted) -> None:
        """Others come first the next time."""
        if self.wanted.pop(wanted.place, None) is not None:
            self.wanted[wanted.place] = wanted


class FetchSessions:
    """All of them."""

    def __init__(self) -> None:
        self._by_id: dict[int, FetchSession] = {}
        """The one that was not used for longest first."""

    def __len__(self) -> int:
        return len(self._by_id)

    def open(self, request: FetchRequest, now_ms: int) -> FetchSession:
        """What to fetch now; a session with the id 0 is not remembered. Raises `Refused`."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._by_id.pop(request.session_id, None)
            session = FetchSession(0, now_ms)
            session.change(request.topics, [])
            if request.session_epoch == INITIAL_EPOCH and session.wanted and self._has_room(session, now_ms):
                session.id = self._free_id()
                self._by_id[session.id] = session
            return session
        return self._go_on(request, now_ms)

    def _go_on(self, request: FetchRequest, now_ms: int) -> FetchSession:
        session = self._by_id.get(request.session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.epoch = session.epoch % INT32_MAX + 1
        session.used_ms = now_ms
        del self._by_id[session.id]
        session.change(request.topics, request.forgotten_topics_data)
        if not session.wanted:
            session.id = 0
        elif not request.topics or self._has_room(session, now_ms):
            self._by_id[session.id] = session
        else:
            session.id = 0  # the client takes it for a whole answer
        return session

    def _has_room(self, session: FetchSession, now_ms: int) -> bool:
        """Whether one more can be remembered, after those that nobody uses made room."""
        while self._by_id and not self._fits(session):
            oldest = next(iter(self._by_id.values()))
            if now_ms - oldest.used_ms < IDLE_MS:
                return False
            del self._by_id[oldest.id]
        return self._fits(session)

    def _fits(self, session: FetchSession) -> bool:
        partitions = sum(len(each.wanted) for each in self._by_id.values()) + len(session.wanted)
        return len(self._by_id) < KAFKA_FETCH_SESSIONS_MAX and partitions <= KAFKA_FETCH_SESSION_PARTITIONS_MAX

    def _free_id(self) -> int:
        """By chance: a client that goes on after a restart must not find the session of another."""
        id = secrets.randbelow(INT32_MAX) + 1
        return id if id not in self._by_id else self._free_id()
