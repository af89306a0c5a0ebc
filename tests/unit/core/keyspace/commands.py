"""Random commands: how to draw each one's arguments, and how to run it on a keyspace.

The names are the methods of `Model`. There are two keys for each type and few values, so that commands
meet; now and then a command gets a key that is meant for another type.

For Hypothesis a command is made from one number: it is quick at lists of numbers and shrinks a failure by
leaving numbers out.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.ranges import ScoreRange

KEYS = [b"s1", b"s2", b"l1", b"l2", b"h1", b"h2", b"m1", b"m2", b"z1", b"z2"]
VALUES = [b"x", b"y", b"z", b"", b"7", b"-3"]
SCORES = [-1.5, 0.0, 1.0, 2.0, 3.0, float("inf")]
CONDITIONS = ["if_absent", "if_present", "if_greater", "if_less"]

Draw = Callable[[Random], Any]
Command = tuple[str, tuple[Any, ...]]


def one_of(*choices: Any) -> Draw:
    return lambda draw: draw.choice(choices)


def number(low: int, high: int) -> Draw:
    return lambda draw: draw.randint(low, high)


def some(item: Draw, most: int = 4) -> Draw:
    return lambda draw: [item(draw) for _ in range(draw.randint(1, most))]


def both(*items: Draw) -> Draw:
    return lambda draw: tuple(item(draw) for item in items)


def mostly(*own: bytes) -> Draw:
    return one_of(*own * 10, *KEYS)


def conditions(draw: Random) -> dict[str, bool]:
    chosen = draw.choice(
        [[], [], ["if_absent"], ["if_present"], ["if_greater"], ["if_less"], ["if_present", "if_less"]]
    )
    return {name: name in chosen for name in CONDITIONS}


def fields_and_values(draw: Random) -> list[bytes]:
    return [draw.choice(VALUES) for _ in range(2 * draw.randint(1, 3))]


def setting(draw: Random) -> tuple[Any, ...]:
    """Lifetime, whether to keep the old one, and the conditions, of which one is set at most."""
    ms, keep = draw.choice([(None, False), (None, True), (draw.randint(-3, 20), False)])
    return (ms, keep, *draw.choice([(False, False), (True, False), (False, True)]))


key = one_of(*KEYS)
string_key, list_key, hash_key = mostly(b"s1", b"s2"), mostly(b"l1", b"l2"), mostly(b"h1", b"h2")
set_key, sorted_key = mostly(b"m1", b"m2"), mostly(b"z1", b"z2")
value, flag = one_of(*VALUES), one_of(False, True)
score, pair = one_of(*SCORES), both(one_of(*SCORES), one_of(*VALUES))
index, count = number(-6, 6), number(0, 4)
combination = one_of("union", "intersection", "difference")


def _pass_time(k: Keyspace, ms: int) -> None:
    k.now_ms += ms


def _tick(k: Keyspace, ms: int) -> None:
    due_ms = k.tick(k.now_ms + ms)
    assert due_ms is None or due_ms > k.now_ms


def _set(k: Keyspace, key: bytes, value: bytes, how: tuple[Any, ...]) -> bool:
    ms, keep, absent, present = how
    at_ms = None if ms is None else k.now_ms + ms
    return k.strings.set(key, value, at_ms, keep, if_absent=absent, if_present=present)


def _zpop(k: Keyspace, key: bytes, lowest: bool, count: int) -> list[tuple[float, bytes]]:
    return k.sorted_sets.pop_min(key, count) if lowest else k.sorted_sets.pop_max(key, count)


def _zrange(
    k: Keyspace, key: bytes, low: float, high: float, opens: tuple[bool, bool], reverse: bool, limit: tuple[int, int]
) -> list[tuple[float, bytes]]:
    return k.sorted_sets.range(key, ScoreRange(low, high, *opens), reverse, *limit)


COMMANDS: dict[str, tuple[Draw, Callable[..., Any]]] = {
    "pass_time": (both(number(0, 20)), _pass_time),
    "tick": (both(number(0, 20)), _tick),
    "delete": (some(key, 2), Keyspace.delete),
    "exists": (some(key), Keyspace.exists),
    "type_of": (both(key), Keyspace.type_of),
    "rename": (both(key, key, flag), lambda k, a, b, absent: k.rename(a, b, if_absent=absent)),
    "copy": (both(key, key, flag), lambda k, a, b, over: a != b and k.copy(a, b, replace=over)),
    "expire_in": (both(key, number(-1, 20)), lambda k, a, ms: k.expire_at(a, k.now_ms + ms)),
    "persist": (both(key), Keyspace.persist),
    "expiry": (both(key), Keyspace.expiry),
    "flush": (both(), Keyspace.flush),
    "keys": (both(), lambda k: sorted(k.matching(b"*"))),
    "set": (both(string_key, value, setting), _set),
    "get": (both(string_key), lambda k, *args: k.strings.get(*args)),
    "append": (both(string_key, value), lambda k, *args: k.strings.append(*args)),
    "overwrite": (both(string_key, count, one_of(b"x", b"yy")), lambda k, *args: k.strings.overwrite(*args)),
    "increment": (both(string_key, index), lambda k, *args: k.strings.increment(*args)),
    "push": (both(list_key, some(value), flag), lambda k, *args: k.lists.push(*args)),
    "push_existing": (both(list_key, some(value), flag), lambda k, *args: k.lists.push_existing(*args)),
    "pop": (both(list_key, flag, count), lambda k, *args: k.lists.pop(*args)),
    "pop_one": (both(list_key, flag), lambda k, *args: k.lists.pop_one(*args)),
    "move": (both(list_key, list_key, flag, flag), lambda k, *args: k.lists.move(*args)),
    "range": (both(list_key, index, index), lambda k, *args: k.lists.range(*args)),
    "trim": (both(list_key, index, index), lambda k, *args: k.lists.trim(*args)),
    "index": (both(list_key, index), lambda k, *args: k.lists.index(*args)),
    "set_at": (both(list_key, index, value), lambda k, *args: k.lists.set_at(*args)),
    "insert": (both(list_key, value, value, flag), lambda k, *args: k.lists.insert(*args)),
    "remove": (both(list_key, value, number(-3, 3)), lambda k, *args: k.lists.remove(*args)),
    "position": (
        both(list_key, value, one_of(1, 2, -1, -2), count, count),
        lambda k, *args: k.lists.position(*args),
    ),
    "hash_set": (both(hash_key, fields_and_values), lambda k, *args: k.hashes.set(*args)),
    "hash_set_if_absent": (both(hash_key, value, value), lambda k, *args: k.hashes.set_if_absent(*args)),
    "hash_increment": (both(hash_key, value, index), lambda k, *args: k.hashes.increment(*args)),
    "hash_delete": (both(hash_key, some(value)), lambda k, *args: k.hashes.delete(*args)),
    "hash_all": (both(hash_key), lambda k, a: list(k.hashes.all(a).items())),
    "set_add": (both(set_key, some(value)), lambda k, *args: k.sets.add(*args)),
    "set_remove": (both(set_key, some(value)), lambda k, *args: k.sets.remove(*args)),
    "set_pop": (both(set_key, count), lambda k, *args: k.sets.pop(*args)),
    "set_move": (both(set_key, set_key, value), lambda k, *args: k.sets.move(*args)),
    "set_members": (both(set_key), lambda k, *args: k.sets.members(*args)),
    "combine": (both(combination, some(set_key)), lambda k, how, names: sorted(getattr(k.sets, how)(names))),
    "store": (
        both(set_key, combination, some(set_key)),
        lambda k, a, how, names: k.sets.store(a, sorted(getattr(k.sets, how)(names))),
    ),
    "zadd": (both(sorted_key, some(pair), conditions), lambda k, a, new, words: k.sorted_sets.add(a, new, **words)),
    "zincrement": (
        both(sorted_key, value, one_of(-1.0, 0.0, 2.5), conditions),
        lambda k, a, member, by, words: k.sorted_sets.increment(a, member, by, **words),
    ),
    "zremove": (both(sorted_key, some(value)), lambda k, *args: k.sorted_sets.remove(*args)),
    "zrank": (both(sorted_key, value, flag), lambda k, *args: k.sorted_sets.rank(*args)),
    "zranks": (both(sorted_key, index, index, flag), lambda k, *args: k.sorted_sets.ranks(*args)),
    "zremove_ranks": (both(sorted_key, index, index), lambda k, *args: k.sorted_sets.remove_ranks(*args)),
    "zrange": (both(sorted_key, score, score, both(flag, flag), flag, both(count, number(-1, 3))), _zrange),
    "zremove_range": (
        both(sorted_key, score, score),
        lambda k, a, low, high: k.sorted_sets.remove_range(a, ScoreRange(low, high)),
    ),
    "zpop": (both(sorted_key, flag, count), _zpop),
}

# What fills the keyspace comes often, what empties it at once is rare.
NAMES = [
    *COMMANDS,
    *(name for name in COMMANDS if name != "flush"),
    *["set", "push", "hash_set", "set_add", "zadd"] * 4,
]


def drawn(draw: Random) -> Command:
    name = draw.choice(NAMES)
    return name, tuple(COMMANDS[name][0](draw))


def run(keyspace: Keyspace, command: Command) -> Any:
    name, args = command
    return COMMANDS[name][1](keyspace, *args)


def from_numbers(seeds: list[int]) -> list[Command]:
    return [drawn(Random(seed)) for seed in seeds]


random_commands = st.lists(st.integers(0, 2**32 - 1), min_size=30, max_size=300).map(from_numbers)
