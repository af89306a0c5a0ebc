"""Many messages as one reply: what reading a stream spends its time on.

Most entries of a stream are alike: one field, an id of the same millisecond, a value of the same size. So
everything but the value and the number in the id is made once, for as long as it stays the same.

Each entry is kept with the end of the line before it, and without the end of its own last line: so there is one part
less to each, and the array's header comes without its end as well.
"""

from collections.abc import Iterable

from onemq.core.stream_ids import id_of, id_text
from onemq.message import STREAM_ID, Headers, Record
from onemq.protocols.resp import replies
from onemq.protocols.resp.streams.fields import BODY, FIELD, fields_reply, id_head

_ENTRY = b"\r\n*2\r\n"
_END = b"\r\n"
_NO_TIME = b"-"
"""The time of those whose ids are not made of it. In what a client sends it stands before no dash, as nothing may."""
_BODY_START = b"*2\r\n" + replies.bulk(BODY)


class Entries:
    """Entries in the order in which they were added."""

    __slots__ = ("_parts", "count", "named", "times")

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._parts: list[bytes] = []
        self.count = 0
        self.times: list[tuple[int, bytes]] = []
        """(offset, time): from this offset on, messages whose ids are made of time and offset have this time, or
        `_NO_TIME` if the id of the message stands in its header."""
        self.named: list[tuple[bytes, int]] = []
        """The ids of those, with their offsets."""
        self.add(records)

    def add(self, records: Iterable[Record]) -> None:
        """Adds messages."""
        parts, count = self._parts, self.count
        head = middle = b""
        rests = replies.UNITS
        start: bytes | None = None
        last_headers: Headers | None = None
        last_ms, size, first, last = -1, -1, 0, -1
        for record in records:
            offset, ms, key, body, headers = record
            count += 1
            if headers is not last_headers:
                last_headers, start, size = headers, _start_of_single(headers), -1
            if start is None or body is None or key is not None:
                self._add_other(record)
                last_ms = -1
                continue
            if ms != last_ms or not first <= offset <= last:
                first, last, head, rests = _start_of_ids(ms, offset)
                if ms != last_ms:
                    last_ms = ms
                    self.times.append((offset, b"%d" % ms))
            if len(body) != size:
                size = len(body)
                middle = b"%b$%d\r\n" % (start, size)
            parts += (head, rests[offset % 1000], middle, body)
        self.count = count

    def _add_other(self, record: Record) -> None:
        offset, ms, _, _, headers = record
        text = id_text(id_of(record))
        if headers and headers[0][0] == STREAM_ID:
            self.times.append((offset, _NO_TIME))
            self.named.append((text, offset))
        else:
            self.times.append((offset, b"%d" % ms))
        self._parts += (_ENTRY, b"$%d\r\n%b\r\n" % (len(text), text), fields_reply(record)[: -len(_END)])

    def add_encoded(self, entry: bytes) -> None:
        """Adds an entry that is a reply already."""
        self.count += 1
        self._parts += (_END, entry[: -len(_END)])

    def size(self) -> int:
        """How many bytes they take in the reply."""
        self._parts = [b"".join(self._parts)]
        return len(self._parts[0])

    def reply(self) -> bytes:
        """All of them as one array."""
        return b"".join((b"*%d" % self.count, *self._parts, _END))


def _start_of_ids(ms: int, offset: int) -> tuple[int, int, bytes, tuple[bytes, ...]]:
    """From where to where the entries with ids `ms-offset` begin alike, how, and how the lines of their ids end, by
    the last three digits."""
    first, last, head = id_head(ms, offset)
    if offset < 1000:
        return first, last, _ENTRY + head, replies.UNITS
    thousands, at = divmod(offset, 1000)
    return offset - at, offset - at + 999, b"%b%b%d" % (_ENTRY, head, thousands), replies.REST


def _start_of_single(headers: Headers) -> bytes | None:
    """How the fields of a message begin if they are one field, which is its body, under a plain id."""
    if not headers:
        return _BODY_START
    name, note = headers[0]
    if len(headers) > 1 or name != FIELD or note is None or not note.startswith(b"|"):
        return None
    return b"*2\r\n" + replies.bulk(note[1:])
