"""Lanes of an ordered consumer."""

from typing import Literal

from onemq.client.message import Message
from onemq.client.ordered import Lanes


def message(offset: int, key: bytes | None = b"k", partition: int = 0) -> Message:
    return Message("topic", partition, offset, 1, 0, key, b"", None, None, 1, 1)


def entered(lanes: Lanes, *messages: Message) -> list[Literal["now", "later", "back", "gone"]]:
    return [lanes.enter(each) for each in messages]


def test_one_of_a_key_at_a_time() -> None:
    lanes = Lanes("key")
    first, second, other = message(0), message(1), message(2, b"other")
    assert entered(lanes, first, second, other) == ["now", "later", "now"]
    assert lanes.leave(first) is second
    assert lanes.leave(second) is None
    assert entered(lanes, message(3)) == ["now"]


def test_one_of_a_partition_at_a_time() -> None:
    lanes = Lanes("partition")
    assert entered(lanes, message(0, b"a"), message(1, b"b"), message(0, b"a", partition=1)) == ["now", "later", "now"]


def test_messages_without_a_key_have_no_order() -> None:
    lanes = Lanes("key")
    assert entered(lanes, message(0, None), message(1, None)) == ["now", "now"]
    assert lanes.leave(message(0, None)) is None


def test_an_ordering_key_goes_before_the_key() -> None:
    ordered = Message("topic", 0, 0, 1, 0, b"k", b"", [b"_order", b"o"], None, 1, 1)
    assert Lanes("key").lane(ordered) == b"o"


def test_when_one_of_a_partition_fails_those_behind_it_and_on_their_way_are_gone_until_the_broker_knows() -> None:
    lanes = Lanes("partition")
    first, second, third = message(0), message(1), message(2)
    entered(lanes, first, second)
    lanes.shut(first)
    assert entered(lanes, third) == ["gone"]
    assert lanes.leave(first) is None
    lanes.opened(first)
    assert entered(lanes, message(0), message(1)) == ["now", "later"]


def test_one_that_comes_again_waits_for_the_handler_that_gave_it_back() -> None:
    lanes = Lanes("partition")
    first, again = message(0), message(0)
    entered(lanes, first)
    lanes.shut(first)
    lanes.opened(first)
    assert entered(lanes, again) == ["later"]
    assert lanes.leave(first) is again


def test_of_a_key_nothing_is_dropped() -> None:
    lanes = Lanes("key")
    entered(lanes, message(0))
    lanes.shut(message(0))
    assert entered(lanes, message(1)) == ["back"]


def test_after_a_lost_connection_what_is_handled_still_keeps_its_lane() -> None:
    lanes = Lanes("key")
    first, second = message(0), message(1)
    entered(lanes, first, second)
    assert lanes.clear() == [second]
    assert entered(lanes, message(1)) == ["later"]
