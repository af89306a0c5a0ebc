"""XRANGE, XREVRANGE: entries by their ids."""

from itertools import islice, takewhile
from typing import TYPE_CHECKING

from onemq.core.measure import within
from onemq.core.stream_ids import id_of
from onemq.limits import RESP_REPLY_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import syntax_error
from onemq.protocols.resp.streams.arguments import stream_of
from onemq.protocols.resp.streams.entries import Entries
from onemq.protocols.resp.streams.ids import parse_end, parse_start

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def xrange(session: "RespSession", request: list[bytes]) -> bytes:
    start, end = parse_start(request[2]), parse_end(request[3])
    return _range(session, request, start, end, backwards=False)


def xrevrange(session: "RespSession", request: list[bytes]) -> bytes:
    start, end = parse_start(request[3]), parse_end(request[2])
    return _range(session, request, start, end, backwards=True)


def _range(session: "RespSession", request: list[bytes], start: int, end: int, backwards: bool) -> bytes:
    count: int | None = None
    for place in range(4, len(request), 2):
        if request[place].lower() != b"count" or place + 1 == len(request):
            raise syntax_error()
        count = max(integer(request[place + 1]), 0)
    stream = stream_of(session, request[1])
    if stream is None:
        return replies.EMPTY_ARRAY
    if count == 0:
        return session.replies.null_array
    if start > end:
        return replies.EMPTY_ARRAY
    if backwards:
        records = takewhile(lambda record: id_of(record) >= start, stream.records_back(stream.find(end + 1)))
    else:
        records = takewhile(lambda record: id_of(record) <= end, stream.records(stream.find(start), count))
    refusal = replies.too_large(": use COUNT, and go on from the last ID" if count is None else ": use a smaller COUNT")
    return Entries(within(islice(records, count), RESP_REPLY_BYTES_MAX, refusal)).reply()
