"""Half messages through the SDK (row B6), with senders that die and the clock in the test's hands."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

import onemq
from onemq.testing import Broker, broker
from tests.interop.sdk import Seen, eventually


@pytest.fixture
def serving() -> Iterator[Broker]:
    with broker() as running:
        yield running


@pytest.fixture
def mq(serving: Broker) -> Iterator[onemq.Client]:
    with onemq.connect(serving.url) as client:
        yield client


def stored(mq: onemq.Client) -> list[bytes]:
    return [message.body for message in mq.read("orders", start="first")] if mq.topics.list("orders") else []


def send_and_die(url: str, step: str) -> str:
    """The transaction of a sender that died at a step."""
    command = [sys.executable, "-m", "tests.interop.sdk_programs", "half", url, step]
    died = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert died.returncode == 1, died.stderr
    return died.stdout.strip()


def test_b6_a_half_message_is_not_seen_before_its_commit(mq: onemq.Client) -> None:
    producer = mq.producer(group="shop")
    with producer.transaction("orders", {"orderno": 1}, key="10002") as transaction:
        assert stored(mq) == []
        assert [row["transaction"] for row in mq.transactions("shop")] == [transaction.id]
    (message,) = mq.read("orders", start="first")
    assert (message.value, message.key, message.id) == ({"orderno": 1}, "10002", transaction.receipts[0].id)
    assert mq.transactions() == []
    assert transaction.verdict is onemq.COMMIT


def test_b6_an_error_takes_it_back(mq: onemq.Client) -> None:
    producer = mq.producer(group="shop")
    with pytest.raises(ZeroDivisionError), producer.transaction("orders", b"order"):
        raise ZeroDivisionError
    assert stored(mq) == []
    assert mq.transactions() == []


def test_b6_several_messages_commit_together(mq: onemq.Client) -> None:
    with mq.producer(group="shop").transaction("orders", b"1") as transaction:
        transaction.send("orders", b"2")
        transaction.send("points", b"3")
    assert stored(mq) == [b"1", b"2"]
    assert [message.body for message in mq.read("points", start="first")] == [b"3"]


def test_b6_a_sender_that_died_before_its_half_message_left_nothing(serving: Broker, mq: onemq.Client) -> None:
    assert send_and_die(serving.url, "before") == ""
    assert mq.transactions() == []


def test_b6_a_sender_that_died_after_its_commit_is_not_asked_about(serving: Broker, mq: onemq.Client) -> None:
    assert send_and_die(serving.url, "after")
    asked = Seen()
    mq.producer(group="shop").on_check(lambda half: asked.add(half) or onemq.ROLLBACK)  # type: ignore[func-returns-value]
    serving.advance("1h", step="1m")
    assert stored(mq) == [b"order"]
    assert asked.items == []


@pytest.mark.parametrize("verdict", [onemq.COMMIT, onemq.ROLLBACK])
def test_b6_others_are_asked_about_a_sender_that_died_in_between(
    serving: Broker, mq: onemq.Client, verdict: object
) -> None:
    transaction = send_and_die(serving.url, "between")
    asked = Seen()

    def check(half: onemq.Message) -> object:
        asked.add((half.transaction_id, half.body, half.key))
        return verdict

    mq.producer(group="shop").on_check(check)  # type: ignore[arg-type]
    assert stored(mq) == []
    serving.advance("61s")
    assert asked.wait_for(1) == [(transaction, b"order", "10002")]
    eventually(lambda: mq.transactions() == [])
    assert stored(mq) == ([b"order"] if verdict is onemq.COMMIT else [])


def test_b6_whoever_does_not_know_is_asked_again_at_most_fifteen_times(serving: Broker, mq: onemq.Client) -> None:
    asked = Seen()

    async def check(half: onemq.Message) -> object:
        asked.add(half.transaction_id)
        return onemq.UNKNOWN

    producer = mq.producer(group="shop")
    producer.on_check(check)  # type: ignore[arg-type]
    transaction = producer.transaction("orders", b"order").__enter__()
    for number in range(15):
        assert len(asked.items) == number
        serving.advance("60s")
        asked.wait_for(number + 1)
    serving.advance("60s")
    eventually(lambda: mq.transactions() == [])
    assert asked.items == [transaction.id] * 15
    assert stored(mq) == []


def test_b6_a_transaction_may_have_a_time_of_its_own(serving: Broker, mq: onemq.Client) -> None:
    asked = Seen()
    producer = mq.producer(group="shop")
    producer.on_check(lambda half: asked.add(half) or onemq.COMMIT)  # type: ignore[func-returns-value]
    producer.transaction("orders", b"order", check_after="10m").__enter__()
    serving.advance("9m")
    assert asked.items == []
    serving.advance("61s")
    asked.wait_for(1)
    eventually(lambda: stored(mq) == [b"order"])


def test_b6_without_a_producer_group_nobody_could_be_asked(mq: onemq.Client) -> None:
    with pytest.raises(onemq.errors.InvalidArgument):
        mq.producer().transaction("orders", b"order")
