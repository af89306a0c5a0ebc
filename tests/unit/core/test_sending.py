"""Sending: limits, ready-made batches, what a turn has staged, and messages that are not persistent."""

import pytest

from onemq.core.placed import TIMER
from onemq.core.start import FIRST
from onemq.errors import Corrupt, DiskFull, InvalidArgument, TooLarge
from onemq.log.batch import NOT_PERSISTENT, read_header, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import decode
from tests.sim.fingerprint import records_of
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker, sealed, state


def test_a_message_is_stored_with_key_body_headers_and_the_time_of_the_turn(broker: Broker) -> None:
    broker.topic()
    broker.now_ms += 1234
    headers = ((b"colour", b"red"), (b"empty", b""), (b"none", None))
    assert broker.send(b"body", key=b"key", headers=headers) == [(0, 0)]
    assert broker.records() == [(0, NOW_MS + 1234, b"key", b"body", headers)]


def test_offsets_are_dense_within_and_between_turns(broker: Broker) -> None:
    broker.topic("t", 2)
    assert broker.send(b"a", b"b", b"c") == [(0, 0), (1, 0), (0, 1)]
    assert broker.send(b"d", b"e") == [(1, 1), (0, 2)]
    assert broker.all_values() == [[b"a", b"c", b"e"], [b"b", b"d"]]


def test_a_due_time_that_has_come_means_now(broker: Broker) -> None:
    """B8"""
    broker.topic()
    places = broker.send(b"past", deliver_at_ms=0) + broker.send(b"now", deliver_at_ms=broker.now_ms)
    assert places == [(0, 0), (0, 1)]
    assert broker.send(b"later", deliver_at_ms=broker.now_ms + 1) == [(TIMER, 0)]


# Limits


def test_a_message_may_be_as_large_as_its_topic_allows_and_no_larger(broker: Broker) -> None:
    broker.topic(message_bytes_max=100)
    broker.send(b"x" * 100)
    with broker.turn() as core, pytest.raises(TooLarge, match="up to 100 bytes"):
        core.send("t", b"x" * 101)
    assert broker.core.topics.get("t").partitions[0].end == 1


@pytest.mark.parametrize(
    "options", [{"key": b"k" * 101}, {"headers": ((b"h", b"v" * 101),)}, {"headers": ((b"n" * 101, None),)}]
)
def test_keys_and_headers_count_as_part_of_the_message(broker: Broker, options: dict[str, object]) -> None:
    broker.topic(message_bytes_max=100)
    for due_ms in (None, broker.now_ms + SECOND_MS):
        with broker.turn() as core, pytest.raises(TooLarge):
            core.send("t", b"", deliver_at_ms=due_ms, **options)  # type: ignore[arg-type]
    assert broker.values() == []


def test_a_refusal_stops_messages_of_every_kind_and_stores_nothing(broker: Broker) -> None:
    """A4"""
    topic = broker.topic()
    before = state(broker.core)
    with broker.turn() as core:
        core.sending.refusal = DiskFull("the disk is full")
        for call in (
            lambda: core.send("t", b""),
            lambda: core.send("t", b"", deliver_at_ms=broker.now_ms + 1),
            lambda: core.sending.send_batch(topic, 0, sealed(b"")),
        ):
            with pytest.raises(DiskFull, match="the disk is full"):
                call()
        assert core.read_only == "the disk is full"
        core.sending.refusal = None
    assert topic.partitions[0].end == 0
    assert state(broker.core)["topics"]["t"] == before["topics"]["t"]


# Ready-made batches


def test_a_ready_made_batch_gets_the_next_offsets_whatever_it_said_itself(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"before")
    with broker.turn() as core:
        core.send("t", b"single")
        first = core.sending.send_batch(topic, 0, sealed(b"one", b"two", base_offset=7_000, key=b"k"))
        core.send("t", b"after")
    assert first == 2
    assert [(record[0], record[3]) for record in broker.records()] == [
        (0, b"before"), (1, b"single"), (2, b"one"), (3, b"two"), (4, b"after"),
    ]  # fmt: skip


def test_a_ready_made_batch_is_stored_byte_for_byte_but_for_its_place(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"before")
    batch = sealed(b"one", b"two", timestamp_ms=5)
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, batch)
    stored: list[bytes] = []
    broker.core.reading.batches(topic.partitions[0], 1, 1 << 20, stored.append)
    assert stored[0][16:] == batch[16:]
    assert stored[0][:16] == (1).to_bytes(8, "big") + batch[8:12] + b"\xff" * 4
    assert read_header(stored[0]).base_offset == 1


def test_a_batch_from_which_records_are_missing_keeps_its_offsets(broker: Broker) -> None:
    """Kafka's own compaction makes such batches; a mirror sends them on."""
    topic = broker.topic()
    builder = BatchBuilder(0, NOW_MS)
    builder.skip_to(2)
    builder.add(NOW_MS, None, b"two", b"\x00")
    with broker.turn() as core:
        assert core.sending.send_batch(topic, 0, builder.seal(last_delta=4)) == 0
        assert core.send("t", b"five") == (0, 5)
    assert [(record[0], record[3]) for record in broker.records()] == [(2, b"two"), (5, b"five")]


def _flipped(batch: bytes, position: int) -> bytes:
    return batch[:position] + bytes([batch[position] ^ 1]) + batch[position + 1 :]


@pytest.mark.parametrize(
    ("batch", "error", "complaint"),
    [
        (b"", Corrupt, "shorter"),
        (sealed(b"body")[:60], Corrupt, "shorter"),
        (sealed(b"body")[:-1], Corrupt, "does not fit"),
        (sealed(b"body") + b"x", Corrupt, "does not fit"),
        (sealed(b"body") + sealed(b"body"), Corrupt, "does not fit"),
        (_flipped(sealed(b"body"), 16), InvalidArgument, "format 3"),
        (_flipped(sealed(b"body"), 17), Corrupt, "checksum"),
        (_flipped(sealed(b"body"), 65), Corrupt, "checksum"),
        (BatchBuilder(0, 0).seal(), InvalidArgument, "does not fit"),
    ],
    ids=["empty", "header cut", "cut", "too long", "two", "magic", "checksum", "body", "no records"],
)
def test_a_batch_that_is_not_sound_is_refused(
    broker: Broker, batch: bytes, error: type[Exception], complaint: str
) -> None:
    topic = broker.topic()
    with broker.turn() as core, pytest.raises(error, match=complaint):
        core.sending.send_batch(topic, 0, batch)
    assert topic.partitions[0].end == 0


def test_a_batch_has_the_limit_of_its_topic_and_needs_a_partition_that_is_there(broker: Broker) -> None:
    topic = broker.topic(message_bytes_max=100)
    with broker.turn() as core:
        with pytest.raises(TooLarge, match="up to 100 bytes"):
            core.sending.send_batch(topic, 0, sealed(b"x" * 100))
        with pytest.raises(InvalidArgument, match="partitions 0 to 0"):
            core.sending.send_batch(topic, 1, sealed(b"x"))


# What a turn has staged


def test_what_a_turn_has_sent_can_be_read_and_received_in_that_turn(broker: Broker) -> None:
    topic = broker.topic()
    got: list[bytes | None] = []
    with broker.turn() as core:
        core.send("t", b"one")
        core.create_group("t", "g", FIRST)
        core.sending.send_batch(topic, 0, sealed(b"two"))
        core.send("t", b"three", persistent=False)
        assert [record[3] for record in records_of(core, topic, 0)] == [b"one", b"two", b"three"]
        core.send("t", b"four")
        group = core.groups.get("t", "g")
        core.receiving.receive(group, "m", 10, lambda handed: got.extend(record[3] for _, record, _ in handed))
        core.groups.acknowledge(group, 0, [0, 1, 2, 3])
    assert got == [b"one", b"two", b"three", b"four"]
    assert broker.values() == got
    assert group.lag == 0


def test_reading_on_from_the_log_into_what_is_staged_misses_nothing(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"0", b"1")
    with broker.turn() as core:
        core.send("t", b"2")
        assert [record[3] for record in records_of(core, topic, 0)] == [b"0", b"1", b"2"]
        staged: list[bytes] = []
        core.reading.batches(topic.partitions[0], 3, 100, staged.append)
        assert staged == [b""]


def test_a_reader_gets_staged_batches_up_to_its_limit_but_always_one(broker: Broker) -> None:
    topic = broker.topic()
    with broker.turn() as core:
        for _ in range(3):
            core.sending.send_batch(topic, 0, sealed(b"x" * 100))
        for bytes_max, batches in ((1, 1), (400, 2), (10_000, 3)):
            read: list[bytes] = []
            core.reading.batches(topic.partitions[0], 0, bytes_max, read.append)
            assert len(list(walk(read[0]))) == batches


def test_the_messages_of_a_turn_are_one_batch_per_partition(broker: Broker) -> None:
    """Nothing per message that can be per batch."""
    topic = broker.topic("t", 2)
    broker.send(*[b"x"] * 20)
    for partition in topic.partitions:
        read: list[bytes] = []
        broker.core.reading.batches(partition, 0, 1 << 20, read.append)
        assert [header.record_count for _, header in walk(read[0])] == [10]


# Not persistent (A3)


def test_messages_that_are_not_persistent_are_void_after_a_restart_and_others_are_not(local: Broker) -> None:
    """A3"""
    local.topic()
    group = local.group()
    with local.turn() as core:
        for body, persistent in ((b"1", True), (b"2", False), (b"3", False), (b"4", True), (b"5", False)):
            core.send("t", body, persistent=persistent)
    local.restart()
    group = local.core.groups.get("t", "g")
    assert local.bodies(group) == [b"1", b"4"]
    local.acknowledge(group, 0, 3)
    assert group.lag == 0
    assert local.send(b"6", persistent=False) == [(0, 5)]
    assert local.bodies(group) == [b"6"]


def test_messages_that_are_not_persistent_are_delivered_like_others_while_the_broker_runs(broker: Broker) -> None:
    """A3"""
    broker.topic()
    group = broker.group()
    broker.send(b"1", b"2", persistent=False)
    assert broker.bodies(group) == [b"1", b"2"]
    broker.fail(group, 0, 1)
    assert broker.bodies(group) == [b"1", b"2"]


@pytest.mark.parametrize("leased", [True, False])
def test_a_message_that_is_not_persistent_does_not_come_again_after_a_restart(local: Broker, leased: bool) -> None:
    """A3: also if it was in flight, or waiting for its retry."""
    local.topic()
    group = local.group()
    local.send(b"in flight", b"failed", persistent=False)
    local.send(b"kept")
    with local.turn() as core:
        core.groups.join(group, "m", leased)
    assert len(local.bodies(group)) == 3
    local.fail(group, 1, 2, delay_ms=SECOND_MS)
    local.restart()
    local.pass_ms(SECOND_MS)
    group = local.core.groups.get("t", "g")
    if not leased:
        with local.turn() as core:
            core.groups.leave(group, "m")
    assert local.bodies(group) == [b"kept"]
    local.acknowledge(group, 2)
    assert group.lag == 0


def test_whether_a_message_is_persistent_is_marked_on_its_batch(broker: Broker) -> None:
    """A3: others that read the files can tell."""
    topic = broker.topic()
    broker.send(b"1", persistent=False)
    read: list[bytes] = []
    broker.core.reading.batches(topic.partitions[0], 0, 1 << 20, read.append)
    header = read_header(read[0])
    assert header.attributes == NOT_PERSISTENT
    assert [record[3] for record in decode(read[0], 0, header)] == [b"1"]
