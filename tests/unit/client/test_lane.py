"""Lanes: the sequence numbers of idempotent batches, whatever becomes of them."""

from onemq.client.lane import Batch, Identity, Lane
from onemq.log.batch import check_ready_made


def lane_with(*sizes: int) -> Lane:
    lane = Lane("topic", 1, 0, Identity(7, 0))
    for size in sizes:
        add(lane, size)
    return lane


def add(lane: Lane, size: int) -> Batch:
    batch = Batch(lane, 0.0)
    for _ in range(size):
        batch.builder.add(0, None, b"x", b"\x00")
    lane.waiting.append(batch)
    return batch


def fly(lane: Lane) -> list[Batch]:
    sent = []
    while lane.may_send:
        sent.append(lane.next_data())
    return sent


def sequences(batches: list[Batch]) -> list[int]:
    return [batch.sequence for batch in batches]


def test_sequences_count_messages() -> None:
    lane = lane_with(3, 2, 1)
    sent = fly(lane)
    assert sequences(sent) == [0, 3, 5]
    assert sent[1].data is not None
    header = check_ready_made(sent[1].data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.record_count) == (7, 0, 3, 2)


def test_no_more_fly_than_the_broker_remembers() -> None:
    lane = lane_with(1, 1, 1, 1, 1, 1)
    sent = fly(lane)
    assert len(sent) == 5
    lane.stored(sent[0], 0)
    assert sequences(fly(lane)) == [5]


def test_those_behind_a_refused_one_are_numbered_anew_in_their_order() -> None:
    lane = lane_with(1, 2, 3, 4)
    first, second, third, fourth = fly(lane)
    lane.stored(first, 10)
    lane.refused(second)
    lane.put_back(third)
    assert not lane.may_send, "one is still under way"
    lane.put_back(fourth)
    assert fly(lane) == [third, fourth]
    assert sequences([third, fourth]) == [1, 4]
    assert lane.identity == Identity(7, 0)


def test_one_behind_a_refused_first_batch_may_be_stored() -> None:
    """A broker that knows nothing of a producer yet takes any number as the first."""
    lane = lane_with(2, 3)
    first, second = fly(lane)
    lane.refused(first)
    lane.stored(second, 0)
    add(lane, 1)
    assert sequences(fly(lane)) == [5]


def test_after_one_that_is_given_up_the_lane_needs_a_new_identity() -> None:
    lane = lane_with(1, 1)
    first, second = fly(lane)
    lane.given_up(first)
    assert lane.identity is not None, "the other one must be answered under the old one"
    lane.put_back(second)
    assert lane.identity is None
    assert not lane.may_send
    lane.adopt(Identity(8, 0))
    assert sequences(fly(lane)) == [0]


def test_a_broker_that_forgot_the_producer_gets_a_new_identity() -> None:
    lane = lane_with(1)
    (batch,) = fly(lane)
    lane.put_back(batch)
    assert lane.identity is None
    lane.adopt(Identity(9, 0))
    assert fly(lane) == [batch]
    assert batch.sequence == 0


def test_the_receipts_of_a_batch_follow_each_other() -> None:
    lane = lane_with(2)
    (batch,) = fly(lane)
    lane.stored(batch, 40)
    assert [(batch.receipt(index).offset, batch.receipt(index).id) for index in range(2)] == [
        (40, "1-0-28"),
        (41, "1-0-29"),
    ]
