"""A message on its way out: what a sender may say about it, and its encoding for the wire."""

import gzip
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, cast

from onemq.client import bodies
from onemq.client.connection import Word
from onemq.client.headers import HeaderValues, block, checked_name, simple_block, to_bytes
from onemq.client.times import Duration, Time, duration_word, time_word
from onemq.errors import InvalidArgument
from onemq.message import ENCODING

RESEND_WINDOW = b"60s"
"""How long the broker remembers the key under which a single message is sent again after a lost connection."""
GZIP_LEVEL = 3


class SendOptions(TypedDict, total=False):
    """What every way of sending takes beside topic, body and key."""

    tag: str | None
    headers: Mapping[str, str | bytes] | None
    ordering_key: str | bytes | None
    """Messages with the same one go to the same partition and stay in order; without it the key decides."""
    partition: int | None
    reply_to: str | None
    correlation: str | None
    delay: Duration | None
    level: int | None
    """One of the 18 delay levels, from 1."""
    at: Time | None
    """When it is due."""
    every: Duration | None
    """Again and again, with this period."""
    cron: str | None
    """Again and again, by a cron expression."""
    zone: str | None
    """The time zone of `cron`; else UTC."""
    times: int | None
    """How often at most, with `every` or `cron`."""
    priority: int | None
    """0 to 9; 4 is usual."""
    expires: Duration | None
    """Of no use after that time."""
    idempotency_key: str | None
    """A second message with the same key is not stored."""
    idempotency_window: Duration | None
    """How long that is remembered."""
    transient: bool
    """Need not survive a restart of the broker."""


_BATCHED = {"tag", "headers", "ordering_key", "partition", "reply_to", "correlation"}


@dataclass(slots=True)
class Outgoing:
    """One message of `send_batch` with options of its own."""

    body: object
    key: str | bytes | None = None
    options: SendOptions = field(default_factory=SendOptions)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message as bytes."""

    key: bytes | None
    value: bytes
    content_type: str | None
    """None: bytes."""
    encoding: bytes | None


def is_batched(options: SendOptions) -> bool:
    """Whether a message with these options can travel in a batch."""
    if options.keys() <= _BATCHED:
        return True
    return all(value is None or value is False for name, value in options.items() if name not in _BATCHED)


def typed(body: object) -> tuple[bytes, str | None]:
    """The bytes of a body and what they are; None: bytes."""
    value, content_type = bodies.encode(body)
    return value, None if content_type == bodies.BYTES else content_type


def encoded(body: object, key: str | bytes | None, compress_above: int | None) -> Encoded:
    """Body and key as bytes; a large body compressed, if that makes it smaller."""
    value, content_type = (body, None) if type(body) is bytes else typed(body)
    encoding = None
    if compress_above is not None and len(value) > compress_above:
        smaller = gzip.compress(value, GZIP_LEVEL, mtime=0)
        if len(smaller) < len(value):
            value, encoding = smaller, b"gzip"
    return Encoded(to_bytes(key) if key is not None else None, value, content_type, encoding)


def record_headers(message: Encoded, options: SendOptions) -> bytes:
    """The header block of a message in a batch."""
    rest = ("headers", "ordering_key", "reply_to", "correlation")
    if message.encoding is None and not any(options.get(name) for name in rest):
        return simple_block(options.get("tag"), message.content_type)
    return block(
        options.get("tag"),
        message.content_type,
        message.encoding,
        options.get("ordering_key"),
        options.get("reply_to"),
        options.get("correlation"),
        options.get("headers"),
    )


def send_words(topic: str, message: Encoded, options: SendOptions, *, safe: bool = True) -> tuple[Word, ...]:
    """The message as MQ.SEND. A `safe` one gets an idempotency key, so that it can be sent again."""
    _check_names(options)
    _check_times(options)
    words: list[Word] = [b"MQ.SEND", topic, message.value]
    if message.key is not None:
        words += [b"KEY", message.key]
    if message.content_type is not None:
        words += [b"TYPE", message.content_type]
    if message.encoding is not None:
        words += [b"HEADER", ENCODING, message.encoding]
    for name, value in cast(HeaderValues, options.get("headers") or {}).items():
        words += [b"HEADER", checked_name(name), value]
    for name, (word, convert) in _WORDS.items():
        given = cast(dict[str, Any], options).get(name)
        if given is not None:
            words += [word, convert(given)]
    if options.get("transient"):
        words.append(b"TRANSIENT")
    if safe and options.get("idempotency_key") is None:
        words += [b"IDEMPOTENCY", b"_" + uuid.uuid4().hex.encode(), b"WITHIN", RESEND_WINDOW]
    return tuple(words)


def _check_names(options: SendOptions) -> None:
    """A misspelt `delay` must not send at once."""
    for name in options:
        if name not in SendOptions.__annotations__:
            raise TypeError(f"a message has no option {name!r}; it has {', '.join(SendOptions.__annotations__)}")


def _check_times(options: SendOptions) -> None:
    """Of several times the broker would take the last one, and of a zone alone it would know nothing."""
    named = [name for name in ("delay", "level", "at") if cast(dict[str, Any], options).get(name) is not None]
    if len(named) > 1:
        raise InvalidArgument(f"when it is due is said once, not by {' and '.join(named)}")
    if options.get("zone") is not None and options.get("cron") is None:
        raise InvalidArgument("a zone is that of a cron expression: name one, or leave it out")


def _level(level: int) -> int:
    if not 1 <= level <= 18:
        raise InvalidArgument(f"delay levels are 1 to 18, not {level}")
    return level


def _priority(priority: int) -> int:
    if not 0 <= priority <= 9:
        raise InvalidArgument(f"priorities are 0 to 9, not {priority}")
    return priority


def _same(value: Any) -> Any:
    return value


_WORDS: dict[str, tuple[bytes, Any]] = {
    "tag": (b"TAG", _same),
    "ordering_key": (b"ORDER", _same),
    "partition": (b"PARTITION", _same),
    "delay": (b"DELAY", duration_word),
    "level": (b"LEVEL", _level),
    "at": (b"AT", time_word),
    "every": (b"EVERY", duration_word),
    "cron": (b"CRON", _same),
    "zone": (b"ZONE", _same),
    "times": (b"TIMES", _same),
    "priority": (b"PRIORITY", _priority),
    "expires": (b"EXPIRES", duration_word),
    "reply_to": (b"REPLYTO", _same),
    "correlation": (b"CORRELATION", _same),
    "idempotency_key": (b"IDEMPOTENCY", _same),
    "idempotency_window": (b"WITHIN", duration_word),
}
