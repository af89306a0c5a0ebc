"""Marks in ready-made batches: messages that say themselves when they are due, or what priority they have.

A producer that seals its own batches says so in headers of its messages. Batches are stored without a look at their
records, so whether there is such a header is found out by a search for how it looks like, which is quick and may err
on the side of caution. Compressed batches are looked into only where their topic asks for it: they must be unpacked.
"""

from typing import NamedTuple

from onemq.core.lanes import PRIORITY_MARK
from onemq.errors import InvalidArgument
from onemq.limits import SCHEDULE_AHEAD_MS_MAX
from onemq.log.batch import COMPRESSION_MASK, BatchHeader
from onemq.log.records import unpacked
from onemq.message import DUE, RESERVED, Headers, Record

DUE_MARK = b"\x08" + DUE
_FIRST, _BEGINNING = DUE_MARK[:1], DUE_MARK[:2]
_BYTES_PER_LOOK = 4096
"""Where that byte is more frequent than this, looking for the whole marks is quicker."""
_DIGITS_MAX = 15


class Sorted(NamedTuple):
    """The records of a batch: those that are stored now, and those that are due later."""

    now: list[Record]
    later: list[tuple[int, Record]]
    """(due time, record)"""


def may_be_marked(batch: bytes, header: BatchHeader, look_inside: bool = False) -> bool:
    """Whether some message of a batch may have such a header. With `look_inside`, a compressed one is unpacked, which
    raises `UNREADABLE`."""
    if not header.attributes & COMPRESSION_MASK:
        return _may_hold_mark(batch)
    return look_inside and _may_hold_mark(unpacked(batch, 0, header))


def _may_hold_mark(batch: bytes) -> bool:
    # The byte in front is rare in text, and looking for one byte takes a twentieth of looking for more.
    at = batch.find(_FIRST)
    for _ in range(1 + len(batch) // _BYTES_PER_LOOK):
        if at < 0:
            return False
        if batch.startswith(_BEGINNING, at) and (
            batch.startswith(DUE_MARK, at) or batch.startswith(PRIORITY_MARK, at)
        ):
            return True
        at = batch.find(_FIRST, at + 1)
    return batch.find(DUE_MARK, at) >= 0 or batch.find(PRIORITY_MARK, at) >= 0


def sort_by_due(records: list[Record], now_ms: int) -> Sorted:
    """Tells apart what is due later. Raises `InvalidArgument` for a time that is none."""
    now: list[Record] = []
    later: list[tuple[int, Record]] = []
    for record in records:
        due_ms = _due_ms(record[4], now_ms) if record[4] else now_ms
        if due_ms > now_ms:
            later.append((due_ms, (*record[:4], tuple(each for each in record[4] if each[0] != DUE))))
        else:
            now.append(record)
    return Sorted(now, later)


def _due_ms(headers: Headers, now_ms: int) -> int:
    """When a message is due: milliseconds since 1970, or after a plus sign from now on."""
    for name, value in headers:
        if name == DUE:
            digits = (value or b"").removeprefix(b"+")
            is_time = digits.isdigit() and len(digits) <= _DIGITS_MAX
            due_ms = int(digits) + (now_ms if digits != value else 0) if is_time else -1
            if not 0 <= due_ms <= now_ms + SCHEDULE_AHEAD_MS_MAX:
                raise InvalidArgument(f"the header {DUE.decode()!r} must be ms since 1970, or + and ms from now on")
            return due_ms
        if name not in RESERVED:
            break
    return now_ms
