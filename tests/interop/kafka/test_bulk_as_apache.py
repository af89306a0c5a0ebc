"""Producing, fetching and offsets: the same requests to OneMQ and to a real Apache Kafka, and the same answers."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import cramjam
import pytest

from onemq.log.batch import HEADER_BYTES
from onemq.log.batch_builder import BatchBuilder
from onemq.protocols.kafka.codec import decode
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

NOW_MS = int(time.time() * 1000)
LEFT_OUT = {"error_message", "record_errors", "records", "current_leader", "node_endpoints", "leader_epoch",
            "session_id"}  # fmt: skip
"""Texts are ours; epochs of batches are -1 here (docs/protocols/kafka.md); records are compared by themselves;
where there is an error, it says what else is of no use."""


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = LEFT_OUT | {"log_start_offset", "aborted_transactions"} if value.get("error_code") else LEFT_OUT
        return {name: plain(each) for name, each in value.items() if name not in left_out}
    return sorted((plain(each) for each in value), key=repr) if isinstance(value, list) else value


class Both:
    """The two servers."""

    def __init__(self, ours: int, theirs: int) -> None:
        self.ports = (ours, theirs)

    def ask(self, name: str, version: int, **fields: Any) -> Any:
        """The answer, which is the same from both."""
        ours, theirs = (plain(call(port, name, version, **fields)) for port in self.ports)
        assert ours == theirs
        return ours

    def produce(
        self, topic: str, *batches: bytes | None, acks: int = -1, version: int = 9, first: int = 0
    ) -> list[Any]:
        parts = [{"index": number, "records": batch} for number, batch in enumerate(batches, first)]
        data = [{"name": topic, "partition_data": parts}]
        answer = self.ask("Produce", version, transactional_id=None, acks=acks, timeout_ms=10_000, topic_data=data)
        return [(each["error_code"], each["base_offset"]) for each in answer["responses"][0]["partition_responses"]]

    def fetch(self, topic: str, *offsets: int, version: int = 11, epoch: int = -1, **more: Any) -> list[Any]:
        parts = [
            {"partition": number, "current_leader_epoch": epoch, "fetch_offset": offset, "log_start_offset": -1,
             "partition_max_bytes": more.get("partition_max_bytes", 1 << 20)}
            for number, offset in enumerate(offsets)
        ]  # fmt: skip
        answer = self.ask(
            "Fetch", version, replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=more.get("max_bytes", 1 << 20),
            isolation_level=more.get("isolation_level", 0), session_id=more.get("session_id", 0),
            session_epoch=more.get("session_epoch", -1), topics=[{"topic": topic, "partitions": parts}],
            forgotten_topics_data=[], rack_id="",
        )  # fmt: skip
        return [answer["error_code"], *[each for topic in answer["responses"] for each in topic["partitions"]]]


@pytest.fixture(scope="module")
def both(kafka: Serve) -> Iterator[Both]:
    with ApacheKafka() as theirs:
        yield Both(kafka.kafka_port, theirs.port)


@pytest.fixture
def made(both: Both, topic: str) -> str:
    """A topic with two partitions in both."""
    for port in both.ports:
        call(port, "CreateTopics", 4, timeout_ms=20_000, validate_only=False, topics=[
            {"name": topic, "num_partitions": 2, "replication_factor": 1, "assignments": [],
             "configs": [{"name": "max.message.bytes", "value": "100000"}]},
        ])  # fmt: skip
        wait_for_leaders(port, topic)
    return topic


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
    for version in range(3, 10):
        both.produce(made, GOOD, version=version)


def test_unknown_places_and_acks(both: Both, made: str) -> None:
    both.produce(made, GOOD, GOOD, first=1)
    both.produce("nothing-of-that-name", GOOD)
    both.produce(made, GOOD, acks=5)


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
    for version in range(7, 12):
        both.fetch(made, 0, version=version)
    both.fetch(made, 0, epoch=5)
    both.fetch("nothing-of-that-name", 0)
    both.fetch(made, 0, session_id=77, session_epoch=3)


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
    for time_ms in (-1, -2, -3, -4, 0, NOW_MS - 400, NOW_MS - 100, NOW_MS):
        parts = [{"partition_index": number, "current_leader_epoch": -1, "timestamp": time_ms} for number in (0, 1, 2)]
        both.ask("ListOffsets", 8, replica_id=-1, isolation_level=0, topics=[{"name": made, "partitions": parts}])
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
