"""Making batches of messages that come one by one."""

from collections.abc import Sequence
from itertools import repeat

from crc32c import crc32c

from onemq.log.batch import CHECKED, CHECKED_AT, LENGTH_PREFIX_BYTES, MAGIC, NO_PRODUCER, PREFIX
from onemq.log.records import SMALL, SMALL_END, varint

# Most records are of the batch's own time and have no key: what such a one has before and after its offset delta.
_TIMELY = [b"\x00\x00" + delta for delta in SMALL]
_KEYLESS = [b"\x01" + size for size in SMALL]


class BatchBuilder:
    """Gathers the messages that one partition gets in one turn and seals them as one batch.

    Adding is paid for by each message of a turn, so it only keeps the fields; sealing encodes all in one loop.
    """

    __slots__ = ("_records", "base_offset", "base_timestamp_ms", "next_offset")

    def __init__(self, base_offset: int, timestamp_ms: int) -> None:
        self.base_offset = self.next_offset = base_offset
        self.base_timestamp_ms = timestamp_ms
        self._records: list[tuple[int, int, bytes | None, bytes | None, bytes]] = []

    def add(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: bytes) -> int:
        """Adds one record and returns its offset. `headers` comes from `encode_headers`."""
        offset = self.next_offset
        self._records.append((offset, timestamp_ms, key, value, headers))
        self.next_offset = offset + 1
        return offset

    def add_alike(self, timestamp_ms: int, values: Sequence[bytes], headers: bytes) -> int:
        """Adds records that differ in their values only and returns the first one's offset."""
        first = self.next_offset
        self.next_offset = first + len(values)
        offsets = range(first, self.next_offset)
        self._records += zip(offsets, repeat(timestamp_ms), repeat(None), values, repeat(headers), strict=False)
        return first

    def skip_to(self, offset: int) -> None:
        """The next record gets this offset; cleaning leaves gaps that way."""
        self.next_offset = offset

    def seal(
        self,
        attributes: int = 0,
        epoch: int = 0,
        last_delta: int | None = None,
        producer: tuple[int, int, int] = NO_PRODUCER,
        latest_ms: int | None = None,
    ) -> bytes:
        """The finished batch. `last_delta` is given where offsets are missing at its end, `latest_ms` where its maximum
        timestamp may be that of a record that is not in it; `producer` is (id, epoch, base sequence) of an idempotent
        one."""
        base_offset, base_timestamp_ms = self.base_offset, self.base_timestamp_ms
        max_timestamp_ms = base_timestamp_ms if latest_ms is None else latest_ms
        parts = [b""]
        for offset, timestamp_ms, key, value, headers in self._records:
            delta = offset - base_offset
            if timestamp_ms == base_timestamp_ms and delta < SMALL_END:
                head = _TIMELY[delta]
            else:
                head = b"\x00" + varint(timestamp_ms - base_timestamp_ms) + varint(delta)
                max_timestamp_ms = max(max_timestamp_ms, timestamp_ms)
            size = 0 if value is None else len(value)
            if key is None and value is not None and size < SMALL_END:
                head += _KEYLESS[size]
            else:
                head += b"\x01" if key is None else varint(len(key)) + key
                head += b"\x01" if value is None else varint(size)
            length = len(head) + size + len(headers)
            parts += (SMALL[length] if length < SMALL_END else varint(length), head, value or b"", headers)
        if last_delta is None:
            last_delta = self.next_offset - base_offset - 1
        parts[0] = CHECKED.pack(
            attributes, last_delta, base_timestamp_ms, max_timestamp_ms, *producer, len(self._records)
        )
        checked = b"".join(parts)
        length = CHECKED_AT - LENGTH_PREFIX_BYTES + len(checked)
        return PREFIX.pack(base_offset, length, epoch, MAGIC, crc32c(checked)) + checked
