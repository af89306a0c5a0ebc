"""The form of a reply on the wire, which client libraries hide.

    +OK  $2 OK            the same bytes to a program                   + and $
    :1  ,1  #t            equal numbers                                 : and ,1 and #
    *-1  $-1  _           nil                                           as they are
    *2 ..  ~2 ..  >2 ..   lists                                         *[..] and ~[..] and >[..]
    %1 ..                 a map, in RESP2 a flat array                  %[..]
    -ERR no such key      redis-py takes away some prefixes, like ERR   the whole line

What is inside strings, numbers and booleans is no part of the form: client libraries show that. The text of a double
is, since 1 and 1.0 are equal.
"""

from dataclasses import dataclass
from typing import Any

from redis._parsers.hiredis import NOT_ENOUGH_DATA, _HiredisParser

_AGGREGATES = "*~>%"
_STRINGS = "$=!"
_SHOWN = ",(-!"
"""Their text belongs to the form."""


@dataclass(frozen=True, slots=True)
class Node:
    """A reply or a part of one."""

    kind: str
    """Its type byte; `*-1` and `$-1` for what RESP2 has as nil."""
    text: bytes = b""
    items: tuple["Node", ...] = ()
    """Of a map: names and values by turns."""

    def __str__(self) -> str:
        """The form."""
        if self.kind in _AGGREGATES:
            return f"{self.kind}[{' '.join(map(str, self.items))}]"
        if self.kind == "=":
            return "=" + self.text[:4].decode()
        return self.kind + self.text.decode(errors="backslashreplace") if self.kind in _SHOWN else self.kind


def parse(data: bytes | bytearray, at: int = 0) -> tuple[Node, int]:
    """The whole reply that begins at a place, and the place behind it."""
    end = data.index(b"\r\n", at)
    kind, text = chr(data[at]), bytes(data[at + 1 : end])
    at = end + 2
    if kind in _AGGREGATES + _STRINGS and text == b"-1":
        return Node(kind + "-1"), at
    if kind in _STRINGS:
        end = at + int(text)
        return Node(kind, bytes(data[at:end])), end + 2
    if kind not in _AGGREGATES:
        return Node(kind, text), at
    items = []
    for _ in range(int(text) * (2 if kind == "%" else 1)):
        item, at = parse(data, at)
        items.append(item)
    return Node(kind, b"", tuple(items)), at


class FormParser(_HiredisParser):
    """What redis-py reads replies with, and what the last one looked like on the wire."""

    @property
    def last(self) -> Node:
        return self._reader.last

    def on_connect(self, connection: Any, **options: Any) -> None:
        super().on_connect(connection, **options)
        self._reader = _Reader(self._reader)


class _Reader:
    """Hands everything on to the reader of hiredis, and keeps the bytes until it has made a reply of them."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._bytes = bytearray()
        self.last = Node("_")

    def feed(self, data: bytearray, start: int, length: int) -> None:
        self._bytes += data[start : start + length]
        self._reader.feed(data, start, length)

    def gets(self, *options: Any) -> Any:
        answer = self._reader.gets(*options)
        if answer is not NOT_ENOUGH_DATA:
            self.last, end = parse(self._bytes)
            del self._bytes[:end]
        return answer

    def has_data(self) -> bool:
        return bool(self._reader.has_data())
