"""Topics: names, settings, partitions, and what happens to those who use a topic that goes."""

import msgspec
import pytest
from crc32c import crc32c

from onemq.core.start import FIRST
from onemq.core.topics import SCHEDULE_NAME, TopicConfig
from onemq.errors import AlreadyExists, InvalidArgument, NotFound
from onemq.limits import NAME_BYTES_MAX, PARTITIONS_MAX
from tests.unit.core.broker import HOUR_MS, MINUTE_MS, Answers, Broker, state


def test_a_new_topic_is_an_empty_sync_stream_with_one_partition(broker: Broker) -> None:
    with broker.turn() as core:
        topic = core.topics.create("orders")
    assert [(partition.start, partition.end) for partition in topic.partitions] == [(0, 0)]
    assert (topic.config.kind, topic.config.flush, topic.sync) == ("stream", "sync", True)
    assert broker.core.topics.get("orders") is broker.core.topics.by_id(topic.id) is topic
    assert len(broker.core.topics) == 1


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "empty"),
        ("x" * (NAME_BYTES_MAX + 1), "250"),
        ("ä" * 125, "250"),
        ("a\nb", "printable"),
        ("a\x00", "printable"),
        ("\x7f", "printable"),
        ("a\u2028b", "printable"),
        ("\ud800", "printable"),
        ("__mine", "OneMQ's own"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_changes(broker: Broker, name: str, complaint: str) -> None:
    with broker.turn() as core, pytest.raises(InvalidArgument, match=complaint):
        core.topics.create(name)
    assert len(broker.core.topics) == 0


@pytest.mark.parametrize("name", ["x" * NAME_BYTES_MAX, "a b", "über", "orders/eu", "..", "日本", "_one"])
def test_a_name_of_printable_characters_is_taken_and_can_be_used(broker: Broker, name: str) -> None:
    broker.topic(name)
    broker.send(b"body", topic=name)
    assert broker.values(name) == [b"body"]


def test_a_name_exists_once(broker: Broker) -> None:
    broker.topic("t")
    with broker.turn() as core, pytest.raises(AlreadyExists, match="'t' exists"):
        core.topics.create("t", 3)
    assert len(broker.core.topics.get("t").partitions) == 1


def test_an_unknown_topic_is_not_found_by_any_call(broker: Broker) -> None:
    with broker.turn() as core:
        for call in (core.topics.get, core.topics.delete, core.topics.alter):
            with pytest.raises(NotFound, match="no topic 'gone'"):
                call("gone")
        with pytest.raises(NotFound):
            core.send("gone", b"")
        with pytest.raises(NotFound):
            core.groups.get("gone", "g")
    assert broker.core.topics.find("gone") is None


@pytest.mark.parametrize("partitions", [0, -1, PARTITIONS_MAX + 1])
def test_the_number_of_partitions_has_limits(broker: Broker, partitions: int) -> None:
    with broker.turn() as core, pytest.raises(InvalidArgument, match="partitions"):
        core.topics.create("t", partitions)
    assert broker.core.topics.find("t") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"retention_ms": 0},
        {"retention_bytes": -1},
        {"message_bytes_max": 0},
        {"message_bytes_max": 1 << 30},
        {"segment_bytes": 100},
        {"segment_bytes": 3 << 30},
    ],
)
def test_settings_that_make_no_sense_are_refused(broker: Broker, settings: dict[str, int]) -> None:
    broker.topic("there")
    before = state(broker.core)
    with broker.turn() as core:
        with pytest.raises(InvalidArgument, match=next(iter(settings))):
            core.topics.create("t", 1, TopicConfig(**settings))  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match=next(iter(settings))):
            core.topics.alter("there", **settings)
    assert state(broker.core) == before


@pytest.mark.parametrize("settings", [{"colour": "red"}, {"kind": "pile"}, {"flush": 1}, {"retention_ms": "long"}])
def test_altering_with_unknown_or_wrong_settings_names_the_topic_and_the_setting(
    broker: Broker, settings: dict[str, object]
) -> None:
    broker.topic("t")
    with broker.turn() as core, pytest.raises(InvalidArgument, match=f"'t'.*{next(iter(settings))}"):
        core.topics.alter("t", **settings)


def test_altering_changes_only_what_is_named(broker: Broker) -> None:
    broker.topic("t", kind="queue", retention_ms=HOUR_MS)
    with broker.turn() as core:
        core.topics.alter("t", flush="async", retention_bytes=10_000)
    config = broker.core.topics.get("t").config
    assert config == TopicConfig(kind="queue", retention_ms=HOUR_MS, flush="async", retention_bytes=10_000)
    assert not broker.core.topics.get("t").partitions[0].sync


def test_a_topic_can_grow_but_not_shrink(broker: Broker) -> None:
    topic = broker.topic("t", 3)
    with broker.turn() as core:
        core.topics.alter("t", partitions=5)
        with pytest.raises(InvalidArgument, match="only grow"):
            core.topics.alter("t", partitions=4)
    assert [partition.number for partition in topic.partitions] == [0, 1, 2, 3, 4]


def test_groups_get_a_position_in_partitions_that_are_added_and_miss_nothing_there(broker: Broker) -> None:
    """C3: growth with groups present."""
    broker.topic("t", 1)
    group = broker.group()
    broker.send(b"before")
    with broker.turn() as core:
        core.topics.alter("t", partitions=3)
        core.send("t", b"after", number=2)
    assert sorted(broker.bodies(group), key=str) == [b"after", b"before"]
    assert len(group.cursors) == 3


def test_a_receiver_that_waits_gets_what_comes_to_a_partition_that_was_added(broker: Broker) -> None:
    broker.topic("t", 1)
    answers = Answers(broker, broker.group())
    with broker.turn():
        answers.ask("a")
    with broker.turn() as core:
        core.topics.alter("t", partitions=2)
        core.send("t", b"hello", number=1)
    assert answers.told == {"a": [b"hello"]}


# Partition choice (B3)


def test_messages_of_one_key_go_to_one_partition_by_its_hash(broker: Broker) -> None:
    """B3"""
    broker.topic("t", 7)
    for key in (b"a", b"b", b"", b"order-4711"):
        places = {number for number, _ in broker.send(b"1", b"2", b"3", key=key)}
        assert places == {crc32c(key) % 7}


def test_messages_without_key_take_the_partitions_in_turn(broker: Broker) -> None:
    """B3"""
    broker.topic("t", 3)
    places = broker.send(*[b""] * 6)
    assert [number for number, _ in places] == [0, 1, 2, 0, 1, 2]


def test_a_sender_may_name_the_partition_itself(broker: Broker) -> None:
    """B3"""
    broker.topic("t", 3)
    assert broker.send(b"1", b"2", key=b"k", number=2) == [(2, 0), (2, 1)]
    for number in (3, -1):
        with broker.turn() as core, pytest.raises(InvalidArgument, match="partitions 0 to 2"):
            core.send("t", b"", number=number)


# Deleting


def test_a_deleted_topic_is_gone_with_messages_and_groups(broker: Broker) -> None:
    broker.topic("t")
    broker.group()
    broker.send(b"old")
    with broker.turn() as core:
        core.topics.delete("t")
    assert broker.core.topics.find("t") is None
    assert broker.core.stats()["groups"] == 0
    again = broker.topic("t")
    assert broker.values() == []
    assert again.groups == {}


def test_ids_of_topics_are_never_used_again(local: Broker) -> None:
    """Message ids are made of them."""
    first = local.topic("t").id
    with local.turn() as core:
        core.topics.delete("t")
    local.restart("stop")
    assert local.topic("t").id > first


def test_a_topic_can_come_and_go_within_one_turn(broker: Broker) -> None:
    with broker.turn() as core:
        core.topics.create("t")
        core.send("t", b"never seen")
        core.topics.delete("t")
        core.topics.create("t", 2)
        core.send("t", b"seen", number=1)
    assert broker.all_values() == [[], [b"seen"]]


def test_receivers_and_readers_that_wait_are_told_when_the_topic_goes(broker: Broker) -> None:
    """C6: nobody waits for what can never come."""
    topic = broker.topic("t")
    answers = Answers(broker, broker.group())
    told: list[str] = []
    with broker.turn() as core:
        answers.ask("a")
        core.waiting.wait(topic.partitions, broker.now_ms + MINUTE_MS, lambda: told.append("reader"))
    with broker.turn() as core:
        core.topics.delete("t")
    assert answers.told == {"a": []}
    assert told == ["reader"]


@pytest.mark.parametrize("call", ["send", "schedule", "alter", "delete", "group"])
def test_nobody_but_the_broker_touches_its_own_topics(broker: Broker, call: str) -> None:
    broker.topic("t")
    broker.send(b"later", deliver_at_ms=broker.now_ms + HOUR_MS)
    before = state(broker.core)
    with broker.turn() as core:
        calls = {
            "send": lambda: core.send(SCHEDULE_NAME, b"intruder"),
            "schedule": lambda: core.send(SCHEDULE_NAME, b"intruder", deliver_at_ms=broker.now_ms + 1),
            "alter": lambda: core.topics.alter(SCHEDULE_NAME, partitions=2),
            "delete": lambda: core.topics.delete(SCHEDULE_NAME),
            "group": lambda: broker.core.create_group(SCHEDULE_NAME, "g", FIRST),
        }
        with pytest.raises(InvalidArgument, match="OneMQ's own"):
            calls[call]()
    assert state(broker.core) == before


def test_settings_survive_a_restart(local: Broker) -> None:
    config = TopicConfig(
        "queue", "async", HOUR_MS, 1 << 20, compact=True, tombstone_ms=5, message_bytes_max=1000, message_time="broker",
        segment_bytes=1 << 20, segment_ms_max=7, dead=True, notes={"some": "thing"},
    )  # fmt: skip
    local.topic("t", 3, **msgspec.to_builtins(config))
    with local.turn() as core:
        core.topics.alter("t", partitions=4, compact=False)
    local.restart()
    found = local.core.topics.get("t")
    assert msgspec.to_builtins(found.config) == msgspec.to_builtins(config) | {"compact": False}
    assert len(found.partitions) == 4
