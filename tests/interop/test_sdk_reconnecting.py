"""The SDK while its broker is killed, stopped and started again: nothing is lost, and nothing is there twice."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import onemq
from onemq.errors import Disconnected, TimedOut
from tests.interop.sdk import Seen, eventually
from tests.process import Serve, free_port


class Restarted:
    """A broker that can be killed and started again on the same folder and port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.url = f"onemq://127.0.0.1:{self.port}"
        self.serving = Serve(folder, port=self.port)
        self.serving.wait_until_serving()

    def kill(self) -> None:
        self.serving.kill()
        self.serving.__exit__(None, None, None)

    def start(self) -> None:
        self.serving = Serve(self._folder, port=self.port)
        self.serving.wait_until_serving()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Restarted]:
    restarted = Restarted(tmp_path / "data")
    try:
        yield restarted
    finally:
        restarted.serving.__exit__(None, None, None)


def numbers(mq: onemq.Client, topic: str) -> list[int]:
    found: list[int] = []
    while batch := mq.read(topic, start=len(found), count=1000):
        found += [int(message.body) for message in batch]
    return found


def test_b5_sending_goes_on_over_kills_and_stores_each_message_once(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        mq.topics.create("orders", 1)
        producer = mq.producer(timeout=20, retries=5)
        pending: list[onemq.Pending] = []
        ended = threading.Event()

        def send() -> None:
            number = 0
            while not ended.is_set() or number < 2_000:
                pending.append(producer.send_async("orders", b"%d" % number))
                number += 1
                if number % 10 == 0:
                    ended.wait(0.005)

        sending = threading.Thread(target=send)
        sending.start()
        for round in range(3):
            eventually(lambda: sum(each.done() for each in list(pending)) > 200 * (round + 1))
            broker.kill()
            broker.start()
        ended.set()
        sending.join()
        receipts = [each.result(60) for each in pending]
        assert [receipt.offset for receipt in receipts] == list(range(len(pending)))
        assert numbers(mq, "orders") == list(range(len(pending)))


def test_b5_special_messages_are_stored_once_over_a_kill(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        producer = mq.producer(timeout=20, retries=5)
        pending = [producer.send_async("orders", b"%d" % number, expires="1h") for number in range(300)]
        broker.kill()
        pending += [producer.send_async("orders", b"%d" % number, expires="1h") for number in range(300, 600)]
        broker.start()
        for each in pending:
            each.result(60)
        assert sorted(numbers(mq, "orders")) == list(range(600))


def test_b4_a_message_fails_when_all_retries_are_over_and_later_ones_do_not(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        producer = mq.producer(timeout="200ms", retries=1)
        producer.send("orders", b"0")
        broker.kill()
        with pytest.raises(TimedOut):
            producer.send("orders", b"1")
        broker.start()
        eventually(lambda: mq._async._link.connection is not None)
        receipt = producer.send("orders", b"2")
        found = numbers(mq, "orders")
        assert found[0] == 0
        assert found[-1] == 2
        assert receipt.offset == len(found) - 1


def test_b4_a_broker_that_does_not_answer_is_connected_to_anew(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        producer = mq.producer(timeout="300ms", retries=100)
        producer.send("orders", b"0")
        os.kill(broker.serving.pid, signal.SIGSTOP)
        pending = producer.send_async("orders", b"1")
        connection = mq._async._link.connection
        eventually(lambda: mq._async._link.connection is not connection)
        os.kill(broker.serving.pid, signal.SIGCONT)
        assert pending.result(30).offset == 1
        assert numbers(mq, "orders") == [0, 1]


def test_consumers_go_on_over_kills_and_handle_each_message_once(broker: Restarted) -> None:
    """What a handler did before the broker died is told to the next one before anything is received there."""
    with onemq.connect(broker.url) as mq:
        producer = mq.producer(timeout=20, retries=5)
        producer.send_batch("orders", [b"%d" % number for number in range(3_000)])
        seen = Seen()

        @mq.consumer("orders", group="g", concurrency=2, prefetch=50)
        def handle(message: onemq.Message) -> None:
            threading.Event().wait(0.0005)
            seen.add(int(message.body))

        with mq.run_in_background():
            for round in range(3):
                seen.wait_for(400 * (round + 1))
                broker.kill()
                broker.start()
            seen.wait_for(3_000)
            eventually(lambda: mq.groups.info("orders", "g")["lag"] == 0)
        assert Counter(seen.items) == Counter(range(3_000))


def test_a_pulling_consumer_goes_on_after_a_kill(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        mq.producer().send_batch("orders", [b"0", b"1"])
        consumer = mq.consumer("orders", "g")
        (message,) = consumer.receive(wait=5)
        broker.kill()
        message.ack()
        broker.start()
        eventually(lambda: mq.groups.info("orders", "g")["lag"] == 1)
        found = [again.offset for again in consumer.receive(5, wait=5)]
        assert found == [1]


def test_a_broadcast_goes_on_after_a_kill(broker: Restarted) -> None:
    with onemq.connect(broker.url) as mq:
        seen = Seen()
        mq.broadcast("news", start="first")(lambda message: seen.add(int(message.body)))
        producer = mq.producer(timeout=20)
        with mq.run_in_background():
            producer.send("news", b"0")
            seen.wait_for(1)
            broker.kill()
            broker.start()
            producer.send("news", b"1")
            assert seen.wait_for(2) == [0, 1]


def test_no_broker_is_told_at_once() -> None:
    with pytest.raises(Disconnected, match="is the broker running"):
        onemq.connect(f"onemq://127.0.0.1:{free_port()}")


def test_c14_a_broker_killed_between_handler_and_commit_counts_each_message_once(broker: Restarted) -> None:
    """What both had in hand comes again after the kill, also to the other one, and all of them commit then."""
    begun, may_commit, count = Seen(), threading.Event(), 400

    def serve(mq: onemq.Client) -> None:
        @mq.consumer("orders", group="push", acknowledge="transacted", batch=10, prefetch=100, concurrency=4)
        def push(messages: list[onemq.Message], unit: onemq.Unit) -> None:
            begun.add(len(messages))
            may_commit.wait(60)
            for message in messages:
                unit.send("pushes", message.body)

    with onemq.connect(broker.url) as one, onemq.connect(broker.url) as other:
        one.topics.create("orders", 2)
        one.topics.create("pushes", 1)
        one.producer().send_batch("orders", [b"%d" % number for number in range(count)])
        serve(one)
        serve(other)
        with one.run_in_background(), other.run_in_background():
            begun.wait_for(8)
            broker.kill()
            broker.start()
            may_commit.set()
            eventually(lambda: one.groups.info("orders", "push")["lag"] == 0)
        assert sorted(numbers(one, "pushes")) == list(range(count))
