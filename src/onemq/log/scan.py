"""A scan: every batch of a file, one after the other, checked."""

from collections.abc import Iterator

from onemq.errors import Corrupt
from onemq.log.batch import HEADER_BYTES, BatchHeader, is_sound, read_header
from onemq.log.disk import Readable

SCAN_BYTES = 1 << 20
OFFSET_MAX = (1 << 63) - 1

Scanned = tuple[int, BatchHeader, bytes, int]
"""(position in the file, header, buffer that holds the batch, where in the buffer it starts)"""


def scan_file(
    file: Readable, path: str, position: int, size: int, offsets: tuple[int, int] = (0, OFFSET_MAX)
) -> Iterator[Scanned]:
    """Every batch of a file from a position up to a size, checked. Raises `Corrupt` at an unsound one."""
    lowest, end = offsets
    while position < size:
        data = file.read(position, min(SCAN_BYTES, size - position))
        at = 0
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if at + header.size > len(data) and (at or position + header.size <= size):
                break
            if header.base_offset < lowest or header.next_offset > end or not is_sound(data, at, header):
                raise Corrupt(f"{path} is damaged at byte {position + at}")
            yield position + at, header, data, at
            lowest = header.next_offset
            at += header.size
        if at == 0:
            at = _scan_large(file, path, position, size)
            data = file.read(position, at)
            header = read_header(data)
            if header.base_offset < lowest or header.next_offset > end or not is_sound(data, 0, header):
                raise Corrupt(f"{path} is damaged at byte {position}")
            yield position, header, data, 0
            lowest = header.next_offset
        position += at


def _scan_large(file: Readable, path: str, position: int, size: int) -> int:
    """The size of the batch at `position` that did not fit the scan buffer."""
    head = file.read(position, HEADER_BYTES)
    if len(head) < HEADER_BYTES or not HEADER_BYTES <= read_header(head).size <= size - position:
        raise Corrupt(f"{path} is damaged at byte {position}")
    return read_header(head).size
