"""MQ.SEND, MQ.SENDMANY, MQ.APPEND, MQ.PRODUCER."""

import gzip

import pytest
from crc32c import crc32c

from onemq.log.batch import HEADER_BYTES, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, encode_headers
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

HOUR_MS = 3_600_000


def batch(*bodies: bytes, headers: bytes = NO_HEADERS, attributes: int = 0, time_ms: int = 5) -> bytes:
    builder = BatchBuilder(0, time_ms)
    for number, body in enumerate(bodies):
        builder.add(time_ms + number, None, body, headers)
    return builder.seal(attributes)


def resealed(data: bytes) -> bytes:
    """With the checksum that its bytes ask for."""
    return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]


def test_the_reply_says_where_the_message_is(mq: Connection) -> None:
    assert mq("MQ.SEND t hello") == {"id": "1-0-0", "topic": "t", "partition": 0, "offset": 0}
    assert mq("MQ.SEND t hello")["offset"] == 1


def test_all_that_a_message_has_comes_back(talk: Talk, mq: Connection) -> None:
    now_ms = talk.broker.now_ms
    mq("MQ.SEND t hello KEY k TAG created HEADER a 1 HEADER b 2 ORDER o EXPIRES 1h REPLYTO answers CORRELATION c "
       "TYPE text HEADER _born 123")  # fmt: skip
    (message,) = mq("MQ.RECEIVE t g")
    assert message == {
        "id": "1-0-0", "topic": "t", "partition": 0, "offset": 0, "receipt": "0:0", "key": "k", "tag": "created",
        "body": "hello", "headers": {"a": "1", "b": "2"}, "priority": 4, "deliveries": 1, "stored": now_ms,
        "order": "o", "expires": now_ms + HOUR_MS, "reply_to": "answers", "correlation": "c", "type": "text",
        "born": 123,
    }  # fmt: skip


def test_bodies_and_keys_are_bytes(mq: Connection) -> None:
    mq("MQ.SEND", "t", b"\xff\x00", "KEY", b"\xfe")
    message = mq("MQ.READ t")[0]
    assert message["body"].encode(errors="surrogateescape") == b"\xff\x00"
    assert message["key"].encode(errors="surrogateescape") == b"\xfe"


def test_resp2_has_flat_arrays(talk: Talk) -> None:
    old = talk.connect(resp3=False)
    assert old("MQ.SEND t hello") == ["id", "1-0-0", "topic", "t", "partition", 0, "offset", 0]
    assert old("MQ.READ t")[0][:4] == ["id", "1-0-0", "topic", "t"]


@pytest.mark.parametrize(
    ("options", "due_in_ms"),
    [("DELAY 10s", 10_000), ("LEVEL 1", 1_000), ("LEVEL 18", 2 * HOUR_MS), ("AT 1700000005000", 5_000),
     ("AT 2023-11-14T22:13:30Z", 10_000), ("AT '2023-11-14 22:13:30'", 10_000),
     ("AT 2023-11-15T00:13:30+02:00", 10_000)],
)  # fmt: skip
def test_a_message_can_be_due_later(talk: Talk, mq: Connection, options: str, due_in_ms: int) -> None:
    sent = mq(f"MQ.SEND t hello {options}")
    assert sent == {"id": "2-0-0", "topic": "t", "schedule": 0, "due": talk.broker.now_ms + due_in_ms}
    talk.pass_ms(due_in_ms - 1)
    assert mq("MQ.RECEIVE t g") == []
    talk.pass_ms(1)
    (message,) = mq("MQ.RECEIVE t g")
    assert (message["id"], message["due"]) == ("2-0-0", sent["due"])


def test_a_time_that_has_passed_is_now(mq: Connection) -> None:
    assert mq("MQ.SEND t hello AT 0")["offset"] == 0
    assert mq("MQ.SEND t hello DELAY 0")["offset"] == 1


def test_expiry_counts_from_when_the_message_is_due(talk: Talk, mq: Connection) -> None:
    due_ms = mq("MQ.SEND t hello DELAY 1h EXPIRES 10m")["due"]
    talk.pass_ms(HOUR_MS)
    assert mq("MQ.READ t")[0]["expires"] == due_ms + 600_000


def test_partitions_are_chosen_by_order_key_then_key_then_in_turn(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 8")
    by_key = {mq(f"MQ.SEND t x KEY k{n % 3}")["partition"] for n in range(9)}
    assert len(by_key) <= 3
    by_order = {mq(f"MQ.SEND t x KEY k{n} ORDER same")["partition"] for n in range(9)}
    assert len(by_order) == 1
    assert {mq("MQ.SEND t x")["partition"] for _ in range(8)} == set(range(8))
    assert mq("MQ.SEND t x PARTITION 5 KEY k ORDER o")["partition"] == 5
    assert "partitions 0 to 7" in refused(mq("MQ.SEND t x PARTITION 8"))


def test_what_is_transient_is_gone_after_a_restart(talk: Talk, mq: Connection) -> None:
    mq("MQ.SEND t stays")
    mq("MQ.SEND t goes TRANSIENT")
    assert "leave TRANSIENT out" in refused(mq("MQ.SEND t x TRANSIENT DELAY 1s"))
    talk.restart()
    assert [message["body"] for message in talk.connect()("MQ.READ t")] == ["stays"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("MQ.SEND t x FOO bar", "ERR MQ.SEND: there is no option 'FOO'; MQ.HELP SEND shows what there is"),
        ("MQ.SEND t x KEY", "ERR MQ.SEND: KEY needs a value after it"),
        ("MQ.SEND t x DELAY 1s AT 1700000005000", "ERR MQ.SEND: a message is due once"),
        ("MQ.SEND t x EVERY 1s ZONE Europe/Berlin", "ERR MQ.SEND: ZONE is the time zone of a CRON expression"),
        ("MQ.SEND t x DELAY soon", "ERR MQ.SEND: DELAY: 'soon' is not a duration"),
        ("MQ.SEND t x LEVEL 19", "ERR MQ.SEND: LEVEL must be a whole number, from 1 to 18, not '19'"),
        ("MQ.SEND t x AT noon", "ERR MQ.SEND: AT must be a time"),
        ("MQ.SEND t x TYPE xml", "ERR MQ.SEND: TYPE must be TEXT or BYTES or JSON, not 'xml'"),
        ("MQ.SEND t x HEADER _id 5", "ERR MQ.SEND: header names that begin with _ are OneMQ's own: '_id'"),
        ("MQ.SEND t x HEADER a", "ERR MQ.SEND: HEADER needs a value after it"),
        ("MQ.SEND __schedule x", "ERR topic names that begin with __ are OneMQ's own"),
        ("MQ.SEND '' x", "ERR a topic name must not be empty"),
        ("MQ.SENDMANY t TAG a", "ERR MQ.SENDMANY: the bodies of the messages come last"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(mq: Connection, words: str, told: str) -> None:
    assert refused(mq(words)).startswith(told)
    assert mq("MQ.TOPIC LIST") == []


def test_names_are_text(mq: Connection) -> None:
    assert refused(mq("MQ.SEND", b"\xff", "x")) == "ERR the name of a topic must be text in UTF-8"


def test_a_message_that_is_too_large_is_refused(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t MAXBYTES 10")
    assert refused(mq("MQ.SEND t 12345678901")).startswith("TOOLARGE topic 't' takes messages of up to 10 bytes")
    assert refused(mq("MQ.SENDMANY t BODIES 1 12345678901")).startswith("TOOLARGE")
    assert mq("MQ.TOPIC INFO t")["messages"] == 0, "none of them, not the small one"


def test_a_key_of_another_type_is_in_the_way(mq: Connection) -> None:
    mq("SET t x")
    told = "WRONGTYPE the key 't' holds a string: a topic needs another name"
    assert refused(mq("MQ.SEND t x")) == refused(mq("MQ.TOPIC CREATE t")) == told


def test_many_messages_go_at_once(mq: Connection) -> None:
    assert mq("MQ.SENDMANY t TAG a KEY k BODIES one two") == {
        "id": "1-0-0", "topic": "t", "partition": 0, "offset": 0, "count": 2,
    }  # fmt: skip
    sent = [(each["body"], each["tag"], each["key"]) for each in mq("MQ.READ t")]
    assert sent == [("one", "a", "k"), ("two", "a", "k")]
    mq("MQ.TOPIC CREATE p PARTITIONS 2")
    assert mq("MQ.SENDMANY p BODIES one two three") == [[0, 0], [1, 0], [0, 1]]


def test_a_producer_is_stored_once(mq: Connection) -> None:
    assert mq("MQ.PRODUCER shop") == {"id": 1, "epoch": 0}
    assert "duplicate" not in mq("MQ.SEND t one PRODUCER 1 0 0")
    assert mq("MQ.SEND t two PRODUCER 1 0 1")["offset"] == 1
    again = mq("MQ.SEND t one PRODUCER 1 0 0")
    assert (again["offset"], again["id"], again["duplicate"]) == (0, "1-0-0", 1)
    assert refused(mq("MQ.SEND t x PRODUCER 1 0 5")).startswith("OUTOFORDER")
    assert mq("MQ.PRODUCER shop") == {"id": 1, "epoch": 1}
    assert refused(mq("MQ.SEND t x PRODUCER 1 0 2")).startswith("FENCED")
    assert refused(mq("MQ.SEND t x PRODUCER 7 0 0")).startswith("NOTFOUND")
    assert mq("MQ.PRODUCER")["id"] == 2


# Batches


def test_a_batch_gets_the_time_of_the_broker(talk: Talk, mq: Connection) -> None:
    assert mq("MQ.APPEND", "t", "0", batch(b"one", b"two", headers=encode_headers([(b"_tag", b"a")]))) == {
        "partition": 0, "offset": 0, "count": 2, "topic_id": 1, "partitions": 1,
    }  # fmt: skip
    messages = mq("MQ.READ t")
    assert [(each["body"], each["tag"], each["stored"]) for each in messages] == [
        ("one", "a", talk.broker.now_ms), ("two", "a", talk.broker.now_ms),
    ]  # fmt: skip
    assert [each[0] for each in mq("XRANGE t - +")] == [f"{talk.broker.now_ms}-0", f"{talk.broker.now_ms}-1"]
    assert mq("MQ.OFFSETS t TIME 0") == [[0, 0, 2, 0]]


def test_stream_ids_grow_also_when_the_clock_went_back(talk: Talk, mq: Connection) -> None:
    mq("XADD t 1700000009999-5 a b")
    mq("MQ.APPEND", "t", "0", batch(b"one", b"two"))
    talk.broker.now_ms -= 1_000
    mq("MQ.APPEND", "t", "0", batch(b"three"))
    producer = mq("MQ.PRODUCER")["id"]
    mq(f"MQ.SEND t four PRODUCER {producer} 0 0")
    ids = [entry[0] for entry in mq("XRANGE t - +")]
    assert ids == [f"1700000009999-{number}" for number in range(5, 10)]
    assert [each["body"] for each in mq("MQ.READ t OFFSET 1")] == ["one", "two", "three", "four"]


def test_a_batch_of_a_producer_is_stored_once(mq: Connection) -> None:
    producer = mq("MQ.PRODUCER")["id"]
    for sequence in ("0", "2"):
        mq("MQ.APPEND", "t", "0", batch(b"one", b"two"), "PRODUCER", str(producer), "0", sequence)
    again = mq("MQ.APPEND", "t", "0", batch(b"one", b"two"), "PRODUCER", str(producer), "0", "0")
    assert again == {"partition": 0, "offset": 0, "count": 2, "topic_id": 1, "partitions": 1, "duplicate": 1}
    assert mq("MQ.TOPIC INFO t")["messages"] == 4
    told = refused(mq("MQ.APPEND", "t", "0", batch(b"x"), "PRODUCER", str(producer), "0", "9"))
    assert told.startswith("OUTOFORDER")


def test_the_header_of_a_batch_may_name_the_producer(mq: Connection) -> None:
    producer = mq("MQ.PRODUCER")["id"]
    data = batch(b"one")
    data = resealed(data[:43] + producer.to_bytes(8, "big") + bytes(2) + bytes(4) + data[57:])
    assert mq("MQ.APPEND", "t", "0", data)["offset"] == 0
    assert mq("MQ.APPEND", "t", "0", data)["duplicate"] == 1


def test_a_compressed_batch_is_taken(mq: Connection) -> None:
    data = batch(b"one", b"two", attributes=1)
    packed = gzip.compress(data[HEADER_BYTES:])
    data = data[:8] + (HEADER_BYTES - 12 + len(packed)).to_bytes(4, "big") + data[12:HEADER_BYTES] + packed
    assert mq("MQ.APPEND", "t", "0", resealed(data))["count"] == 2
    assert [each["body"] for each in mq("MQ.READ t")] == ["one", "two"]
    for broken in (packed[:-3], packed + packed, b"nothing"):
        data = data[:8] + (HEADER_BYTES - 12 + len(broken)).to_bytes(4, "big") + data[12:HEADER_BYTES] + broken
        assert refused(mq("MQ.APPEND", "t", "0", resealed(data))).startswith("ERR")


@pytest.mark.parametrize("at", range(HEADER_BYTES, HEADER_BYTES + 12))
def test_a_batch_with_broken_records_is_refused(mq: Connection, at: int) -> None:
    """Were it stored, it would be in the way of everyone who reads the topic."""
    good = batch(b"one", b"two")
    broken = bytearray(good)
    broken[at] ^= 0xFF
    reply = mq("MQ.APPEND", "t", "0", resealed(bytes(broken)))
    mq("MQ.SEND t after")
    bodies = [each["body"] for each in mq("MQ.READ t")]
    assert bodies[-1] == "after"
    assert len(bodies) == (1 if isinstance(reply, Exception) else 3)
    assert len(mq("XRANGE t - +")) == len(bodies)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "ERR the batch is shorter than a batch header"),
        (batch(b"one")[:-1], "ERR the batch header does not fit the batch"),
        (batch(b"one")[:-1] + b"x", "ERR the batch does not match its checksum"),
        (batch(b"one", attributes=1 << 4), "ERR batches of transactions are not taken here"),
        (batch(b"one", attributes=1 << 5), "ERR batches of transactions are not taken here"),
        (batch(b"one", attributes=4), "ERR the compressed records of a batch do not decompress"),
        (batch(b"one", attributes=7), "ERR compression 7 cannot be read here"),
        (batch(b"one", headers=encode_headers([(b"_sid", b"1-1")])), "ERR the header '_sid' is OneMQ's own"),
    ],
)  # fmt: skip
def test_other_batches_are_refused(mq: Connection, data: bytes, told: str) -> None:
    assert refused(mq("MQ.APPEND", "t", "0", data)).startswith(told)
    assert mq("MQ.TOPIC INFO t")["messages"] == 0


def test_offsets_inside_a_batch_must_be_dense(mq: Connection) -> None:
    builder = BatchBuilder(0, 5)
    builder.add(5, None, b"one", NO_HEADERS)
    builder.skip_to(3)
    builder.add(5, None, b"two", NO_HEADERS)
    assert read_header(builder.seal()).last_offset_delta == 3
    assert "must count up from 0" in refused(mq("MQ.APPEND", "t", "0", builder.seal()))


# Again and again, and only once


def test_a_message_repeats(talk: Talk, mq: Connection) -> None:
    now_ms = talk.broker.now_ms
    sent = mq("MQ.SEND t tick EVERY 10s TIMES 3")
    assert sent["due"] == now_ms + 10_000
    (row,) = mq("MQ.SCHEDULE LIST")[1]
    assert (row["every"], row["cron"], row["left"]) == ("10s", None, 3)
    for count in (1, 2, 3):
        talk.pass_ms(10_000)
        assert len(mq("MQ.READ t")) == count
    assert mq("MQ.SCHEDULE LIST") == [None, []]
    assert {message["series"] for message in mq("MQ.READ t")} == {sent["id"]}
    assert len({message["id"] for message in mq("MQ.READ t")}) == 3


def test_a_message_comes_by_a_cron_expression(talk: Talk, mq: Connection) -> None:
    sent = mq("MQ.SEND", "t", "tick", "CRON", "0 9 * * *", "ZONE", "Asia/Shanghai")
    (row,) = mq("MQ.SCHEDULE LIST")[1]
    assert (row["id"], row["due"]) == (sent["schedule"], sent["due"])
    assert (row["cron"], row["zone"]) == ("0 9 * * *", "Asia/Shanghai")
    talk.pass_ms(sent["due"] - talk.broker.now_ms)
    assert len(mq("MQ.READ t")) == 1
    assert mq(f"MQ.SCHEDULE GET {sent['schedule']}")["due"] == sent["due"] + 24 * HOUR_MS
    assert mq(f"MQ.SCHEDULE CANCEL {sent['schedule']}") == 1


def test_an_idempotency_key_is_stored_once(talk: Talk, mq: Connection) -> None:
    first = mq("MQ.SEND t one IDEMPOTENCY order-1")
    assert "duplicate" not in first
    assert mq("MQ.SEND t two IDEMPOTENCY order-1") == first | {"duplicate": 1}
    assert "duplicate" not in mq("MQ.SEND u one IDEMPOTENCY order-1"), "each topic for itself"
    assert mq("MQ.SEND t three IDEMPOTENCY order-2 WITHIN 10s")["offset"] == 1
    talk.pass_ms(10_001)
    assert mq("MQ.SEND t four IDEMPOTENCY order-2")["offset"] == 2
    talk.restart()
    assert talk.connect()("MQ.SEND t five IDEMPOTENCY order-1")["duplicate"] == 1


def test_an_idempotency_key_works_for_delayed_and_half_messages(talk: Talk, mq: Connection) -> None:
    later = mq("MQ.SEND t later DELAY 1h IDEMPOTENCY a")
    assert mq("MQ.SEND t later DELAY 2h IDEMPOTENCY a") == later | {"duplicate": 1}
    half = mq("MQ.SEND t half TRANSACTION tx GROUP shop IDEMPOTENCY b")
    assert mq("MQ.SEND t half TRANSACTION tx GROUP shop IDEMPOTENCY b") == half | {"duplicate": 1}
    assert mq("MQ.TX COMMIT tx") == 1
    talk.pass_ms(HOUR_MS)
    assert [message["body"] for message in mq("MQ.READ t")] == ["half", "later"]
    gone = mq("MQ.SEND t later DELAY 1h IDEMPOTENCY a")
    assert (gone["id"], gone["duplicate"]) == (later["id"], 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("EVERY 1s CRON '* * * * *'", "name one of them"),
        ("TIMES 3", "name one of them"),
        ("CRON nonsense", "ERR"),
        ("CRON '* * * * *' ZONE Nowhere", "ERR"),
        ("EVERY 1s EXPIRES 1h", "let the topic have it"),
        ("EVERY 1s TRANSIENT", "leave TRANSIENT out"),
        ("EVERY 1s PRODUCER 1 0 0", "an idempotent producer cannot schedule"),
        ("EVERY 1s TRANSACTION a GROUP b", "cannot be delayed"),
        ("TRANSACTION * GROUP b IDEMPOTENCY a", "IDEMPOTENCY needs a transaction with a name"),
        ("IDEMPOTENCY a WITHIN 0", "ERR"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_explained(mq: Connection, options: str, told: str) -> None:
    assert told in refused(mq(f"MQ.SEND t x {options}"))


def test_higher_priorities_are_handed_out_first(mq: Connection) -> None:
    for body, priority in (("low", 0), ("plain", 4), ("high", 9), ("higher than plain", 5)):
        mq("MQ.SEND", "t", body, "PRIORITY", f"{priority}")
    got = mq("MQ.RECEIVE t g COUNT 9")
    assert [(each["body"], each["priority"]) for each in got] == [
        ("high", 9), ("higher than plain", 5), ("plain", 4), ("low", 0),
    ]  # fmt: skip
    assert mq("MQ.ACK", "t", "g", *(each["receipt"] for each in got)) == 4
    assert "from 0 to 9" in refused(mq("MQ.SEND t x PRIORITY 10"))
    mq("MQ.SEND t half TRANSACTION * GROUP shop PRIORITY 7")
    mq(f"MQ.TX COMMIT {mq('MQ.TX LIST')[0]['transaction']}")
    mq("MQ.SEND t later DELAY 1ms PRIORITY 8")
    mq._talk.pass_ms(1)
    assert [each["priority"] for each in mq("MQ.RECEIVE t g COUNT 9")] == [8, 7]


def test_priorities_inside_batches_count(mq: Connection) -> None:
    mq("MQ.SEND t first")
    mq("MQ.APPEND", "t", "0", batch(b"urgent", headers=encode_headers([(b"_pri", b"9")])))
    assert [each["body"] for each in mq("MQ.RECEIVE t g COUNT 2")] == ["urgent", "first"]
