"""Commands on strings. GET, SET and INCR are the hot path: they call nothing that they need not."""

from typing import TYPE_CHECKING

from onemq.core.keyspace import decimals
from onemq.protocols.resp import replies, runs
from onemq.protocols.resp.arguments import INTEGER_MAX, integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error, wrong_arity
from onemq.protocols.resp.expiry import expires_at_ms
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_HEADERS = replies.BULK_HEADERS
_HEADERS_END = replies.BULK_HEADERS_END
_TIMES = {b"EX": (1000, True), b"PX": (1, True), b"EXAT": (1000, False), b"PXAT": (1, False)}
"""Options with a time: milliseconds per unit, and whether it counts from now."""


def get(session: "RespSession", request: list[bytes]) -> bytes:
    value = session.service.core.keys.strings.get(request[1])
    if value is None:
        return session.replies.null
    length = len(value)
    return _HEADERS[length] + value + b"\r\n" if length < _HEADERS_END else replies.bulk(value)


def set_(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    if len(request) != 3:
        return _set_with_options(session, request)
    core.keys.strings.set(request[1], request[2])
    return replies.OK


def _set_with_options(session: "RespSession", request: list[bytes]) -> bytes:
    """SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT ... | PXAT ... | KEEPTTL]"""
    options = _options(request, 3, (b"NX", b"XX", b"GET", b"KEEPTTL"))
    if b"NX" in options and b"XX" in options:
        raise syntax_error()
    key, value = request[1:3]
    until_ms = _until_ms(session, options, "set")
    strings = session.service.core.keys.strings
    old = strings.get(key) if b"GET" in options else None
    done = strings.set(
        key, value, until_ms, b"KEEPTTL" in options, if_absent=b"NX" in options, if_present=b"XX" in options
    )
    if b"GET" in options:
        return session.replies.null if old is None else replies.bulk(old)
    return replies.OK if done else session.replies.null


def _options(request: list[bytes], at: int, words: tuple[bytes, ...]) -> dict[bytes, bytes]:
    """The options from the index on: these words, and the times with their values. One expiry at most."""
    options: dict[bytes, bytes] = {}
    rest = iter(request[at:])
    for word in map(bytes.upper, rest):
        if word in _TIMES:
            value = next(rest, None)
            if value is None:
                raise syntax_error()
            options[word] = value
        elif word in words:
            options[word] = b""
        else:
            raise syntax_error()
    if sum(option in _TIMES or option in (b"KEEPTTL", b"PERSIST") for option in options) > 1:
        raise syntax_error()
    return options


def _until_ms(session: "RespSession", options: dict[bytes, bytes], command: str) -> int | None:
    """When the options say that the key goes, if they do."""
    for option, value in options.items():
        if option in _TIMES:
            return _positive_ms(session, value, *_TIMES[option], command)
    return None


def _positive_ms(session: "RespSession", word: bytes, unit_ms: int, from_now: bool, command: str) -> int:
    if integer(word) <= 0:
        raise CommandError(f"ERR invalid expire time in '{command}' command")
    return expires_at_ms(session, word, unit_ms, from_now, command)


def setex(session: "RespSession", request: list[bytes]) -> bytes:
    return _set_for(session, request, 1000, "setex")


def psetex(session: "RespSession", request: list[bytes]) -> bytes:
    return _set_for(session, request, 1, "psetex")


def _set_for(session: "RespSession", request: list[bytes], unit_ms: int, command: str) -> bytes:
    core = session.service.core
    core.check_writable()
    core.keys.strings.set(request[1], request[3], _positive_ms(session, request[2], unit_ms, True, command))
    return replies.OK


def setnx(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.strings.set(request[1], request[2], if_absent=True) else replies.ZERO


def getset(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    old = core.keys.strings.get(request[1])
    core.keys.strings.set(request[1], request[2])
    return session.replies.null if old is None else replies.bulk(old)


def getdel(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    value = core.keys.strings.get(request[1])
    if value is None:
        return session.replies.null
    core.keys.delete(request[1])
    return replies.bulk(value)


def getex(session: "RespSession", request: list[bytes]) -> bytes:
    """GETEX key [EX seconds | PX milliseconds | EXAT ... | PXAT ... | PERSIST]"""
    options = _options(request, 2, (b"PERSIST",))
    core = session.service.core
    core.check_writable()
    value = core.keys.strings.get(request[1])
    if value is None:
        return session.replies.null
    until_ms = _until_ms(session, options, "getex")
    if until_ms is not None:
        core.keys.expire_at(request[1], until_ms)
    elif options:
        core.keys.persist(request[1])
    return replies.bulk(value)


def mget(session: "RespSession", request: list[bytes]) -> bytes:
    """Null for a key that is not there or no string."""
    keys, null = session.service.core.keys, session.replies.null
    values = [keys.strings.get(key) if type(keys.values.get(key)) is bytes else None for key in request[1:]]
    replies.check_sizes(values)
    return replies.array([null if value is None else replies.bulk(value) for value in values])


def mset(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) % 2 == 0:
        raise wrong_arity("mset")
    core = session.service.core
    core.check_writable()
    core.keys.strings.set_many(request[1::2], request[2::2])
    return replies.OK


def msetnx(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) % 2 == 0:
        raise wrong_arity("msetnx")
    core = session.service.core
    core.check_writable()
    if core.keys.exists(*request[1::2]):
        return replies.ZERO
    core.keys.strings.set_many(request[1::2], request[2::2])
    return replies.ONE


def incr(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    return replies.integer(core.keys.strings.increment(request[1], 1))


def decr(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    return replies.integer(core.keys.strings.increment(request[1], -1))


def incrby(session: "RespSession", request: list[bytes]) -> bytes:
    by = integer(request[2])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.strings.increment(request[1], by))


def decrby(session: "RespSession", request: list[bytes]) -> bytes:
    by = -integer(request[2])
    if by > INTEGER_MAX:
        raise CommandError("ERR decrement would overflow")
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.strings.increment(request[1], by))


def incrbyfloat(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    core.keys.strings.get(request[1])  # a wrong type is told before a wrong number
    by = decimals.parse(request[2])
    if by is None:
        raise CommandError("ERR value is not a valid float")
    return replies.bulk(core.keys.strings.increment_decimal(request[1], by))


def append(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.strings.append(request[1], request[2]))


def strlen(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.strings.length(request[1]))


def getrange(session: "RespSession", request: list[bytes]) -> bytes:
    """Both ends are in the range. One that lies before the beginning, counted from the end, is the beginning."""
    start, end = integer(request[2]), integer(request[3])
    value = session.service.core.keys.strings.get(request[1]) or b""
    if start < 0 and end < 0 and start > end:
        return replies.EMPTY_BULK
    if start < 0:
        start = max(start + len(value), 0)
    if end < 0:
        end = max(end + len(value), 0)
    return replies.bulk(value[start : end + 1]) if start <= end else replies.EMPTY_BULK


def substr(session: "RespSession", request: list[bytes]) -> bytes:
    return getrange(session, request)


def setrange(session: "RespSession", request: list[bytes]) -> bytes:
    offset = integer(request[2])
    if offset < 0:
        raise CommandError("ERR offset is out of range")
    core = session.service.core
    core.check_writable()
    if not request[3]:
        return replies.integer(core.keys.strings.length(request[1]))
    return replies.integer(core.keys.strings.overwrite(request[1], offset, request[3]))


COMMANDS: tuple[Command, ...] = rows(
    append, decr, decrby, get, getdel, getex, getrange, getset, incr, incrby, incrbyfloat, mget, mset, msetnx,
    psetex, set_, setex, setnx, setrange, strlen, substr, runs=runs.SETTING, alike=runs.STRINGS,
)  # fmt: skip
