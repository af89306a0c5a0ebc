"""Lines of messages that wait for each other."""

from onemq.core.group import Group
from onemq.core.locks import HELD, order_hash
from onemq.core.once import OnceKeys
from tests.unit.core.broker import NOW_MS, Broker

A, B = order_hash(b"a"), order_hash(b"b")


def held(group: Group) -> list[int]:
    return [offset for offset, each in group.cursors[0].unacknowledged.items() if each.due_ms == HELD]


def lined_up(broker: Broker, *keys: tuple[int, bytes]) -> Group:
    """A group that has come to messages with these keys."""
    broker.topic()
    group = broker.group(order="key", once="key")
    broker.send(*[b"x"] * len(keys))
    with broker.turn() as core:
        orders, onces = [order for order, _ in keys], [once for _, once in keys]
        core.groups.hold(group.cursors[0], len(keys), list(range(len(keys))), orders, onces)
    return group


def test_only_the_first_of_a_line_is_ready(broker: Broker) -> None:
    group = lined_up(broker, (A, b""), (A, b""), (B, b""), (0, b""), (A, b""))
    assert held(group) == [1, 4]
    broker.acknowledge(group, 0)
    assert held(group) == [4]


def test_a_message_in_two_lines_must_be_first_in_both(broker: Broker) -> None:
    group = lined_up(broker, (A, b"1"), (B, b"2"), (A, b"2"))
    assert held(group) == [2]
    broker.acknowledge(group, 0)
    assert held(group) == [2]
    broker.acknowledge(group, 1)
    assert held(group) == []


def test_one_that_leaves_from_the_middle_frees_nobody(broker: Broker) -> None:
    group = lined_up(broker, (A, b""), (A, b""), (A, b""))
    broker.acknowledge(group, 1)
    assert held(group) == [2]
    broker.acknowledge(group, 0)
    assert held(group) == []


def test_several_that_leave_at_once_leave_no_trace(broker: Broker) -> None:
    group = lined_up(broker, (A, b""), (A, b""), (A, b""))
    broker.acknowledge(group, 0, 1, 2)
    assert group.locks is not None
    assert group.locks.dump() == [[], []]
    assert group.locks._lines == {}


def test_an_empty_key_has_a_hash_of_its_own() -> None:
    assert order_hash(b"") != 0


def test_remembered_keys_come_back_from_a_dump() -> None:
    keys = OnceKeys()
    keys.remember([b"1" * 16, b"2" * 16], NOW_MS + 10, NOW_MS)
    keys.remember([b"1" * 16], NOW_MS + 20, NOW_MS + 5)
    again = OnceKeys()
    again.load(keys.dump())
    assert again.dump() == keys.dump() == [b"2" * 16 + b"1" * 16, [NOW_MS + 10, NOW_MS + 20]]
    assert again.is_stale(NOW_MS + 10)
    again.remember([], 0, NOW_MS + 10)
    assert (len(again), again.has(b"1" * 16, NOW_MS + 10)) == (1, True)
