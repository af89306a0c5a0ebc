"""MQ.* by redis-py, in RESP2 and RESP3, against a real broker."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from onemq.log.batch import walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, decode
from tests.process import Serve


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def mq(onemq_port: int, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """One connection to an empty broker."""
    with redis.Redis(
        port=onemq_port, protocol=request.param, single_connection_client=True, decode_responses=True
    ) as client:
        client.flushall()
        yield client


def facts(reply: Any) -> dict[str, Any]:
    """A map, which RESP2 has as a flat array."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def all_facts(reply: Any) -> list[dict[str, Any]]:
    return [facts(each) for each in reply]


def test_a_message_there_and_back(mq: redis.Redis) -> None:
    sent = facts(mq.execute_command("MQ.SEND", "orders", "hello", "KEY", "k", "TAG", "new", "HEADER", "a", "b"))
    (message,) = all_facts(mq.execute_command("MQ.RECEIVE", "orders", "points"))
    assert message["id"] == sent["id"]
    assert [message[name] for name in ("body", "key", "tag")] == ["hello", "k", "new"]
    assert facts(message["headers"]) == {"a": "b"}
    assert mq.execute_command("MQ.ACK", "orders", "points", message["receipt"]) == 1
    assert mq.execute_command("MQ.RECEIVE", "orders", "points") == []


def test_errors_tell_what_to_do(mq: redis.Redis) -> None:
    with pytest.raises(redis.ResponseError, match=r"NOTOPIC there is no topic 'nothing': MQ\.TOPIC CREATE makes one"):
        mq.execute_command("MQ.ACK", "nothing", "g", "0:0")
    with pytest.raises(redis.ResponseError, match=r"there is no option 'DELAYED'; MQ\.HELP SEND shows what there is"):
        mq.execute_command("MQ.SEND", "orders", "x", "DELAYED", "1s")
    with pytest.raises(redis.ResponseError, match=r"wrong number of arguments for 'mq\.send' command"):
        mq.execute_command("MQ.SEND", "orders")


def test_waiting_is_ended_by_a_message(mq: redis.Redis, onemq_port: int) -> None:
    mq.execute_command("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 3)
    with redis.Redis(port=onemq_port) as other:
        timer = threading.Timer(0.05, other.execute_command, ("MQ.SEND", "orders", "late"))
        timer.start()
        (message,) = all_facts(mq.execute_command("MQ.RECEIVE", "orders", "points", "WAIT", "20s"))
        timer.join()
    assert message["body"] == "late"


def test_a_delayed_message_comes_by_itself(mq: redis.Redis) -> None:
    sent = facts(mq.execute_command("MQ.SEND", "orders", "later", "DELAY", "50ms"))
    (message,) = all_facts(mq.execute_command("MQ.RECEIVE", "orders", "points", "WAIT", "20s"))
    assert message["id"] == sent["id"]
    assert message["stored"] >= message["due"] == sent["due"]


def test_a_lost_connection_gives_back_at_once(mq: redis.Redis, onemq_port: int) -> None:
    mq.execute_command("MQ.SEND", "orders", "x")
    with redis.Redis(port=onemq_port, single_connection_client=True) as other:
        assert len(other.execute_command("MQ.RECEIVE", "orders", "points")) == 1
    (message,) = all_facts(mq.execute_command("MQ.RECEIVE", "orders", "points", "WAIT", "20s"))
    assert message["deliveries"] == 2


def test_units_are_all_or_nothing(mq: redis.Redis) -> None:
    mq.execute_command("MQ.SEND", "orders", "x")
    mq.execute_command("MQ.RECEIVE", "orders", "points")
    with mq.pipeline(transaction=True) as unit:
        unit.execute_command("MQ.ACK", "orders", "points", "0:0")
        unit.execute_command("MQ.SEND", "mails", "thanks")
        unit.execute_command("MQ.RECEIVE", "mails", "sender", "WAIT", "1h")
        done, sent, received = unit.execute()
    assert (done, facts(sent)["offset"], [each["body"] for each in all_facts(received)]) == (1, 0, ["thanks"])


def test_what_somebody_else_has_finished_cannot_be_finished_again(mq: redis.Redis, onemq_port: int) -> None:
    def finish(key: str) -> list[Any]:
        with mq.pipeline(transaction=True) as unit:
            unit.execute_command("MQ.SEND", "mails", "thanks", "IDEMPOTENCY", key)
            unit.execute_command("MQ.ACK", "orders", "points", "0:0-1")
            return unit.execute(raise_on_error=False)

    mq.execute_command("MQ.SENDMANY", "orders", "BODIES", "x", "y")
    with redis.Redis(port=onemq_port, single_connection_client=True) as lost:
        assert len(lost.execute_command("MQ.RECEIVE", "orders", "points", "COUNT", 2)) == 2
    assert len(mq.execute_command("MQ.RECEIVE", "orders", "points", "COUNT", 2, "WAIT", "20s")) == 2
    sent, done = finish("first")
    again, done_again = finish("first")
    assert (done, done_again, facts(again)) == (2, 0, {**facts(sent), "duplicate": 1})
    aborted, late = map(str, finish("second"))
    assert aborted.startswith("ABORTED ")
    assert late.startswith("SETTLED ")
    assert mq.xlen("mails") == 1


def test_pipelines_of_batches_are_stored_once(mq: redis.Redis, onemq_port: int) -> None:
    producer = facts(mq.execute_command("MQ.PRODUCER", "shop"))
    with redis.Redis(port=onemq_port) as raw, raw.pipeline(transaction=False) as pipeline:
        for sequence in (0, 100, 200, 100):
            builder = BatchBuilder(0, 0)
            for number in range(sequence, sequence + 100):
                builder.add(0, None, b"%d" % number, NO_HEADERS)
            words = ("PRODUCER", producer["id"], producer["epoch"], sequence)
            pipeline.execute_command("MQ.APPEND", "t", 0, builder.seal(), *words)
        pipeline.execute()
        data: bytes = facts(raw.execute_command("MQ.FETCH", "t", 0, 0))[b"batches"]  # type: ignore[index]
    records = [record for position, header in walk(data) for record in decode(data, position, header)]
    assert [record[3] for record in records] == [b"%d" % number for number in range(300)]


def test_bulk_reading_selects_and_leaves_out(mq: redis.Redis, onemq_port: int) -> None:
    for number in range(6):
        mq.execute_command("MQ.SEND", "t", number, "TAG", "odd" if number % 2 else "even")
    mq.xdel("t", mq.xrange("t")[3][0])

    def fetched(*words: str | int) -> tuple[list[bytes | None], int]:
        with redis.Redis(port=onemq_port) as raw:
            reply: Any = facts(raw.execute_command("MQ.FETCH", "t", 0, *words))
        data = reply[b"batches"]
        records = [record for position, header in walk(data) for record in decode(data, position, header)]
        return [record[3] for record in records], reply[b"next"]

    assert fetched(0) == ([b"0", b"1", b"2", b"4", b"5"], 6)
    assert fetched(0, "UNTIL", 2) == ([b"0", b"1"], 2)
    assert fetched(1, "FILTER", "odd") == ([b"1", b"5"], 6)
    assert fetched(0, "FILTER", "none") == ([], 6)


def test_offsets_of_many_topics_and_marks_of_a_reader(mq: redis.Redis) -> None:
    for topic, count in (("a", 3), ("b", 1)):
        mq.execute_command("MQ.SENDMANY", topic, "BODIES", *range(count))
    rows = mq.execute_command("MQ.OFFSETS", "TIME", 0, "TOPICS", "a", "b")
    assert [(row[0], *row[2:]) for row in rows] == [("a", 0, 0, 3, 0), ("b", 0, 0, 1, 0)]
    assert mq.execute_command("MQ.GROUP", "MARK", "a", "archive", 0, 2) == "OK"
    assert facts(mq.execute_command("MQ.GROUP", "INFO", "a", "archive"))["lag"] == 1


def test_dead_letters_go_back(mq: redis.Redis) -> None:
    mq.execute_command("MQ.GROUP", "CREATE", "orders", "points", "RETRY", "NONE", 0)
    sent = facts(mq.execute_command("MQ.SEND", "orders", "x"))
    mq.execute_command("MQ.RECEIVE", "orders", "points")
    mq.execute_command("MQ.NACK", "orders", "points", "0:0", "REASON", "no stock")
    (letter,) = all_facts(mq.execute_command("MQ.DEAD", "LIST", "orders"))
    assert (letter["id"], facts(letter["dead"])["reason"]) == (sent["id"], "no stock")
    assert facts(mq.execute_command("MQ.DEAD", "REPLAY", "orders")) == {"found": 1, "sent": 1}
    (message,) = all_facts(mq.execute_command("MQ.RECEIVE", "orders", "points"))
    assert (message["id"], message["deliveries"]) == (sent["id"], 1)


def test_everything_survives_a_kill(tmp_path: Path) -> None:
    def asking(port: int) -> Callable[..., Any]:
        return redis.Redis(port=port, protocol=3, decode_responses=True, single_connection_client=True).execute_command

    with Serve(tmp_path / "data") as serving:
        serving.wait_until_serving()
        ask = asking(serving.port)
        ask("MQ.GROUP", "CREATE", "orders", "points", "ORDER", "KEY", "LEASE", "1h")
        for number in range(10):
            ask("MQ.SEND", "orders", number, "KEY", number)
        ask("MQ.SEND", "orders", "later", "DELAY", "1h")
        ask("MQ.SEND", "orders", "half", "TRANSACTION", "tx", "GROUP", "shop")
        ask("MQ.RECEIVE", "orders", "points", "COUNT", 10)
        ask("MQ.ACK", "orders", "points", "0:0-4")
        ask("MQ.REJECT", "orders", "points", "0:5")
        serving.kill()
    with Serve(tmp_path / "data") as serving:
        serving.wait_until_serving()
        ask = asking(serving.port)
        got = ask("MQ.RECEIVE", "orders", "points", "COUNT", 20)
        assert sorted(message["body"] for message in got) == ["6", "7", "8", "9"]
        assert [letter["body"] for letter in ask("MQ.DEAD", "LIST", "orders")] == ["5"]
        assert [row["body"] for row in ask("MQ.SCHEDULE", "LIST")[1]] == ["later"]
        assert ask("MQ.TX", "COMMIT", "tx") == 1
        assert ask("MQ.READ", "orders", "OFFSET", 10)[0]["body"] == "half"
