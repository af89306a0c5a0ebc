"""MQ.APPEND ... TRANSACTION, and MQ.TX with several transactions, units and prefixes."""

from typing import Any

import pytest

from onemq.core import commits
from tests.unit.core.broker import sealed
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

DAY_MS = 24 * 3600 * 1000


def stage(mq: Connection, name: str, *bodies: bytes, topic: str = "t", partition: int = 0, more: str = "") -> Any:
    words = ("TRANSACTION", name, "GROUP", "spark", *more.split())
    return mq("MQ.APPEND", topic, str(partition), sealed(*bodies), *words)


def bodies(mq: Connection, topic: str = "t") -> list[str]:
    return [each["body"] for each in mq("MQ.READ", topic, "COUNT", "1000")]


def test_a_staged_batch_is_seen_when_it_is_committed(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    reply = stage(mq, "q-1", b"one", b"two")
    assert reply == {"transaction": "q-1", "partition": 0, "count": 2, "topic_id": 1, "partitions": 2}
    stage(mq, "q-1", b"three", partition=1)
    assert bodies(mq) == []
    assert [(row["transaction"], row["messages"]) for row in mq("MQ.TX LIST")] == [("q-1", 3)]
    assert mq("MQ.TX COMMIT q-1") == 3
    assert bodies(mq) == ["one", "two", "three"]
    assert mq("MQ.TX COMMIT q-1") == 3, "once more is no harm"
    assert bodies(mq) == ["one", "two", "three"]


def test_a_batch_with_its_place_is_staged_once(mq: Connection) -> None:
    assert "duplicate" not in stage(mq, "q", b"one", more="BATCH 0")
    assert stage(mq, "q", b"one", more="BATCH 0") == {
        "transaction": "q", "partition": 0, "count": 1, "topic_id": 1, "partitions": 1, "duplicate": 1,
    }  # fmt: skip
    assert refused(stage(mq, "q", b"three", more="BATCH 2")).startswith("OUTOFORDER batch 2 of transaction 'q' came")
    stage(mq, "q", b"two", more="BATCH 1")
    assert mq("MQ.TX COMMIT q") == 2
    assert bodies(mq) == ["one", "two"]


def test_several_transactions_are_committed_together_in_the_order_named(mq: Connection) -> None:
    for name in ("a", "b", "c"):
        stage(mq, name, name.encode())
    mq("MQ.SEND t single TRANSACTION d GROUP shop")
    assert mq("MQ.TX COMMIT c a d b") == 4
    assert bodies(mq) == ["c", "a", "single", "b"]


def test_nothing_is_committed_if_one_cannot_be(mq: Connection) -> None:
    stage(mq, "a", b"a")
    stage(mq, "b", b"b")
    mq("MQ.TX ROLLBACK b")
    assert refused(mq("MQ.TX COMMIT a b")).startswith("TXENDED transaction 'b' was rolled back")
    assert refused(mq("MQ.TX COMMIT a never")).startswith("NOTFOUND there is no transaction 'never'")
    assert refused(mq("MQ.TX COMMIT a never UNIT u 1")).startswith("NOTFOUND")
    assert mq("MQ.TX UNIT u") is None
    assert bodies(mq) == []
    assert mq("MQ.TX COMMIT a") == 1


def test_a_unit_is_committed_once_for_each_number(mq: Connection) -> None:
    assert mq("MQ.TX UNIT q") is None
    stage(mq, "q-5", b"five")
    assert mq("MQ.TX COMMIT q-5 UNIT q 5") == 1
    assert mq("MQ.TX UNIT q") == 5
    for number in (5, 4):
        stage(mq, f"again-{number}", b"again")
        assert mq(f"MQ.TX COMMIT again-{number} gone UNIT q {number}") == 0
        assert mq("MQ.TX LIST") == [], "what was staged again is dropped"
    assert mq("MQ.TX COMMIT q-5 UNIT q 5") == 0
    stage(mq, "q-6", b"six")
    assert mq("MQ.TX COMMIT q-6 unit q 6") == 1
    assert mq("MQ.TX COMMIT UNIT q 7") == 0, "a piece of work without messages"
    assert mq("MQ.TX UNIT q") == 7
    assert bodies(mq) == ["five", "six"]


def test_units_are_known_after_a_restart_and_for_30_days(talk: Talk, mq: Connection) -> None:
    mq("MQ.TX COMMIT UNIT q 7")
    talk.restart()
    mq = talk.connect()
    talk.pass_ms(20 * DAY_MS)
    assert mq("MQ.TX COMMIT UNIT q 3") == 0
    talk.pass_ms(20 * DAY_MS)
    assert mq("MQ.TX UNIT q") == 7, "it was used 20 days ago"
    talk.pass_ms(10 * DAY_MS)
    assert mq("MQ.TX UNIT q") is None


def test_transactions_are_rolled_back_by_name_or_by_the_beginning_of_their_names(mq: Connection) -> None:
    for name in ("q-1-0", "q-1-1", "q-2-0", "other"):
        stage(mq, name, b"x", b"y")
    assert mq("MQ.TX ROLLBACK PREFIX q-1-") == 4
    assert mq("MQ.TX ROLLBACK PREFIX q-1-") == 0
    assert refused(mq("MQ.TX ROLLBACK other never")).startswith("NOTFOUND")
    assert mq("MQ.TX ROLLBACK q-2-0 other") == 4
    assert mq("MQ.TX LIST") == []
    assert "must not be empty" in refused(mq("MQ.TX", "ROLLBACK", "PREFIX", ""))
    assert bodies(mq) == []


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 1_000)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 300)
    monkeypatch.setattr("onemq.core.transaction.RECEIVE_BYTES_MAX", 1)


@pytest.mark.usefixtures("small_turns")
def test_a_large_commit_is_answered_when_everything_is_there(talk: Talk, mq: Connection) -> None:
    other = talk.connect()
    for number in range(60):
        stage(mq, "large", b"%d" % number)
    assert mq("MQ.TX COMMIT large UNIT q 1") is None
    seen = [len(bodies(other))]
    stage(other, "small", b"small", topic="u")
    assert other("MQ.TX COMMIT small") == 1, "small ones do not wait for it"
    assert bodies(other, "u") == ["small"]
    stage(other, "again", b"again")
    assert other("MQ.TX COMMIT again UNIT q 1") is None, "it waits for the commit that counts"
    while (reply := mq.reply()) is None:
        talk.pass_ms(1)
        seen.append(talk.broker.core.topics.get("t").partitions[0].end)
    assert reply == 60
    assert other.reply() == 0
    assert len(set(seen)) > 3
    assert bodies(mq) == [str(number) for number in range(60)]


@pytest.mark.usefixtures("small_turns")
def test_between_multi_and_exec_the_decision_is_the_answer(talk: Talk, mq: Connection) -> None:
    for number in range(20):
        stage(mq, "large", b"%d" % number)
    mq("MULTI")
    mq("MQ.TX COMMIT large")
    assert mq("EXEC") == [20]
    assert len(bodies(mq)) < 20
    for _ in range(20):
        talk.pass_ms(1)
    assert len(bodies(mq)) == 20


@pytest.mark.usefixtures("small_turns")
def test_whoever_leaves_while_a_commit_moves_hinders_nobody(talk: Talk, mq: Connection) -> None:
    for number in range(20):
        stage(mq, "large", b"%d" % number)
    assert mq("MQ.TX COMMIT large") is None
    mq.lose()
    for _ in range(20):
        talk.pass_ms(1)
    assert len(bodies(talk.connect())) == 20


def test_listeners_are_asked_about_staged_batches(talk: Talk, mq: Connection) -> None:
    listener = talk.connect()
    listener("MQ.TX LISTEN spark")
    stage(mq, "q", b"one", b"two", more="CHECKAFTER 10s")
    talk.pass_ms(10_000)
    assert listener.reply() is None
    (push,) = listener.pushes
    assert push[:4] == ["mq.check", "spark", "q", 1]
    assert (push[4]["topic"], push[4]["body"], push[4]["id"]) == ("t", "one", "")
    assert listener("MQ.TX COMMIT q") == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("TRANSACTION q", "TRANSACTION needs GROUP"),
        ("GROUP g", "belong to a TRANSACTION"),
        ("BATCH 0", "belong to a TRANSACTION"),
        ("TRANSACTION q GROUP g PRODUCER 1 0 0", "cannot be of a PRODUCER sequence"),
        ("TRANSACTION q GROUP g BATCH x", "BATCH must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(mq: Connection, options: str, text: str) -> None:
    assert text in refused(mq("MQ.APPEND", "t", "0", sealed(b"x"), *options.split()))


def test_what_cannot_be_staged_is_refused(mq: Connection) -> None:
    assert "the partition must be a whole number, 0 or more" in refused(stage(mq, "q", b"x", partition=-1))
    assert "has partitions 0 to 0, not 1" in refused(stage(mq, "q", b"x", partition=1))
    assert "shorter than" in refused(mq("MQ.APPEND", "t", "0", b"junk", "TRANSACTION", "q", "GROUP", "g"))
    mq("MQ.SEND t x TRANSACTION single GROUP spark")
    assert "has single messages" in refused(stage(mq, "single", b"x"))
    stage(mq, "whole", b"x")
    assert "has whole batches" in refused(mq("MQ.SEND t x TRANSACTION whole GROUP spark"))
    assert "number" in refused(mq("MQ.TX COMMIT whole UNIT u -1"))
