"""Producing, fetching and offsets: the same requests to OneMQ and to a real Apache Kafka, and the same answers."""

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import cramjam
import pytest

from onemq.log.batch import HEADER_BYTES
from onemq.log.batch_builder import BatchBuilder
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.fetch import FetchResponse
from tests.apache_kafka import ApacheKafka, missing
from tests.kafka_raw import call
from tests.process import Serve
from tests.unit.protocols.kafka.batches import counted, fetch_request, repacked, sealed
from tests.unit.protocols.kafka.fakes import framed

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]

Place = tuple[str, int]
NOW_MS = int(time.time() * 1000)
PRODUCE_BY_ID, FETCH_BY_ID = 13, 13
"""The first versions with ids of topics instead of their names."""
REPLICA_ID_LAST = 14
LEFT_OUT = {"error_message", "record_errors", "records", "current_leader", "node_endpoints", "leader_epoch",
            "session_id"}  # fmt: skip
"""Texts are ours; epochs of batches are -1 here (docs/protocols/kafka.md); records are compared by themselves;
where there is an error, it says what else is of no use."""


STRANGER = UUID(int=77)
"""The id of no topic."""


class IdOf(NamedTuple):
    """Stands in a request for the id of a topic, which each server makes by itself."""

    topic: str


class Both:
    """The two servers."""

    def __init__(self, ours: int, theirs: int) -> None:
        self.ports = (ours, theirs)
        self._ids: dict[tuple[int, str], UUID] = {}
        self._names: dict[str, str] = {}

    def learn(self, topic: str) -> None:
        """The ids that the servers gave to a topic."""
        for port in self.ports:
            wanted = [{"topic_id": UUID(int=0), "name": topic}]
            (row,) = call(port, "Metadata", 12, topics=wanted, allow_auto_topic_creation=False)["topics"]
            self._ids[port, topic] = UUID(row["topic_id"])
            self._names[row["topic_id"]] = topic

    def ask_one(self, port: int, name: str, version: int, **fields: Any) -> dict[str, Any]:
        """The answer of one of them."""
        return call(port, name, version, **self._filled(port, fields))

    def ask(self, name: str, version: int, **fields: Any) -> Any:
        """The answer, which is the same from both."""
        ours, theirs = (self.plain(self.ask_one(port, name, version, **fields)) for port in self.ports)
        assert ours == theirs
        return ours

    def _filled(self, port: int, value: Any) -> Any:
        if isinstance(value, IdOf):
            return self._ids.get((port, value.topic), STRANGER)
        if isinstance(value, dict):
            return {name: self._filled(port, each) for name, each in value.items()}
        return [self._filled(port, each) for each in value] if isinstance(value, list) else value

    def plain(self, value: Any) -> Any:
        """What has to be the same."""
        if isinstance(value, dict):
            left_out = LEFT_OUT | {"log_start_offset", "aborted_transactions"} if value.get("error_code") else LEFT_OUT
            return {name: self.plain(each) for name, each in value.items() if name not in left_out}
        if isinstance(value, str):
            return self._names.get(value, value)
        return sorted((self.plain(each) for each in value), key=repr) if isinstance(value, list) else value

    def produce(
        self, topic: str, *batches: bytes | None, acks: int = -1, version: int = 9, first: int = 0
    ) -> list[Any]:
        parts = [{"index": number, "records": batch} for number, batch in enumerate(batches, first)]
        data = [named(topic, version >= PRODUCE_BY_ID, "name") | {"partition_data": parts}]
        answer = self.ask("Produce", version, transactional_id=None, acks=acks, timeout_ms=10_000, topic_data=data)
        return [(each["error_code"], each["base_offset"]) for each in answer["responses"][0]["partition_responses"]]

    def fetch(self, topic: str, *offsets: int, version: int = 11, epoch: int = -1, **more: Any) -> list[Any]:
        wanted = {(topic, number): offset for number, offset in enumerate(offsets)}
        answer = self.ask("Fetch", version, **fetching(version, wanted, epoch=epoch, **more))
        return [answer["error_code"], *[each for topic in answer["responses"] for each in topic["partitions"]]]


def named(topic: str, by_id: bool, name: str = "topic") -> dict[str, Any]:
    return {"topic_id": IdOf(topic)} if by_id else {name: topic}


def fetching(version: int, wanted: Mapping[Place, int], forgotten: Sequence[Place] = (), **more: Any) -> dict[str, Any]:
    """What a Fetch says that wants partitions from some offsets on, and no longer wants others."""
    by_id, epoch = version >= FETCH_BY_ID, more.pop("epoch", -1)
    most = more.pop("partition_max_bytes", 1 << 20)
    topics = [
        named(topic, by_id) | {"partitions": [
            {"partition": number, "current_leader_epoch": epoch, "fetch_offset": offset, "log_start_offset": -1,
             "partition_max_bytes": most}
            for (each, number), offset in wanted.items() if each == topic
        ]}
        for topic in dict.fromkeys(topic for topic, _ in wanted)
    ]  # fmt: skip
    gone = [
        named(topic, by_id) | {"partitions": [number for each, number in forgotten if each == topic]}
        for topic in dict.fromkeys(topic for topic, _ in forgotten)
    ]
    usual = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0, "session_id": 0,
             "session_epoch": -1, "topics": topics, "forgotten_topics_data": gone, "rack_id": ""}  # fmt: skip
    replica = {"replica_id": -1} if version <= REPLICA_ID_LAST else {}
    return usual | replica | more


def merged(answer: dict[str, Any]) -> dict[str, Any]:
    """With each topic once; Kafka begins a new row for it where the order of the session asks for that."""
    topics: dict[str, dict[str, Any]] = {}
    for row in answer["responses"]:
        known = topics.setdefault(row.get("topic") or row["topic_id"], row | {"partitions": []})
        known["partitions"] += row["partitions"]
    return answer | {"responses": list(topics.values())}


class FetchSessions:
    """A fetch session with each of the two servers."""

    def __init__(self, both: Both, version: int) -> None:
        self.both = both
        self.version = version
        self.ids = dict.fromkeys(both.ports, 0)

    def ask(self, epoch: int, wanted: Mapping[Place, int] | None = None, *forgotten: Place) -> Any:
        """The code, whether there is a session then, and the partitions that are told of: all the same from both."""
        told = []
        for port in self.both.ports:
            id = self.ids[port]
            fields = fetching(self.version, wanted or {}, forgotten, session_id=id, session_epoch=epoch)
            answer = self.both.ask_one(port, "Fetch", self.version, **fields)
            if not answer["error_code"] and answer["session_id"]:
                self.ids[port] = answer["session_id"]
            is_there, is_same = bool(answer["session_id"]), answer["session_id"] == id
            told.append((self.both.plain(merged(answer)), is_there, is_same))
        assert told[0] == told[1], f"OneMQ\n{told[0]}\nKafka\n{told[1]}"
        answer, is_there, _ = told[0]
        numbers = [row["partition_index"] for topic in answer["responses"] for row in topic["partitions"]]
        return answer["error_code"], is_there, sorted(numbers)


@pytest.fixture(scope="module")
def both(kafka: Serve) -> Iterator[Both]:
    with ApacheKafka() as theirs:
        yield Both(kafka.kafka_port, theirs.port)


@pytest.fixture
def made(both: Both, topic: str) -> str:
    """A topic with two partitions in both."""
    make(both, topic)
    return topic


def make(both: Both, topic: str) -> None:
    for port in both.ports:
        call(port, "CreateTopics", 4, timeout_ms=20_000, validate_only=False, topics=[
            {"name": topic, "num_partitions": 2, "replication_factor": 1, "assignments": [],
             "configs": [{"name": "max.message.bytes", "value": "100000"}]},
        ])  # fmt: skip
        wait_for_leaders(port, topic)
    both.learn(topic)


def wait_for_leaders(port: int, topic: str) -> None:
    """Kafka answers before it serves a new topic."""
    parts = [{"partition_index": number, "current_leader_epoch": -1, "timestamp": -1} for number in (0, 1)]
    for _ in range(200):
        wanted = [{"name": topic, "partitions": parts}]
        answer = call(port, "ListOffsets", 6, replica_id=-1, isolation_level=0, topics=wanted)
        if not any(each["error_code"] for each in answer["topics"][0]["partitions"]):
            return
        time.sleep(0.05)
    raise AssertionError(f"{topic} has no leaders")


def batch(*bodies: bytes | None, **options: Any) -> bytes:
    """With times of today."""
    times_ms = options.pop("times_ms", [NOW_MS] * len(bodies))
    return sealed(*bodies, times_ms=times_ms, **options)


GOOD = batch(b"one", b"two")
WRONG = {
    "checksum": GOOD[:-1] + b"x",
    "empty": b"",
    "cut": GOOD[:-1],
    "length": GOOD[:8] + bytes(4) + GOOD[12:],
    "two batches": GOOD + GOOD,
    "control": batch(b"a", attributes=1 << 5),
    "gap": batch(b"a", b"b", last_delta=7),
    "count": GOOD[:57] + b"\x00\x00\x00\x00" + GOOD[61:],
    "no messages": counted(GOOD, 0),
    "negative count": counted(GOOD, -1),
    "one too many": counted(batch(b"a"), 2),
    "very many": counted(batch(b"a"), (1 << 31) - 1),
    "no sequence": batch(b"a", producer=(77, 0, -1)),
    "old format": GOOD[:16] + b"\x01" + GOOD[17:],
    "large": batch(b"x" * 200_000),
    "ahead": batch(b"a", times_ms=[NOW_MS + 2 * 3_600_000]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_batches(both: Both, made: str, wrong: str) -> None:
    ((code, offset),) = both.produce(made, WRONG[wrong])
    assert (code != 0, offset) == (True, -1)
    assert both.produce(made, GOOD) == [(0, 0)]


def test_batches_that_are_stored(both: Both, made: str) -> None:
    assert both.produce(made, GOOD, GOOD) == [(0, 0), (0, 0)]
    assert both.produce(made, batch(b"x", key=b"k", headers=((b"h", None),)), batch(None)) == [(0, 2), (0, 2)]
    packed = repacked(GOOD, bytes(cramjam.zstd.compress(GOOD[HEADER_BYTES:])), 4)
    assert both.produce(made, packed) == [(0, 3)]
    ((code, _),) = both.produce(made, packed, version=6)
    assert code == 76
    for version in range(3, 14):
        both.produce(made, GOOD, version=version)


def test_unknown_places_and_acks(both: Both, made: str) -> None:
    both.produce(made, GOOD, GOOD, first=1)
    both.produce(made, GOOD, acks=5)
    for version in (9, 12, 13):
        both.produce("nothing-of-that-name", GOOD, version=version)
        both.produce(made, GOOD, GOOD, first=1, version=version)


def test_sequences_of_idempotent_producers(both: Both, made: str) -> None:
    def produce(epoch: int, sequence: int) -> list[tuple[int, int]]:
        answers = []
        for port in both.ports:
            id = known[port]
            data = [{"name": made, "partition_data": [
                {"index": 0, "records": batch(b"a", b"b", producer=(id, epoch, sequence))}]}]  # fmt: skip
            answer = call(port, "Produce", 9, transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=data)
            part = answer["responses"][0]["partition_responses"][0]
            answers.append((part["error_code"], part["base_offset"]))
        return answers

    known = {port: new_producer(port) for port in both.ports}
    steps = [(0, 0), (0, 2), (0, 2), (0, 0), (0, 9), (0, 4), (0, 6), (0, 8), (0, 10), (0, 12), (0, 4), (0, 0),
             (1, 5), (1, 0), (0, 14), (1, 2), (1, 0)]  # fmt: skip
    told = [produce(epoch, sequence) for epoch, sequence in steps]
    assert [ours for ours, _ in told] == [theirs for _, theirs in told]


def new_producer(port: int) -> int:
    for _ in range(200):
        answer = call(port, "InitProducerId", 1, transactional_id=None, transaction_timeout_ms=1000)
        if not answer["error_code"]:
            return int(answer["producer_id"])
        time.sleep(0.05)  # Kafka is not ready at once
    raise AssertionError(answer)


def test_fetches(both: Both, made: str) -> None:
    for _ in range(5):
        both.produce(made, batch(b"x" * 1000), batch(b"y" * 1000))
    for offsets in ([0], [0, 0], [3, 5], [5], [6], [-1], [0, 0, 0]):
        both.fetch(made, *offsets)
        both.fetch(made, *offsets, isolation_level=1)
    for version in range(7, 19):
        both.fetch(made, 0, version=version)
        both.fetch(made, 3, 9, 0, version=version, isolation_level=1)
        both.fetch(made, 0, epoch=5, version=version)
        both.fetch("nothing-of-that-name", 0, version=version)
        both.fetch(made, 0, session_id=77, session_epoch=3, version=version)


@pytest.mark.parametrize("version", [7, 11, 12, 13, 18])
def test_fetch_sessions(both: Both, made: str, version: int) -> None:
    """Opened, continued, changed, told wrong numbers, emptied, ended and replaced."""
    sessions, other = FetchSessions(both, version), f"{made}-other"
    make(both, other)
    both.produce(made, GOOD)
    assert sessions.ask(0, {(made, 0): 0, (made, 1): 0}) == (0, True, [0, 1])
    assert sessions.ask(1) == (0, True, [0])
    assert sessions.ask(2, {(made, 0): 2}) == (0, True, [])
    both.produce(made, GOOD, first=1)
    assert sessions.ask(3) == (0, True, [1])
    assert sessions.ask(4, {(made, 1): 2, (other, 0): 0, (other, 1): 0}) == (0, True, [0, 1])
    assert sessions.ask(5, None, (made, 1), (other, 0)) == (0, True, [])
    for topic in (made, other):
        both.produce(topic, GOOD, GOOD)
    assert sessions.ask(6) == (0, True, [0, 1])
    assert sessions.ask(99)[0] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.ask(6)[0] == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.ask(7, {(made, 0): 4, (other, 1): 2}) == (0, True, [])
    assert sessions.ask(8, {(made, 0): 1_000}) == (0, True, [0])
    assert sessions.ask(9) == (0, True, [0])
    assert sessions.ask(10, {(made, 0): 4, (made, 7): 0, ("nothing-of-that-name", 3): 0}) == (0, True, [0, 3, 7])
    assert sessions.ask(11) == (0, True, [3, 7])
    assert sessions.ask(12, None, (made, 7), ("nothing-of-that-name", 3)) == (0, True, [])
    assert sessions.ask(13, None, (made, 0), (other, 1)) == (0, False, [])
    assert sessions.ask(14)[0] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for epoch in (0, 0):
        sessions.ask(epoch, {(made, 0): 4})
    old = dict(sessions.ids)
    assert sessions.ask(0, {(made, 0): 2}) == (0, True, [0])
    new, sessions.ids = sessions.ids, old
    assert sessions.ask(1)[0] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    sessions.ids = new
    assert sessions.ask(1, {(made, 0): 3}) == (0, True, [0])
    assert sessions.ask(-1, {(made, 0): 4, (made, 1): 0}) == (0, False, [0, 1])
    assert sessions.ask(2)[0] == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_fetched_bytes_are_the_same_but_for_the_epoch(both: Both, made: str) -> None:
    builder = BatchBuilder(0, NOW_MS)
    for number in range(20):
        builder.add(NOW_MS - number, b"k%d" % number, b"v" * number, b"\x00")
    both.produce(made, builder.seal())
    both.produce(made, GOOD)
    ours, theirs = (fetched_bytes(port, made) for port in both.ports)
    assert len(ours) == len(theirs)
    first = builder.seal()
    for at in (0, len(first)):
        assert ours[at : at + 12] == theirs[at : at + 12]
        assert ours[at + 16 : at + 60] == theirs[at + 16 : at + 60]
    assert ours[len(first) + 16 :] == theirs[len(first) + 16 :]


def fetched_bytes(port: int, topic: str) -> bytes:
    """Everything in the first partition."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, connection.makefile("rb") as answers:
        connection.sendall(framed(fetch_request(topic, 0), 11))
        size = int.from_bytes(answers.read(4), "big")
        answer = decode(FetchResponse, 11, answers.read(size), 4)
    return bytes(answer.responses[0].partitions[0].records or b"")


def test_offsets(both: Both, made: str) -> None:
    both.produce(made, batch(b"a", b"b", b"c", times_ms=[NOW_MS - 500, NOW_MS - 100, NOW_MS - 300]))
    both.produce(made, batch(b"d", times_ms=[NOW_MS - 200]))
    for time_ms in (-1, -2, -3, -4, -5, -6, -7, 0, NOW_MS - 400, NOW_MS - 100, NOW_MS):
        parts = [{"partition_index": number, "current_leader_epoch": -1, "timestamp": time_ms} for number in (0, 1, 2)]
        for version in range(2, 12):
            wait = {"timeout_ms": 5_000} if version >= 10 else {}
            topics = [{"name": made, "partitions": parts}]
            both.ask("ListOffsets", version, replica_id=-1, isolation_level=0, topics=topics, **wait)
    parts = [{"partition_index": 0, "current_leader_epoch": 9, "timestamp": -1}]
    both.ask("ListOffsets", 6, replica_id=-1, isolation_level=1, topics=[{"name": made, "partitions": parts}])


def test_ends_of_epochs(both: Both, made: str) -> None:
    both.produce(made, GOOD)
    for current, epoch in ((-1, 0), (-1, 5), (0, 0), (3, 0)):
        parts = [{"partition": number, "current_leader_epoch": current, "leader_epoch": epoch} for number in (0, 2)]
        both.ask("OffsetForLeaderEpoch", 3, replica_id=-2, topics=[{"topic": made, "partitions": parts}])


def test_deleted_records(both: Both, made: str) -> None:
    both.produce(made, batch(*[b"x"] * 10))
    for offset in (3, 2, 0, 11, -1, -5):
        parts = [{"partition_index": number, "offset": offset} for number in (0, 2)]
        both.ask("DeleteRecords", 1, timeout_ms=5000, topics=[{"name": made, "partitions": parts}])
        both.fetch(made, 0)
    both.ask("DeleteRecords", 1, timeout_ms=5000, topics=[{"name": "nothing", "partitions": parts[:1]}])
