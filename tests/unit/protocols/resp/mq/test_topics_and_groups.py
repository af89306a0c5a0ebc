"""MQ.TOPIC and MQ.GROUP: settings, positions, and what topics are to the commands on streams and keys."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused

DAY_MS = 24 * 3_600_000


def test_settings_are_shown_as_they_were_given(mq: Connection) -> None:
    assert mq("MQ.TOPIC CREATE t PARTITIONS 3 KIND queue FLUSH async RETENTION 7d RETENTIONBYTES 1GiB COMPACT yes "
              "MAXBYTES 1k") == "OK"  # fmt: skip
    info = mq("MQ.TOPIC INFO t")
    assert {name: info[name] for name in ("partitions", "kind", "flush", "retention", "retention_bytes", "compact",
                                          "max_bytes", "dead", "messages", "groups", "offsets")} == {
        "partitions": 3, "kind": "queue", "flush": "async", "retention": "7d", "retention_bytes": 1 << 30,
        "compact": True, "max_bytes": 1024, "dead": False, "messages": 0, "groups": [], "offsets": [[0, 0]] * 3,
    }  # fmt: skip
    assert mq("MQ.TOPIC ALTER t PARTITIONS 4 RETENTION none RETENTIONBYTES none COMPACT no KIND stream") == "OK"
    info = mq("MQ.TOPIC INFO t")
    assert (info["partitions"], info["retention"], info["retention_bytes"], info["compact"], info["kind"]) == (
        4, "none", None, False, "stream",
    )  # fmt: skip


def test_a_topic_is_made_once(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    assert refused(mq("MQ.TOPIC CREATE t")) == "EXISTS topic 't' exists already"
    assert mq("MQ.TOPIC CREATE t PARTITIONS 9 IFNOTEXISTS") == "OK"
    assert mq("MQ.TOPIC INFO t")["partitions"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("MQ.TOPIC CREATE t PARTITIONS 0", "ERR MQ.TOPIC CREATE: PARTITIONS must be a whole number, from 1 to 10000"),
        ("MQ.TOPIC CREATE t KIND list", "ERR MQ.TOPIC CREATE: KIND must be STREAM or QUEUE, not 'list'"),
        ("MQ.TOPIC CREATE t COLOUR red", "ERR MQ.TOPIC CREATE: there is no option 'COLOUR'; MQ.HELP TOPIC shows"),
        ("MQ.TOPIC CREATE t RETENTION 0", "ERR retention_ms must be at least 1"),
        ("MQ.TOPIC CREATE __t", "ERR topic names that begin with __ are OneMQ's own"),
        ("MQ.TOPIC ALTER t RETENTION 1d", "NOTOPIC there is no topic 't'"),
        ("MQ.TOPIC INFO t", "NOTOPIC there is no topic 't'"),
        ("MQ.TOPIC INFO __schedule", "NOTOPIC there is no topic '__schedule'"),
        ("MQ.TOPIC FROB t", "ERR unknown subcommand 'FROB'. Try MQ.TOPIC HELP."),
        ("MQ.GROUP CREATE t g FROM nowhere", "ERR MQ.GROUP CREATE: FROM must be FIRST or LAST or OFFSET or TIME"),
        ("MQ.GROUP CREATE t g RETRY sometimes", "ERR MQ.GROUP CREATE: RETRY must be LADDER or BACKOFF or NONE"),
        ("MQ.GROUP CREATE t g RETRY BACKOFF 1s", "ERR MQ.GROUP CREATE: RETRY BACKOFF, the factor, needs a value"),
        ("MQ.GROUP CREATE t g RETRY BACKOFF 1s 0.5 1m 3", "ERR MQ.GROUP CREATE: RETRY BACKOFF: the factor must be"),
        ("MQ.GROUP CREATE t g DEAD t", "ERR the dead letters of a group cannot go to its own topic"),
        ("MQ.GROUP SEEK t g FIRST", "NOTOPIC"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(mq: Connection, words: str, told: str) -> None:
    assert refused(mq(words)).startswith(told)
    assert mq("MQ.TOPIC LIST") == []


def test_topics_are_listed_by_name(mq: Connection) -> None:
    for name in ("b", "a", "ab"):
        mq(f"MQ.TOPIC CREATE {name}")
    mq("MQ.SEND b x DELAY 1h")
    mq("MQ.RECEIVE a g")
    assert [topic["name"] for topic in mq("MQ.TOPIC LIST")] == ["a", "ab", "b"]
    assert mq("MQ.TOPIC LIST MATCH a?") == [
        {"name": "ab", "partitions": 1, "kind": "stream", "messages": 0, "groups": 0, "dead": False}
    ]


def test_deleting_counts_what_was_there(mq: Connection) -> None:
    mq("MQ.SEND a x")
    mq("MQ.SEND b x")
    assert mq("MQ.TOPIC DELETE a b c a") == 2
    assert mq("MQ.TOPIC LIST") == []


# Keys and streams


def test_a_topic_with_one_partition_is_a_stream(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t")
    mq("MQ.SEND t hello KEY k HEADER a b")
    mq("XADD t * field value")
    assert [entry[1] for entry in mq("XRANGE t - +")] == [["body", "hello", "a", "b", "_key", "k"], ["field", "value"]]
    assert [each["body"] for each in mq("MQ.READ t")] == ["hello", "value"]
    assert (mq("TYPE t"), mq("XLEN t"), mq("KEYS *"), mq("DEL t")) == ("stream", 2, ["t"], 1)
    assert mq("MQ.TOPIC LIST") == []


def test_a_topic_with_more_is_none_and_says_so(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    told = "ERR topic 't' has several partitions: stream commands need one"
    for words in ("XADD t * a b", "XLEN t", "XRANGE t - +", "XREAD STREAMS t 0", "XGROUP CREATE t g 0",
                  "XREADGROUP GROUP g c STREAMS t >", "XACK t g 1-1", "XINFO STREAM t", "XDEL t 1-1",
                  "XTRIM t MAXLEN 0", "XPENDING t g", "XPOLICY t"):  # fmt: skip
        assert refused(mq(words)) == told, words
    assert (mq("TYPE t"), mq("EXISTS t"), mq("KEYS *"), mq("DBSIZE")) == ("stream", 1, ["t"], 1)
    assert "wrong kind" in refused(mq("GET t"))
    assert mq("DEL t") == 1
    assert mq("MQ.TOPIC LIST") == []


def test_a_stream_that_gets_partitions_is_one_no_more(mq: Connection) -> None:
    mq("XADD t * a b")
    mq("MQ.TOPIC ALTER t PARTITIONS 2")
    assert "several partitions" in refused(mq("XADD t * a b"))
    assert mq("MQ.SEND t x PARTITION 1")["partition"] == 1


def test_a_topic_whose_time_as_a_key_has_come_is_gone(talk: Talk, mq: Connection) -> None:
    mq("MQ.SEND t x")
    mq("PEXPIRE t 1000")
    talk.broker.now_ms += 1000
    assert mq("MQ.SEND t y")["offset"] == 0


def test_watched_topics_are_seen_to_change(talk: Talk, mq: Connection) -> None:
    other = talk.connect()
    for change in ("MQ.SEND t x", "MQ.SENDMANY t BODIES x", "MQ.GROUP CREATE t g", "MQ.GROUP DELETE t g"):
        mq("WATCH t")
        other(change)
        mq("MULTI")
        mq("PING")
        assert mq("EXEC") is None, change


# Groups


def test_a_group_begins_where_it_is_told(talk: Talk, mq: Connection) -> None:
    for body in "abcd":
        mq(f"MQ.SEND t {body}")
        talk.pass_ms(1_000)
    for start, first in (("FIRST", "a"), ("OFFSET 2", "c"), (f"TIME {talk.broker.now_ms - 1_000}", "d")):
        name = start.replace(" ", "")
        assert mq(f"MQ.GROUP CREATE t {name} FROM {start}") == "OK"
        assert mq(f"MQ.RECEIVE t {name}")[0]["body"] == first
    mq("MQ.GROUP CREATE t last FROM LAST")
    assert mq("MQ.RECEIVE t last") == []


def test_a_group_is_made_once(mq: Connection) -> None:
    assert mq("MQ.GROUP CREATE t g LEASE 5s") == "OK"
    assert refused(mq("MQ.GROUP CREATE t g")) == "EXISTS topic 't' has a group 'g' already"
    assert mq("MQ.GROUP CREATE t g LEASE 9s IFNOTEXISTS") == "OK"
    assert mq("MQ.GROUP INFO t g")["lease"] == "5s"


@pytest.mark.parametrize(
    ("given", "shown"),
    [("", "ladder"), ("RETRY LADDER", "ladder"), ("RETRY NONE", "none"), ("RETRY NONE 3", "none 3"),
     ("RETRY BACKOFF 1s 2 1m 6", "backoff 1s 2 1m 6"),
     ("RETRY BACKOFF 500ms 1 NONE NONE", "backoff 500ms 1 none none")],
)  # fmt: skip
def test_the_retry_policy_is_shown_as_it_is_given(mq: Connection, given: str, shown: str) -> None:
    mq(f"MQ.GROUP CREATE t g {given}")
    assert mq("MQ.GROUP INFO t g")["retry"] == shown
    if given:
        mq("MQ.GROUP CREATE t h RETRY NONE 9")
        mq(f"MQ.GROUP ALTER t h {given}")
        assert mq("MQ.GROUP INFO t h")["retry"] == shown


def test_no_retries_means_dead_at_once(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g RETRY NONE 0 DEAD graves")
    mq("MQ.SEND t x")
    mq("MQ.RECEIVE t g")
    mq("MQ.NACK t g 0:0")
    assert mq("MQ.TOPIC INFO graves")["messages"] == 1


def test_altering_keeps_what_is_not_named(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g RETRY NONE 2 DEAD graves LEASE 5s")
    mq("MQ.GROUP ALTER t g LEASE NONE")
    info = mq("MQ.GROUP INFO t g")
    assert (info["retry"], info["dead"], info["lease"]) == ("none 2", "graves", "none")
    assert "no option 'FROM'" in refused(mq("MQ.GROUP ALTER t g FROM FIRST"))


def test_what_the_topic_says_of_its_groups_holds_for_new_ones(mq: Connection) -> None:
    mq("XADD t * a b")
    mq("XPOLICY t MAXDELIVERIES 4")
    mq("MQ.RECEIVE t g")
    assert mq("MQ.GROUP INFO t g")["retry"] == "none 3"


def test_a_group_is_moved(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    mq("MQ.SENDMANY t BODIES a b c d")
    assert len(mq("MQ.RECEIVE t g COUNT 4")) == 4
    assert mq("MQ.GROUP SEEK t g OFFSET 1 PARTITION 1") == "OK"
    assert [each["body"] for each in mq("MQ.RECEIVE t g COUNT 4")] == ["d"]
    assert mq("MQ.GROUP SEEK t g LAST") == "OK"
    assert mq("MQ.GROUP LIST t") == [{"name": "g", "lag": 0, "in_flight": 0, "waiting": 0, "members": 1}]
    assert mq("MQ.GROUP RESET t g") == "OK"
    assert len(mq("MQ.RECEIVE t g COUNT 9")) == 4
    assert mq(f"MQ.GROUP SEEK t g TIME {talk.broker.now_ms + 1}") == "OK"
    assert mq("MQ.RECEIVE t g") == []


def test_a_reader_tells_how_far_it_is(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    mq("MQ.SENDMANY t BODIES a b c d")
    assert mq("MQ.GROUP MARK t g 1 2") == "OK"
    assert [(row["next"], row["low"], row["lag"]) for row in mq("MQ.GROUP INFO t g")["partitions"]] == [
        (0, 0, 2),
        (2, 2, 0),
    ]
    assert mq("MQ.GROUP MARK t g 0 1 1 0") == "OK"
    talk.restart()
    mq = talk.connect()
    assert [row["lag"] for row in mq("MQ.GROUP INFO t g")["partitions"]] == [1, 2]
    mq("MQ.RECEIVE t g COUNT 9")
    assert mq("MQ.GROUP MARK t g 0 2 1 2") == "OK"
    assert mq("MQ.GROUP LIST t")[0]["lag"] == 0


def test_marks_are_taken_all_or_none(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    mq("MQ.SENDMANY t BODIES a b c d")
    assert refused(mq("MQ.GROUP MARK t g 0 1 1 3")) == "ERR partition 1 of topic 't' ends at offset 2, before 3"
    assert mq("MQ.GROUP LIST t") == []
    mq("MQ.GROUP MARK t g 0 0")
    assert refused(mq("MQ.GROUP MARK t g 0 1 2 0")) == "ERR topic 't' has no partition 2"
    assert refused(mq("MQ.GROUP MARK t g 0 1 0 2")) == "ERR MQ.GROUP MARK: partition 0 is given twice"
    problem = "ERR MQ.GROUP MARK: the offset of partition 1 needs a value after it"
    assert refused(mq("MQ.GROUP MARK t g 0 1 1")) == problem
    assert refused(mq("MQ.GROUP MARK nothing g 0 1")).startswith("NOTOPIC")
    assert mq("MQ.GROUP LIST t")[0]["lag"] == 4


def test_a_mark_before_what_is_kept_is_where_that_begins(mq: Connection) -> None:
    mq("MQ.SENDMANY t BODIES a b c")
    mq("XTRIM t MAXLEN 1")
    mq("MQ.GROUP MARK t g 0 1")
    mq("MQ.GROUP MARK t g 0 0")
    assert mq("MQ.GROUP INFO t g")["partitions"][0]["next"] == 2


def test_queues_keep_what_a_reader_has_not_passed(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t KIND QUEUE")
    mq("MQ.SENDMANY t BODIES a b c")
    mq("MQ.GROUP MARK t archive 0 1")
    mq("MQ.RECEIVE t g COUNT 9 AUTOACK")
    talk.pass_ms(600_000)
    assert mq("MQ.OFFSETS t") in ([[0, 0, 3]], [[0, 1, 3]])
    assert mq("MQ.READ t OFFSET 1")[0]["body"] == "b"


def test_a_group_shows_its_numbers(mq: Connection) -> None:
    mq("MQ.SENDMANY t BODIES a b c d")
    mq("MQ.RECEIVE t g MEMBER m COUNT 3")
    mq("MQ.ACK t g 0:0")
    mq("MQ.NACK t g 0:1")
    info = mq("MQ.GROUP INFO t g")
    assert (info["lag"], info["in_flight"], info["waiting"]) == (3, 1, 1)
    assert [(each["name"], each["in_flight"]) for each in info["members"]] == [("m", 1)]
    (row,) = info["partitions"]
    assert {name: row[name] for name in ("partition", "next", "low", "end", "lag")} == {
        "partition": 0, "next": 3, "low": 1, "end": 4, "lag": 3,
    }  # fmt: skip


def test_deleting_a_group_tells_whether_it_was_there(mq: Connection) -> None:
    mq("MQ.GROUP CREATE t g")
    assert (mq("MQ.GROUP DELETE t g"), mq("MQ.GROUP DELETE t g")) == (1, 0)
