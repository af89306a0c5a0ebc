"""Commands on sets."""

from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import at_least, signed_count
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def sadd(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    return replies.integer(core.keys.sets.add(request[1], request[2:]))


def srem(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sets.remove(request[1], request[2:]))


def smembers(session: "RespSession", request: list[bytes]) -> bytes:
    return _set(session, session.service.core.keys.sets.members(request[1]))


def sismember(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.ONE if session.service.core.keys.sets.contains(request[1], request[2]) else replies.ZERO


def smismember(session: "RespSession", request: list[bytes]) -> bytes:
    contains = session.service.core.keys.sets.contains
    return replies.array([replies.integer(contains(request[1], member)) for member in request[2:]])


def scard(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.sets.cardinality(request[1]))


def spop(session: "RespSession", request: list[bytes]) -> bytes:
    """SPOP key [count]: the youngest members, as good as any."""
    if len(request) > 3:
        raise syntax_error()
    count = at_least(0, request[2]) if len(request) == 3 else None
    core = session.service.core
    core.check_writable()
    if count is not None:
        replies.check_size(core.keys.sets.bytes_at_end(request[1], count))
    gone = core.keys.sets.pop(request[1], 1 if count is None else count)
    if count is not None:
        return _set(session, gone)
    return replies.bulk(gone[0]) if gone else session.replies.null


def srandmember(session: "RespSession", request: list[bytes]) -> bytes:
    """SRANDMEMBER key [count]: a negative count may repeat members."""
    if len(request) > 3:
        raise syntax_error()
    count = signed_count(request[2]) if len(request) == 3 else None
    sets, chance = session.service.core.keys.sets, session.service.chance
    size = sets.cardinality(request[1])
    if count is None:
        return replies.bulk(sets.at(request[1], chance.index(size))) if size else session.replies.null
    indexes = chance.indexes(size, count)
    members = sets.members(request[1]) if indexes else []
    drawn = [members[at] for at in indexes]
    replies.check_sizes(drawn)
    return replies.bulks(drawn)


def smove(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.sets.move(request[1], request[2], request[3]) else replies.ZERO


def sinter(session: "RespSession", request: list[bytes]) -> bytes:
    return _set(session, session.service.core.keys.sets.intersection(request[1:]))


def sunion(session: "RespSession", request: list[bytes]) -> bytes:
    return _set(session, session.service.core.keys.sets.union(request[1:]))


def sdiff(session: "RespSession", request: list[bytes]) -> bytes:
    return _set(session, session.service.core.keys.sets.difference(request[1:]))


def sinterstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], session.service.core.keys.sets.intersection(request[2:]))


def sunionstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], session.service.core.keys.sets.union(request[2:]))


def sdiffstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], session.service.core.keys.sets.difference(request[2:]))


def _store(session: "RespSession", key: bytes, members: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sets.store(key, members))


def sintercard(session: "RespSession", request: list[bytes]) -> bytes:
    """SINTERCARD numkeys key [key ...] [LIMIT limit]"""
    count = at_least(1, request[1], "numkeys should be greater than 0")
    if count > len(request) - 2:
        raise CommandError("ERR Number of keys can't be greater than number of args")
    limit = read_limit(request[2 + count :])
    common = session.service.core.keys.sets.intersection(request[2 : 2 + count])
    return replies.integer(min(len(common), limit) if limit else len(common))


def read_limit(words: list[bytes]) -> int:
    """[LIMIT limit]; 0 is none. Each is looked at before what follows it, as in Redis."""
    limit = 0
    for place in range(0, len(words), 2):
        if words[place].upper() != b"LIMIT" or place + 1 == len(words):
            raise syntax_error()
        limit = at_least(0, words[place + 1], "LIMIT can't be negative")
    return limit


def _set(session: "RespSession", members: list[bytes]) -> bytes:
    return session.replies.set(list(map(replies.bulk, members)))


COMMANDS: tuple[Command, ...] = rows(
    sadd, scard, sdiff, sdiffstore, sinter, sintercard, sinterstore, sismember, smembers, smismember, smove, spop,
    srandmember, srem, sunion, sunionstore,
)  # fmt: skip
