"""Values as people write them in the configuration: durations, sizes, addresses.

Each type is what the program uses (an int, a str), knows its range, and tells what one may write.
"""

import re
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from onemq.limits import KIB, MESSAGE_BYTES_CEILING, MIB, PARTITIONS_MAX
from onemq.units import DURATION_MS_MAX, format_bytes, format_duration, parse_bytes, parse_duration_ms

GIB = 1024 * MIB
MEMORY = ":memory:"
"""Stands for a data folder: nothing is kept when the process ends."""
OFF = "off"
"""Stands for the value of a key that can be switched off."""


class Milliseconds(int):
    """A duration, written like "10s"."""

    least: ClassVar[int] = 0
    most: ClassVar[int] = DURATION_MS_MAX

    @classmethod
    def accepted(cls) -> str:
        return f'a duration from "{format_duration(cls.least)}" to "{format_duration(cls.most)}"'

    @classmethod
    def parse(cls, value: object) -> "Milliseconds":
        return cls(_in_range(cls, parse_duration_ms(_text_or_number(value))))


class Bytes(int):
    """A size, written like "64MiB"."""

    least: ClassVar[int] = 1
    most: ClassVar[int] = 1024 * GIB * 1024

    @classmethod
    def accepted(cls) -> str:
        return f'a size from "{format_bytes(cls.least)}" to "{format_bytes(cls.most)}"'

    @classmethod
    def parse(cls, value: object) -> "Bytes":
        return cls(_in_range(cls, parse_bytes(_text_or_number(value))))


class DrainMilliseconds(Milliseconds):
    most = 3_600_000


class RetentionMilliseconds(Milliseconds):
    least = 1_000


class JournalBytes(Bytes):
    least, most = 1 * MIB, 16 * GIB


class SegmentBytes(Bytes):
    least, most = 4 * KIB, 2 * GIB


class IndexIntervalBytes(Bytes):
    least, most = 128, 1 * MIB


class MessageBytes(Bytes):
    most = MESSAGE_BYTES_CEILING


class Address(str):
    """Where to listen: `host:port`, `[host]:port` for IPv6, `*:port` for all addresses of the machine."""

    _FORM = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%\w]+)\]|(?P<host>[^:\[\]\s]*)):(?P<port>[0-9]{1,5})")

    @classmethod
    def accepted(cls) -> str:
        return 'an address such as "127.0.0.1:6379", "[::1]:6379" or "*:6379"'

    @classmethod
    def parse(cls, value: object) -> "Address":
        match = cls._FORM.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match["port"]) > 65_535:
            raise ValueError("no address")
        return cls(value)

    @property
    def host(self) -> str:
        """Empty for all addresses of the machine."""
        return self.rpartition(":")[0].strip("[]").removeprefix("*")

    @property
    def port(self) -> int:
        return int(self.rpartition(":")[2])


Count = Annotated[int, Meta(ge=1, le=1_000_000, description="a whole number from 1 to 1000000")]
Partitions = Annotated[int, Meta(ge=1, le=PARTITIONS_MAX, description=f"a whole number from 1 to {PARTITIONS_MAX}")]
Hour = Annotated[int, Meta(ge=0, le=23, description="an hour from 0 to 23")]
Share = Annotated[float, Meta(gt=0, le=1, description="a number above 0 and up to 1")]
Folder = Annotated[str, Meta(min_length=1, description=f'a folder, or "{MEMORY}"')]
Flush = Literal["sync", "async"]


def _text_or_number(value: object) -> str | int:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("neither text nor a whole number")


def _in_range(kind: type[Milliseconds] | type[Bytes], value: int) -> int:
    if not kind.least <= value <= kind.most:
        raise ValueError("out of range")
    return value
