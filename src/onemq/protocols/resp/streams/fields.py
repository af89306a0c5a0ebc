"""The fields of a stream entry as a message, and a message as the fields of an entry.

    fields                        message
    body B                        body B                                       what others send looks like this
    name B                        body B, header _f = "|name"
    a A  body B  c C              body B, headers _f = "1|body", a A, c C      1: the place of the body
    a A  b C                      no body, headers a A, b C

So every entry comes back as it was, and other protocols see the body and headers that they know. The
header `_f` comes before all others; it is written whenever the fields could not be told without it, which
includes names that begin with an underscore. A message's key is shown as the field `_key`.

A message that was due later comes with its id as the last header, which is not a field. So that a sender's
own last field of that name is one, a header without value follows it.
"""

from collections.abc import Sequence
from functools import lru_cache

from onemq.core.stream_ids import id_of, id_text
from onemq.log.records import encode_headers
from onemq.message import DEAD, DUE, ID, STREAM_ID, Headers, Record
from onemq.protocols.resp import replies

BODY = b"body"
FIELD = b"_f"
KEY = b"_key"
_OURS = (STREAM_ID, DUE)
"""Headers that are not shown."""
_NO_BODY = b"-"
_SINGLE = b"|"
_PLACE_DIGITS_END = 10
_NO_ID = (ID, None)
"""What follows a sender's own field that has the name of the id."""

Pairs = list[tuple[bytes, bytes]]


@lru_cache(maxsize=1024)
def single_field_headers(name: bytes) -> bytes:
    """The encoded headers of a message whose body was the only field."""
    return encode_headers(((FIELD, _SINGLE + name),))


def to_message(words: Sequence[bytes]) -> tuple[bytes, Headers]:
    """Body and headers for fields, which come as name, value, name, value, ..."""
    names = words[::2]
    if len(names) == 1:
        name, body = words
        return body, () if name == BODY and body else ((FIELD, _SINGLE + name),)
    pairs: Headers = tuple(zip(names, words[1::2], strict=True))
    if ID in names:
        pairs = _marked(pairs)
    if BODY not in names:
        return b"", ((FIELD, _NO_BODY), *pairs) if pairs[0][0].startswith(b"_") else pairs
    place = names.index(BODY)
    body = words[2 * place + 1]
    rest = pairs[:place] + pairs[place + 1 :]
    if place == 0 and body and not rest[0][0].startswith(b"_"):
        return body, rest
    return body, ((FIELD, b"%d|%b" % (place, BODY)), *rest)


def _marked(pairs: Headers) -> Headers:
    """The pairs, and the mark behind them if the last one that becomes a header has the name of the id."""
    body = next((place for place, pair in enumerate(pairs) if pair[0] == BODY), None)
    last = pairs[-2] if body == len(pairs) - 1 else pairs[-1]
    return (*pairs, _NO_ID) if last[0] == ID else pairs


def to_fields(record: Record) -> Pairs:
    """The fields of a message."""
    _, _, key, body, headers = record
    was_due_later = False
    while headers and headers[0][0] in _OURS:
        was_due_later |= headers[0][0] == DUE
        headers = headers[1:]
    if headers and headers[-1][0] in (ID, DEAD):
        headers = _without_id(headers, was_due_later)
    note = None
    if headers and headers[0][0] == FIELD:
        note, headers = headers[0][1] or _NO_BODY, headers[1:]
    fields: Pairs = [(name, value or b"") for name, value in headers]
    if note is None or (note == _NO_BODY and not fields):
        if body or not fields:
            fields.insert(0, (BODY, body or b""))
    elif note != _NO_BODY:
        place, _, name = note.partition(b"|")
        is_number = place.isdigit() and len(place) < _PLACE_DIGITS_END  # another protocol may have said anything
        fields.insert(int(place) if is_number else 0, (name, body or b""))
    if key is not None:
        fields.append((KEY, key))
    return fields


def _without_id(headers: Headers, was_due_later: bool) -> Headers:
    """The headers that are fields, of a message that has an id."""
    if was_due_later and headers[-1][0] == ID:
        return headers[:-1]
    return tuple(each for each in headers if each != _NO_ID)


def fields_reply(record: Record) -> bytes:
    """The fields of a message as a reply."""
    fields = to_fields(record)
    return replies.array([replies.bulk(word) for field in fields for word in field])


def entry_reply(record: Record) -> bytes:
    """A message as a reply: its id and its fields."""
    return b"*2\r\n%b%b" % (id_reply(id_of(record)), fields_reply(record))


def id_head(ms: int, offset: int) -> tuple[int, int, bytes]:
    """How the reply of an id `ms-offset` begins, up to the offset, and from where to where offsets are as long."""
    digits = len(b"%d" % offset)
    first = 10 ** (digits - 1) if digits > 1 else 0
    return first, 10**digits - 1, b"$%d\r\n%d-" % (len(b"%d-" % ms) + digits, ms)


def id_reply(id: int) -> bytes:
    """An id as a reply."""
    return replies.bulk(id_text(id))
