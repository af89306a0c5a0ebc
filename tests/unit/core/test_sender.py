"""Sending in every way, by one call."""

import pytest

from onemq.core.placed import HALF, TIMER, Placed
from onemq.core.sender import InTransaction
from onemq.errors import InvalidArgument
from onemq.message import ORDER_KEY, header
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker


def test_a_place_is_a_pair_that_knows_whether_the_message_was_there_before(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core:
        placed = core.send("t", b"x")
        producer = core.producers.open()
        first = core.send("t", b"y", producer=(producer.id, 0, 0))
        again = core.send("t", b"y", producer=(producer.id, 0, 0))
    number, offset = placed
    assert (number, offset) == placed == Placed(0, 0)
    assert (placed.partition, placed.offset, placed.duplicate) == (0, 0, False)
    assert first == again
    assert (first.duplicate, again.duplicate) == (False, True)


def test_the_order_key_chooses_the_partition_and_travels_where_it_is_not_the_key(broker: Broker) -> None:
    """B3, C7"""
    broker.topic("t", 5)
    ((wanted, _),) = broker.send(b"", key=b"order")
    other = next(b"k%d" % n for n in range(99) if broker.core.topics.get("t").choose(b"k%d" % n, None).number != wanted)
    with broker.turn() as core:
        for key in (None, other, b"order"):
            assert core.send("t", b"now", key, order_key=b"order").partition == wanted
        asked = (wanted + 1) % 5
        assert core.send("t", b"asked", other, number=asked, order_key=b"order").partition == asked
        core.send("t", b"later", other, order_key=b"order", deliver_at_ms=NOW_MS + SECOND_MS)
        core.send("t", b"half", other, order_key=b"order", transaction=InTransaction("shop", "tx"))
        core.halves.commit("tx")
    broker.pass_ms(SECOND_MS)
    records = broker.records("t", wanted)[1:]
    assert [record[3] for record in records] == [b"now", b"now", b"now", b"half", b"later"]
    assert [header(record[4], ORDER_KEY) for record in records] == [b"order", b"order", None, b"order", b"order"]


def test_a_half_message_can_be_sent_like_any_other(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core:
        place, offset = core.send("t", b"x", transaction=InTransaction("shop", check_after_ms=5))
        (row,) = core.halves.list("shop")
        assert (place, row.name) == (HALF, core.halves.parking.message_id(offset))
        assert row.next_ms == NOW_MS + 5
        core.halves.commit(row.name)
    assert broker.values() == [b"x"]


def test_what_does_not_go_together_is_refused(broker: Broker) -> None:
    broker.topic()
    half = InTransaction("shop")
    with broker.turn() as core:
        producer = (core.producers.open().id, 0, 0)
        for call in (
            lambda: core.send("t", b"", transaction=half, deliver_at_ms=NOW_MS + 1),
            lambda: core.send("t", b"", transaction=half, every_ms=1),
            lambda: core.send("t", b"", transaction=half, producer=producer),
            lambda: core.send("t", b"", deliver_at_ms=NOW_MS + 1, producer=producer),
        ):
            with pytest.raises(InvalidArgument):
                call()
        assert core.send("t", b"", deliver_at_ms=NOW_MS, producer=producer) == (0, 0)
        assert core.send("t", b"", deliver_at_ms=NOW_MS + 1).partition == TIMER
