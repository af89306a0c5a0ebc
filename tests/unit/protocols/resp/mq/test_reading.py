"""MQ.READ and MQ.HELP."""

from onemq.protocols.resp.commands import COMMANDS
from onemq.protocols.resp.mq.help import FACTS
from tests.unit.protocols.resp.mq.talk import Connection, Talk, refused


def bodies(reply: list[dict[str, object]]) -> list[object]:
    return [message["body"] for message in reply]


def test_reading_changes_nothing(mq: Connection) -> None:
    mq("MQ.SENDMANY t BODIES a b c")
    mq("MQ.RECEIVE t g")
    for _ in range(2):
        assert bodies(mq("MQ.READ t")) == ["a", "b", "c"]
    assert mq("MQ.READ t")[0]["deliveries"] == 0
    assert mq("MQ.GROUP INFO t g")["lag"] == 3


def test_reading_begins_where_it_is_told(talk: Talk, mq: Connection) -> None:
    for body in "abc":
        mq(f"MQ.SEND t {body}")
        talk.pass_ms(1_000)
    assert bodies(mq("MQ.READ t OFFSET 1")) == ["b", "c"]
    assert bodies(mq("MQ.READ t FROM FIRST COUNT 2")) == ["a", "b"]
    assert bodies(mq("MQ.READ t FROM LAST")) == []
    assert bodies(mq(f"MQ.READ t FROM TIME {talk.broker.now_ms - 2_000}")) == ["b", "c"]
    mq("XTRIM t MAXLEN 1")
    assert bodies(mq("MQ.READ t OFFSET 0")) == ["c"], "from the first that is kept"


def test_all_partitions_or_one(mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 3")
    mq("MQ.SENDMANY t BODIES a b c d e f")
    assert bodies(mq("MQ.READ t")) == ["a", "d", "b", "e", "c", "f"]
    assert bodies(mq("MQ.READ t PARTITION 1")) == ["b", "e"]
    assert bodies(mq("MQ.READ t COUNT 3")) == ["a", "d", "b"]


def test_reading_waits_for_what_comes(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE t PARTITIONS 2")
    assert mq("MQ.READ t FROM LAST WAIT 5s") is None
    talk.connect()("MQ.SEND t a PARTITION 1")
    assert bodies(mq.reply()) == ["a"]
    assert mq("MQ.READ t FROM LAST WAIT 5s") is None
    talk.pass_ms(5_000)
    assert mq.reply() == []
    assert mq("MQ.READ t FROM LAST WAIT 5s") is None
    talk.connect()("MQ.TOPIC DELETE t")
    assert mq.reply() == []


def test_deleted_messages_are_not_read(mq: Connection) -> None:
    mq("MQ.SENDMANY t BODIES a b c")
    mq("XDEL", "t", mq("XRANGE t - +")[1][0])
    assert bodies(mq("MQ.READ t")) == ["a", "c"]


# Help


def test_help_tells_of_every_command(mq: Connection) -> None:
    lines = mq("MQ.HELP")
    names = {row.name for row in COMMANDS if row.group == "mq" and not row.subcommands}
    names |= {each.name for row in COMMANDS if row.group == "mq" for each in row.subcommands.values()}
    assert names == {f"mq.{name.replace(' ', '|')}" for name in FACTS}
    for name, fact in FACTS.items():
        assert fact.example in lines
        assert f"    {fact.summary}" in lines
        assert fact.example.startswith(f"MQ.{name.upper()}")
        assert mq(f"MQ.HELP {name}")[2] == f"    e.g. {fact.example}"


def test_help_of_one_command(mq: Connection) -> None:
    assert mq("MQ.HELP mq.ack") == [
        "MQ.ACK topic group receipt ...",
        "    Acknowledge messages: they are done.",
        "    e.g. MQ.ACK orders points 0:42 0:50-99",
    ]
    assert len(mq("MQ.HELP GROUP")) == 3 * 9
    assert refused(mq("MQ.HELP nothing")) == "ERR there is no command MQ.NOTHING; MQ.HELP lists them"


def test_examples_are_taken_by_the_commands(talk: Talk, mq: Connection) -> None:
    mq("MQ.TOPIC CREATE orders")
    mq("MQ.SUBSCRIBE orders points")
    mq("MQ.SEND orders x DELAY 1h")
    for fact in FACTS.values():
        if "<batch>" not in fact.example and "42" not in fact.example and "WAIT" not in fact.example:
            reply = mq(fact.example)
            while reply is None and mq.session.blocked:
                talk.pass_ms(1)
                reply = mq.reply()
            expected = ("EXISTS", "NOTOPIC", "NOGROUP", "NOTFOUND")
            assert not isinstance(reply, Exception) or str(reply).startswith(expected), reply
