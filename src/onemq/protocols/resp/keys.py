"""Commands on keys, whatever they hold."""

from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import small_integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def del_(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.delete(*request[1:]))


def unlink(session: "RespSession", request: list[bytes]) -> bytes:
    return del_(session, request)


def exists(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.exists(*request[1:]))


def touch(session: "RespSession", request: list[bytes]) -> bytes:
    """We keep no times of access: it only counts."""
    return exists(session, request)


def type_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.simple(session.service.core.keys.type_of(request[1]) or "none")


def keys(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulks(session.service.core.keys.matching(request[1]))


def dbsize(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.count())


def randomkey(session: "RespSession", request: list[bytes]) -> bytes:
    key = session.service.core.keys.any_key(session.service.chance.number())
    return session.replies.null if key is None else replies.bulk(key)


def rename(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    core.keys.rename(request[1], request[2])
    return replies.OK


def renamenx(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.rename(request[1], request[2], if_absent=True) else replies.ZERO


def copy(session: "RespSession", request: list[bytes]) -> bytes:
    """COPY source destination [DB number] [REPLACE]"""
    source, destination = request[1:3]
    replace = False
    rest = iter(request[3:])
    for word in map(bytes.upper, rest):
        if word == b"REPLACE":
            replace = True
        elif word == b"DB" and (number := next(rest, None)) is not None:
            if small_integer(number) != 0:
                raise CommandError("ERR DB index is out of range")
        else:
            raise syntax_error()
    if source == destination:
        raise CommandError("ERR source and destination objects are the same")
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.copy(source, destination, replace=replace) else replies.ZERO


def flushall(session: "RespSession", request: list[bytes]) -> bytes:
    """There is one database. ASYNC and SYNC are the same."""
    if len(request) > 2 or (len(request) == 2 and request[1].upper() not in (b"ASYNC", b"SYNC")):
        raise syntax_error()
    core = session.service.core
    core.check_writable()
    core.keys.flush()
    return replies.OK


def flushdb(session: "RespSession", request: list[bytes]) -> bytes:
    return flushall(session, request)


COMMANDS: tuple[Command, ...] = rows(
    copy, dbsize, del_, exists, flushall, flushdb, keys, randomkey, rename, renamenx, touch, type_, unlink
)
