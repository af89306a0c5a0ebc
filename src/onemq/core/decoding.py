"""Decoding batches for those who read single messages.

A batch that a producer sealed (`leader_epoch` is negative) was stored without a look at its records: it may be made
wrong, and nothing in it is an id in a stream.
"""

from operator import lt

from onemq.core.unreadable import Unreadable
from onemq.log.batch import BatchHeader
from onemq.log.records import UNREADABLE, decode, decode_at, decode_some, decode_strictly
from onemq.message import STREAM_ID, Record


def decode_batch(data: bytes, position: int, header: BatchHeader) -> list[Record]:
    """The records of a batch, which a producer may have made wrong if it is a foreign one. Raises `Unreadable`."""
    try:
        if header.leader_epoch >= 0:
            return decode(data, position, header)
        return _without_ids(decode_strictly(data, position, header))
    except UNREADABLE as problem:
        raise _unreadable(header, problem.text) from None


def _unreadable(header: BatchHeader, text: str) -> Unreadable:
    return Unreadable(text, header.base_offset, header.next_offset)


def _without_ids(records: list[Record]) -> list[Record]:
    """Records of a foreign batch: an id in a stream is nothing that a producer can give them this way."""
    if not any(headers[0][0] == STREAM_ID for headers in {record[4] for record in records if record[4]}):
        return records
    return [
        (*record[:4], record[4][1:]) if record[4] and record[4][0][0] == STREAM_ID else record for record in records
    ]


def decode_record(data: bytes, position: int, header: BatchHeader, offset: int) -> Record | None:
    """One of them, if it is there."""
    try:
        record = decode_at(data, position, header, offset)
    except UNREADABLE as problem:
        raise _unreadable(header, problem.text) from None
    if record is not None and record[0] != offset:
        raise _unreadable(header, f"the record at offset {offset} says that it is at {record[0]}")
    return _without_ids([record])[0] if record is not None and header.leader_epoch < 0 else record


def decode_records(data: bytes, position: int, header: BatchHeader, offsets: list[int]) -> list[Record]:
    """Some of them, as far as they are there. A foreign batch is read as a whole: none of them is if one is wrong."""
    if header.leader_epoch < 0:
        wanted = set(offsets)
        return [record for record in decode_batch(data, position, header) if record[0] in wanted]
    try:
        records = decode_some(data, position, header, offsets)
    except UNREADABLE as problem:
        raise _unreadable(header, problem.text) from None
    found = [record[0] for record in records]
    if not (set(found) <= set(offsets) and all(map(lt, found, found[1:]))):
        text = f"the records of the batch at offset {header.base_offset} have offsets that do not fit it"
        raise _unreadable(header, text)
    return records
