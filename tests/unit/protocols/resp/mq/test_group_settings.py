"""Filters, order, assignment, once and expiry, as MQ.* commands set and show them."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


def bodies(reply: list[dict[str, object]]) -> list[object]:
    return [message["body"] for message in reply]


def test_what_is_set_is_shown(mq: Connection) -> None:
    mq("MQ.GROUP", "CREATE", "t", "g", "FILTER", "tag = 'a'", "ORDER", "key", "ONCE", "HEADER", "order", "WITHIN", "1d",
       "ASSIGN", "hash")  # fmt: skip
    info = mq("MQ.GROUP INFO t g")
    shown = ("filter", "order", "assign", "once", "once_within", "retry")
    every_second = "backoff 1s 1 none none"
    assert [info[name] for name in shown] == ["tag = 'a'", "key", "hash", "header order", "1d", every_second]
    mq("MQ.GROUP ALTER t g FILTER NONE ORDER none ASSIGN none ONCE NONE")
    info = mq("MQ.GROUP INFO t g")
    assert [info[name] for name in shown[:4]] == [None, "none", "none", "none"]


@pytest.mark.parametrize(
    "option", ["FILTER 'n >'", "ORDER time", "ASSIGN luck", "ONCE body", "ONCE HEADER", "WITHIN 1d"]
)
def test_mistakes_are_explained(mq: Connection, option: str) -> None:
    assert refused(mq(f"MQ.GROUP CREATE t g {option}")).startswith("ERR")
    assert mq("MQ.TOPIC LIST") == []


def test_a_filter_passes_the_others_over(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g FILTER a")
    for number, tag in enumerate("abab"):
        mq(f"MQ.SEND t {number} TAG {tag}")
    assert bodies(mq("MQ.RECEIVE t g COUNT 9")) == ["0", "2"]
    mq("MQ.ACK t g 0:0-9")
    assert mq("MQ.GROUP INFO t g")["lag"] == 0


def test_messages_of_one_key_are_pushed_one_after_the_other(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g ORDER KEY")
    for number in range(6):
        mq(f"MQ.SEND t {number} KEY {'ab'[number % 2]}")
    mq("MQ.SUBSCRIBE t g")
    assert [body for _, _, body in mq.pushed()] == ["0", "1"]
    assert mq("MQ.ACK t g 0:0-5") == 2, "what only stands in line is not done"
    assert [body for _, _, body in mq.pushed()] == ["2", "3"]
    assert [row["receipt"] for row in mq("MQ.PENDING t g")] == ["0:2", "0:3"]
    mq("MQ.NACK t g 0:2 DELAY 1h")
    mq("MQ.ACK t g 0:3")
    assert [body for _, _, body in mq.pushed()] == ["5"]


def test_a_business_key_is_done_once(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g ONCE KEY")
    mq("MQ.SEND t first KEY k")
    mq("MQ.SEND t again KEY k")
    assert bodies(mq("MQ.RECEIVE t g COUNT 9")) == ["first"]
    mq("MQ.ACK t g 0:0")
    assert mq("MQ.RECEIVE t g COUNT 9") == []
    assert mq("MQ.GROUP INFO t g")["lag"] == 0


def test_partitions_are_assigned_to_members(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 4")
    mq("MQ.GROUP CREATE t g ASSIGN AVERAGE")
    mq("MQ.SUBSCRIBE t g MEMBER a")
    other = talk.connect()
    other("MQ.SUBSCRIBE t g MEMBER b")
    info = mq("MQ.GROUP INFO t g")
    assert [row["member"] for row in info["partitions"]] == ["a", "a", "b", "b"]
    assert [row["partitions"] for row in info["members"]] == [[0, 1], [2, 3]]
    for number in range(4):
        mq(f"MQ.SEND t {number} PARTITION {number}")
    assert [body for _, _, body in mq.pushed()] == ["0", "1"]
    assert [body for _, _, body in other.pushed()] == ["2", "3"]
    other.lose()
    assert sorted(body for _, _, body in mq.pushed()) == ["2", "3"]


def test_members_name_their_partitions_and_rooms(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 3")
    mq("MQ.GROUP CREATE t g ASSIGN CONFIG")
    mq("MQ.SUBSCRIBE t g MEMBER a PARTITIONS 0 2")
    assert [row["member"] for row in mq("MQ.GROUP INFO t g")["partitions"]] == ["a", None, "a"]
    mq("MQ.GROUP CREATE t h ASSIGN ROOM")
    mq("MQ.SUBSCRIBE t h MEMBER a ROOM north")
    talk.connect()("MQ.SUBSCRIBE t h MEMBER b ROOM south")
    assert [row["member"] for row in mq("MQ.GROUP INFO t h")["partitions"]] == ["a", "b", "a"]
    assert refused(mq("MQ.SUBSCRIBE t g MEMBER c PARTITIONS x")).startswith("ERR MQ.SUBSCRIBE: PARTITIONS must be")


def test_messages_expire(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t EXPIRES 1h EXPIRED DEAD")
    info = mq("MQ.TOPIC INFO t")
    assert (info["expires"], info["expired"]) == ("1h", "dead")
    mq("MQ.GROUP CREATE t g")
    mq("MQ.SEND t old")
    mq("MQ.SEND t older EXPIRES 10s")
    talk.pass_ms(10_000)
    assert bodies(mq("MQ.RECEIVE t g COUNT 9")) == ["old"]
    assert bodies(mq("MQ.DEAD LIST t")) == ["older"]
    mq("MQ.TOPIC ALTER t EXPIRES NONE EXPIRED DROP")
    assert mq("MQ.TOPIC INFO t")["expires"] == "none"
