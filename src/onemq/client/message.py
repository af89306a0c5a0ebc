"""A message as a receiver has it in hand. Most is worked out only when it is asked for."""

import gzip
import json
import zlib
from typing import Any, Protocol

from onemq.client import bodies
from onemq.client.replies import plain
from onemq.client.times import Duration, milliseconds
from onemq.errors import BadBody, InvalidArgument
from onemq.message import (
    BORN,
    CONTENT_TYPE,
    CORRELATION,
    DEAD,
    DUE,
    ENCODING,
    EXPIRES,
    ID,
    ORDER_KEY,
    PRIORITY,
    PRIORITY_DEFAULT,
    REPLY_TO,
    TAG,
    TRANSACTION,
    message_id,
)


class Settler(Protocol):
    """Who is told what becomes of messages."""

    group: str

    def ack(self, message: "Message") -> None: ...
    def nack(self, message: "Message", delay_ms: int | None, reason: str) -> None: ...
    def reject(self, message: "Message", reason: str) -> None: ...
    def release(self, message: "Message") -> None: ...
    def extend(self, message: "Message") -> None: ...


class Message:
    """One message. `ack()`, `nack()`, `reject()` and `release()` say what becomes of it; the first one counts. They
    return at once: what is said in one turn of the client's loop leaves together."""

    __slots__ = ("_fields", "_id", "_pairs", "_raw", "_settlements", "deliveries", "era", "is_done", "is_settled",
                 "key_bytes", "offset", "partition", "stored", "topic")  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        deliveries: int,
        stored: int,
        key: bytes | None,
        body: bytes | None,
        headers: list[bytes] | None,
        settlements: Settler | None,
        era: int,
        id: str | int,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.deliveries = deliveries
        """How often it was handed out to this group, this time included."""
        self.stored = stored
        """When the broker stored it, ms since 1970."""
        self.key_bytes = key
        self.is_settled = False
        """Whether it was said what becomes of it."""
        self.is_done = False
        """Whether it was acknowledged."""
        self.era = era
        """The number of the connection that it came by."""
        self._raw = body
        self._pairs = headers
        """Names and values by turns."""
        self._fields: dict[bytes, bytes] | None = None
        self._settlements = settlements
        self._id = id
        """The id, or the number of the topic, of which it is made."""

    # What it says.

    @property
    def id(self) -> str:
        """It never changes, whatever becomes of the message."""
        stored = self._header(ID)
        if stored is not None:
            return stored.decode()
        return self._id if isinstance(self._id, str) else message_id(self._id, self.partition, self.offset)

    @property
    def group(self) -> str | None:
        """The group that it was handed out to."""
        return None if self._settlements is None else self._settlements.group

    @property
    def key(self) -> str | None:
        """The key as text; `key_bytes` has it as it is."""
        return None if self.key_bytes is None else self.key_bytes.decode(errors="surrogateescape")

    @property
    def body(self) -> bytes:
        """The bytes that were sent. Raises `BadBody` if they cannot be decompressed."""
        raw = self._raw or b""
        encoding = self._header(ENCODING)
        if encoding is None:
            return raw
        if encoding != b"gzip":
            raise BadBody(f"message {self.id} is compressed as {encoding.decode(errors='replace')}: not known here")
        try:
            return gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as problem:
            raise BadBody(f"message {self.id} does not decompress: {problem}") from None

    def text(self) -> str:
        """The body as text."""
        return str(bodies.decode(self.body, None, str))

    def json(self) -> Any:
        """What the body holds as JSON."""
        return bodies.decode(self.body, bodies.JSON)

    @property
    def value(self) -> Any:
        """What was sent: text, bytes, or what JSON holds."""
        return bodies.decode(self.body, self.content_type)

    def read(self, annotation: Any) -> Any:
        """The body as a type: str, bytes, dict, a dataclass, a pydantic model."""
        return bodies.decode(self.body, self.content_type, annotation)

    @property
    def headers(self) -> dict[str, str | bytes]:
        """The sender's own headers; bytes where they are no text."""
        pairs = self._pairs or []
        return {
            name.decode(errors="replace"): _text(value)
            for name, value in zip(pairs[::2], pairs[1::2], strict=True)
            if not name.startswith(b"_") and value is not None
        }

    @property
    def tag(self) -> str | None:
        return self._string(TAG)

    @property
    def priority(self) -> int:
        return PRIORITY_DEFAULT if (value := self._number(PRIORITY)) is None else value

    @property
    def content_type(self) -> str | None:
        """What the body is: text, json, msgpack; None: bytes."""
        return self._string(CONTENT_TYPE)

    @property
    def ordering_key(self) -> bytes | None:
        """What its order goes by."""
        stored = self._header(ORDER_KEY) if self._pairs else None
        return self.key_bytes if stored is None else stored

    @property
    def reply_to(self) -> str | None:
        return self._string(REPLY_TO)

    @property
    def correlation(self) -> str | None:
        return self._string(CORRELATION)

    @property
    def transaction_id(self) -> str | None:
        """Of a half message."""
        return self._string(TRANSACTION)

    @property
    def born(self) -> int | None:
        """When its sender made it, ms since 1970, where it says so."""
        return self._number(BORN)

    @property
    def due(self) -> int | None:
        """When a delayed message was due, ms since 1970."""
        return self._number(DUE)

    @property
    def expires(self) -> int | None:
        """When it is of no use any more, ms since 1970."""
        return self._number(EXPIRES)

    @property
    def dead(self) -> dict[str, Any] | None:
        """Of a dead letter: why, whence, and after what attempts."""
        value = self._header(DEAD)
        return None if value is None else dict(json.loads(value))

    # What becomes of it.

    def ack(self) -> None:
        """It is done."""
        self.settler().ack(self)

    def nack(self, delay: Duration | None = None, reason: str = "") -> None:
        """It failed: again after the delay, or after what the group's policy says."""
        self.settler().nack(self, None if delay is None else milliseconds(delay), reason)

    def reject(self, reason: str = "") -> None:
        """It is a dead letter now."""
        self.settler().reject(self, reason)

    def release(self) -> None:
        """It was not tried: again at once, and this time does not count."""
        self.settler().release(self)

    def extend(self) -> None:
        """Its lease begins anew, where the group has leases."""
        self.settler().extend(self)

    def settler(self) -> Settler:
        """Who is told. Raises `InvalidArgument` for a message of no group."""
        if self._settlements is None:
            raise InvalidArgument("this message was only read: no group waits for its acknowledgement")
        return self._settlements

    def _header(self, name: bytes) -> bytes | None:
        if self._pairs is None:
            return None
        if self._fields is None:
            self._fields = dict(zip(self._pairs[::2], self._pairs[1::2], strict=True))
        return self._fields.get(name)

    def _string(self, name: bytes) -> str | None:
        value = self._header(name)
        return None if value is None else value.decode(errors="replace")

    def _number(self, name: bytes) -> int | None:
        value = self._header(name)
        return None if value is None else int(value)

    def __repr__(self) -> str:
        return f"<Message {self.id} of {self.topic!r}, partition {self.partition}, offset {self.offset}>"


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def from_map(fields: dict[str, Any], settlements: Settler | None = None, era: int = 0) -> Message:
    """A message that the broker told as a map (MQ.RECEIVE, MQ.SEARCH and the like)."""
    pairs: list[bytes] = []
    for name, value in (fields.get("headers") or {}).items():
        pairs += [name, value]
    for field, header in _FIELDS.items():
        value = fields.get(field)
        if value is not None and header not in pairs[::2]:
            pairs += [header, value if isinstance(value, bytes) else str(value).encode()]
    if isinstance(dead := fields.get("dead"), dict) and DEAD not in pairs[::2]:
        pairs += [DEAD, json.dumps(plain(dead)).encode()]
    return Message(
        str(plain(fields["topic"])),
        int(fields.get("partition") or 0),
        int(fields.get("offset") or 0),
        int(fields.get("deliveries") or 0),
        int(fields.get("stored") or 0),
        fields.get("key"),
        fields.get("body"),
        pairs or None,
        settlements,
        era,
        str(plain(fields.get("id", ""))),
    )


_FIELDS = {
    "tag": TAG,
    "priority": PRIORITY,
    "born": BORN,
    "expires": EXPIRES,
    "reply_to": REPLY_TO,
    "correlation": CORRELATION,
    "transaction": TRANSACTION,
    "type": CONTENT_TYPE,
    "encoding": ENCODING,
    "order": ORDER_KEY,
    "due": DUE,
}


