"""Values as people write them in the configuration: durations, sizes, addresses.

A type here is what the program uses, an int or a str, with a note of how it is written: what is
accepted, and how that is parsed.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from onemq.limits import KIB, MESSAGE_BYTES_CEILING, MIB, PARTITIONS_MAX
from onemq.units import (
    BYTES_MAX,
    DURATION_MS_MAX,
    format_bytes,
    format_duration,
    parse_bytes,
    parse_duration_ms,
)

GIB = 1024 * MIB
MEMORY = ":memory:"
"""Stands for a data folder: nothing is kept when the process ends."""
OFF = "off"
"""Stands for the value of a key that can be switched off."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Milliseconds, written like "10s"."""

    least_ms: int = 0
    most_ms: int = DURATION_MS_MAX

    def accepted(self) -> str:
        return f'a duration from "{format_duration(self.least_ms)}" to "{format_duration(self.most_ms)}"'

    def parse(self, value: object) -> int:
        return _in_range(parse_duration_ms(_text_or_number(value)), self.least_ms, self.most_ms)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes, written like "64MiB"."""

    least_bytes: int = 1
    most_bytes: int = BYTES_MAX

    def accepted(self) -> str:
        if self.most_bytes == BYTES_MAX:
            return f'a size such as "10GiB", at least "{format_bytes(self.least_bytes)}"'
        return f'a size from "{format_bytes(self.least_bytes)}" to "{format_bytes(self.most_bytes)}"'

    def parse(self, value: object) -> int:
        return _in_range(parse_bytes(_text_or_number(value)), self.least_bytes, self.most_bytes)


def _text_or_number(value: object) -> str | int:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("neither text nor a whole number")


def _in_range(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError("out of range")
    return value


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


class Lease(int):
    """How long a delivery may take, in ms; 0: as long as the connection lasts."""

    @classmethod
    def accepted(cls) -> str:
        return '"connection", or a duration such as "30s"'

    @classmethod
    def parse(cls, value: object) -> "Lease":
        return cls(0 if value == "connection" else Duration(1).parse(value))


DrainMilliseconds = Annotated[int, Duration(0, 3_600_000)]
DelayMilliseconds = Annotated[int, Duration()]
Factor = Annotated[float, Meta(ge=1, le=1000, description="a number from 1 to 1000")]
RetentionMilliseconds = Annotated[int, Duration(1_000)]
Bytes = Annotated[int, Size()]
JournalBytes = Annotated[int, Size(1 * MIB, 16 * GIB)]
SegmentBytes = Annotated[int, Size(4 * KIB, 2 * GIB)]
IndexIntervalBytes = Annotated[int, Size(128, 1 * MIB)]
MessageBytes = Annotated[int, Size(1, MESSAGE_BYTES_CEILING)]
Count = Annotated[int, Meta(ge=1, le=1_000_000, description="a whole number from 1 to 1000000")]
Partitions = Annotated[int, Meta(ge=1, le=PARTITIONS_MAX, description=f"a whole number from 1 to {PARTITIONS_MAX}")]
Hour = Annotated[int, Meta(ge=0, le=23, description="an hour from 0 to 23")]
Share = Annotated[float, Meta(gt=0, le=1, description="a number above 0 and up to 1")]
TopicName = Annotated[str, Meta(min_length=1, description="the name of a topic")]
Folder = Annotated[str, Meta(min_length=1, description=f'a folder, or "{MEMORY}"')]
Flush = Literal["sync", "async"]
