"""MEMORY USAGE: about how many bytes a key takes."""

from collections.abc import Collection, Iterable
from itertools import islice
from sys import getsizeof
from typing import Any

from onemq.core.core import Core
from onemq.core.keyspace.ranking import Ranking
from onemq.core.keyspace.values import TopicKey

_KEY_BYTES = 100
"""A key's places in the tables of keys."""
_PAIR_BYTES = 60
"""The tuple with score and member, and the score."""


def footprint_bytes(core: Core, key: bytes, samples: int) -> int | None:
    """An estimate that looks at so many elements, or at all if that is 0; None if the key is not there.

    A stream lies on disk: it counts what its segments take there.
    """
    if not core.keys.holds(key):
        return None
    value = core.keys.values[key]
    if type(value) is TopicKey:
        return _KEY_BYTES + getsizeof(key) + _stored_bytes(core, key)
    return _KEY_BYTES + getsizeof(key) + _value_bytes(value, samples)


def _stored_bytes(core: Core, key: bytes) -> int:
    topic = core.topics.find(key.decode(errors="surrogateescape"))
    if topic is None:
        return 0
    return sum(core.log.stored_bytes(topic.id, each.number) + each.staged_bytes for each in topic.partitions)


def _value_bytes(value: Any, samples: int) -> int:
    if type(value) is bytes:
        return getsizeof(value)
    if type(value) is Ranking:
        count = len(value.scores)
        return count * _PAIR_BYTES + getsizeof(value.scores) + _each(islice(value.scores, samples or None), count)
    sampled: Iterable[bytes] = islice(value, samples or None)
    fields = _each(islice(value.values(), samples or None), len(value)) if type(value) is dict else 0
    return getsizeof(value) + fields + _each(sampled, len(value))


def _each(sampled: Iterable[bytes], count: int) -> int:
    """What all elements take, if they are like the sampled ones."""
    sizes: Collection[int] = [getsizeof(element) for element in sampled]
    return sum(sizes) * count // len(sizes) if sizes else 0
