"""Once: the keys of messages that a group has acknowledged, remembered for a while.

What makes two messages the same is the group's choice: the key, the id, or a header. Keys are kept as digests, so
that long ones take no more memory than short ones. The digest covers what the key is, so that a group that changes
its choice confuses nothing.
"""

from collections.abc import Callable
from hashlib import blake2b
from itertools import islice
from typing import Any

from onemq import limits
from onemq.core.partition import Partition
from onemq.errors import InvalidArgument
from onemq.message import Record, header, id_of

DIGEST_BYTES = 16
NO_KEY = b""
_HEADER = "header:"

KeyOf = Callable[[Partition, Record], bytes | None]


def key_of(once: str) -> KeyOf:
    """What takes the business key out of a record. Raises `InvalidArgument`."""
    if once == "key":
        return lambda partition, record: record[2]
    if once == "id":
        return lambda partition, record: id_of(partition.topic_id, partition.number, record).encode()
    name = once.removeprefix(_HEADER).encode("utf-8", "surrogatepass")
    if not once.startswith(_HEADER) or not name:
        raise InvalidArgument(f"once must be key, id or header:<name>, not {once!r}")
    return lambda partition, record: header(record[4], name) if record[4] else None


def digest(once: str, key: bytes) -> bytes:
    """A business key as it is remembered."""
    return blake2b(once.encode("utf-8", "surrogatepass") + b"\0" + key, digest_size=DIGEST_BYTES).digest()


class OnceKeys:
    """What a group remembers, oldest first."""

    def __init__(self) -> None:
        self._until_ms: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._until_ms)

    def has(self, key: bytes, now_ms: int) -> bool:
        """Whether a message of that key was acknowledged lately."""
        until_ms = self._until_ms.get(key)
        return until_ms is not None and until_ms > now_ms

    def remember(self, keys: list[bytes], until_ms: int, now_ms: int) -> None:
        """Messages of those keys are acknowledged. With no keys, those whose time is up are forgotten."""
        if not keys:
            self._until_ms = {key: until for key, until in self._until_ms.items() if until > now_ms}
        for key in keys:
            self._until_ms.pop(key, None)
            self._until_ms[key] = until_ms
        most = limits.ONCE_KEYS_MAX
        if len(self._until_ms) > most:  # some more than needed, because finding the oldest takes a while
            for key in list(islice(self._until_ms, len(self._until_ms) - most + most // 16)):
                del self._until_ms[key]

    def is_stale(self, now_ms: int) -> bool:
        """Whether the oldest one's time is up."""
        return next(iter(self._until_ms.values()), now_ms + 1) <= now_ms

    def dump(self) -> list[Any]:
        """For the snapshot."""
        return [b"".join(self._until_ms), list(self._until_ms.values())]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        keys, untils = state
        starts = range(0, len(keys), DIGEST_BYTES)
        self._until_ms = {keys[at : at + DIGEST_BYTES]: until for at, until in zip(starts, untils, strict=True)}
