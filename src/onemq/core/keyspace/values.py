"""What a key can hold, and how a value looks in a snapshot.

| type   | in memory                        | in a snapshot                |
|--------|----------------------------------|------------------------------|
| string | bytes                            | the bytes                    |
| list   | deque of bytes                   | [1, items]                   |
| hash   | dict of bytes to bytes           | [2, fields, values]          |
| set    | Members, in order of age         | [3, members]                 |
| zset   | Ranking                          | [4, scores, members]         |
| stream | TopicKey: the topic of that name | nothing, topics keep it      |

No value is ever empty, except the string: a collection without elements is no key.
"""

from collections import deque
from typing import Any

from onemq.core.keyspace.ranking import MEMBER, SCORE, Ranking
from onemq.errors import Corrupt


class Members(dict[bytes, None]):
    """The members of a set.

    A dict and not a `set`: it keeps the order of arrival, so that picking a member gives the same
    one in every process, and its class tells a set from a hash.
    """

    __slots__ = ()


class TopicKey:
    """Stands for a topic among the keys. Whoever removes the key removes the topic, and the reverse."""

    __slots__ = ()


TOPIC_KEY = TopicKey()

Value = bytes | deque[bytes] | dict[bytes, bytes] | Members | Ranking | TopicKey

TYPE_NAMES: dict[type, str] = {
    bytes: "string", deque: "list", dict: "hash", Members: "set", Ranking: "zset", TopicKey: "stream"
}  # fmt: skip


class _Code:
    LIST = 1
    HASH = 2
    SET = 3
    SORTED_SET = 4


def pack(value: Any) -> object:
    """The value for a snapshot; shares nothing with it that can change."""
    kind = type(value)
    if kind is deque:
        return [_Code.LIST, list(value)]
    if kind is dict:
        return [_Code.HASH, list(value), list(value.values())]
    if kind is Members:
        return [_Code.SET, list(value)]
    if kind is Ranking:
        return [_Code.SORTED_SET, list(map(SCORE, value.pairs)), list(map(MEMBER, value.pairs))]
    return value


def duplicate(value: Any) -> Value:
    """A copy that shares nothing with the value that can change."""
    return value if type(value) is bytes else unpack(pack(value))


def unpack(packed: Any) -> Value:
    """The value that `pack` was given."""
    if isinstance(packed, bytes):
        return packed
    match packed:
        case [_Code.LIST, items]:
            return deque(items)
        case [_Code.HASH, fields, values]:
            return dict(zip(fields, values, strict=True))
        case [_Code.SET, members]:
            return Members(dict.fromkeys(members))
        case [_Code.SORTED_SET, scores, members]:
            return Ranking(scores, members)
    raise Corrupt(f"snapshot of the keyspace: unknown value {str(packed)[:40]}")
