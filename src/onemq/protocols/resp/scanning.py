"""SCAN and its kin: all keys, fields or members, a page at a time."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from onemq.core.keyspace.glob import matcher
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CURSOR = re.compile(rb"[+-]?[0-9]+")
_CURSOR_END = 1 << 64
_COUNT = 10


class _Options:
    """[MATCH pattern] [COUNT count] [TYPE type]"""

    def __init__(self, words: list[bytes], *, typed: bool = False) -> None:
        self.pattern: bytes | None = None
        self.count = _COUNT
        self.type_name: str | None = None
        rest = iter(words)
        for option, word in zip(rest, rest, strict=False):
            match option.upper():
                case b"COUNT":
                    self.count = integer(word)
                    if self.count < 1:
                        raise syntax_error()
                case b"MATCH":
                    self.pattern = word
                case b"TYPE" if typed:
                    self.type_name = word.decode(errors="surrogateescape").lower()
                case _:
                    raise syntax_error()
        if len(words) % 2:
            raise syntax_error()

    def matching(self, members: Iterable[bytes]) -> list[bytes]:
        """Those that match the pattern."""
        return list(members if self.pattern is None else filter(matcher(self.pattern), members))


def _cursor(word: bytes) -> int:
    word = word.partition(b"\0")[0]  # Redis reads it as a string of C
    if not word:
        return 0
    if not _CURSOR.fullmatch(word) or abs(cursor := int(word[:25])) >= _CURSOR_END:
        raise CommandError("ERR invalid cursor")
    return cursor % _CURSOR_END


def scan(session: "RespSession", request: list[bytes]) -> bytes:
    cursor = _cursor(request[1])
    options = _Options(request[2:], typed=True)
    cursor, found = session.service.core.keys.scan(cursor, options.count, options.pattern, options.type_name)
    return _reply(cursor, found)


def hscan(session: "RespSession", request: list[bytes]) -> bytes:
    key, cursor = request[1], _cursor(request[2])
    hashes = session.service.core.keys.hashes
    cursor, page = _page(session, request, cursor, hashes.length(key), lambda: hashes.keys(key))
    values = hashes.get_many(key, page)
    found = [(field, value) for field, value in zip(page, values, strict=True) if value is not None]
    return _reply(cursor, [item for pair in found for item in pair])


def sscan(session: "RespSession", request: list[bytes]) -> bytes:
    key, cursor = request[1], _cursor(request[2])
    sets = session.service.core.keys.sets
    cursor, page = _page(session, request, cursor, sets.cardinality(key), lambda: sets.members(key))
    return _reply(cursor, [member for member in page if sets.contains(key, member)])


def zscan(session: "RespSession", request: list[bytes]) -> bytes:
    key, cursor = request[1], _cursor(request[2])
    sorted_sets = session.service.core.keys.sorted_sets
    cursor, page = _page(
        session,
        request,
        cursor,
        sorted_sets.cardinality(key),
        lambda: [member for _, member in sorted_sets.ranks(key, 0, -1)],
    )
    scores = [(member, sorted_sets.score(key, member)) for member in page]
    found = [(member, b"%.17g" % score) for member, score in scores if score is not None]
    return _reply(cursor, [item for pair in found for item in pair])


def _page(
    session: "RespSession", request: list[bytes], cursor: int, size: int, members: Callable[[], list[bytes]]
) -> tuple[int, list[bytes]]:
    """The cursor to go on with and the members of this page; some may be gone meanwhile."""
    if not size:
        return 0, []
    options = _Options(request[3:])
    cursor, page = session.service.scans.page(request[1], cursor, options.count, size, members)
    return cursor, options.matching(page)


def _reply(cursor: int, found: list[bytes]) -> bytes:
    return b"*2\r\n%b%b" % (replies.bulk(b"%d" % cursor), replies.bulks(found))


COMMANDS: tuple[Command, ...] = rows(hscan, scan, sscan, zscan)
