"""Removing: deleted messages are gone for readers, and what nobody can read any more leaves the log."""

from tests.unit.core.broker import Broker
from tests.unit.core.test_stream import delete, id, ids_of, make, trim


def test_deleting_the_first_messages_moves_the_start(broker: Broker) -> None:
    stream = make(broker, *(id(number) for number in range(1, 7)))
    assert delete(broker, stream, 1, 2, 4) == 3
    assert (stream.partition.start, len(stream)) == (0, 3)
    assert delete(broker, stream, 0, 1) == 1
    assert (stream.partition.start, len(stream), ids_of(stream)) == (3, 2, [id(4), id(6)])
    assert stream.max_deleted_id == id(5)


def test_trimming_goes_on_over_what_was_deleted(broker: Broker) -> None:
    stream = make(broker, *(id(number) for number in range(1, 7)))
    delete(broker, stream, 2, 3)
    assert trim(broker, stream, 2) == 2
    assert (stream.partition.start, stream.partition.deleted, ids_of(stream)) == (4, None, [id(5), id(6)])
    assert stream.max_deleted_id == id(4)
    assert trim(broker, stream, 3) == 0


def test_what_was_deleted_last_is_the_last_id_for_ever(broker: Broker) -> None:
    stream = make(broker, id(1), id(2), id(3))
    delete(broker, stream, 2)
    assert (stream.last_id, stream.top_id()) == (id(3), id(2))
    trim(broker, stream, 3)
    assert (len(stream), stream.last_id, stream.top_id(), stream.added) == (0, id(3), 0, 3)


def test_what_retention_takes_keeps_the_last_id(broker: Broker) -> None:
    stream = make(broker, id(1), id(2))
    with broker.turn() as core:
        core.topics.trim(stream.topic, stream.partition, 2)
    assert (len(stream), stream.last_id) == (0, id(2))


def test_messages_of_any_partition_can_be_deleted(local: Broker) -> None:
    topic = local.topic("stream-s", partitions=2)
    local.send(b"a", b"b", b"c", topic="stream-s", number=1)
    with local.turn() as core:
        assert core.removing.delete_at(topic, 1, [1, 1, 7]) == 1
        assert core.removing.delete_at(topic, 1, [1]) == 0
    assert topic.partitions[1].start == 0
    with local.turn() as core:
        assert core.removing.delete_at(topic, 1, [0]) == 1
    assert topic.partitions[1].start == 2, "the log drops what lies before"


def test_any_partition_can_be_trimmed(local: Broker) -> None:
    topic = local.topic("stream-s", partitions=2)
    for number in (0, 1):
        local.send(b"a", b"b", b"c", topic="stream-s", number=number)
        with local.turn() as core:
            core.removing.trim_at(topic, number, 2)
    assert [each.start for each in topic.partitions] == [2, 2]
