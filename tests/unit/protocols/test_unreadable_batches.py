"""A batch that came by Produce and cannot be decoded: what clients of each protocol find around it."""

import hiredis
import pytest

from onemq.client.broadcast import decoded
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from tests.unit.core.test_unreadable_batches import GOOD, SOME, UNREADABLE
from tests.unit.protocols.kafka.batches import base_offsets, fetch_request, produce_request, sealed
from tests.unit.protocols.kafka.fakes import Client as KafkaClient
from tests.unit.protocols.resp.fakes import Client, encode

LATER_MS = 1_700_000_000_000
"""When those batches were sealed."""


@pytest.fixture(params=SOME)
def clients(request: pytest.FixtureRequest) -> tuple[Client, KafkaClient]:
    """Two clients of a broker with such a batch between good ones."""
    resp = Client()
    core = resp.service.core
    kafka = KafkaClient(KafkaService(core, KafkaFacts(b"test" * 4)))
    core.tick(LATER_MS)
    core.topics.create("t")
    for batch in (sealed(b"a", b"b"), UNREADABLE[request.param], sealed(b"c", b"d")):
        (answer,) = kafka.ask(produce_request("t", batch), 12).responses[0].partition_responses
        assert answer.error_code == 0
    kafka.turn()
    return resp, kafka


def bodies(entries: list[list[bytes]]) -> list[bytes]:
    return [entry[1][-1] for entry in entries]


def test_kafkas_readers_get_the_bytes_as_they_came(clients: tuple[Client, KafkaClient]) -> None:
    _, kafka = clients
    part = kafka.ask(fetch_request("t", 0), 12).responses[0].partitions[0]
    assert part.error_code == 0
    assert len(base_offsets(part.records)) == 3


def test_stream_commands_pass_over_it(clients: tuple[Client, KafkaClient]) -> None:
    resp, _ = clients
    assert bodies(resp.ask("XRANGE", "t", "-", "+")) == GOOD
    assert bodies(resp.ask("XREVRANGE", "t", "+", "-")) == GOOD[::-1]
    assert bodies(resp.ask("XREAD", "STREAMS", "t", "0")[0][1]) == GOOD
    ids = [entry[0] for entry in resp.ask("XRANGE", "t", "-", "+")]
    for id, body in zip(ids, GOOD, strict=True):
        assert bodies(resp.ask("XRANGE", "t", id, id)) == [body]
    assert isinstance(resp.ask("XINFO", "STREAM", "t"), list)
    assert resp.ask("XDEL", "t", *ids) == 4


def test_groups_of_streams_pass_over_it(clients: tuple[Client, KafkaClient]) -> None:
    resp, _ = clients
    resp.ask("XGROUP", "CREATE", "t", "g", "0")
    entries = resp.ask("XREADGROUP", "GROUP", "g", "m", "COUNT", "100", "STREAMS", "t", ">")[0][1]
    assert bodies(entries) == GOOD
    assert resp.ask("XACK", "t", "g", *[entry[0] for entry in entries]) == 4
    assert resp.ask("XTRIM", "t", "MAXLEN", "0") > 4


def test_messages_pass_over_it(clients: tuple[Client, KafkaClient]) -> None:
    resp, _ = clients
    resp.ask("HELLO", "3")
    resp.ask("MQ.GROUP", "CREATE", "t", "g", "FROM", "FIRST")
    for words in ("MQ.RECEIVE t g COUNT 100", "MQ.READ t FROM FIRST COUNT 100"):
        assert [each[b"body"] for each in resp.ask(*words.split())] == GOOD


def test_a_search_finds_what_is_around_it(clients: tuple[Client, KafkaClient]) -> None:
    resp, kafka = clients
    resp.ask("HELLO", "3")
    resp.peer.sent.clear()
    resp.session.receive(encode("MQ.SEARCH", "t"))
    for _ in range(10):
        kafka.turn()
    reader = hiredis.Reader()
    reader.feed(b"".join(resp.peer.sent))
    found = reader.gets()
    assert [each[b"body"] for each in found] == GOOD
    assert resp.service.core.reading.unreadable.count == 1


def test_what_is_fetched_with_a_filter_is_without_it(clients: tuple[Client, KafkaClient]) -> None:
    resp, _ = clients
    resp.ask("HELLO", "3")
    end = resp.service.core.topics.get("t").partitions[0].end
    answer = resp.ask("MQ.FETCH", "t", "0", "0", "FILTER", "_tag IS NULL")
    assert answer[b"next"] == end
    assert [record[3] for record in decoded("t", 0, answer[b"batches"])] == GOOD


def test_a_broadcast_passes_over_it_and_says_so(
    clients: tuple[Client, KafkaClient], caplog: pytest.LogCaptureFixture
) -> None:
    resp, _ = clients
    resp.ask("HELLO", "3")
    answer = resp.ask("MQ.FETCH", "t", "0", "0")
    assert [record[3] for record in decoded("t", 0, answer[b"batches"])] == GOOD
    assert "'t', partition 0: the batch at offset 2 cannot be decoded" in caplog.text


def test_it_is_counted(clients: tuple[Client, KafkaClient]) -> None:
    resp, _ = clients
    resp.ask("XRANGE", "t", "-", "+")
    assert resp.service.core.stats()["unreadable_batches"] == 1
