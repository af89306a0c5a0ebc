"""MQ.RECEIVE, what becomes of what it hands out, and MQ.PENDING, MQ.CLAIM."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000


def send(mq: Connection, *bodies: str) -> None:
    mq("MQ.SENDMANY", "t", "BODIES", *bodies)


def bodies(reply: list[dict[str, object]]) -> list[object]:
    return [message["body"] for message in reply]


def test_topic_and_group_are_made_when_they_are_asked_for(mq: Connection) -> None:
    assert mq("MQ.RECEIVE t g") == []
    info = mq("MQ.GROUP INFO t g")
    assert (info["retry"], info["dead"], info["lease"], info["lag"]) == ("ladder", "t.g.dead", "none", 0)


def test_a_group_that_is_made_begins_with_the_first_message(mq: Connection) -> None:
    send(mq, "a", "b", "c")
    assert bodies(mq("MQ.RECEIVE t g")) == ["a"]
    assert bodies(mq("MQ.RECEIVE t g COUNT 5")) == ["b", "c"]


def test_one_partition_only(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    send(mq, "a", "b", "c", "d")
    assert bodies(mq("MQ.RECEIVE t g COUNT 9 PARTITION 1")) == ["b", "d"]
    assert "no partition 2" in refused(mq("MQ.RECEIVE t g PARTITION 2"))


def test_waiting_ends_with_a_message_or_with_nothing(talk: Talk, mq: Connection) -> None:
    assert mq("MQ.RECEIVE t g WAIT 10s") is None
    talk.connect()("MQ.SEND t a")
    assert bodies(mq.reply()) == ["a"]
    assert mq("MQ.RECEIVE t g WAIT 10s") is None
    talk.pass_ms(9_999)
    assert mq.reply() is None
    talk.pass_ms(1)
    assert mq.reply() == []


def test_client_unblock_ends_the_waiting(talk: Talk, mq: Connection) -> None:
    assert mq("MQ.RECEIVE t g WAIT 1h") is None
    other = talk.connect()
    assert other(f"CLIENT UNBLOCK {mq.session.id}") == 1
    assert mq.reply() == []
    assert mq("MQ.RECEIVE t g WAIT 1h") is None
    assert other(f"CLIENT UNBLOCK {mq.session.id} ERROR") == 1
    assert "UNBLOCKED" in refused(mq.reply())
    other("MQ.SEND t a")
    assert mq.reply() is None
    assert bodies(other("MQ.RECEIVE t g")) == ["a"], "nothing went to who no longer waits"


def test_nobody_waits_inside_a_transaction(mq: Connection) -> None:
    mq("MULTI")
    mq("MQ.RECEIVE t g WAIT 1h")
    mq("MQ.READ t WAIT 1h")
    mq("MQ.FETCH t 0 0 WAIT 1h")
    received, read, fetched = mq("EXEC")
    assert (received, read, fetched["batches"]) == ([], [], "")


def test_acknowledged_when_it_is_handed_out(mq: Connection) -> None:
    send(mq, "a")
    assert bodies(mq("MQ.RECEIVE t g AUTOACK")) == ["a"]
    assert mq("MQ.GROUP INFO t g")["lag"] == 0
    assert mq("MQ.PENDING t g") == []


def test_the_connection_gives_back_what_it_has_when_it_ends(talk: Talk, mq: Connection) -> None:
    send(mq, "a")
    assert bodies(mq("MQ.RECEIVE t g MEMBER me")) == ["a"]
    mq.lose()
    (message,) = talk.connect()("MQ.RECEIVE t g")
    assert message["deliveries"] == 2


def test_a_restart_gives_back_what_connections_had(talk: Talk, mq: Connection) -> None:
    send(mq, "a")
    mq("MQ.RECEIVE t g MEMBER me")
    talk.restart()
    mq = talk.connect()
    assert bodies(mq("MQ.RECEIVE t g")) == ["a"]
    assert mq("MQ.PENDING t g")[0]["history"][0]["reason"] == "the broker restarted"


def test_a_member_without_a_name_is_named_after_the_connection(mq: Connection) -> None:
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    assert mq("MQ.PENDING t g")[0]["member"] == f"client-{mq.session.id}"


# Settling


def test_acknowledging_counts_what_was_not_done_before(mq: Connection) -> None:
    send(mq, *"abcdef")
    mq("MQ.RECEIVE t g COUNT 6")
    assert mq("MQ.ACK t g 0:1") == 1
    assert mq("MQ.ACK t g 0:0-2 0:2 0:5-99999999") == 3
    assert mq("MQ.ACK t g 0:0-5") == 2
    assert mq("MQ.ACK t g 0:0-5") == 0
    assert mq("MQ.GROUP INFO t g")["lag"] == 0


def test_receipts_of_several_partitions_in_one_command(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    send(mq, *"abcdef")
    receipts = [message["receipt"] for message in mq("MQ.RECEIVE t g COUNT 6")]
    assert mq("MQ.ACK", "t", "g", *receipts) == 6


@pytest.mark.parametrize("command", ["ACK", "NACK", "REJECT", "RELEASE", "EXTEND"])
def test_wrong_receipts_are_explained(mq: Connection, command: str) -> None:
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    assert "is not a receipt" in refused(mq(f"MQ.{command} t g 0:x"))
    assert refused(mq(f"MQ.{command} t g 7:0")) == "ERR topic 't' has no partition 7"
    assert refused(mq(f"MQ.{command} nothing g 0:0")).startswith("NOTOPIC there is no topic 'nothing'")
    assert refused(mq(f"MQ.{command} t nobody 0:0")).startswith("NOGROUP topic 't' has no group 'nobody'")
    assert mq(f"MQ.{command} t g 0:5") == 0


def test_failed_messages_follow_the_ladder(talk: Talk, mq: Connection) -> None:
    send(mq, "a")
    for number, wait_ms in enumerate((10 * SECOND_MS, 30 * SECOND_MS, MINUTE_MS), 1):
        (message,) = mq("MQ.RECEIVE t g")
        assert message["deliveries"] == number
        assert mq("MQ.NACK", "t", "g", "0:0", "REASON", "no stock") == 1
        assert mq("MQ.PENDING t g")[0]["due"] == talk.broker.now_ms + wait_ms
        talk.pass_ms(wait_ms - 1)
        assert mq("MQ.RECEIVE t g") == []
        talk.pass_ms(1)
    history = mq("MQ.PENDING t g")[0]["history"]
    assert [attempt["reason"] for attempt in history] == ["no stock"] * 3


def test_failed_messages_wait_as_long_as_is_asked(talk: Talk, mq: Connection) -> None:
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    assert mq("MQ.NACK t g 0:0 DELAY 5s") == 1
    talk.pass_ms(4_999)
    assert mq("MQ.RECEIVE t g") == []
    talk.pass_ms(1)
    assert bodies(mq("MQ.RECEIVE t g")) == ["a"]


def test_released_messages_do_not_count(mq: Connection) -> None:
    send(mq, "a", "b")
    mq("MQ.RECEIVE t g COUNT 2")
    assert mq("MQ.RELEASE t g 0:0-1") == 2
    assert [message["deliveries"] for message in mq("MQ.RECEIVE t g COUNT 2")] == [1, 1]


def test_rejected_messages_are_dead_letters(mq: Connection) -> None:
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    assert mq("MQ.REJECT", "t", "g", "0:0", "REASON", "no such customer") == 1
    (letter,) = mq("MQ.DEAD LIST t")
    assert (letter["body"], letter["id"], letter["dead"]["reason"]) == ("a", "1-0-0", "no such customer")


def test_extending_begins_the_lease_anew(talk: Talk, mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g LEASE 10s")
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    for _ in range(5):
        talk.pass_ms(9_000)
        assert mq("MQ.EXTEND t g 0:0") == 1
    assert mq("MQ.PENDING t g")[0]["deliveries"] == 1
    talk.pass_ms(10_000)
    assert [message["deliveries"] for message in mq("MQ.RECEIVE t g")] == [2]


# Pending


def test_what_is_pending_is_shown_in_order(talk: Talk, mq: Connection) -> None:
    send(mq, *"abc")
    mq("MQ.RECEIVE t g MEMBER me COUNT 2")
    talk.pass_ms(1_500)
    mq("MQ.RECEIVE t g MEMBER you")
    mq("MQ.NACK t g 0:1 DELAY 1m REASON why")
    rows = mq("MQ.PENDING t g")
    assert [(row["receipt"], row["member"], row["idle"], row["deliveries"]) for row in rows] == [
        ("0:0", "me", 1_500, 1), ("0:1", None, 0, 1), ("0:2", "you", 0, 1),
    ]  # fmt: skip
    assert rows[1]["due"] == talk.broker.now_ms + MINUTE_MS
    assert [row["receipt"] for row in mq("MQ.PENDING t g MEMBER you")] == ["0:2"]
    assert [row["receipt"] for row in mq("MQ.PENDING t g COUNT 1")] == ["0:0"]


def test_claiming_takes_what_was_idle_for_long_enough(talk: Talk, mq: Connection) -> None:
    send(mq, *"abc")
    mq("MQ.RECEIVE t g MEMBER slow COUNT 2")
    talk.pass_ms(5_000)
    mq("MQ.RECEIVE t g MEMBER quick")
    other = talk.connect()
    assert other("MQ.CLAIM t g other IDLE 6s") == []
    assert [(each["body"], each["deliveries"]) for each in other("MQ.CLAIM t g other IDLE 5s COUNT 1")] == [("a", 2)]
    assert bodies(other("MQ.CLAIM t g other IDLE 0 0:1-2")) == ["b", "c"]
    assert {row["member"] for row in other("MQ.PENDING t g")} == {"other"}
    other.lose()
    assert bodies(mq("MQ.RECEIVE t g COUNT 5")) == ["a", "b", "c"]


def test_in_a_transaction_nothing_is_acknowledged_after_a_send_that_failed(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE small MAXBYTES 10")
    send(mq, "a")
    mq("MQ.RECEIVE t g")
    mq("MULTI")
    for words in (("MQ.SEND", "small", "far too large"), ("MQ.ACK", "t", "g", "0:0"), ("SET", "key", "value")):
        mq(*words)
    sent, acknowledged, set_ = mq("EXEC")
    assert refused(sent).startswith("TOOLARGE")
    assert refused(acknowledged).startswith("ABORTED")
    assert set_ == "OK", "Redis's own commands run as they do in Redis"
    assert mq("MQ.GROUP INFO t g")["in_flight"] == 1
