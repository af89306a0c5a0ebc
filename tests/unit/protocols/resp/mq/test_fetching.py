"""MQ.FETCH."""

from typing import Any

from onemq.log.batch import walk
from onemq.log.records import decode
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


def data_of(reply: dict[str, Any]) -> bytes:
    data: bytes = reply["batches"].encode(errors="surrogateescape")
    return data


def fetched(reply: dict[str, Any]) -> list[tuple[int, bytes | None]]:
    """(offset, body) of the messages."""
    data = data_of(reply)
    return [(record[0], record[3]) for position, header in walk(data) for record in decode(data, position, header)]


def test_fetching_gives_whole_batches(talk: Talk, mq: Connection) -> None:
    mq("MQ.SENDMANY t BODIES a b")
    mq("MQ.SENDMANY t BODIES c d")
    reply = mq("MQ.FETCH t 0 1")
    data = reply["batches"].encode(errors="surrogateescape")
    records = [record for position, header in walk(data) for record in decode(data, position, header)]
    assert [(record[0], record[3]) for record in records] == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]
    assert (reply["start"], reply["end"], reply["next"]) == (0, 4, 4)
    assert mq("MQ.FETCH t 0 0 MAXBYTES 1")["next"] == 2, "at least one batch"
    assert mq("MQ.FETCH t 0 4") == {"start": 0, "end": 4, "next": 4, "batches": ""}
    assert refused(mq("MQ.FETCH t 0 5")).startswith("OUTOFRANGE offset 5 is not in 0 to 4")
    assert mq("MQ.FETCH t 0 4 WAIT 1s") is None
    talk.connect()("MQ.SEND t e")
    assert mq.reply()["next"] == 5
    assert mq("MQ.FETCH t 0 5 WAIT 1s") is None
    talk.pass_ms(1_000)
    assert mq.reply()["next"] == 5


def test_batches_without_deleted_messages_stay_as_they_are(mq: Connection) -> None:
    for bodies in ("a b", "c d", "e f", "g h"):
        mq(f"MQ.SENDMANY t BODIES {bodies}")
    before = data_of(mq("MQ.FETCH t 0 0"))
    positions = [position for position, _ in walk(before)]
    for place in (2, 3):
        mq("XDEL", "t", mq("XRANGE t - +")[place][0])
    reply = mq("MQ.FETCH t 0 0")
    assert fetched(reply) == [(0, b"a"), (1, b"b"), (3, b"d"), (5, b"f"), (6, b"g"), (7, b"h")]
    data = data_of(reply)
    assert data.startswith(before[: positions[1]])
    assert data.endswith(before[positions[3] :])
    assert reply["next"] == 8


def test_a_batch_of_deleted_messages_is_passed(talk: Talk, mq: Connection) -> None:
    mq("MQ.SEND t a")
    mq("MQ.SENDMANY t BODIES b c")
    for _ in range(2):
        mq("XDEL", "t", mq("XRANGE t - +")[-1][0])
    assert mq("MQ.FETCH t 0 1") == {"start": 0, "end": 3, "next": 3, "batches": ""}
    assert mq("MQ.FETCH t 0 1 WAIT 1s") is None, "there is nothing to give yet"
    talk.connect()("MQ.SEND t d")
    assert fetched(mq.reply()) == [(3, b"d")]


def test_messages_that_were_not_persistent_are_gone_after_a_restart(talk: Talk, mq: Connection) -> None:
    mq("MQ.SEND t a TRANSIENT")
    mq("MQ.SEND t b")
    assert len(fetched(mq("MQ.FETCH t 0 0"))) == 2
    talk.restart()
    reply = talk.connect()("MQ.FETCH t 0 0")
    assert (fetched(reply), reply["next"]) == ([(1, b"b")], 2)


def test_nothing_needs_to_be_given_behind_the_end_that_is_named(mq: Connection) -> None:
    for body in "abc":
        mq(f"MQ.SEND t {body}")
    reply = mq("MQ.FETCH t 0 0 UNTIL 2")
    assert (fetched(reply), reply["next"]) == ([(0, b"a"), (1, b"b")], 2)
    assert mq("MQ.FETCH t 0 2 UNTIL 2 WAIT 1h") == {"start": 0, "end": 3, "next": 2, "batches": ""}
    assert mq("MQ.FETCH t 0 3 UNTIL 9")["next"] == 3
    assert refused(mq("MQ.FETCH t 0 4 UNTIL 2")).startswith("OUTOFRANGE offset 4 is not in 0 to 3")
    assert refused(mq("MQ.FETCH t 0 0 UNTIL x")) == "ERR MQ.FETCH: UNTIL must be a whole number, 0 or more, not 'x'"


def test_a_filter_selects_at_the_broker(talk: Talk, mq: Connection) -> None:
    for number in range(6):
        mq(f"MQ.SEND t {number} KEY k{number} TAG {'even' if number % 2 == 0 else 'odd'} HEADER n {number}")
        talk.pass_ms(10)
    stored = {message["offset"]: message["stored"] for message in mq("MQ.READ t")}
    data = data_of(mq("MQ.FETCH t 0 1 FILTER odd"))
    records = [record for position, header in walk(data) for record in decode(data, position, header)]
    assert [(record[0], record[2], record[3]) for record in records] == [
        (1, b"k1", b"1"),
        (3, b"k3", b"3"),
        (5, b"k5", b"5"),
    ]
    assert [record[1] for record in records] == [stored[1], stored[3], stored[5]]
    assert [dict(record[4])[b"n"] for record in records] == [b"1", b"3", b"5"]
    assert [header.next_offset for _, header in walk(data)] == [6]


def test_a_filter_that_selects_nothing_tells_where_to_go_on(talk: Talk, mq: Connection) -> None:
    mq("MQ.SENDMANY t TAG other BODIES a b c")
    reply = mq("MQ.FETCH", "t", "0", "0", "FILTER", "n > 4")
    assert (reply["batches"], reply["next"]) == ("", 3)
    assert mq("MQ.FETCH", "t", "0", "0", "FILTER", "n > 4", "WAIT", "5s") is None
    other = talk.connect()
    other("MQ.SEND t d HEADER n 3")
    assert mq.reply() is None
    other("MQ.SEND t e HEADER n 5")
    reply = mq.reply()
    assert (fetched(reply), reply["next"]) == ([(4, b"e")], 5)
    assert refused(mq("MQ.FETCH", "t", "0", "0", "FILTER", "n >")).startswith("ERR ")


def test_filters_by_id_know_the_place(mq: Connection) -> None:
    ids = [mq(f"MQ.SEND t {body}")["id"] for body in "ab"]
    assert fetched(mq("MQ.FETCH", "t", "0", "0", "FILTER", f"id = '{ids[1]}'")) == [(1, b"b")]


def test_one_look_with_a_filter_is_bounded(mq: Connection) -> None:
    body = "x" * 400_000
    for _ in range(6):
        mq("MQ.SEND", "t", body)
    reply = mq("MQ.FETCH", "t", "0", "0", "MAXBYTES", "32MiB", "FILTER", "*")
    assert 1 <= reply["next"] < 6
    assert mq("MQ.FETCH t 0 0 MAXBYTES 32MiB")["next"] == 6


def test_a_topic_that_goes_ends_the_wait(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t")
    assert mq("MQ.FETCH t 0 0 WAIT 1h") is None
    talk.connect()("MQ.TOPIC DELETE t")
    assert mq.reply()["batches"] == ""
