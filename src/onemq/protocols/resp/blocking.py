"""Commands that wait for an element of a list or sorted set: answered at once if there is one, else by blocked.py."""

from math import ceil
from typing import TYPE_CHECKING

from onemq.core.keyspace import decimals
from onemq.protocols.resp import lists, replies, sorted_sets
from onemq.protocols.resp.arguments import INTEGER_MAX, is_left
from onemq.protocols.resp.blocked import Take, Waiter
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_LIST, _SORTED_SET = "list", "zset"


def blpop(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop(session, request, True)


def brpop(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop(session, request, False)


def _pop(session: "RespSession", request: list[bytes], left: bool) -> bytes:
    until_ms = _until_ms(session, request[-1])
    core = session.service.core
    core.check_writable()

    def take(key: bytes) -> bytes | None:
        value = session.service.core.keys.lists.pop_one(key, left)
        return None if value is None else replies.bulks((key, value))

    return _take_or_wait(session, _LIST, request[1:-1], take, session.replies.null_array, until_ms)


def blmove(session: "RespSession", request: list[bytes]) -> bytes:
    from_left, to_left = is_left(request[3]), is_left(request[4])
    return _move(session, request[1], request[2], from_left, to_left, request[5])


def brpoplpush(session: "RespSession", request: list[bytes]) -> bytes:
    return _move(session, request[1], request[2], False, True, request[3])


def _move(
    session: "RespSession", source: bytes, target: bytes, from_left: bool, to_left: bool, timeout: bytes
) -> bytes:
    until_ms = _until_ms(session, timeout)
    session.service.core.check_writable()

    def take(key: bytes) -> bytes | None:
        value = session.service.core.keys.lists.move(key, target, from_left, to_left)
        return None if value is None else replies.bulk(value)

    empty = session.replies.null if session.atomic else session.replies.null_array
    return _take_or_wait(session, _LIST, [source], take, empty, until_ms)


def blmpop(session: "RespSession", request: list[bytes]) -> bytes:
    keys, left, count = lists.read_lmpop(request, 2)
    until_ms = _until_ms(session, request[1])
    return _take_or_wait(
        session,
        _LIST,
        keys,
        lambda key: lists.pop_from(session, key, left, count),
        session.replies.null_array,
        until_ms,
    )


def bzpopmin(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop_member(session, request, False)


def bzpopmax(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop_member(session, request, True)


def _pop_member(session: "RespSession", request: list[bytes], highest: bool) -> bytes:
    until_ms = _until_ms(session, request[-1])

    def take(key: bytes) -> bytes | None:
        pairs = sorted_sets.pop(session, key, highest, 1)
        if not pairs:
            return None
        score, member = pairs[0]
        return replies.array([replies.bulk(key), replies.bulk(member), session.replies.double(score)])

    return _take_or_wait(session, _SORTED_SET, request[1:-1], take, session.replies.null_array, until_ms)


def bzmpop(session: "RespSession", request: list[bytes]) -> bytes:
    keys, highest, count = sorted_sets.read_zmpop(request, 2)
    until_ms = _until_ms(session, request[1])
    return _take_or_wait(
        session,
        _SORTED_SET,
        keys,
        lambda key: sorted_sets.pop_from(session, key, highest, count),
        session.replies.null_array,
        until_ms,
    )


def _take_or_wait(
    session: "RespSession", type_name: str, keys: list[bytes], take: Take, empty: bytes, until_ms: int | None
) -> bytes:
    for key in keys:
        reply = take(key)
        if reply is not None:
            return reply
    if session.atomic:
        return empty
    return session.service.blocked.wait(Waiter(session, type_name, keys, take, empty, until_ms))


def _until_ms(session: "RespSession", timeout: bytes) -> int | None:
    """When a time-out in seconds, with a fraction or without, is up; None for 0: never."""
    if timeout == b"0":
        return None
    seconds = decimals.parse(timeout)
    if seconds is None:
        raise CommandError("ERR timeout is not a float or out of range")
    if not -1 < seconds * 1000 <= INTEGER_MAX:
        raise CommandError("ERR timeout is negative")  # what does not fit comes out negative in Redis
    timeout_ms = ceil(seconds * 1000)
    return session.service.now_ms + timeout_ms if timeout_ms else None


COMMANDS: tuple[Command, ...] = rows(blmove, blmpop, blpop, brpop, brpoplpush, bzmpop, bzpopmax, bzpopmin)
