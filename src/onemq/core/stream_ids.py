"""Stream ids: a time in ms and a number, here one integer, ms << 64 | number."""

from onemq.message import STREAM_ID, Record

NUMBER_BITS = 64
NUMBER_MAX = (1 << NUMBER_BITS) - 1
ID_MAX = (1 << 2 * NUMBER_BITS) - 1
_DIGITS_MAX = len(str(NUMBER_MAX))


def id_text(id: int) -> bytes:
    """`ms-number`."""
    return b"%d-%d" % (id >> NUMBER_BITS, id & NUMBER_MAX)


def id_of(record: Record) -> int:
    """The stream id of a message."""
    headers = record[4]
    if headers and headers[0][0] == STREAM_ID:
        ms, _, number = (headers[0][1] or b"").partition(b"-")
        if ms.isdigit() and number.isdigit() and len(ms) <= _DIGITS_MAX and len(number) <= _DIGITS_MAX:
            return (int(ms) & NUMBER_MAX) << NUMBER_BITS | int(number) & NUMBER_MAX
    return record[1] << NUMBER_BITS | record[0]  # also if others sent such a header with something else in it


def pack_id(id: int) -> bytes:
    """An id as the log keeps it."""
    return id.to_bytes(16, "big")


def unpack_id(packed: bytes) -> int:
    """The reverse of `pack_id`."""
    return int.from_bytes(packed, "big")
