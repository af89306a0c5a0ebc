"""What consumers tell each other through their group: Kafka's own formats inside JoinGroup and SyncGroup.

    subscription    version (2 bytes), topics, ...
    assignment      version (2 bytes), [topic, [partition]], ...

The broker does not need them to do its work; it looks into them to say who reads what. Numbers are big-endian, an
array begins with its length in 4 bytes, a text with its length in 2.
"""

from collections.abc import Iterable
from struct import Struct, error

CONSUMER = "consumer"
"""The type of groups whose members speak these formats."""
_INT16 = Struct(">h")
_INT32 = Struct(">i")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        self._at += 2
        return int(_INT16.unpack_from(self._data, self._at - 2)[0])

    def int32(self) -> int:
        self._at += 4
        return int(_INT32.unpack_from(self._data, self._at - 4)[0])

    def length(self) -> int:
        """Of an array, whose items take two bytes at least."""
        length = self.int32()
        if length > (len(self._data) - self._at) // 2:
            raise ValueError("an array that is longer than the bytes")
        return length

    def text(self) -> str:
        size = self.int16()
        self._at += size
        if size < 0 or self._at > len(self._data):
            raise ValueError("a text that is longer than the bytes")
        return self._data[self._at - size : self._at].decode()


def topics_of(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all of them; none if they cannot be read."""
    found: set[str] = set()
    try:
        for data in subscriptions:
            reader = _Reader(data)
            reader.int16()
            found.update(reader.text() for _ in range(reader.length()))
    except (error, ValueError):
        return None
    return frozenset(found)


def partitions_of(assignment: bytes) -> dict[str, list[int]]:
    """Topic -> partitions; nothing if it cannot be read."""
    found: dict[str, list[int]] = {}
    try:
        reader = _Reader(assignment)
        reader.int16()
        for _ in range(reader.length()):
            topic = reader.text()
            found[topic] = [reader.int32() for _ in range(reader.length())]
    except (error, ValueError):
        return {}
    return found
