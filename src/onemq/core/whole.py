"""Whole batches: messages for a receiver that takes them as the batches in which they are stored.

Fresh messages of a group that hands out whatever comes next are given like that, and are not decoded: the batches as
they lie in the log, and the runs of offsets of them that are the receiver's. All others (what comes again, what is
looked at one by one, what overtakes others) are handed out as records, and sealed anew with their own offsets and
times.
"""

from typing import NamedTuple

from onemq.core.cursor import Cursor
from onemq.core.decoding import decode_batch
from onemq.core.entries import runs_of
from onemq.core.expiry import EXPIRES_MARK
from onemq.errors import Corrupt
from onemq.log.batch import COMPRESSION_MASK, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import Record

Run = tuple[int, int, int]
"""(first offset, last offset, how often these messages were handed out, this time included)"""

_FIRST = EXPIRES_MARK[:1]
_LOOKS_MAX = 64


class Share(NamedTuple):
    """What a receiver got of one partition."""

    number: int
    batches: bytes
    """May hold other messages, too."""
    runs: list[Run]


class Part(NamedTuple):
    """Messages at the head of some batches."""

    offsets: list[int]
    size: int
    """Bytes of the batches that hold them."""
    next_offset: int
    """The offset after everything that was looked at."""


class Whole:
    """What a receiver of whole batches wants, and what it has got so far."""

    __slots__ = ("_taken", "bytes_left", "numbers", "read", "strict")

    def __init__(self, numbers: list[int], bytes_max: int, strict: bool) -> None:
        self.numbers = numbers
        """The partitions to look at."""
        self.bytes_left = bytes_max
        """After so many bytes it gets nothing more."""
        self.strict = strict
        """Whether it gets no more messages than it asked for; else it gets all of the last batch."""
        self.read: dict[int, tuple[int, bytes, int]] = {}
        """What the log brought later than it was asked for: partition -> (offset, batches, next offset)."""
        self._taken: dict[int, list[tuple[bytes, list[Run]]]] = {}

    def add(self, number: int, batches: bytes, runs: list[Run]) -> None:
        """It gets those messages, which lie in batches of a partition."""
        self._taken.setdefault(number, []).append((batches, runs))
        self.bytes_left -= len(batches)

    def __bool__(self) -> bool:
        """Whether it has got anything as whole batches."""
        return bool(self._taken)

    def shares(self, handed: list[tuple[int, Record, int]]) -> list[Share]:
        """All that it has got: together with the messages that were handed to it one by one, each partition once, in
        the order of offsets."""
        single: dict[int, dict[int, tuple[Record, int]]] = {}
        for number, record, count in handed:  # a group that was moved back hands one out as a fresh one again
            single.setdefault(number, {})[record[0]] = (record, count)
        for number, records in single.items():
            self.add(number, *_sealed([records[offset] for offset in sorted(records)]))
        return [_share(number, parts) for number, parts in sorted(self._taken.items())]


def can_be_whole(cursor: Cursor) -> bool:
    """Whether a group hands out fresh messages of a partition without looking at each."""
    group = cursor.group
    looked_at = group.admission is not None or group.topic.config.expires_ms is not None
    return not looked_at and cursor.partition.lanes is None


def may_expire(cursor: Cursor, data: bytes) -> bool:
    """Whether some messages of batches that were read may say themselves when they expire. What is compressed is not
    looked into, and may do so where its topic asks to look into such batches."""
    if cursor.next >= cursor.partition.expiring_end:
        return False
    if cursor.group.topic.config.look_inside and _has_compressed(data):
        return True
    # The byte in front is rare in most bodies, and looking for one byte is several times as quick as for more.
    at = data.find(_FIRST)
    for _ in range(_LOOKS_MAX):
        if at < 0:
            return False
        if data.startswith(EXPIRES_MARK, at):
            return True
        at = data.find(_FIRST, at + 1)
    return data.find(EXPIRES_MARK, at) >= 0


def _has_compressed(data: bytes) -> bool:
    return any(header.attributes & COMPRESSION_MASK for _, header in walk(data))


def part_of(data: bytes, offset: int, next_offset: int, most: int, strict: bool) -> Part:
    """The messages from an offset on in batches that were read up to `next_offset`: so many, and those behind them in
    the same batch unless that is one too many. Raises `Corrupt`."""
    offsets: list[int] = []
    size, seen = 0, offset
    for position, header in walk(data):
        if len(offsets) >= most:
            return Part(offsets, size, seen)
        first = max(header.base_offset, offset)
        if header.record_count == header.last_offset_delta + 1:
            here = list(range(first, header.next_offset))
        else:
            try:
                here = [record[0] for record in decode_batch(data, position, header) if record[0] >= first]
            except Corrupt:
                if seen > offset:
                    return Part(offsets, size, seen)  # first what lies before it
                raise
        size, seen = position + header.size, header.next_offset
        if strict and len(offsets) + len(here) > most:
            offsets += here[: most - len(offsets)]
            return Part(offsets, size, offsets[-1] + 1)
        offsets += here
    return Part(offsets, size, next_offset)


def runs_handed(offsets: list[int], count: int) -> list[Run]:
    """Ascending offsets as runs of messages that were handed out so often."""
    runs = runs_of(offsets)
    return [(first, last, count) for first, last in zip(runs[::2], runs[1::2], strict=True)]


def _sealed(records: list[tuple[Record, int]]) -> tuple[bytes, list[Run]]:
    """Messages in the order of their offsets as a batch of their own, and their runs."""
    first = records[0][0]
    builder = BatchBuilder(first[0], first[1])
    runs: list[Run] = []
    for (offset, timestamp_ms, key, value, headers), count in records:
        builder.skip_to(offset)
        builder.add(timestamp_ms, key, value, encode_headers(headers) if headers else NO_HEADERS)
        if runs and runs[-1][1:] == (offset - 1, count):
            runs[-1] = (runs[-1][0], offset, count)
        else:
            runs.append((offset, offset, count))
    return builder.seal(), runs


def _share(number: int, parts: list[tuple[bytes, list[Run]]]) -> Share:
    if len(parts) == 1:
        return Share(number, *parts[0])
    parts = sorted(parts, key=lambda part: part[1][0])
    runs: list[Run] = []
    for _, more in parts:
        if runs and runs[-1][1] + 1 == more[0][0] and runs[-1][2] == more[0][2]:
            runs[-1] = (runs[-1][0], more[0][1], more[0][2])
            more = more[1:]
        runs += more
    return Share(number, b"".join([batches for batches, _ in parts]), runs)
