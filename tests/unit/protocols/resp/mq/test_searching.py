"""MQ.SEARCH, and filters on MQ.READ and MQ.DEAD."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


@pytest.fixture
def filled(talk: Talk, mq: Connection) -> Connection:
    """Nine messages in three partitions, a second apart."""
    mq("MQ.TOPIC CREATE t PARTITIONS 3")
    for number in range(9):
        mq(f"MQ.SEND t {number} KEY k{number % 2} TAG {'odd' if number % 2 else 'even'} HEADER n {number} "
           f"PARTITION {number % 3}")  # fmt: skip
        talk.pass_ms(1_000)
    return mq


def search(talk: Talk, mq: Connection, *words: str) -> str:
    """What is found, a few turns later."""
    reply = mq("MQ.SEARCH", "t", *words)
    while reply is None:
        talk.pass_ms(1)
        reply = mq.reply()
    return bodies(reply)


def bodies(reply: list[dict[str, object]]) -> str:
    return "".join(str(message["body"]) for message in reply)


def test_by_key_time_filter_and_partition(talk: Talk, filled: Connection) -> None:
    now_ms = talk.broker.now_ms
    assert search(talk, filled) == "012345678"
    assert search(talk, filled, "KEY", "k1", "COUNT", "3") == "135"
    assert search(talk, filled, "NEWEST", "COUNT", "2") == "87"
    assert search(talk, filled, "FROM", f"{now_ms - 3_000}", "TO", f"{now_ms - 2_000}") == "67"
    assert search(talk, filled, "FILTER", "tag = 'odd' AND n > 4") == "57"
    assert search(talk, filled, "PARTITION", "1") == "147"
    assert search(talk, filled, "KEY", "nobody") == ""


def test_by_id(talk: Talk, filled: Connection) -> None:
    sent = filled("MQ.SEND t later DELAY 1s PARTITION 2")
    (message,) = filled("MQ.SEARCH t ID 1-1-1")
    assert (message["body"], message["receipt"], message["deliveries"]) == ("4", "1:1", 0)
    assert search(talk, filled, "ID", sent["id"]) == ""
    talk.pass_ms(1_000)
    assert search(talk, filled, "ID", sent["id"]) == "later"
    assert "not a message id" in refused(filled("MQ.SEARCH t ID x"))


def test_a_transaction_gets_all_of_it(filled: Connection) -> None:
    filled("MULTI")
    filled("MQ.SEARCH t KEY k1")
    assert bodies(filled("EXEC")[0]) == "1357"


def test_a_topic_that_goes_meanwhile_is_told(talk: Talk, filled: Connection) -> None:
    assert filled("MQ.SEARCH t KEY k1") is None
    talk.broker.core.topics.delete("t")
    talk.pass_ms(1)
    assert refused(filled.reply()).startswith("NOTFOUND")


def test_a_filter_that_makes_no_sense_is_explained(filled: Connection) -> None:
    for words in (("MQ.SEARCH", "t"), ("MQ.READ", "t"), ("MQ.DEAD", "LIST", "t")):
        assert refused(filled(*words, "FILTER", "n >")).startswith("ERR")
    assert refused(filled("MQ.SEARCH nothing")).startswith("NOTOPIC")


def test_reading_with_a_filter(filled: Connection) -> None:
    assert bodies(filled("MQ.READ t FILTER odd")) == "3175"
    assert bodies(filled("MQ.READ", "t", "FILTER", "id = '1-2-1'")) == "5"


def test_reading_goes_on_over_several_turns_until_something_matches(talk: Talk, mq: Connection) -> None:
    for _ in range(8):
        mq("MQ.SEND", "t", "x" * 1_000_000)
    mq("MQ.SEND t wanted TAG here")
    assert mq("MQ.READ t FILTER here") is None
    for _ in range(8):
        talk.pass_ms(1)
    assert bodies(mq.reply()) == "wanted"
    mq("MULTI")
    mq("MQ.READ t FILTER here")
    assert bodies(mq("EXEC")[0]) == "wanted"


def test_reading_waits_for_what_matches(talk: Talk, mq: Connection) -> None:
    assert refused(mq("MQ.READ t FILTER here WAIT 1m")).startswith("NOTOPIC")
    mq("MQ.SEND t x")
    assert mq("MQ.READ t FILTER here WAIT 1m") is None
    other = talk.connect()
    other("MQ.SEND t y")
    assert mq.reply() is None
    other("MQ.SEND t z TAG here")
    assert bodies(mq.reply()) == "z"


def test_dead_letters_are_filtered(filled: Connection) -> None:
    for message in filled("MQ.RECEIVE t g COUNT 9"):
        filled(f"MQ.REJECT t g {message['receipt']}")
    assert sorted(bodies(filled("MQ.DEAD LIST t FILTER odd"))) == list("1357")
    assert filled("MQ.DEAD", "REPLAY", "t", "FILTER", "n < 2") == {"found": 2, "sent": 2}
    assert filled("MQ.DEAD PURGE t FILTER even") == 4
    assert sorted(bodies(filled("MQ.DEAD LIST t"))) == list("357")


def test_a_message_is_followed_through_its_life(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t TRACE yes")
    assert mq("MQ.TOPIC INFO t")["trace"] is True
    sent = mq("MQ.SEND t x KEY k TAG a")
    mq("MQ.RECEIVE t g MEMBER m")
    mq("MQ.REJECT t g 0:0 REASON bad")
    mq("MQ.RECEIVE t h MEMBER m")
    reply = mq(f"MQ.TRACE t {sent['id']}")
    while reply is None:
        talk.pass_ms(1)
        reply = mq.reply()
    shown = ("id", "partition", "offset", "key", "traced")
    assert [reply[name] for name in shown] == [sent["id"], 0, 0, "k", True]
    told = [(event["event"], event["group"], event["topic"]) for event in reply["events"]]
    assert ("delivered", "g", "t") in told
    assert ("dead", "g", "t.g.dead") in told
    assert {each["group"]: each["state"] for each in reply["groups"]} == {"g": "done", "h": "in flight"}
    mq("MULTI")
    mq(f"MQ.TRACE t {sent['id']}")
    assert mq("EXEC")[0]["events"] == reply["events"]
    assert "not a message id" in refused(mq("MQ.TRACE t x"))
