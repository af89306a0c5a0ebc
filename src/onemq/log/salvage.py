"""Finding one's way in a damaged segment: where the damage is, and where sound batches go on.

A batch's checksum does not cover its base offset and its length. So besides the checksum the order
of offsets counts: of two batches that overlap, the first is wrong if it could end where the second starts.
Everything here reads slowly and carefully; nothing of it runs while data is sound.
"""

from onemq.log.batch import HEADER_BYTES, LENGTH_PREFIX_BYTES, MAGIC, BatchHeader, is_sound, read_header
from onemq.log.disk import Readable

Place = tuple[int, int]
"""(position in the file, the lowest offset that the batch there may have)"""

_WINDOW_BYTES = 1 << 20
_MAGIC_AT = 16


def sound_at(file: Readable, position: int, size: int) -> BatchHeader | None:
    """The header of the batch at a position, if it lies within `size` and matches its checksum."""
    head = file.read(position, HEADER_BYTES)
    if len(head) < HEADER_BYTES:
        return None
    header = read_header(head)
    if header.magic != MAGIC or not HEADER_BYTES <= header.size <= size - position:
        return None
    return header if is_sound(file.read(position, header.size), 0, header) else None


def first_unsound(file: Readable, start: Place, size: int, end: int) -> Place:
    """The first batch from `start` on that is damaged, in a segment of `size` bytes with offsets below `end`."""
    before, here, earliest_end = start, start, end
    while here[0] < size:
        header = sound_at(file, here[0], size)
        if header is None:
            return here
        if header.base_offset < here[1]:
            return before if header.base_offset >= earliest_end else here
        earliest_end = here[1] + header.last_offset_delta + 1
        before, here = here, (here[0] + header.size, header.next_offset)
    return here if here[1] <= end else before


def next_sound(file: Readable, after: int, size: int, lowest: int, end: int) -> Place | None:
    """The first sound batch that starts behind a position, with offsets from `lowest` and below `end`."""
    position = after + 1
    while position + HEADER_BYTES <= size:
        window = file.read(position, _WINDOW_BYTES + HEADER_BYTES)
        found = window.find(MAGIC, _MAGIC_AT)
        while found >= 0 and found - _MAGIC_AT < _WINDOW_BYTES:
            at = found - _MAGIC_AT
            if _is_plausible(window[at : at + LENGTH_PREFIX_BYTES], size - position - at, lowest, end):
                header = sound_at(file, position + at, size)
                if header is not None and header.next_offset <= end:
                    return position + at, header.base_offset
            found = window.find(MAGIC, found + 1)
        position += _WINDOW_BYTES
    return None


def only_zeros(file: Readable, position: int) -> bool:
    """Whether nothing but zeros lies from a position on: written ahead for batches that did not come."""
    while data := file.read(position, _WINDOW_BYTES):
        if data.strip(b"\0"):
            return False
        position += len(data)
    return True


def _is_plausible(head: bytes, room: int, lowest: int, end: int) -> bool:
    offset, length = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:], "big")
    return lowest <= offset < end and HEADER_BYTES <= LENGTH_PREFIX_BYTES + length <= room
