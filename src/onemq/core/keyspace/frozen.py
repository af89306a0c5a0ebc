"""The keyspace as it was at one moment, as MessagePack in pieces.

`Keyspace.dump` copies what can change, one pointer for each element, which is soon done. Encoding takes several times
as long, so it is done later and beside other work, piece by piece. What was encoded is let go at once: millions of
elements that go together would keep all other threads waiting.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any

import msgspec

PIECE_ITEMS = 256
"""So many at most are encoded at a time,"""
PIECE_BYTES = 256 << 10
"""and about so many bytes, if one alone does not have more."""
_NUMBER_BYTES = 9
_ARRAY = Struct(">BI")
_encode = msgspec.msgpack.Encoder().encode


def array_header(count: int) -> bytes:
    """What goes in front of so many values to make an array of them."""
    return _ARRAY.pack(0xDD, count)


def pieces(dump: dict[str, Any]) -> Iterator[bytes]:
    """What `_encode(dump)` would be, with other array headers. Uses its lists up."""
    yield bytes([0x80 | len(dump)])  # a small map
    for name, value in dump.items():
        yield _encode(name)
        if type(value) is not list:
            yield _encode(value)
        elif name == "values":
            yield from _values(value)
        else:
            yield from _items(value)


def _values(values: list[Any]) -> Iterator[bytes]:
    """Values of keys, as `pack` makes them."""
    yield array_header(len(values))
    some: list[Any] = []
    some_bytes = 0
    values.reverse()
    while values:
        value = values.pop()
        size = len(value) if type(value) is bytes else _size(value)
        if size > PIECE_BYTES:
            yield _joined(some)
            yield from _large(value)
            some, some_bytes = [], 0
            continue
        some.append(value)
        some_bytes += size
        if len(some) == PIECE_ITEMS or some_bytes > PIECE_BYTES:
            yield _joined(some)
            some, some_bytes = [], 0
    yield _joined(some)


def _size(packed: list[Any]) -> int:
    """About how many bytes a collection takes, if it has few elements; else too many."""
    if len(packed[1]) > PIECE_ITEMS:
        return PIECE_BYTES + 1
    return sum([len(each) if type(each) is bytes else _NUMBER_BYTES for items in packed[1:] for each in items])


def _large(value: Any) -> Iterator[bytes]:
    """One value."""
    if type(value) is not list:
        yield _encode(value)
        return
    yield array_header(len(value))
    yield _encode(value[0])
    for items in value[1:]:
        yield from _items(items)


def _items(items: list[Any]) -> Iterator[bytes]:
    """Elements of a collection, keys or numbers."""
    yield array_header(len(items))
    items.reverse()
    while items:
        some = items[: -PIECE_ITEMS - 1 : -1]
        del items[-PIECE_ITEMS:]
        if sum([len(each) for each in some if type(each) is bytes]) > PIECE_BYTES:
            yield from map(_encode, some)
        else:
            yield _joined(some)


def _joined(some: list[Any]) -> bytes:
    """A few values without the header of their array."""
    return _encode(some)[1 if len(some) < 16 else 3 :]
