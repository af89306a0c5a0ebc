"""How much the messages are that somebody takes, counted about as they travel."""

from collections.abc import Iterable, Iterator

from onemq.errors import OneMQError
from onemq.limits import HANDED_BYTES_MAX
from onemq.message import Headers, Record

_MESSAGE_BYTES = 64
_HEADER_BYTES = 16
"""What a message and each of its headers take beside their own bytes."""


def bytes_of(records: Iterable[Record]) -> int:
    """All messages together."""
    size = headers_size = 0
    last: Headers = ()
    for _, _, key, body, headers in records:
        if headers is not last:  # messages of one kind share theirs
            last, headers_size = headers, _bytes_of_headers(headers)
        size += _MESSAGE_BYTES + headers_size + len(body or b"") + len(key or b"")
    return size


def within(records: Iterable[Record], bytes_max: int, refusal: OneMQError | None = None) -> Iterator[Record]:
    """The messages up to the one with which a size is reached. If they would be more than it, raises the refusal, if
    there is one."""
    for record in records:
        bytes_max -= bytes_of((record,))
        if bytes_max < 0 and refusal is not None:
            raise refusal
        yield record
        if bytes_max <= 0 and refusal is None:
            return


def at_once(message_bytes_max: int) -> int:
    """How many messages of unknown size are read together."""
    return max(2 * HANDED_BYTES_MAX // message_bytes_max, 1)


def _bytes_of_headers(headers: Headers) -> int:
    return sum([_HEADER_BYTES + len(name) + len(value or b"") for name, value in headers])
