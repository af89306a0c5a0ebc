"""The same steps of transactions to Apache Kafka and to OneMQ: the codes are the same."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from onemq.log.batch import TRANSACTIONAL
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.add_offsets_to_txn import AddOffsetsToTxnRequest
from onemq.protocols.kafka.schemas.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from onemq.protocols.kafka.schemas.describe_transactions import DescribeTransactionsRequest
from onemq.protocols.kafka.schemas.end_txn import EndTxnRequest
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest
from onemq.protocols.kafka.schemas.init_producer_id import InitProducerIdRequest
from onemq.protocols.kafka.schemas.list_transactions import ListTransactionsRequest
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic
from onemq.protocols.kafka.schemas.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from onemq.protocols.kafka.schemas.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onemq.protocols.kafka.schemas.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests import apache_kafka
from tests.apache_kafka import ApacheKafka
from tests.interop.kafka.raw import Raw
from tests.process import Serve
from tests.unit.protocols.kafka.batches import sealed

MISSING = apache_kafka.missing()
pytestmark = [pytest.mark.long, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
SETTINGS = ("transaction.state.log.num.partitions=1", "offsets.topic.num.partitions=1", "num.partitions=2")
SECONDS = 60


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Of Apache Kafka and of OneMQ, both with the topic `t` of two partitions."""
    folder = tmp_path_factory.mktemp("beside")
    config = folder / "onemq.toml"
    config.write_text("[kafka]\npartitions = 2\n")
    with ApacheKafka(*SETTINGS) as apache, Serve(folder / "data", "--config", str(config), kafka=True) as serve:
        serve.wait_until_serving()
        for port in (apache.port, serve.kafka_port):
            prepare(port)
        yield apache.port, serve.kafka_port


def prepare(port: int) -> None:
    give_up = time.monotonic() + SECONDS
    with Raw(port) as client:
        while True:
            topics = client.ask(MetadataRequest([MetadataRequestTopic(name="t")], True), 9).topics
            found = [client.ask(FindCoordinatorRequest("x", kind), 2).error_code for kind in (0, 1)]
            init = client.ask(InitProducerIdRequest("warm", transaction_timeout_ms=60_000), 4).error_code
            if not (topics[0].error_code or any(found) or init) and len(topics[0].partitions) == 2:
                return
            assert time.monotonic() < give_up, (topics, found, init)
            time.sleep(0.1)


class Owner:
    """A transactional producer that asks in low or high versions and notes the codes."""

    def __init__(self, port: int, name: str, high: bool) -> None:
        self.client = Raw(port)
        self.name = name
        self.high = high
        self.id = self.epoch = -1
        self.said: list[Any] = []

    def note(self, what: str, *codes: int) -> None:
        self.said.append((what, *(ErrorCode(code).name for code in codes)))

    def again(self, ask: Callable[[], list[int]]) -> list[int]:
        """The codes; Kafka ends transactions later than it answers."""
        give_up = time.monotonic() + SECONDS
        while True:
            codes = ask()
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes or time.monotonic() > give_up:
                return codes
            time.sleep(0.02)

    def init(self, timeout_ms: int = 60_000, id: int = -1, epoch: int = -1) -> None:
        def ask() -> list[int]:
            request = InitProducerIdRequest(self.name, timeout_ms, id, epoch)
            answer = self.client.ask(request, 4 if self.high else 1)
            if not answer.error_code:
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
            return [answer.error_code]

        self.note("init", *self.again(ask))

    def add(self, *numbers: int, topic: str = "t") -> None:
        def ask() -> list[int]:
            topics = [AddPartitionsToTxnTopic(topic, list(numbers))]
            request = AddPartitionsToTxnRequest([], self.name, self.id, self.epoch, topics)
            (result,) = self.client.ask(request, 3 if self.high else 0).results_by_topic_v3_and_below
            return [each.partition_error_code for each in result.results_by_partition]

        self.note("add", *self.again(ask))

    def produce(self, sequence: int, number: int = 0) -> None:
        batch = sealed(b"x", times_ms=[int(time.time() * 1000)], attributes=TRANSACTIONAL,
                       producer=(self.id, self.epoch, sequence))  # fmt: skip
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(number, batch)])]
        answer = self.client.ask(ProduceRequest(self.name, -1, 5_000, data), 9 if self.high else 3)
        self.note("produce", answer.responses[0].partition_responses[0].error_code)

    def add_group(self) -> None:
        def ask() -> list[int]:
            request = AddOffsetsToTxnRequest(self.name, self.id, self.epoch, f"{self.name}-group")
            return [self.client.ask(request, 3 if self.high else 0).error_code]

        self.note("add group", *self.again(ask))

    def commit_offsets(self, number: int = 0, **more: Any) -> None:
        partition = TxnOffsetCommitRequestPartition(number, 0)
        topics = [TxnOffsetCommitRequestTopic("t", partitions=[partition])]
        request = TxnOffsetCommitRequest(self.name, f"{self.name}-group", self.id, self.epoch, topics=topics, **more)
        answer = self.client.ask(request, 3 if self.high else 0)
        self.note("offsets", answer.topics[0].partitions[0].error_code)

    def fetch_offsets(self, require_stable: bool) -> None:
        def ask() -> list[int]:
            topics = [OffsetFetchRequestTopic("t", [0])]
            request = OffsetFetchRequest(f"{self.name}-group", topics, require_stable=require_stable)
            partition = self.client.ask(request, 7).topics[0].partitions[0]
            offsets.append(partition.committed_offset)
            return [partition.error_code]

        offsets: list[int] = []
        self.note("fetch", *self.again(ask))
        self.said.append(offsets[-1])

    def end(self, committed: bool = True) -> None:
        def ask() -> list[int]:
            request = EndTxnRequest(self.name, self.id, self.epoch, committed)
            return [self.client.ask(request, 3 if self.high else 0).error_code]

        self.note("commit" if committed else "abort", *self.again(ask))

    def look(self) -> None:
        """Kafka is a little later with what it says."""
        states: list[str] = []
        give_up = time.monotonic() + SECONDS
        while not states or (states[0].startswith("Prepare") and time.monotonic() < give_up):
            found = self.client.ask(DescribeTransactionsRequest([self.name])).transaction_states
            listed = self.client.ask(ListTransactionsRequest(), 0).transaction_states
            states = [each.transaction_state for each in found]
            states += [each.transaction_state for each in listed if each.transactional_id == self.name]
        topics = [each for each in found[0].topics if each.topic == "t"]
        partitions = [(each.topic, sorted(each.partitions)) for each in topics]
        self.said.append((states, partitions, found[0].error_code, found[0].transaction_timeout_ms))


def first_steps(owner: Owner) -> None:
    owner.look()
    owner.add(0)
    owner.end()
    owner.init(0)
    owner.init(2_000_000_000)
    owner.init()
    owner.look()
    owner.end()
    owner.end(committed=False)
    owner.add(0, 7)
    owner.add(0, topic="nowhere")
    owner.add_group()
    owner.end(committed=False)
    owner.look()


def a_transaction(owner: Owner) -> None:
    owner.init()
    owner.add(0)
    owner.add(0, 1)
    owner.look()
    owner.produce(0)
    owner.produce(0)
    owner.produce(5)
    owner.add_group()
    owner.commit_offsets()
    owner.commit_offsets(number=7)
    owner.fetch_offsets(require_stable=True)
    owner.fetch_offsets(require_stable=False)
    owner.end()
    owner.end()
    owner.end(committed=False)
    owner.look()
    owner.fetch_offsets(require_stable=True)
    owner.add(1)
    owner.produce(0, number=1)
    owner.end(committed=False)
    owner.end(committed=False)
    owner.end()
    owner.look()
    owner.add(0)
    owner.produce(1)
    owner.end()


def zombies(owner: Owner) -> None:
    owner.init()
    id, epoch = owner.id, owner.epoch
    owner.add(0)
    owner.add_group()
    owner.produce(0)
    owner.init()
    owner.said += [owner.id == id, owner.epoch > epoch]  # Kafka raises it once more when it rolls back
    owner.add(0)
    owner.add_group()
    owner.epoch = epoch
    owner.add(0)
    owner.produce(1)
    owner.add_group()
    owner.end()
    owner.end(committed=False)
    owner.epoch = epoch + 9
    owner.add(0)
    owner.end()
    owner.id, owner.epoch = id + 1_000_000, 0
    owner.add(0)
    owner.add_group()
    owner.end()


def those_who_say_who_they_were(owner: Owner) -> None:
    owner.init()
    id, epoch = owner.id, owner.epoch
    for _ in range(2):
        owner.init(id=id, epoch=epoch)
        owner.said += [owner.id == id, owner.epoch]
    owner.init(id=id, epoch=epoch + 7)
    owner.init(id=id + 1_000_000, epoch=0)
    owner.init(id=id, epoch=-1)
    owner.init(id=owner.id, epoch=owner.epoch)


@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("steps", [first_steps, a_transaction, zombies, those_who_say_who_they_were])
def test_the_codes_are_those_of_apache_kafka(
    ports: tuple[int, int], steps: Callable[[Owner], None], high: bool
) -> None:
    said = []
    for port in ports:
        owner = Owner(port, f"{steps.__name__}-{high}", high)
        steps(owner)
        owner.client.socket.close()
        said.append(owner.said)
    assert said[1] == said[0]


class Reader:
    """Reads both partitions of a topic from the beginning, in an isolation, and keeps what it saw."""

    def __init__(self, port: int, topic: str, isolation: str) -> None:
        quick = {"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
        address = {"bootstrap.servers": f"127.0.0.1:{port}", "isolation.level": isolation}
        self._consumer = Consumer(address | quick)
        self._consumer.assign([TopicPartition(topic, number, 0) for number in (0, 1)])
        self.seen: list[tuple[int, str]] = []

    @property
    def bodies(self) -> set[str]:
        return {body for _, body in self.seen}

    def read(self, wanted: set[str]) -> None:
        """Until it has seen these, and nothing more comes."""
        give_up = time.monotonic() + SECONDS
        while True:
            message = self._consumer.poll(0.3)
            if message is not None:
                assert message.error() is None, message.error()
                self.seen.append((message.partition() or 0, (message.value() or b"").decode()))
            elif self.bodies >= wanted:
                return
            assert time.monotonic() < give_up, wanted - self.bodies

    def of(self, producer: str) -> list[tuple[int, str]]:
        """What one producer sent, in the order of each partition."""
        return [each for number in (0, 1) for each in self.seen if each[0] == number and each[1].startswith(producer)]

    def close(self) -> None:
        self._consumer.close()


def read_anew(port: int, topic: str, isolation: str, wanted: set[str]) -> Reader:
    reader = Reader(port, topic, isolation)
    reader.read(wanted)
    reader.close()
    return reader


COUNT = 6


def bodies_of(*producers: str) -> set[str]:
    return {f"{name}-{number}" for name in producers for number in range(COUNT)}


def producing(port: int, topic: str, name: str, transactional: bool = True) -> Producer:
    """Has begun a transaction, if it does that, and has sent messages to both partitions that the server has got."""
    own = {"transactional.id": f"{topic}-{name}"} if transactional else {}
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "linger.ms": 1} | own)
    if transactional:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
    for number in range(COUNT):
        producer.produce(topic, f"{name}-{number}", partition=number % 2)
    assert producer.flush(SECONDS) == 0
    return producer


def test_readers_see_in_the_end_what_was_committed_and_never_the_rest(ports: tuple[int, int]) -> None:
    """Only what must be equal: OneMQ keeps open and aborted transactions away from readers of any isolation, and lets
    nobody wait for them (docs/protocols/kafka.md)."""
    topic, found = "read-by-isolation", []
    for port in ports:
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        admin.create_topics([NewTopic(topic, 2)])[topic].result(SECONDS)
        live = {isolation: Reader(port, topic, isolation) for isolation in ("read_committed", "read_uncommitted")}
        producing(port, topic, "plain", transactional=False)
        producing(port, topic, "committed").commit_transaction(SECONDS)
        producing(port, topic, "aborted").abort_transaction(SECONDS)
        late = producing(port, topic, "late")
        producing(port, topic, "fenced")
        producing(port, topic, "behind", transactional=False)

        good = bodies_of("plain", "committed")
        never = bodies_of("aborted", "fenced")
        open_yet = bodies_of("late")
        live["read_committed"].read(good)
        live["read_uncommitted"].read(good | bodies_of("behind"))
        assert not live["read_committed"].bodies & (never | open_yet)

        late.commit_transaction(SECONDS)
        successor = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "transactional.id": f"{topic}-fenced"})
        successor.init_transactions(SECONDS)  # rolls back what the one before it had begun
        producing(port, topic, "last", transactional=False)
        wanted = good | open_yet | bodies_of("behind", "last")
        for reader in live.values():
            reader.read(wanted)
        again = {isolation: read_anew(port, topic, isolation, wanted) for isolation in live}
        for readers in (live, again):
            assert readers["read_committed"].bodies == wanted
        names = ("plain", "committed", "late", "behind", "last", "aborted", "fenced")
        found.append([readers["read_committed"].of(name) for readers in (live, again) for name in names])
        for reader in live.values():
            reader.close()
    assert found[0] == found[1]
