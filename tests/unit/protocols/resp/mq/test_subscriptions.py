"""MQ.SUBSCRIBE: pushes as they come, never more than the credit, none to a peer that does not read."""

from itertools import product

import hiredis

from onemq.limits import MQ_PUSH_BYTES, MQ_PUSH_MESSAGES_MAX, RECEIVE_BYTES_MAX
from onemq.protocols.resp.mq.messages import push
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


def fill(mq: Connection, count: int, topic: str = "t", size: int = 1) -> None:
    for first in range(0, count, 1000):
        mq("MQ.SENDMANY", topic, "BODIES", *(["x" * size] * min(1000, count - first)))


def offsets(mq: Connection) -> list[int]:
    return [offset for _, offset, _ in mq.pushed()]


def test_the_reply_comes_before_the_first_push(mq: Connection) -> None:
    mq("MQ.SEND t one")
    reply = mq("MQ.SUBSCRIBE t g MEMBER m")
    assert (reply["subscription"], reply["member"], reply["topic_id"]) == (1, "m", 1)
    assert mq.pushed() == [(0, 0, "one")]


def test_what_is_sent_later_is_pushed_in_the_same_turn(talk: Talk, mq: Connection) -> None:
    mq("MQ.SUBSCRIBE t g")
    assert mq.pushed() == []
    talk.connect()("MQ.SEND t one KEY k TAG created HEADER a b")
    assert mq.reply() is None
    assert mq.pushes == [["mq.messages", 1, [0, 0, 1, talk.broker.now_ms, "k", "one", ["_tag", "created", "a", "b"]]]]


def test_a_message_without_key_and_headers_has_nulls(mq: Connection, talk: Talk) -> None:
    mq("MQ.SUBSCRIBE t g")
    mq("MQ.SEND t one")
    assert mq.pushes[0][2] == [0, 0, 1, talk.broker.now_ms, None, "one", None]


def test_never_more_than_the_credit_is_unacknowledged(mq: Connection) -> None:
    fill(mq, 20)
    mq("MQ.SUBSCRIBE t g CREDIT 5")
    assert offsets(mq) == [0, 1, 2, 3, 4]
    assert mq("MQ.ACK t g 0:1 0:3-4") == 3
    assert offsets(mq) == [5, 6, 7]
    assert mq("MQ.ACK t g 0:0") == 1
    assert offsets(mq) == [8]


def test_failed_rejected_and_released_messages_give_credit_back(mq: Connection) -> None:
    fill(mq, 10)
    mq("MQ.SUBSCRIBE t g CREDIT 3")
    assert offsets(mq) == [0, 1, 2]
    mq("MQ.NACK t g 0:0 DELAY 1h")
    assert offsets(mq) == [3]
    mq("MQ.REJECT t g 0:1")
    assert offsets(mq) == [4]
    mq("MQ.RELEASE t g 0:2")
    assert offsets(mq) == [2], "what was released comes again before anything new"


def test_others_acknowledging_gives_credit_back(talk: Talk, mq: Connection) -> None:
    fill(mq, 4)
    mq("MQ.SUBSCRIBE t g CREDIT 2")
    assert offsets(mq) == [0, 1]
    other = talk.connect()
    other("MQ.ACK t g 0:0")
    assert offsets(mq) == [2]
    entry = other("XRANGE t - + COUNT 2")[1][0]
    assert other("XACK", "t", "g", entry) == 1
    assert offsets(mq) == [3]


def test_a_lease_that_ends_gives_credit_back(talk: Talk, mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g LEASE 10s RETRY BACKOFF 1h 1 NONE NONE")
    fill(mq, 2)
    mq("MQ.SUBSCRIBE t g CREDIT 1")
    assert offsets(mq) == [0]
    talk.pass_ms(10_000)
    assert offsets(mq) == [0], "a lease that ended is no reason to wait"


def test_credit_is_changed_and_0_pauses(mq: Connection) -> None:
    fill(mq, 10)
    mq("MQ.SUBSCRIBE t g CREDIT 0")
    assert offsets(mq) == []
    assert mq("MQ.CREDIT 1 3") == "OK"
    assert offsets(mq) == [0, 1, 2]
    mq("MQ.CREDIT 1 0")
    mq("MQ.ACK t g 0:0-2")
    assert offsets(mq) == []
    mq("MQ.CREDIT 1 1")
    assert offsets(mq) == [3]


def test_without_acknowledgement_only_the_peer_sets_the_pace(mq: Connection) -> None:
    fill(mq, 50)
    mq("MQ.SUBSCRIBE t g CREDIT 5 AUTOACK")
    assert offsets(mq) == list(range(50))
    assert mq("MQ.GROUP INFO t g")["lag"] == 0


def test_a_peer_that_does_not_read_gets_nothing_until_it_does(mq: Connection) -> None:
    fill(mq, 10)
    mq("MQ.SUBSCRIBE t g CREDIT 4")
    assert offsets(mq) == [0, 1, 2, 3]
    mq.peer.congested = True
    mq._talk.connect()("MQ.ACK t g 0:0-3")
    assert offsets(mq) == []
    mq.peer.congested = False
    with mq._talk.broker.turn():
        mq.session.resume()
    assert offsets(mq) == [4, 5, 6, 7]


def test_pushes_are_of_a_bounded_size(mq: Connection) -> None:
    fill(mq, 3_000, size=100)
    mq("MQ.SUBSCRIBE t g CREDIT 100000")
    assert mq.reply() is None
    assert sum(len(push[2]) for push in mq.pushes) == 3_000 * 7
    assert max(len(push[2]) for push in mq.pushes) <= MQ_PUSH_MESSAGES_MAX * 7


def test_large_messages_come_few_at_a_time(mq: Connection) -> None:
    for _ in range(64):
        fill(mq, 1, size=100_000)
    mq("MQ.SUBSCRIBE t g CREDIT 1000")
    assert mq.reply() is None
    sizes = [len(push[2]) // 7 for push in mq.pushes]
    assert sum(sizes) == 64
    assert sizes[0] <= RECEIVE_BYTES_MAX // 100_000 + 1
    assert set(sizes[1:]) <= set(range(1, MQ_PUSH_BYTES // 100_000 + 1))


def test_the_connection_gives_everything_back_when_it_ends(talk: Talk, mq: Connection) -> None:
    fill(mq, 3)
    mq("MQ.SUBSCRIBE t g MEMBER a")
    assert offsets(mq) == [0, 1, 2]
    other = talk.connect()
    other("MQ.SUBSCRIBE t g MEMBER b")
    assert offsets(other) == []
    mq.lose()
    assert [(item[0], item[1], item[2]) for item in _items(other)] == [(0, 0, 2), (0, 1, 2), (0, 2, 2)]
    assert list(talk.service.sessions) == [other.session.id]
    assert [member["name"] for member in other("MQ.GROUP INFO t g")["members"]] == ["b"]


def _items(mq: Connection) -> list[list[object]]:
    assert mq.reply() is None
    items = [item for push in mq.pushes for item in push[2]]
    mq.pushes.clear()
    return [items[at : at + 7] for at in range(0, len(items), 7)]


def test_unsubscribing_gives_back_untried(talk: Talk, mq: Connection) -> None:
    fill(mq, 2)
    mq("MQ.SUBSCRIBE t g")
    assert offsets(mq) == [0, 1]
    assert mq("MQ.UNSUBSCRIBE") == 1
    assert mq("MQ.UNSUBSCRIBE") == 0
    got = talk.connect()("MQ.RECEIVE t g COUNT 10")
    assert [message["deliveries"] for message in got] == [1, 1]
    assert mq.pushed() == []


def test_one_of_several_subscriptions_is_ended_by_its_number(mq: Connection) -> None:
    for topic in ("a", "b", "c"):
        mq(f"MQ.SUBSCRIBE {topic} g")
    assert mq("MQ.UNSUBSCRIBE 2") == 1
    assert mq("MQ.UNSUBSCRIBE 2") == 0
    for topic in ("a", "b", "c"):
        mq(f"MQ.SEND {topic} to-{topic}")
    assert [(push[1], push[2][5]) for push in mq.pushes] == [(1, "to-a"), (3, "to-c")]


def test_a_newer_connection_takes_the_member_over(talk: Talk, mq: Connection) -> None:
    fill(mq, 3)
    mq("MQ.SUBSCRIBE t g MEMBER m")
    assert offsets(mq) == [0, 1, 2]
    newer = talk.connect()
    newer("MQ.SUBSCRIBE t g MEMBER m")
    assert offsets(newer) == [0, 1, 2]
    assert mq.ended() == [(1, "another connection took the member over")]
    assert refused(mq("MQ.RECEIVE t g MEMBER m")).startswith("FENCED another connection is member 'm' of group 'g'")
    mq.lose()
    assert newer("MQ.GROUP INFO t g")["in_flight"] == 3, "the older one has nothing to give back"


def test_who_waits_is_told_that_the_member_was_taken_over(talk: Talk, mq: Connection) -> None:
    assert mq("MQ.RECEIVE t g MEMBER m WAIT 1h") is None
    newer = talk.connect()
    assert newer("MQ.RECEIVE t g MEMBER m") == []
    assert refused(mq.reply()) == "FENCED another connection took the member over"
    newer("MQ.SEND t one")
    assert len(newer("MQ.RECEIVE t g MEMBER m")) == 1


def test_it_ends_with_its_group_or_topic_and_says_so(mq: Connection) -> None:
    mq("MQ.SUBSCRIBE t g")
    mq("MQ.SUBSCRIBE u g")
    assert mq("MQ.GROUP DELETE t g") == 1
    assert mq("MQ.TOPIC DELETE u") == 1
    assert mq.ended() == [(1, "the group is gone"), (2, "the group is gone")]
    assert mq("MQ.UNSUBSCRIBE") == 0


def test_no_push_stands_among_the_replies_of_a_transaction(mq: Connection) -> None:
    mq("MQ.SUBSCRIBE t g MEMBER m")
    mq("MULTI")
    mq("MQ.SEND t one")
    mq("MQ.RECEIVE t g MEMBER n")
    mq("MQ.SEND t two")
    first, received, second = mq("EXEC")
    assert (first["offset"], [each["body"] for each in received], second["offset"]) == (0, ["one"], 1)
    assert mq.pushed() == [(0, 1, "two")]


def test_it_is_not_for_transactions_nor_for_resp2(talk: Talk, mq: Connection) -> None:
    mq("MULTI")
    assert "not allowed inside a transaction" in refused(mq("MQ.SUBSCRIBE t g"))
    mq("DISCARD")
    old = talk.connect(resp3=False)
    assert refused(old("MQ.SUBSCRIBE t g")).startswith("ERR MQ.SUBSCRIBE: messages are pushed, which needs RESP3")


def test_the_same_member_subscribes_once(mq: Connection) -> None:
    mq("MQ.SUBSCRIBE t g MEMBER m")
    assert refused(mq("MQ.SUBSCRIBE t g MEMBER m")).startswith("EXISTS subscription 1 of this connection")
    assert mq("MQ.SUBSCRIBE t g MEMBER n")["subscription"] == 2


def test_reset_ends_everything(mq: Connection) -> None:
    fill(mq, 1)
    mq("MQ.SUBSCRIBE t g")
    assert offsets(mq) == [0]
    assert mq("RESET") == "RESET"
    assert mq("MQ.UNSUBSCRIBE") == 0
    assert mq("MQ.GROUP LIST t")[0][7] == 1, "what it had waits for others"


def test_members_are_forgotten_with_their_groups(mq: Connection) -> None:
    mq("MQ.RECEIVE t g")
    mq("MQ.GROUP DELETE t g")
    assert mq.session.mq is not None
    assert len(mq.session.mq.members) == 1
    mq.session.mq.forget_gone()
    assert mq.session.mq.members == {}


def test_a_log_that_fails_and_comes_back_does_not_end_it(talk: Talk, mq: Connection) -> None:
    mq("MQ.SUBSCRIBE t g")
    core = talk.broker.core
    with talk.broker.turn():
        pass
    core.reset()
    other = talk.connect()
    other("MQ.SEND t after")
    assert mq.pushed() == [(0, 0, "after")]


def test_a_push_is_the_same_however_alike_its_messages_are() -> None:
    headers = ((b"a", b"b"), (b"c", None))
    shown = {(): None, headers: [b"a", b"b", b"c", None]}
    rows = [
        (partition, (offset, stored_ms, key, body, tags), deliveries)
        for offset, (partition, stored_ms, key, body, tags, deliveries) in enumerate(
            product((0, 1), (5, 6), (None, b"", b"key"), (None, b"", b"xy"), ((), headers), (1, 2))
        )
    ]
    for got in (rows, rows[::-1], [row for row in rows for _ in range(2)]):
        reader = hiredis.Reader()
        reader.feed(push(7, got))
        word, number, items = reader.gets()
        assert (word, number) == (b"mq.messages", 7)
        assert not reader.has_data()
        expected = [
            item
            for partition, (offset, stored_ms, key, body, tags), deliveries in got
            for item in (partition, offset, deliveries, stored_ms, key, body, shown[tags])
        ]
        assert items == expected
