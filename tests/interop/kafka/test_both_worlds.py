"""One copy for all (D11): what Kafka's producers send, clients of Redis and the SDK read, and the reverse."""

from collections.abc import Iterator
from time import monotonic, time
from typing import Any

import pytest
import redis

import onemq
from tests.interop.kafka.clients import (
    READERS,
    SECONDS,
    SENDERS,
    Sent,
    confluent_messages,
    confluent_producer,
    confluent_read,
    confluent_send,
)
from tests.interop.sdk import eventually
from tests.process import Serve


@pytest.fixture
def resp(kafka: Serve) -> Iterator[Any]:
    with redis.Redis(port=kafka.port) as client:
        yield client


@pytest.fixture
def mq(kafka: Serve) -> Iterator[onemq.Client]:
    with onemq.connect(f"onemq://127.0.0.1:{kafka.port}") as client:
        yield client


# From Kafka


@pytest.mark.parametrize(
    ("client", "compression"),
    [("confluent-kafka", each) for each in ("none", "gzip", "snappy", "lz4", "zstd")]
    + [("kafka-python", "gzip"), ("aiokafka", "snappy"), ("aiokafka", "lz4"), ("kcat", "zstd")],
)
def test_what_kafka_sends_is_read_by_all(
    bootstrap: str, topic: str, resp: Any, mq: onemq.Client, client: str, compression: str
) -> None:
    sent = [Sent(b"value %d" % number, b"key %d" % number, (("a", b"1"), ("b", b"2"))) for number in range(30)]
    SENDERS[client](bootstrap, topic, sent, compression, "all")
    fields = [{b"body": each.value, b"a": b"1", b"b": b"2", b"_key": each.key} for each in sent]
    entries = resp.xrange(topic)
    assert [entry for _, entry in entries] == fields
    assert resp.xread({topic: entries[9][0]})[0][1] == entries[10:]
    resp.xgroup_create(topic, "redis", "0")
    assert resp.xreadgroup("redis", "me", {topic: ">"}, 100)[0][1] == entries
    assert resp.xack(topic, "redis", *[id for id, _ in entries]) == 30
    messages = mq.read(topic, start="first", count=100)
    assert [(each.key_bytes, each.body, each.headers) for each in messages] == [
        (each.key, each.value, {"a": "1", "b": "2"}) for each in sent
    ]
    (first, *_) = resp.execute_command("MQ.READ", topic, "COUNT", "1")
    assert first[b"body"] == sent[0].value
    assert first[b"key"] == sent[0].key


def test_messages_without_a_value_are_in_nobodys_way(bootstrap: str, topic: str, resp: Any, mq: onemq.Client) -> None:
    confluent_send(bootstrap, topic, [Sent(b"a", b"k"), Sent(None, b"k"), Sent(b"", b"k"), Sent(b"b", None)])
    assert [fields.get(b"body") for _, fields in resp.xrange(topic)] == [b"a", b"", b"", b"b"]
    assert [each.body for each in mq.read(topic, start="first", count=9)] == [b"a", b"", b"", b"b"]
    assert [each[b"body"] for each in resp.execute_command("MQ.READ", topic)] == [b"a", None, b"", b"b"]
    resp.execute_command("MQ.GROUP", "CREATE", topic, "g", "FROM", "FIRST")
    got = resp.execute_command("MQ.RECEIVE", topic, "g", "COUNT", "9")
    assert [each[b"body"] for each in got] == [b"a", None, b"", b"b"]
    assert resp.xrevrange(topic, count=1)[0][1] == {b"body": b"b"}
    assert [each.value for each in confluent_read(bootstrap, topic, 4)] == [b"a", None, b"", b"b"]


def test_ids_rise_although_times_go_back(bootstrap: str, topic: str, resp: Any) -> None:
    producer, now_ms = confluent_producer(bootstrap), int(time() * 1000)
    times_ms = [now_ms - 5_000, now_ms - 90_000, now_ms + 60_000, now_ms - 1, 5]
    for time_ms in times_ms:
        producer.produce(topic, b"kafka", timestamp=time_ms, partition=0)
        producer.flush(SECONDS)
        resp.xadd(topic, {"body": "redis"})
    entries = resp.xrange(topic)
    assert [fields[b"body"] for _, fields in entries] == [b"kafka", b"redis"] * 5
    ids = [tuple(map(int, id.split(b"-"))) for id, _ in entries]
    assert ids == sorted(set(ids))
    for place, (id, fields) in enumerate(entries):
        assert resp.xrange(topic, id, id) == [(id, fields)]
        assert resp.xrange(topic, f"({id.decode()}") == entries[place + 1 :]
    kept = [each.timestamp()[1] for each in confluent_messages(bootstrap, topic, 10) if each.value() == b"kafka"]
    assert kept == times_ms


# To Kafka


def test_what_redis_and_the_sdk_send_is_read_by_kafkas_clients(
    bootstrap: str, topic: str, resp: Any, mq: onemq.Client
) -> None:
    before_ms = int(time() * 1000)
    resp.xadd(topic, {"body": "one"})
    resp.xadd(topic, {"colour": "red", "size": "5"})
    resp.xadd(topic, {"body": "three", "colour": "blue"}, id=f"{before_ms + 100_000}-5")
    mq.producer().send(topic, b"four", key="k", headers={"h": "v"}, tag="t")
    resp.execute_command("MQ.SEND", topic, "five", "KEY", "m", "HEADER", "h", "w")
    for name, read in READERS.items():
        one, two, three, four, five = read(bootstrap, topic, 5)
        nothing = b"" if name == "kcat" else None
        assert one == Sent(b"one", nothing, ())
        assert two == Sent(b"", nothing, (("colour", b"red"), ("size", b"5")))
        assert (three.value, dict(three.headers)["colour"]) == (b"three", b"blue")
        assert (four.value, four.key) == (b"four", b"k")
        assert (dict(four.headers)["h"], dict(four.headers)["_tag"]) == (b"v", b"t")
        assert (five.value, five.key, dict(five.headers)["h"]) == (b"five", b"m", b"w")
    times = [each.timestamp()[1] for each in confluent_messages(bootstrap, topic, 5)]
    assert all(before_ms <= each <= int(time() * 1000) for each in times)


def test_messages_that_were_deleted_are_not_read_by_kafkas_clients(bootstrap: str, topic: str, resp: Any) -> None:
    ids = [resp.xadd(topic, {"body": str(number)}) for number in range(6)]
    confluent_send(bootstrap, topic, [Sent(b"kafka")])
    resp.xdel(topic, ids[1], ids[4])
    for read in READERS.values():
        assert [each.value for each in read(bootstrap, topic, 5)] == [b"0", b"2", b"3", b"5", b"kafka"]


# What Kafka's producers ask for in headers


def test_a_delay_in_a_header_is_kept(bootstrap: str, topic: str, resp: Any) -> None:
    begun = monotonic()
    confluent_send(bootstrap, topic, [Sent(b"later", b"k", (("_due", b"+700"), ("h", b"v"))), Sent(b"now")])
    assert [fields[b"body"] for _, fields in resp.xrange(topic)] == [b"now"]
    later = confluent_read(bootstrap, topic, 2)[1]
    assert monotonic() - begun >= 0.7
    assert (later.value, later.key, dict(later.headers)["h"]) == (b"later", b"k", b"v")


def test_priorities_tags_and_expiry_in_headers_count_for_groups(
    bootstrap: str, topic: str, resp: Any
) -> None:
    resp.execute_command("MQ.TOPIC", "CREATE", topic)
    resp.execute_command("MQ.GROUP", "CREATE", topic, "all")
    resp.execute_command("MQ.GROUP", "CREATE", topic, "tagged", "FILTER", "red")
    soon = b"%d" % (time() * 1000 + 200)
    confluent_send(bootstrap, topic, [
        Sent(b"low", None, (("_pri", b"1"),)), Sent(b"plain"), Sent(b"high", None, (("_pri", b"9"), ("_tag", b"red"))),
        Sent(b"gone", None, (("_exp", soon),)),
    ])  # fmt: skip
    eventually(lambda: time() * 1000 > int(soon))
    got = resp.execute_command("MQ.RECEIVE", topic, "all", "COUNT", "9")
    assert [each[b"body"] for each in got] == [b"high", b"plain", b"low"]
    got = resp.execute_command("MQ.RECEIVE", topic, "tagged", "COUNT", "9")
    assert [each[b"body"] for each in got] == [b"high"]


def test_a_group_of_the_sdk_works_off_what_kafka_sends(bootstrap: str, topic: str, mq: onemq.Client, resp: Any) -> None:
    """A message that fails comes again, and becomes a dead letter, which Kafka's clients can read."""
    resp.execute_command("MQ.TOPIC", "CREATE", topic)
    resp.execute_command("MQ.GROUP", "CREATE", topic, "g", "RETRY", "NONE", "2")
    confluent_send(bootstrap, topic, [Sent(b"good", b"k"), Sent(b"bad", b"k")], "lz4")
    seen: list[bytes] = []

    @mq.consumer(topic, group="g")
    def handle(message: onemq.Message) -> None:
        seen.append(message.body)
        if message.body == b"bad":
            raise ValueError("bad")

    with mq.run_in_background():
        (dead,) = confluent_read(bootstrap, f"{topic}.g.dead", 1)
    assert (seen.count(b"good"), seen.count(b"bad")) == (1, 3)
    assert (dead.value, dead.key) == (b"bad", b"k")
