"""Making batches of messages that come one by one."""

from collections.abc import Sequence

from crc32c import crc32c

from onemq.log.batch import CHECKED, CHECKED_AT, LENGTH_PREFIX_BYTES, MAGIC, NO_PRODUCER, PREFIX
from onemq.log.records import SMALL, SMALL_END, varint

# Most records are of the batch's own time and have no key: what such a one has before and after its offset delta.
_TIMELY = [b"\x00\x00" + delta for delta in SMALL]
_KEYLESS = [b"\x01" + size for size in SMALL]
_LONG_AGO_MS = -(1 << 63)
_ONE_BYTE_END, _TWO_BYTES_END = 64, 8192
"""Offset deltas from which on varints are longer."""


class BatchBuilder:
    """Gathers the messages that one partition gets in one turn and seals them as one batch.

    Adding is paid for by each message of a turn, so it only keeps the fields; sealing encodes all in one loop. Records
    that are alike are encoded as they come.
    """

    __slots__ = ("_count", "_latest_ms", "_parts", "_records", "base_offset", "base_timestamp_ms", "next_offset")

    def __init__(self, base_offset: int, timestamp_ms: int) -> None:
        self.base_offset = self.next_offset = base_offset
        self.base_timestamp_ms = timestamp_ms
        self._records: list[tuple[int, int, bytes | None, bytes | None, bytes]] = []  # not encoded yet
        self._parts = [b""]  # the header's place, and what is encoded
        self._count = 0  # of those
        self._latest_ms = _LONG_AGO_MS  # of those that have a time of their own

    def add(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: bytes) -> int:
        """Adds one record and returns its offset. `headers` comes from `encode_headers`."""
        offset = self.next_offset
        self._records.append((offset, timestamp_ms, key, value, headers))
        self.next_offset = offset + 1
        return offset

    def add_alike(self, timestamp_ms: int, values: Sequence[bytes], headers: bytes) -> int:
        """Adds records that differ in their values only and returns the first one's offset."""
        first = self.next_offset
        delta = first - self.base_offset
        end, size = delta + len(values), len(values[0])
        timely = timestamp_ms == self.base_timestamp_ms and end <= _TWO_BYTES_END
        if timely and size < SMALL_END and set(map(len, values)) == {size}:
            self._encode()
            split = max(_ONE_BYTE_END - delta, 0)
            if split:
                self._encode_alike(delta, values[:split], headers)
            if end > _ONE_BYTE_END:
                self._encode_alike(delta + split, values[split:], headers)
            self.next_offset = first + len(values)
        else:
            for value in values:
                self.add(timestamp_ms, None, value, headers)
        return first

    def _encode_alike(self, delta: int, values: Sequence[bytes], headers: bytes) -> None:
        """Encodes records of the batch's own time, without keys and with values of one size; their offset deltas, too,
        are varints of one size."""
        middle = _KEYLESS[len(values[0])]
        length = len(_TIMELY[delta]) + len(middle) + len(values[0]) + len(headers)
        lead = SMALL[length] if length < SMALL_END else varint(length)
        count = len(values)
        parts = [headers + lead] * (4 * count + 1)  # and what comes between them, a column at a time
        parts[0], parts[-1] = lead, headers
        parts[1::4] = _TIMELY[delta : delta + count]
        parts[2::4] = [middle] * count
        parts[3::4] = values
        self._parts.append(b"".join(parts))
        self._count += count

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
        self._encode()
        base_offset, base_timestamp_ms = self.base_offset, self.base_timestamp_ms
        max_timestamp_ms = max(base_timestamp_ms if latest_ms is None else latest_ms, self._latest_ms)
        if last_delta is None:
            last_delta = self.next_offset - base_offset - 1
        self._parts[0] = CHECKED.pack(
            attributes, last_delta, base_timestamp_ms, max_timestamp_ms, *producer, self._count
        )
        checked = b"".join(self._parts)
        length = CHECKED_AT - LENGTH_PREFIX_BYTES + len(checked)
        return PREFIX.pack(base_offset, length, epoch, MAGIC, crc32c(checked)) + checked

    def _encode(self) -> None:
        """Encodes what was only kept so far."""
        records = self._records
        if not records:
            return
        base_offset, base_timestamp_ms, latest_ms, parts = (
            self.base_offset, self.base_timestamp_ms, self._latest_ms, self._parts,
        )  # fmt: skip
        for offset, timestamp_ms, key, value, headers in records:
            delta = offset - base_offset
            if timestamp_ms == base_timestamp_ms and delta < SMALL_END:
                head = _TIMELY[delta]
            else:
                head = b"\x00" + varint(timestamp_ms - base_timestamp_ms) + varint(delta)
                latest_ms = max(latest_ms, timestamp_ms)
            size = 0 if value is None else len(value)
            if key is None and value is not None and size < SMALL_END:
                head += _KEYLESS[size]
            else:
                head += b"\x01" if key is None else varint(len(key)) + key
                head += b"\x01" if value is None else varint(size)
            length = len(head) + size + len(headers)
            parts += (SMALL[length] if length < SMALL_END else varint(length), head, value or b"", headers)
        self._latest_ms = latest_ms
        self._count += len(records)
        self._records = []
