"""MQ.TX and MQ.SEND ... TRANSACTION: messages that are seen when their sender says so."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

MINUTE_MS = 60_000


def test_half_messages_are_seen_when_they_are_committed(mq: Connection) -> None:
    first = mq("MQ.SEND t one KEY k TAG created TRANSACTION order-1 GROUP shop")
    assert first == {"id": first["id"], "topic": "t", "transaction": "order-1"}
    mq("MQ.SEND u two TRANSACTION order-1 GROUP shop")
    assert mq("MQ.READ t") == []
    assert mq("MQ.TX COMMIT order-1") == 2
    (message,) = mq("MQ.RECEIVE t g")
    assert (message["id"], message["body"], message["key"], message["tag"], message["transaction"]) == (
        first["id"], "one", "k", "created", "order-1",
    )  # fmt: skip
    assert message["headers"] == {}
    assert len(mq("MQ.READ u")) == 1
    assert mq("MQ.TX COMMIT order-1") == 2, "once more is no harm"
    assert refused(mq("MQ.TX ROLLBACK order-1")) == "TXENDED transaction 'order-1' was committed"


def test_rolled_back_messages_never_are(mq: Connection) -> None:
    mq("MQ.SEND t one TRANSACTION order-1 GROUP shop")
    assert mq("MQ.TX ROLLBACK order-1") == 1
    assert mq("MQ.READ t") == []
    assert refused(mq("MQ.SEND t two TRANSACTION order-1 GROUP shop")).startswith("TXENDED")
    assert refused(mq("MQ.TX COMMIT other")).startswith("NOTFOUND there is no transaction 'other'")


def test_a_star_begins_a_transaction_without_a_name(mq: Connection) -> None:
    sent = mq("MQ.SEND t one TRANSACTION * GROUP shop")
    assert sent["transaction"] == sent["id"]
    assert mq(f"MQ.TX COMMIT {sent['transaction']}") == 1


def test_any_live_listener_is_asked_and_answers(talk: Talk, mq: Connection) -> None:
    listener = talk.connect()
    assert listener("MQ.TX LISTEN shop") == "OK"
    assert listener("MQ.TX LISTEN shop") == "OK"
    sent = mq("MQ.SEND t one KEY k HEADER a b TRANSACTION order-1 GROUP shop CHECKAFTER 10s")
    assert [row["transaction"] for row in mq("MQ.TX LIST GROUP shop")] == ["order-1"]
    assert mq("MQ.TX LIST GROUP other") == []
    talk.pass_ms(10_000)
    assert listener.reply() is None
    (push,) = listener.pushes
    assert push[:4] == ["mq.check", "shop", "order-1", 1]
    message = push[4]
    assert (message["id"], message["topic"], message["key"], message["body"], message["headers"]) == (
        sent["id"], "t", "k", "one", {"a": "b"},
    )  # fmt: skip
    assert listener("MQ.TX UNKNOWN order-1") == "OK"
    talk.pass_ms(MINUTE_MS)
    assert listener.reply() is None
    assert listener.pushes[1][3] == 2
    assert listener("MQ.TX COMMIT order-1") == 1
    assert mq("MQ.RECEIVE t g")[0]["body"] == "one"


def test_who_left_is_asked_no_more(talk: Talk, mq: Connection) -> None:
    gone, here = talk.connect(), talk.connect()
    for each in (gone, here):
        each("MQ.TX LISTEN shop")
    here("MQ.TX UNLISTEN shop")
    here("MQ.TX UNLISTEN nothing")
    gone.lose()
    mq("MQ.SEND t one TRANSACTION order-1 GROUP shop CHECKAFTER 0")
    talk.pass_ms(MINUTE_MS)
    assert here.reply() is None
    assert here.pushes == []


def test_listening_needs_resp3(talk: Talk) -> None:
    assert "needs RESP3" in refused(talk.connect(resp3=False)("MQ.TX LISTEN shop"))


@pytest.mark.parametrize("options", ["DELAY 1s", "TRANSIENT", "PRODUCER 1 0 0"])
def test_what_cannot_be_part_of_a_transaction(mq: Connection, options: str) -> None:
    assert "a message of a transaction cannot be" in refused(mq(f"MQ.SEND t x TRANSACTION a GROUP b {options}"))


def test_a_transaction_needs_a_producer_group(mq: Connection) -> None:
    assert "TRANSACTION needs GROUP" in refused(mq("MQ.SEND t x TRANSACTION a"))
    assert "GROUP is the producer group of a TRANSACTION" in refused(mq("MQ.SEND t x GROUP a"))
