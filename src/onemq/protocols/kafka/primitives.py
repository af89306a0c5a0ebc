"""The simple types of the Kafka wire: what generated readers and writers call.

Readers take the bytes and a position, and return the value and the position after it. They do not look at the end of
the bytes each time: a position beyond it stays beyond it, the next read fails there or whoever reads the message
compares positions at last. Lengths are never negative, so no position goes back.
"""

from struct import Struct, pack, unpack_from
from typing import TypeVar

from onemq.errors import ProtocolError

T = TypeVar("T")

_unpack_int16 = Struct(">h").unpack_from
_unpack_int32 = Struct(">i").unpack_from
_pack_int16 = Struct(">h").pack
_pack_int32 = Struct(">i").pack
_SHORT_LENGTHS = tuple(bytes((number,)) for number in range(128))
_VARINT_BYTES_MAX = 5


class Malformed(ProtocolError):
    """The bytes are no such structure."""


# Numbers of variable size, and lengths.


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 128:
        return value, at + 1
    second = data[at + 1]
    value = value & 127 | (second & 127) << 7
    if second < 128:
        return value, at + 2
    for count in range(2, _VARINT_BYTES_MAX):
        byte = data[at + count]
        value |= (byte & 127) << 7 * count
        if byte < 128:
            return value, at + count + 1
    raise Malformed("a number of variable size has more than five bytes")


def packed_varint(value: int) -> bytes:
    if value < 128:
        return _SHORT_LENGTHS[value]
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_count(data: bytes, at: int) -> tuple[int, int]:
    """The number of elements, -1 for null."""
    (count,) = _unpack_int32(data, at)
    if count < -1:
        raise Malformed(f"an array of {count} elements")
    return count, at + 4


def read_short_count(data: bytes, at: int) -> tuple[int, int]:
    count, at = read_varint(data, at)
    return count - 1, at


def packed_count(value: int) -> bytes:
    return _pack_int32(value)


def packed_short_count(value: int) -> bytes:
    return _SHORT_LENGTHS[value + 1] if value < 127 else packed_varint(value + 1)


def read_numbers(data: bytes, at: int, count: int, letter: str, size: int) -> tuple[list[int], int]:
    """As many numbers of fixed size. `struct` looks whether they are there before it makes room for them."""
    return list(unpack_from(f">{count}{letter}", data, at)), at + count * size


def packed_numbers(values: list[int], letter: str) -> bytes:
    return pack(f">{len(values)}{letter}", *values)


# Text.


def read_string(data: bytes, at: int) -> tuple[str, int]:
    value, at = read_nullable_string(data, at)
    return _there(value), at


def read_nullable_string(data: bytes, at: int) -> tuple[str | None, int]:
    (size,) = _unpack_int16(data, at)
    at += 2
    if size < 0:
        _check_null(size)
        return None, at
    return data[at : at + size].decode(), at + size


def read_short_string(data: bytes, at: int) -> tuple[str, int]:
    value, at = read_nullable_short_string(data, at)
    return _there(value), at


def read_nullable_short_string(data: bytes, at: int) -> tuple[str | None, int]:
    size, at = read_varint(data, at)
    if size == 0:
        return None, at
    end = at + size - 1
    return data[at:end].decode(), end


def packed_string(value: str) -> bytes:
    data = value.encode()
    return _pack_int16(len(data)) + data


def packed_nullable_string(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else packed_string(value)


def packed_short_string(value: str) -> bytes:
    data = value.encode()
    return packed_varint(len(data) + 1) + data


def packed_nullable_short_string(value: str | None) -> bytes:
    return b"\0" if value is None else packed_short_string(value)


# Bytes.


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    value, at = read_nullable_bytes(data, at)
    return _there(value), at


def read_nullable_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_count(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def read_short_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    value, at = read_nullable_short_bytes(data, at)
    return _there(value), at


def read_nullable_short_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(data, at)
    return (None, at) if size == 0 else (data[at : at + size - 1], at + size - 1)


def packed_bytes(value: bytes) -> bytes:
    return _pack_int32(len(value)) + value


def packed_nullable_bytes(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else packed_bytes(value)


def packed_short_bytes(value: bytes) -> bytes:
    return packed_varint(len(value) + 1) + value


def packed_nullable_short_bytes(value: bytes | None) -> bytes:
    return b"\0" if value is None else packed_short_bytes(value)


def read_nullable_records(data: bytes, at: int) -> tuple[memoryview | None, int]:
    """A view, so that nothing is copied."""
    size, at = read_count(data, at)
    return (None, at) if size < 0 else (memoryview(data)[at : at + size], at + size)


def read_nullable_short_records(data: bytes, at: int) -> tuple[memoryview | None, int]:
    size, at = read_varint(data, at)
    return (None, at) if size == 0 else (memoryview(data)[at : at + size - 1], at + size - 1)


def read_records(data: bytes, at: int) -> tuple[memoryview, int]:
    value, at = read_nullable_records(data, at)
    return _there(value), at


def read_short_records(data: bytes, at: int) -> tuple[memoryview, int]:
    value, at = read_nullable_short_records(data, at)
    return _there(value), at


# Tagged fields.


def read_tags(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """Where the value of each tagged field is, and where they end. Unknown ones are passed over by whoever reads."""
    places: dict[int, int] = {}
    count, at = read_varint(data, at)
    for _ in range(count):
        number, at = read_varint(data, at)
        size, at = read_varint(data, at)
        places[number] = at
        at += size
    return places, at


def skip_tags(data: bytes, at: int) -> int:
    return read_tags(data, at)[1]


def _there(value: T | None) -> T:
    if value is None:
        raise Malformed("null where there must be a value")
    return value


def _check_null(size: int) -> None:
    if size != -1:
        raise Malformed(f"a text of {size} bytes")
