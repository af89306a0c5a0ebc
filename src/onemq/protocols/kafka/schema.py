"""How the structures of the Kafka protocol are written down: ordinary typed classes with notes on their fields.

    class FetchTopic(Struct):
        topic: Annotated[str, until(12)] = ""
        topic_id: Annotated[Uuid, since(13)] = NO_UUID
        partitions: list[FetchPartition] = []

A field without a note is in every version. A type with `| None` may be null in every version that has the field,
or from that of `nullable_since` on. `tagged` fields are left out of a message where they have their default. The codec
(codec.py) makes readers and writers from these notes.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec

NEVER = 1 << 15
"""A version that does not come."""
INT32_MAX = (1 << 31) - 1
INT32_MIN = -(1 << 31)
NO_UUID = bytes(16)


@dataclass(frozen=True, slots=True)
class Number:
    """A type of fixed size, by its letter in the module `struct`."""

    letter: str


@dataclass(frozen=True, slots=True)
class Present:
    """The versions that have the field, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NullableSince:
    version: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """From a version on, the field is written after the others, with its number, unless it has its default."""

    number: int
    first: int


Int8 = Annotated[int, Number("b")]
Int16 = Annotated[int, Number("h")]
Int32 = Annotated[int, Number("i")]
Int64 = Annotated[int, Number("q")]
UUID = Number("16s")
Uuid = Annotated[bytes, UUID]
"""16 bytes."""
Records = bytes | memoryview
"""Record batches as they are; in what was read, a view of the request."""


def since(version: int) -> Present:
    return Present(version, NEVER)


def until(version: int) -> Present:
    return Present(0, version)


def between(first: int, last: int) -> Present:
    return Present(first, last)


def nullable_since(version: int) -> NullableSince:
    return NullableSince(version)


def tagged(number: int, first: int = 0) -> Tagged:
    return Tagged(number, first)


class Struct(msgspec.Struct):
    """A structure. Every field has a default."""


class Frozen(msgspec.Struct, frozen=True):
    """A structure that is the default of a field: all who leave it so share one."""


class Message(Struct):
    """A whole request or response."""

    api_key: ClassVar[int]
    versions: ClassVar[range]
    """Those that the class knows."""
    flexible_since: ClassVar[int]
    """From this version on lengths are short and there are tagged fields (KIP-482)."""
