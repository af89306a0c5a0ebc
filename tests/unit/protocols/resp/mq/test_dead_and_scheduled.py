"""MQ.DEAD and MQ.SCHEDULE."""

import pytest

from onemq.protocols.resp.mq import schedule
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

HOUR_MS = 3_600_000


def bury(mq: Connection, *bodies: str, topic: str = "t", group: str = "g") -> None:
    """Messages become dead letters of a group."""
    for body in bodies:
        mq(f"MQ.SEND {topic} {body} KEY key-{body} HEADER a b")
    for message in mq(f"MQ.RECEIVE {topic} {group} COUNT 1000"):
        mq(f"MQ.REJECT {topic} {group} {message['receipt']} REASON bad")


def test_dead_letters_are_shown_with_their_death(talk: Talk, mq: Connection) -> None:
    bury(mq, "x", "y")
    letters = mq("MQ.DEAD LIST t")
    assert [(each["topic"], each["offset"], each["id"], each["body"], each["key"]) for each in letters] == [
        ("t.g.dead", 0, "1-0-0", "x", "key-x"), ("t.g.dead", 1, "1-0-1", "y", "key-y"),
    ]  # fmt: skip
    death = letters[0]["dead"]
    whence = ("topic", "partition", "offset", "group", "deliveries")
    assert [death[name] for name in whence] == ["t", 0, 0, "g", 1]
    assert (death["reason"], death["at"]) == ("bad", talk.broker.now_ms)
    assert [attempt["reason"] for attempt in death["history"]] == ["bad"]
    assert mq("MQ.DEAD LIST t COUNT 1") == letters[:1]
    assert mq("MQ.DEAD LIST t.g.dead") == letters, "a topic of dead letters may be named itself"
    assert mq("MQ.DEAD GET t 1-0-1") == letters[1]
    assert mq("MQ.DEAD GET t 9-9-9") is None


def test_letters_of_several_groups_and_topics_are_told_apart(mq: Connection) -> None:
    for topic in ("t", "u"):
        mq(f"MQ.GROUP CREATE {topic} shared DEAD graves")
        mq(f"MQ.GROUP CREATE {topic} own")
        bury(mq, f"{topic}-1", topic=topic, group="shared")
        bury(mq, topic=topic, group="own")
    assert len(mq("MQ.DEAD LIST t")) == 2
    assert [each["dead"]["group"] for each in mq("MQ.DEAD LIST t GROUP shared")] == ["shared"]
    assert [each["dead"]["topic"] for each in mq("MQ.DEAD LIST graves")] == ["t", "u"]
    mq("MQ.GROUP DELETE t own")
    assert len(mq("MQ.DEAD LIST t")) == 2, "letters of a group that is gone are still there"


def test_a_letter_goes_back_as_it_was_and_counts_anew(talk: Talk, mq: Connection) -> None:
    bury(mq, "x", "y", "z")
    assert mq("MQ.DEAD REPLAY t DRYRUN") == {"found": 3, "sent": 0}
    assert mq("MQ.DEAD REPLAY t IDS 1-0-1 9-9-9") == {"found": 1, "sent": 1}
    (message,) = mq("MQ.RECEIVE t g COUNT 10")
    assert (message["id"], message["key"], message["body"], message["headers"], message["deliveries"]) == (
        "1-0-1", "key-y", "y", {"a": "b"}, 1,
    )  # fmt: skip
    assert "dead" not in message
    assert [each["body"] for each in mq("MQ.DEAD LIST t")] == ["x", "z"]
    talk.restart()
    mq = talk.connect()
    assert [each["body"] for each in mq("MQ.DEAD LIST t")] == ["x", "z"]
    assert mq("MQ.DEAD REPLAY t") == {"found": 2, "sent": 2}
    assert mq("MQ.DEAD LIST t") == []
    assert mq("MQ.TOPIC INFO t.g.dead")["messages"] == 0


def test_it_dies_again_under_the_same_id(mq: Connection) -> None:
    bury(mq, "x")
    mq("MQ.DEAD REPLAY t")
    bury(mq)
    assert [(each["id"], each["dead"]["offset"]) for each in mq("MQ.DEAD LIST t")] == [("1-0-0", 1)]


def test_a_letter_goes_back_to_its_partition(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 4")
    mq("MQ.SEND t x PARTITION 3")
    mq("MQ.RECEIVE t g")
    mq("MQ.REJECT t g 3:0")
    mq("MQ.DEAD REPLAY t")
    assert mq("MQ.OFFSETS t")[3] == [3, 0, 2]


def test_a_letter_whose_topic_is_gone_stays(mq: Connection) -> None:
    bury(mq, "x")
    mq("MQ.TOPIC DELETE t")
    assert mq("MQ.DEAD REPLAY t.g.dead") == {"found": 1, "sent": 0}
    assert len(mq("MQ.DEAD LIST t.g.dead")) == 1
    mq("MQ.TOPIC CREATE t")
    assert mq("MQ.DEAD REPLAY t.g.dead") == {"found": 1, "sent": 1}


def test_purging_removes_some_or_all(talk: Talk, mq: Connection) -> None:
    bury(mq, *"vwxyz")
    assert mq("MQ.DEAD PURGE t IDS 1-0-2") == 1
    assert mq("MQ.DEAD PURGE t COUNT 1") == 1
    assert mq("MQ.DEAD PURGE t GROUP other") == 0
    talk.restart()
    mq = talk.connect()
    assert [each["body"] for each in mq("MQ.DEAD LIST t")] == ["w", "y", "z"]
    assert mq("MQ.DEAD PURGE t") == 3
    assert mq("MQ.DEAD PURGE t") == 0


def test_letters_in_a_topic_of_several_partitions_are_deleted_one_by_one(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE graves PARTITIONS 3")
    mq("MQ.GROUP CREATE t g DEAD graves")
    bury(mq, *"uvwxyz")
    mq("MQ.RECEIVE graves watchers")
    ids = [each["id"] for each in mq("MQ.DEAD LIST t") if each["partition"] != 0]
    assert len(ids) >= 2
    assert mq("MQ.DEAD", "PURGE", "t", "IDS", *ids[1:]) == len(ids) - 1
    for how in ("kill", "stop"):
        talk.broker.restart(how)
        talk.service.__init__(talk.broker.core, talk.service.facts)  # type: ignore[misc]
        mq = talk.connect()
        left = mq("MQ.DEAD LIST t")
        assert {each["id"] for each in left} & set(ids) == {ids[0]}
        assert mq("MQ.TOPIC INFO graves")["messages"] == len(left)
        assert len(mq("MQ.READ graves")) == len(left)
    assert mq("MQ.DEAD REPLAY t")["sent"] == len(left)


def test_many_letters_take_several_turns(talk: Talk, mq: Connection) -> None:
    for _ in range(20):
        bury(mq, "x" * 50_000)
    assert mq("MQ.DEAD PURGE t") is None
    for _ in range(30):
        talk.pass_ms(1)
    assert mq.reply() == 20
    bury(mq, "y")
    mq("MULTI")
    mq("MQ.DEAD PURGE t")
    assert mq("EXEC") == [1]


def test_a_forged_death_is_none(mq: Connection) -> None:
    mq("XADD t.g.dead * body x _dead nonsense")
    mq("MQ.SEND t x")
    mq("MQ.GROUP CREATE t g")
    assert mq("MQ.DEAD LIST t") == []
    assert mq("MQ.READ t.g.dead")[0]["dead"] is None


def test_mistakes_are_explained(mq: Connection) -> None:
    assert refused(mq("MQ.DEAD LIST t")).startswith("NOTOPIC")
    mq("MQ.TOPIC CREATE t")
    assert "after IDS come the ids" in refused(mq("MQ.DEAD REPLAY t IDS"))
    assert "no option 'DRYRUN'" in refused(mq("MQ.DEAD PURGE t DRYRUN"))


# The schedule


def test_scheduled_messages_are_listed_by_their_time(talk: Talk, mq: Connection) -> None:
    now_ms = talk.broker.now_ms
    for body, delay in (("c", "3h"), ("a", "1h"), ("b", "2h")):
        mq(f"MQ.SEND t {body} DELAY {delay} KEY k")
    cursor, rows = mq("MQ.SCHEDULE LIST")
    assert cursor is None
    assert [(row["id"], row["message"], row["due"], row["topic"], row["key"], row["body"]) for row in rows] == [
        (1, "2-0-1", now_ms + HOUR_MS, "t", "k", "a"),
        (2, "2-0-2", now_ms + 2 * HOUR_MS, "t", "k", "b"),
        (0, "2-0-0", now_ms + 3 * HOUR_MS, "t", "k", "c"),
    ]
    cursor, rows = mq("MQ.SCHEDULE LIST COUNT 2")
    assert [row["body"] for row in rows] == ["a", "b"]
    cursor, rows = mq(f"MQ.SCHEDULE LIST COUNT 2 AFTER {cursor}")
    assert (cursor, [row["body"] for row in rows]) == (None, ["c"])


def test_those_of_one_topic_are_picked_out(mq: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_PAGE", 3)
    for number in range(20):
        mq(f"MQ.SEND {'t' if number % 5 == 0 else 'u'} {number} DELAY 1h")
    cursor, rows = mq("MQ.SCHEDULE LIST TOPIC t COUNT 3")
    assert [row["body"] for row in rows] == ["0", "5", "10"]
    cursor, rows = mq(f"MQ.SCHEDULE LIST TOPIC t COUNT 3 AFTER {cursor}")
    assert (cursor, [row["body"] for row in rows]) == (None, ["15"])
    monkeypatch.setattr(schedule, "_PAGES_MAX", 2)
    cursor, rows = mq("MQ.SCHEDULE LIST TOPIC nothing")
    assert (cursor is not None, rows) == (True, []), "it looks at so many, and can be asked to go on"


def test_a_scheduled_message_is_moved_and_cancelled(talk: Talk, mq: Connection) -> None:
    for body in "abc":
        mq(f"MQ.SEND t {body} DELAY 1h")
    assert mq("MQ.SCHEDULE MOVE 0 DELAY 2h") == "OK"
    assert mq(f"MQ.SCHEDULE MOVE 1 AT {talk.broker.now_ms + 1}") == "OK"
    assert mq("MQ.SCHEDULE GET 0")["due"] == talk.broker.now_ms + 2 * HOUR_MS
    assert mq("MQ.SCHEDULE CANCEL 2 2 77") == 1
    assert mq("MQ.SCHEDULE GET 2") is None
    talk.pass_ms(1)
    assert [each["body"] for each in mq("MQ.READ t")] == ["b"]
    assert refused(mq("MQ.SCHEDULE MOVE 1 DELAY 1s")).startswith("NOTFOUND there is no scheduled message 1")
    assert "DELAY duration or AT time" in refused(mq("MQ.SCHEDULE MOVE 0 LATER 1s"))
    assert "is not the number of a scheduled message" in refused(mq("MQ.SCHEDULE GET x"))
    assert "AFTER takes what an earlier" in refused(mq("MQ.SCHEDULE LIST AFTER x"))


def test_an_empty_schedule_is_shown_as_such(mq: Connection) -> None:
    assert mq("MQ.SCHEDULE LIST") == [None, []]
    assert mq("MQ.SCHEDULE GET 0") is None
    assert mq("MQ.TOPIC LIST") == []
