"""Commands on hashes."""

from typing import TYPE_CHECKING

from onemq.core.keyspace import decimals
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import INTEGER_MAX, integer, signed_count
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error, wrong_arity
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def hset(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) % 2:
        raise wrong_arity("hset")
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    return replies.integer(core.keys.hashes.set(request[1], request[2:]))


def hmset(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) % 2:
        raise wrong_arity("hmset")
    core = session.service.core
    core.check_writable()
    core.keys.hashes.set(request[1], request[2:])
    return replies.OK


def hsetnx(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.hashes.set_if_absent(request[1], request[2], request[3]) else replies.ZERO


def hget(session: "RespSession", request: list[bytes]) -> bytes:
    value = session.service.core.keys.hashes.get(request[1], request[2])
    return session.replies.null if value is None else replies.bulk(value)


def hmget(session: "RespSession", request: list[bytes]) -> bytes:
    null = session.replies.null
    values = session.service.core.keys.hashes.get_many(request[1], request[2:])
    replies.check_sizes(values)
    return replies.array([null if value is None else replies.bulk(value) for value in values])


def hgetall(session: "RespSession", request: list[bytes]) -> bytes:
    fields = session.service.core.keys.hashes.all(request[1])
    return session.replies.map((replies.bulk(field), replies.bulk(value)) for field, value in fields.items())


def hkeys(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulks(session.service.core.keys.hashes.keys(request[1]))


def hvals(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulks(session.service.core.keys.hashes.values(request[1]))


def hdel(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.hashes.delete(request[1], request[2:]))


def hlen(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.hashes.length(request[1]))


def hexists(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.ONE if session.service.core.keys.hashes.exists(request[1], request[2]) else replies.ZERO


def hstrlen(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(len(session.service.core.keys.hashes.get(request[1], request[2]) or b""))


def hincrby(session: "RespSession", request: list[bytes]) -> bytes:
    by = integer(request[3])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.hashes.increment(request[1], request[2], by))


def hincrbyfloat(session: "RespSession", request: list[bytes]) -> bytes:
    by = decimals.parse(request[3])
    if by is None:
        raise CommandError("ERR value is not a valid float")
    if isinstance(by, float):
        raise CommandError("ERR value is NaN or Infinity")
    core = session.service.core
    core.check_writable()
    return replies.bulk(core.keys.hashes.increment_decimal(request[1], request[2], by))


def hrandfield(session: "RespSession", request: list[bytes]) -> bytes:
    """HRANDFIELD key [count [WITHVALUES]]: a negative count may repeat fields."""
    count = signed_count(request[2]) if len(request) > 2 else None
    with_values = len(request) > 3
    if len(request) > 4 or (with_values and request[3].upper() != b"WITHVALUES"):
        raise syntax_error()
    if with_values and count is not None and abs(count) > INTEGER_MAX // 2:
        raise CommandError("ERR value is out of range")
    hashes, chance = session.service.core.keys.hashes, session.service.chance
    length = hashes.length(request[1])
    if count is None:
        return replies.bulk(hashes.at(request[1], chance.index(length))) if length else session.replies.null
    indexes = chance.indexes(length, count)
    items = list(hashes.all(request[1]).items()) if indexes else []
    if with_values:
        replies.check_sizes(word for at in indexes for word in items[at])
        return session.replies.pairs([(replies.bulk(items[at][0]), replies.bulk(items[at][1])) for at in indexes])
    fields = [items[at][0] for at in indexes]
    replies.check_sizes(fields)
    return replies.bulks(fields)


COMMANDS: tuple[Command, ...] = rows(
    hdel, hexists, hget, hgetall, hincrby, hincrbyfloat, hkeys, hlen, hmget, hmset, hrandfield, hset, hsetnx,
    hstrlen, hvals,
)  # fmt: skip
