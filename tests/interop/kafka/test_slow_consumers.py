"""A consumer that takes its time gets what it was promised, whatever becomes of the files meanwhile."""

from pathlib import Path
from socket import MSG_PEEK
from time import monotonic, sleep

from confluent_kafka.admin import AdminClient, NewTopic

from onemq.log.batch import is_sound, walk
from onemq.log.records import decode
from onemq.protocols.kafka.schemas.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.interop.kafka.clients import SECONDS, Sent, confluent_read, confluent_send
from tests.interop.kafka.raw import Raw
from tests.kafka_raw import call
from tests.process import Serve
from tests.unit.protocols.kafka.fakes import framed

VERSION = 12
COUNT = 600
ANSWER_BYTES = 5 << 20


def messages() -> list[Sent]:
    return [Sent(b"%06d" % number * 2_500) for number in range(COUNT)]


def fetch(topic: str, offset: int = 0) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=ANSWER_BYTES)
    return FetchRequest(max_wait_ms=1000, min_bytes=ANSWER_BYTES, topics=[FetchTopic(topic=topic, partitions=[wanted])])


def wait_until_removed(folder: Path, topic: str) -> None:
    """Returns when the first file of a topic is gone."""
    end = monotonic() + SECONDS
    while list(folder.glob(f"topics/{topic}~*/0-{0:020d}.log")):
        assert monotonic() < end, "the file is still there"
        sleep(0.02)


def answered_data(slow: Raw, topic: str) -> bytes:
    """The records of the answer that is on its way."""
    partition = slow.answer(fetch(topic), VERSION).responses[0].partitions[0]
    assert partition.error_code == 0
    return bytes(partition.records)


def test_a_segment_that_goes_while_it_is_sent_is_sent_to_its_end(tmp_path: Path) -> None:
    folder, sent = tmp_path / "data", messages()
    with Serve(folder, kafka=True) as broker:
        broker.wait_until_serving()
        bootstrap, port = f"127.0.0.1:{broker.kafka_port}", broker.kafka_port
        settings = {"segment.bytes": str(6 << 20), "flush.messages": str((1 << 63) - 1)}
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("t", 1, 1, config=settings)])["t"].result(SECONDS)
        confluent_send(bootstrap, "t", sent)
        with Raw(port, receive_bytes=16_384) as slow:
            slow.send(framed(fetch("t"), VERSION))
            slow.socket.recv(4, MSG_PEEK)  # it has begun
            gone = {"name": "t", "partitions": [{"partition_index": 0, "offset": COUNT - 1}]}
            answer = call(port, "DeleteRecords", 2, topics=[gone], timeout_ms=SECONDS * 1000)
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0
            wait_until_removed(folder, "t")
            data = answered_data(slow, "t")
        batches = list(walk(data))
        assert len(data) > ANSWER_BYTES * 3 // 4
        assert sum(header.size for _, header in batches) == len(data)
        assert all(is_sound(data, position, header) for position, header in batches)
        bodies = [record[3] for position, header in batches for record in decode(data, position, header)]
        assert bodies == [each.value for each in sent[: len(bodies)]]
        assert confluent_read(bootstrap, "t", 1, COUNT - 1) == sent[-1:]
