"""MQ.OFFSETS."""

import pytest

from onemq.protocols.resp.mq import offsets
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


def test_offsets_of_all_partitions(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    mq("MQ.SEND t a PARTITION 0")
    talk.pass_ms(1_000)
    mq("MQ.SEND t b PARTITION 0")
    assert mq("MQ.OFFSETS t") == [[0, 0, 2], [1, 0, 0]]
    assert mq(f"MQ.OFFSETS t TIME {talk.broker.now_ms}") == [[0, 0, 2, 1], [1, 0, 0, 0]]


def test_offsets_of_many_topics(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE a PARTITIONS 2")
    mq("MQ.SEND a x PARTITION 1")
    talk.pass_ms(1_000)
    mq("MQ.SENDMANY b BODIES x y")
    assert mq("MQ.OFFSETS TOPICS b a") == [["b", 2, 0, 0, 2], ["a", 1, 0, 0, 0], ["a", 1, 1, 0, 1]]
    assert mq(f"MQ.OFFSETS TIME {talk.broker.now_ms} TOPICS a b") == [
        ["a", 1, 0, 0, 0, 0],
        ["a", 1, 1, 0, 1, 1],
        ["b", 2, 0, 0, 2, 0],
    ]


def test_one_that_is_not_there_is_named(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE a")
    assert refused(mq("MQ.OFFSETS TOPICS a b")).startswith("NOTOPIC there is no topic 'b'")
    problem = "ERR MQ.OFFSETS: TOPICS needs 1 to 10000 topics after it, not 0"
    assert refused(mq("MQ.OFFSETS TIME 0 TOPICS")) == problem
    assert refused(mq("MQ.OFFSETS TIME x TOPICS a")).startswith("ERR MQ.OFFSETS: TIME must be a time")


def test_topics_may_have_the_names_of_options(mq: Connection) -> None:
    mq("MQ.SEND topics x")
    mq("MQ.SEND time x")
    assert mq("MQ.OFFSETS topics") == mq("MQ.OFFSETS time") == [[0, 0, 1]]
    assert mq("MQ.OFFSETS topics TIME 0") == mq("MQ.OFFSETS time TIME 0") == [[0, 0, 1, 0]]
    assert mq("MQ.OFFSETS TOPICS topics time") == [["topics", 1, 0, 0, 1], ["time", 2, 0, 0, 1]]


def test_a_time_in_many_topics_is_looked_up_over_several_turns(
    talk: Talk, mq: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "_LOOKED_UP_PER_TURN", 4)
    names = [f"t{number}" for number in range(10)]
    for name in names:
        mq("MQ.TOPIC", "CREATE", name)
    assert len(mq("MQ.OFFSETS", "TOPICS", *names)) == 10
    assert mq("MQ.OFFSETS", "TIME", "0", "TOPICS", *names) is None
    talk.pass_ms(1)
    assert mq.reply() is None
    talk.pass_ms(1)
    assert [row[0] for row in mq.reply()] == names
    mq("MULTI")
    mq("MQ.OFFSETS", "TIME", "0", "TOPICS", *names)
    assert len(mq("EXEC")[0]) == 10, "in a transaction at once"
    assert mq("MQ.OFFSETS", "TIME", "0", "TOPICS", *names) is None
    talk.connect()("MQ.TOPIC DELETE t9")
    talk.pass_ms(1)
    talk.pass_ms(1)
    assert refused(mq.reply()) == "NOTFOUND topic 't9' was deleted in the meantime"
