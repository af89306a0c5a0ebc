"""Headers on their way to the broker: the user's own, and the reserved ones that carry a message's fields."""

from collections.abc import Mapping
from functools import lru_cache

from onemq.errors import InvalidArgument
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import CONTENT_TYPE, CORRELATION, ENCODING, ORDER_KEY, REPLY_TO, TAG

HeaderValues = Mapping[str, str | bytes]


def to_bytes(value: str | bytes) -> bytes:
    """Text as UTF-8."""
    return value if isinstance(value, bytes) else value.encode()


@lru_cache(maxsize=1024)
def simple_block(tag: str | None, content_type: str | None) -> bytes:
    """The header block of a message that has no more than a tag and a type."""
    return block(tag, content_type)


def block(
    tag: str | None = None,
    content_type: str | None = None,
    encoding: bytes | None = None,
    ordering_key: str | bytes | None = None,
    reply_to: str | None = None,
    correlation: str | None = None,
    headers: HeaderValues | None = None,
) -> bytes:
    """All headers of a message as a record holds them."""
    pairs: list[tuple[bytes, bytes | None]] = []
    reserved = (
        (TAG, tag),
        (CONTENT_TYPE, content_type),
        (ENCODING, encoding),
        (ORDER_KEY, ordering_key),
        (REPLY_TO, reply_to),
        (CORRELATION, correlation),
    )
    pairs += [(name, to_bytes(value)) for name, value in reserved if value is not None]
    if headers:
        pairs += [(checked_name(name), to_bytes(value)) for name, value in headers.items()]
    return encode_headers(pairs) if pairs else NO_HEADERS


def checked_name(name: str) -> bytes:
    """The name of a user's header; those that begin with an underscore are OneMQ's own."""
    if not name or name.startswith("_"):
        raise InvalidArgument(f"header names that begin with _ are OneMQ's own, and none is empty: {name!r}")
    return name.encode()
