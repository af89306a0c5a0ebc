"""The records of a batch.

    a record: length, attributes (0), timestamp delta, offset delta, key length (-1: none), key,
    value length (-1: none), value, number of headers, headers (name length, name, value length, value);
    all lengths, deltas and counts are zigzag varints.

A record is a plain tuple here and not an object: decoding is paid once per message.
"""

from functools import lru_cache
from itertools import chain, repeat
from operator import lt
from struct import Struct

from onemq.errors import Corrupt, InvalidArgument, TooLarge
from onemq.log.batch import COMPRESSION_MASK, HEADER_BYTES, STAMPED, BatchHeader
from onemq.log.compression import DECOMPRESSORS
from onemq.message import Headers, Record

NO_HEADERS = b"\x00"
UNREADABLE = (Corrupt, InvalidArgument, TooLarge)
"""What decoding records raises that a producer made wrong, compressed in an unknown way, or too much."""


def varint(number: int) -> bytes:
    """Zigzag varint of any signed 64-bit number."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


SMALL = [varint(number) for number in range(16384)]
"""The varints of small numbers."""
SMALL_END = len(SMALL)


def encode_headers(headers: list[tuple[bytes, bytes | None]] | Headers) -> bytes:
    """The header block of a record, to be given to `BatchBuilder.add`."""
    parts = [_length(len(headers))]
    for name, value in headers:
        parts += (_length(len(name)), name)
        parts += (b"\x01",) if value is None else (_length(len(value)), value)
    return b"".join(parts)


def _length(number: int) -> bytes:
    return SMALL[number] if number < SMALL_END else varint(number)


def with_header(block: bytes, name: bytes, value: bytes) -> bytes:
    """The header block with one more header before the others."""
    count, position = _read_varint(block, 0)
    return b"".join((varint(count + 1), varint(len(name)), name, varint(len(value)), value, block[position:]))


def decode(data: bytes, position: int, header: BatchHeader) -> list[Record]:
    """The records of the batch at `position`. Raises `UNREADABLE` if they do not parse or cannot be unpacked."""
    end = position + header.size
    if header.attributes & COMPRESSION_MASK:
        data = unpacked(data, position, header)
        position, end = 0, len(data)
    else:
        position += HEADER_BYTES
        if end < position:
            raise Corrupt(f"the batch at offset {header.base_offset} is shorter than its header")
    try:
        records, position = _decode_records(data, position, header, header.record_count)
    except IndexError:
        position = -1
    if position != end:
        raise Corrupt(f"the records of the batch at offset {header.base_offset} do not parse")
    return records


def unpacked(data: bytes, position: int, header: BatchHeader) -> bytes:
    """The records of a compressed batch, in bytes. Raises `UNREADABLE`."""
    first, end = position + HEADER_BYTES, position + header.size
    if end < first:
        raise Corrupt(f"the batch at offset {header.base_offset} is shorter than its header")
    compression = header.attributes & COMPRESSION_MASK
    if compression not in DECOMPRESSORS:
        raise InvalidArgument(f"compression {compression} cannot be read here")
    return DECOMPRESSORS[compression](bytes(data[first:end]))


def decode_strictly(data: bytes, position: int, header: BatchHeader) -> list[Record]:
    """As `decode`, for batches that a producer may have made wrong: raises `UNREADABLE` also if the records claim
    places that are not theirs."""
    records = decode(data, position, header)
    offsets = [record[0] for record in records]
    ascending = all(map(lt, offsets, offsets[1:]))
    if not (records and ascending and header.base_offset <= offsets[0] and offsets[-1] < header.next_offset):
        raise Corrupt(f"the records of the batch at offset {header.base_offset} have offsets that do not fit it")
    return records


def first_since(data: bytes, position: int, header: BatchHeader, timestamp_ms: int, start: int) -> int | None:
    """The offset of the first record of a time or later, from `start` on. A batch that cannot be read counts whole."""
    if header.max_timestamp_ms < timestamp_ms or header.next_offset <= start:
        return None
    try:
        records = decode_strictly(data, position, header)
    except UNREADABLE:
        return max(header.base_offset, start)
    return next((record[0] for record in records if record[1] >= timestamp_ms and record[0] >= start), None)


def decode_at(data: bytes, position: int, header: BatchHeader, offset: int) -> Record | None:
    """The record of one offset, without decoding the others where that can be avoided."""
    place = offset - header.base_offset
    if not _is_dense(header) or header.record_count < 8:
        return next((record for record in decode_strictly(data, position, header) if record[0] == offset), None)
    if not 0 <= place < header.record_count:
        return None
    end = position + header.size
    try:
        record, at = _decode_one(data, _skip_records(data, position + HEADER_BYTES, place), header)
    except IndexError:
        at = end + 1
    if at > end:
        raise Corrupt(f"the records of the batch at offset {header.base_offset} do not parse")
    return record


def _is_dense(header: BatchHeader) -> bool:
    """Whether the records of a batch can be counted off: none is missing, and they are not compressed."""
    return header.record_count == header.last_offset_delta + 1 and not header.attributes & COMPRESSION_MASK


def decode_some(data: bytes, position: int, header: BatchHeader, offsets: list[int]) -> list[Record]:
    """The records of ascending offsets within the batch, without decoding the others where that can be avoided.
    Those that are not there are left out."""
    if not _is_dense(header) or header.record_count < 8:
        wanted = set(offsets)
        return [record for record in decode_strictly(data, position, header) if record[0] in wanted]
    found: list[Record] = []
    at, place, end = position + HEADER_BYTES, header.base_offset, position + header.size
    try:
        while len(found) < len(offsets):
            at = _skip_records(data, at, offsets[len(found)] - place)
            count = _run_length(offsets, len(found))
            place = offsets[len(found)] + count
            records, at = _decode_records(data, at, header, count)
            found += records
    except IndexError:
        at = end + 1
    if at > end:
        raise Corrupt(f"the records of the batch at offset {header.base_offset} do not parse")
    return found


def record_starts(data: bytes, position: int, count: int) -> list[int]:
    """Where each of so many records begins, and where the last one ends, without a look into them. Raises IndexError
    if the data ends before."""
    starts = [position]
    for _ in range(count):
        byte = data[position]
        if byte < 0x80:
            position += 1 + (byte >> 1)
        elif (second := data[position + 1]) < 0x80:
            position += 2 + (byte >> 1 & 0x3F) + (second << 6)
        else:
            length, position = _read_varint(data, position)
            position += max(length, 0)
        starts.append(position)
    if position > len(data):
        raise IndexError
    return starts


def _skip_records(data: bytes, position: int, count: int) -> int:
    """The position after so many records. Nearly all have lengths of one or two bytes."""
    for _ in range(count):
        byte = data[position]
        if byte < 0x80:
            position += 1 + (byte >> 1)
        elif data[position + 1] < 0x80:
            position += 2 + ((byte & 0x7F | data[position + 1] << 7) >> 1)
        else:
            length, position = _read_varint(data, position)
            position += max(length, 0)
    return position


def _run_length(offsets: list[int], place: int) -> int:
    """How many offsets follow each other without a gap, from a place in the list on."""
    end = place + 1
    while end < len(offsets) and offsets[end] == offsets[end - 1] + 1:
        end += 1
    return end - place


def _decode_one(data: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    """The record at a position, and where the next one begins."""
    length, position = _read_varint(data, position)
    end = position + length
    timestamp_delta, position = _read_varint(data, position + 1)
    delta, position = _read_varint(data, position)
    key, position = _read_bytes(data, position)
    value, position = _read_bytes(data, position)
    headers, position = _read_headers(data, position)
    if position != end:
        raise IndexError
    stamped = header.attributes & STAMPED
    timestamp = header.max_timestamp_ms if stamped else header.base_timestamp_ms + timestamp_delta
    return (header.base_offset + delta, timestamp, key, value, headers), end


def _decode_records(data: bytes, position: int, header: BatchHeader, left: int) -> tuple[list[Record], int]:
    """So many records from a position on. Paid for every message that is read: hence numbers of one and two bytes,
    which nearly all are, are read in place, and a record that looks like the one before it is not taken apart."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp_ms
    is_stamped = header.attributes & STAMPED
    if is_stamped:
        base_timestamp = header.max_timestamp_ms
    size = len(data)
    may_all_be_alike = True
    records: list[Record] = []
    while left > 0:
        start = position
        length = data[position]
        if length < 0x80:
            position += 1
        elif data[position + 1] < 0x80:
            length = length & 0x7F | data[position + 1] << 7
            position += 2
        else:
            length, position = _read_varint(data, position)
            length <<= 1
        end = position + (length >> 1)
        position += 1  # attributes
        if data[position]:
            delta, position = _read_varint(data, position)
            timestamp = base_timestamp if is_stamped else base_timestamp + delta
        else:
            timestamp = base_timestamp
            position += 1
        lead = data[start:position]
        delta = data[position]
        if delta < 0x80:
            position += 1
        elif data[position + 1] < 0x80:
            delta = delta & 0x7F | data[position + 1] << 7
            position += 2
        else:
            delta, position = _read_varint(data, position)
            delta <<= 1
        if (length | delta) & 1:  # negative
            raise IndexError
        delta >>= 1
        middle_at = position
        key, position = _read_bytes(data, position)
        value, after = _read_bytes(data, position)
        value_size = 0 if value is None else len(value)
        middle = data[middle_at : after - value_size]
        if not after < end <= size:
            raise IndexError
        tail = data[after:end]
        headers = () if tail == NO_HEADERS else decode_headers(tail)
        records.append((base_offset + delta, timestamp, key, value, headers))
        left -= 1
        position = end
        # Messages of one kind mostly have the same size: then a record differs from the one before it in its
        # offset and its value only.
        start_to_value = len(lead) + len(SMALL[delta] if delta < SMALL_END else b"") + len(middle)
        same_until = 64 if delta < 64 else 8192 if delta < 8192 else 0  # an offset of another size shifts the rest
        delta += 1
        count = min(left, same_until - delta)
        if may_all_be_alike and count > 1 and value is not None:
            values = _values_of_alike(data, position, (lead, middle, tail), value_size, SMALL[delta : delta + count])
            if values:
                offsets = range(base_offset + delta, base_offset + delta + count)
                records += zip(offsets, repeat(timestamp), repeat(key), values, repeat(headers), strict=False)
                position += count * (start_to_value + value_size + len(tail))
                left -= count
                continue
            may_all_be_alike = False  # trying once more for each record would take very long
        while left and delta < same_until and value is not None:
            first = position + start_to_value
            after = first + value_size
            if not (data.startswith(lead + SMALL[delta] + middle, position) and data.startswith(tail, after)):
                break
            records.append((base_offset + delta, timestamp, key, data[first:after], headers))
            position = after + len(tail)
            delta += 1
            left -= 1
    return records, position


def _values_of_alike(
    data: bytes, position: int, around: tuple[bytes, bytes, bytes], value_size: int, deltas: list[bytes]
) -> list[bytes]:
    """The values of the records that follow, one for each offset delta, if they differ in that and in their values of
    one size only; else none. What they would be encoded as is compared with what is there, all at once."""
    lead, middle, tail = around
    start_to_value = len(lead) + len(deltas[0]) + len(middle)
    stride = start_to_value + value_size + len(tail)
    end = position + len(deltas) * stride
    if end > len(data) or not data.startswith(lead + deltas[-1] + middle, end - stride):
        return []
    picker = _picker(start_to_value, value_size, len(tail))
    values = list(chain.from_iterable(picker.iter_unpack(memoryview(data)[position:end])))
    parts = list(chain.from_iterable(zip(deltas, repeat(middle), values, repeat(tail + lead), strict=False)))
    parts[-1] = tail
    is_alike = data.startswith(lead, position) and data.startswith(b"".join(parts), position + len(lead))
    return values if is_alike else []


@lru_cache(maxsize=1024)
def _picker(before: int, size: int, behind: int) -> Struct:
    """Takes the value out of a record."""
    return Struct(f"{before}x{size}s{behind}x")


@lru_cache(maxsize=256)
def decode_headers(block: bytes) -> Headers:
    """The headers of a record from their block. Messages of the same kind mostly have the same ones."""
    headers, position = _read_headers(block, 0)
    if position != len(block):
        raise IndexError
    return headers


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    shift = result = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position
        shift += 7
        if shift > 56:  # no number of 63 bits is longer; so the sum of two still is one of 64
            raise IndexError


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    byte = data[position]
    if byte > 0x7F:
        size, position = _read_varint(data, position)
    else:
        size = (byte >> 1) ^ -(byte & 1)
        position += 1
    if size < 0:
        return None, position
    end = position + size
    if end > len(data):
        raise IndexError
    return data[position:end], end


def _read_headers(data: bytes, position: int) -> tuple[Headers, int]:
    count, position = _read_varint(data, position)
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        name, position = _read_bytes(data, position)
        value, position = _read_bytes(data, position)
        headers.append((name or b"", value))
    return tuple(headers), position
