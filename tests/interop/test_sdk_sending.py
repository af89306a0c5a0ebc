"""Sending through the SDK to a real broker: rows B1 to B11, B14 and B15 of the capabilities."""

import asyncio
import gzip
import os
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from crc32c import crc32c

import onemq
import onemq.aio
from onemq.errors import BadBody, InvalidArgument, TooLarge
from tests.interop.sdk import Seen, eventually


@pytest.fixture
def url(onemq_port: int) -> str:
    return f"onemq://127.0.0.1:{onemq_port}"


@pytest.fixture
def mq(url: str) -> Iterator[onemq.Client]:
    with onemq.connect(url) as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def bodies(mq: onemq.Client, topic: str, count: int = 1000) -> list[bytes]:
    return [message.body for message in mq.read(topic, start="first", count=count)]


def test_b1_sync_returns_a_receipt(mq: onemq.Client, topic: str) -> None:
    receipt = mq.producer().send(topic, b"one")
    (message,) = mq.read(topic, start="first")
    assert (receipt.partition, receipt.offset, receipt.id) == (message.partition, message.offset, message.id)
    assert message.body == b"one"


def test_b1_the_receipt_names_the_message_also_in_a_topic_made_anew(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    producer.send(topic, b"of the old one")
    mq.topics.delete(topic)
    receipt = producer.send(topic, b"of the new one")
    (message,) = mq.read(topic, start="first")
    assert (receipt.id, message.body) == (message.id, b"of the new one")


def test_b1_a_misspelt_option_is_told(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    with pytest.raises(TypeError, match="dealy"):
        producer.send(topic, b"x", dealy="1h")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="retrys"):
        mq.producer(retrys=3)  # type: ignore[call-arg]
    assert bodies(mq, topic) == []


def test_b3_a_producer_learns_of_new_partitions(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    producer.send(topic, b"one partition")
    mq.topics.alter(topic, partitions=4)
    producer.send(topic, b"the broker tells of the others")
    assert {producer.send(topic, b"...").partition for _ in range(4)} == {0, 1, 2, 3}
    keys = [f"key {number}" for number in range(20)]
    expected = {key: crc32c(key.encode()) % 4 for key in keys}
    assert {key: producer.send(topic, b"...", key=key).partition for key in keys} == expected


def test_b1_async_gives_a_future_and_calls_back(mq: onemq.Client, topic: str) -> None:
    producer, told = mq.producer(), Seen()
    pending = producer.send_async(topic, b"one", on_done=told.add)
    assert pending.result(10).offset == 0
    assert told.wait_for(1)[0].receipt.offset == 0
    assert producer.send_async(topic, b"two").result(10).offset == 1


def test_b1_one_way_is_not_waited_for(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    producer.send_oneway(topic, b"one")
    producer.flush()
    assert bodies(mq, topic) == [b"one"]


def test_b1_all_ways_in_asyncio(url: str, topic: str) -> None:
    async def scenario() -> list[int | None]:
        async with onemq.aio.connect(url) as mq, mq.producer() as producer:
            first = await producer.send(topic, b"one")
            pending = await producer.send_async(topic, b"two")
            await producer.send_oneway(topic, b"three")
            second = await pending
            last = await producer.send_batch(topic, [b"four", b"five"])
            return [first.offset, second.offset, *(each.offset for each in last)]

    assert asyncio.run(scenario()) == [0, 1, 3, 4]


def test_b1_a_failed_send_raises_and_the_next_one_works(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, max_bytes=10_000)
    producer = mq.producer(compress_above=None)
    producer.send(topic, b"fits")
    with pytest.raises(TooLarge):
        producer.send(topic, os.urandom(20_000))
    assert producer.send(topic, b"fits too").offset == 1


def test_b1_closing_sends_what_is_left(url: str, mq: onemq.Client, topic: str) -> None:
    with onemq.connect(url) as other:
        producer = other.producer()
        for number in range(5_000):
            producer.send_oneway(topic, b"%d" % number)
    assert [int(body) for body in bodies(mq, topic, 10_000)] == list(range(5_000))


def test_b2_a_large_list_is_split_by_itself(mq: onemq.Client, topic: str) -> None:
    many = [os.urandom(1_000) for _ in range(10_000)]  # 10 MB: more than a broker takes in one batch
    receipts = mq.producer().send_batch(topic, many)
    assert [receipt.offset for receipt in receipts] == list(range(10_000))
    assert mq.topics.info(topic)["messages"] == 10_000


def test_b2_messages_of_a_batch_may_have_options(mq: onemq.Client, topic: str) -> None:
    receipts = mq.producer().send_batch(topic, [b"plain", onemq.Outgoing("text", "k", {"tag": "t"}), {"a": 1}])
    assert len(receipts) == 3
    plain, tagged, json = mq.read(topic, start="first")
    assert (plain.value, plain.key, plain.tag) == (b"plain", None, None)
    assert (tagged.value, tagged.key, tagged.tag) == ("text", "k", "t")
    assert json.value == {"a": 1}


def test_b3_without_a_key_partitions_take_turns(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 4)
    producer = mq.producer()
    assert [producer.send(topic, b"x").partition for _ in range(8)] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_b3_the_hash_of_a_key_decides_as_in_the_broker(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 4)
    producer = mq.producer()
    for number in range(20):
        key = f"key-{number}"
        expected = crc32c(key.encode()) % 4
        assert producer.send(topic, b"x", key=key).partition == expected
        assert producer.send(topic, b"x", key="other", ordering_key=key).partition == expected
        by_broker = mq.execute("MQ.SEND", topic, "x", "KEY", key)
        assert by_broker[b"partition"] == expected


def test_b3_a_selector_or_a_number_decides(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 4)
    producer = mq.producer(selector=lambda key, count: count - 1)
    assert producer.send(topic, b"x", key="k").partition == 3
    assert producer.send(topic, b"x", partition=1).partition == 1
    with pytest.raises(InvalidArgument):
        producer.send(topic, b"x", partition=4)


def test_b3_new_partitions_are_found(mq: onemq.Client, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.client.batching.REFRESH_SECONDS", 0.02)
    producer = mq.producer()
    assert producer.send(topic, b"x").partition == 0
    mq.topics.alter(topic, partitions=3)
    eventually(lambda: producer.send(topic, b"x").partition == 2)


def test_b4_large_bodies_are_compressed_and_come_back(mq: onemq.Client, topic: str) -> None:
    body = b"words " * 10_000
    producer = mq.producer()
    producer.send(topic, body)
    producer.send(topic, body[:1_000])
    producer.send(topic, os.urandom(10_000))
    large, small, random_bytes = mq.read(topic, start="first")
    assert large.body == body
    assert small.body == body[:1_000]
    assert len(random_bytes.body) == 10_000
    (raw,) = mq.execute("MQ.READ", topic, "FROM", "FIRST", "COUNT", 1)
    assert raw[b"encoding"] == b"gzip"
    assert gzip.decompress(raw[b"body"]) == body


def test_b4_messages_too_large_for_a_batch_are_sent_by_themselves(mq: onemq.Client, topic: str) -> None:
    body = os.urandom(3_000_000)
    assert mq.producer(timeout=20).send(topic, body).offset == 0
    assert bodies(mq, topic) == [body]


def test_b5_a_batch_that_is_sent_again_is_stored_once(mq: onemq.Client, topic: str) -> None:
    """The connection is dropped again and again under load; see also the tests with a killed broker."""
    producer = mq.producer(retries=9)
    producer.send(topic, b"first")
    pending = []
    for number in range(3_000):
        pending.append(producer.send_async(topic, b"%d" % number))
        if number % 300 == 0:
            mq._portal.loop.call_soon_threadsafe(mq._async._link.renew)
    assert [each.result(60).offset for each in pending] == list(range(1, 3_001))
    assert [int(body) for body in bodies(mq, topic, 10_000)[1:]] == list(range(3_000))


def test_b7_a_session_sends_and_acknowledges_together(mq: onemq.Client, topic: str) -> None:
    mq.producer().send_batch(topic, [b"1", b"2", b"3"])
    with mq.session() as session:
        for message in session.receive(topic, "g", 10, wait=5):
            session.send(topic + ".out", b"from " + message.body)
    assert bodies(mq, topic + ".out") == [b"from 1", b"from 2", b"from 3"]
    assert mq.groups.info(topic, "g")["lag"] == 0


def test_b7_a_session_that_fails_sends_nothing_and_gets_its_messages_again(mq: onemq.Client, topic: str) -> None:
    mq.producer().send(topic, b"1")
    mq.groups.create(topic, "g", retry=onemq.Immediate())
    with pytest.raises(ZeroDivisionError), mq.session() as session:
        (message,) = session.receive(topic, "g", wait=5)
        session.send(topic + ".out", message.body)
        raise ZeroDivisionError
    with mq.session() as session:
        (again,) = session.receive(topic, "g", wait=5)
        assert (again.id, again.deliveries) == (message.id, 2)
    assert not mq.topics.list(topic + ".out")


def test_b7_a_session_that_cannot_send_acknowledges_nothing(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic + ".out", max_bytes=10)
    mq.producer().send(topic, b"1")
    with pytest.raises(TooLarge), mq.session() as session:
        session.receive(topic, "g", wait=5)
        session.send(topic + ".out", b"far too large for that topic")
    assert mq.groups.info(topic, "g")["lag"] == 1


def test_b7_a_session_one_of_whose_sends_fails_sends_nothing(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic + ".small", max_bytes=10)
    mq.topics.create(topic + ".out")
    with pytest.raises(TooLarge), mq.session() as session:
        session.send(topic + ".out", b"before")
        session.send(topic + ".small", b"far too large for that topic")
        session.send(topic + ".out", b"after")
    with pytest.raises(InvalidArgument), mq.session() as session:
        session.send(topic + ".out", b"before")
        session.send(topic + ".out", b"never", cron="61 * * * *")
    assert bodies(mq, topic + ".out") == []


def test_b7_a_transacted_handler_sends_with_its_acknowledgement(mq: onemq.Client, topic: str) -> None:
    failed = threading.Event()

    @mq.consumer(topic, group="g", acknowledge="transacted", retry=onemq.Immediate())
    def forward(message: onemq.Message, unit: onemq.Unit) -> None:
        unit.send(topic + ".out", message.body)
        if not failed.is_set():
            failed.set()
            raise ValueError("the first time it fails")

    mq.producer().send(topic, b"1")
    with mq.run_in_background():
        eventually(lambda: mq.groups.info(topic, "g")["lag"] == 0)
    assert bodies(mq, topic + ".out") == [b"1"]


def test_b7_what_a_handler_did_for_a_message_that_somebody_else_finished_does_not_count(
    mq: onemq.Client, topic: str
) -> None:
    batches: list[list[bytes]] = []

    @mq.consumer(topic, group="g", acknowledge="transacted", batch=2)
    def forward(messages: list[onemq.Message], unit: onemq.Unit) -> None:
        for message in messages:
            unit.send(topic + ".out", message.body)
        if not batches:
            mq.execute("MQ.ACK", topic, "g", "0:0")
        batches.append([message.body for message in messages])

    mq.producer().send_batch(topic, [b"1", b"2"])
    with mq.run_in_background():
        eventually(lambda: mq.groups.info(topic, "g")["lag"] == 0)
    assert batches == [[b"1", b"2"], [b"2"]]
    assert bodies(mq, topic + ".out") == [b"2"]


def test_b8_a_delayed_message_comes_when_it_is_due(mq: onemq.Client, topic: str) -> None:
    receipt = mq.producer().send(topic, b"later", delay="300ms")
    assert receipt.offset is None
    assert receipt.due is not None
    (message,) = mq.consumer(topic, "g").receive(wait=10)
    assert message.body == b"later"
    assert message.stored >= receipt.due


def test_b8_a_level_is_one_of_eighteen(mq: onemq.Client, topic: str) -> None:
    receipt = mq.producer().send(topic, b"later", level=18)
    (timer,) = mq.schedule.list(topic)
    assert receipt.due == timer["due"]
    assert receipt.schedule is not None
    assert mq.schedule.cancel(receipt.schedule) == 1
    with pytest.raises(InvalidArgument):
        mq.producer().send(topic, b"later", level=19)


def test_b8_at_a_time_and_moved(mq: onemq.Client, topic: str) -> None:
    receipt = mq.producer().send(topic, b"later", at="2099-01-01T00:00:00Z")
    assert receipt.schedule is not None
    mq.schedule.move(receipt.schedule, delay="10ms")
    (message,) = mq.consumer(topic, "g").receive(wait=10)
    assert message.body == b"later"


def test_b9_a_period_with_a_count(mq: onemq.Client, topic: str) -> None:
    mq.producer().send(topic, b"tick", every="50ms", times=3)
    eventually(lambda: bodies(mq, topic) == [b"tick"] * 3)
    assert mq.schedule.list(topic) == []


def test_b9_a_cron_expression_is_kept_until_it_is_cancelled(mq: onemq.Client, topic: str) -> None:
    receipt = mq.producer().send(topic, b"new year", cron="0 0 1 1 *", zone="Europe/Berlin")
    (timer,) = mq.schedule.list(topic)
    assert timer["cron"] == "0 0 1 1 *"
    assert receipt.schedule is not None
    assert mq.schedule.cancel(receipt.schedule) == 1


def test_b10_higher_priorities_come_first(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    for priority in (0, 4, 9, 1, 9):
        producer.send(topic, b"%d" % priority, priority=priority)
    messages = mq.consumer(topic, "g").receive(10, wait=5)
    assert [message.priority for message in messages] == [9, 9, 4, 1, 0]
    with pytest.raises(InvalidArgument):
        producer.send(topic, b"x", priority=10)


def test_b11_an_expired_message_is_not_handed_out(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    producer.send(topic, b"short", expires="1ms")
    producer.send(topic, b"long", expires="1h")
    eventually(lambda: mq.read(topic, start="last", wait=0) == [])
    threading.Event().wait(0.01)
    assert [message.body for message in mq.consumer(topic, "g").receive(10, wait=5)] == [b"long"]


@dataclass
class Order:
    number: int
    item: str


def test_b14_bodies_are_what_was_sent(mq: onemq.Client, topic: str) -> None:
    sent = ["text", b"bytes", {"a": [1, 2.5, None]}, [1, "two"], True]
    producer = mq.producer()
    for body in sent:
        producer.send(topic, body)
    assert [message.value for message in mq.read(topic, start="first")] == sent
    with pytest.raises(BadBody):
        producer.send(topic, object())


def test_b14_a_handler_gets_what_its_annotation_says(mq: onemq.Client, topic: str) -> None:
    orders = Seen()

    @mq.consumer(topic, group="g")
    def book(order: Order) -> None:
        orders.add(order)

    producer = mq.producer()
    producer.send(topic, Order(1, "book"))
    producer.send(topic, "no order at all")
    producer.send(topic, Order(2, "pen"))
    with mq.run_in_background():
        assert orders.wait_for(2) == [Order(1, "book"), Order(2, "pen")]
        eventually(lambda: mq.groups.info(topic, "g")["lag"] == 0)
    (dead,) = mq.dead.list(topic, group="g")
    assert dead.value == "no order at all"
    assert dead.dead is not None
    assert "Order" in dead.dead["reason"]


def test_b15_a_request_gets_what_the_handler_returns(mq: onemq.Client, topic: str) -> None:
    @mq.consumer(topic, group="squares", concurrency=4)
    def square(message: onemq.Message) -> dict[str, int]:
        return {"square": message.json() ** 2}

    with mq.run_in_background():
        assert [mq.request(topic, number).value for number in (3, 4)] == [{"square": 9}, {"square": 16}]


def test_b15_requests_may_overlap(url: str, topic: str) -> None:
    async def scenario() -> list[int]:
        async with onemq.aio.connect(url) as mq:

            @mq.consumer(topic, group="echo", concurrency=8)
            async def echo(message: onemq.Message) -> int:
                await asyncio.sleep(random.random() / 100)
                return int(message.value)

            await mq.start()
            answers = await asyncio.gather(*(mq.request(topic, number) for number in range(20)))
            return [answer.value for answer in answers]

    assert asyncio.run(scenario()) == list(range(20))


def test_b15_nobody_answers(mq: onemq.Client, topic: str) -> None:
    with pytest.raises(onemq.errors.TimedOut):
        mq.request(topic, b"hello", timeout="50ms")


def test_b15_what_a_handler_returns_goes_to_the_next_topic(mq: onemq.Client, topic: str) -> None:
    @mq.consumer(topic, group="g", send_to=topic + ".next")
    def double(message: onemq.Message) -> bytes:
        return message.body * 2

    mq.producer().send(topic, b"ab", key="k")
    with mq.run_in_background():
        (message,) = mq.consumer(topic + ".next", "g").receive(wait=20)
    assert (message.body, message.key) == (b"abab", "k")


def test_a_callback_must_not_wait_for_its_own_thread(mq: onemq.Client, topic: str) -> None:
    producer, told = mq.producer(), Seen()

    def send_another(pending: onemq.Pending) -> None:
        try:
            producer.send(topic, b"second")
        except InvalidArgument as problem:
            told.add(problem.text)

    producer.send_async(topic, b"first", on_done=send_another)
    assert "wait for itself" in told.wait_for(1)[0]


def test_senders_wait_when_too_much_is_under_way(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer(buffer_bytes=10_000, compress_above=None)
    for _ in range(300):
        producer.send_oneway(topic, bytes(1_000))
        assert producer._core.batching._held_bytes < 20_000
    producer.flush()
    assert mq.topics.info(topic)["messages"] == 300
