"""Commands on lists that do not wait. The first ones are the hot path: they call nothing that they need not."""

from typing import TYPE_CHECKING

from onemq.protocols.resp import replies, runs
from onemq.protocols.resp.arguments import at_least, counted_keys, integer, is_left
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error, wrong_arity
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_SMALL = replies.SMALL_INTEGERS
_SMALL_END = replies.SMALL_INTEGERS_END
_HEADERS = replies.BULK_HEADERS
_HEADERS_END = replies.BULK_HEADERS_END


def lpush(session: "RespSession", request: list[bytes]) -> bytes:
    return _push(session, request, True)


def rpush(session: "RespSession", request: list[bytes]) -> bytes:
    return _push(session, request, False)


def _push(session: "RespSession", request: list[bytes], left: bool) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    length = core.keys.lists.push(request[1], request[2:], left)
    return _SMALL[length] if length < _SMALL_END else replies.integer(length)


def lpop(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop(session, request, True)


def rpop(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop(session, request, False)


def _pop(session: "RespSession", request: list[bytes], left: bool) -> bytes:
    if len(request) != 2:
        return _pop_some(session, request, left)
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    value = core.keys.lists.pop_one(request[1], left)
    if value is None:
        return session.replies.null
    length = len(value)
    return _HEADERS[length] + value + b"\r\n" if length < _HEADERS_END else replies.bulk(value)


def _pop_some(session: "RespSession", request: list[bytes], left: bool) -> bytes:
    if len(request) > 3:
        raise wrong_arity("lpop" if left else "rpop")
    count = at_least(0, request[2])
    core = session.service.core
    core.check_writable()
    if not core.keys.lists.length(request[1]):
        return session.replies.null_array
    replies.check_size(core.keys.lists.bytes_at_end(request[1], left, count))
    return replies.bulks(core.keys.lists.pop(request[1], left, count))


def lpushx(session: "RespSession", request: list[bytes]) -> bytes:
    return _push_existing(session, request, True)


def rpushx(session: "RespSession", request: list[bytes]) -> bytes:
    return _push_existing(session, request, False)


def _push_existing(session: "RespSession", request: list[bytes], left: bool) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.lists.push_existing(request[1], request[2:], left))


def llen(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.lists.length(request[1]))


def lrange(session: "RespSession", request: list[bytes]) -> bytes:
    start, stop = integer(request[2]), integer(request[3])
    return replies.bulks(session.service.core.keys.lists.range(request[1], start, stop))


def lindex(session: "RespSession", request: list[bytes]) -> bytes:
    lists = session.service.core.keys.lists
    value = lists.index(request[1], integer(request[2])) if lists.length(request[1]) else None
    return session.replies.null if value is None else replies.bulk(value)


def lset(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    if not core.keys.lists.length(request[1]):
        raise CommandError("ERR no such key")
    core.keys.lists.set_at(request[1], integer(request[2]), request[3])
    return replies.OK


def linsert(session: "RespSession", request: list[bytes]) -> bytes:
    where = request[2].upper()
    if where != b"BEFORE" and where != b"AFTER":
        raise syntax_error()
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.lists.insert(request[1], request[3], request[4], where == b"BEFORE"))


def lrem(session: "RespSession", request: list[bytes]) -> bytes:
    count = integer(request[2])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.lists.remove(request[1], request[3], count))


def ltrim(session: "RespSession", request: list[bytes]) -> bytes:
    start, stop = integer(request[2]), integer(request[3])
    core = session.service.core
    core.check_writable()
    core.keys.lists.trim(request[1], start, stop)
    return replies.OK


def lpos(session: "RespSession", request: list[bytes]) -> bytes:
    """LPOS key element [RANK rank] [COUNT matches] [MAXLEN length]"""
    rank, count, length_max = 1, -1, 0
    for option, word in zip(request[3::2], request[4::2], strict=False):
        match option.upper():
            case b"RANK":
                rank = _rank(word)
            case b"COUNT":
                count = at_least(0, word, "COUNT can't be negative")
            case b"MAXLEN":
                length_max = at_least(0, word, "MAXLEN can't be negative")
            case _:
                raise syntax_error()
    if len(request) % 2 == 0:
        raise syntax_error()
    found = session.service.core.keys.lists.position(
        request[1], request[2], rank, 1 if count < 0 else count, length_max
    )
    if count >= 0:
        return replies.array([replies.integer(place) for place in found])
    return replies.integer(found[0]) if found else session.replies.null


def _rank(word: bytes) -> int:
    rank = integer(word)
    if not rank:
        raise CommandError(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
            "or use negative to start from the end of the list"
        )
    return rank


def lmove(session: "RespSession", request: list[bytes]) -> bytes:
    return move(session, request[1], request[2], is_left(request[3]), is_left(request[4]))


def rpoplpush(session: "RespSession", request: list[bytes]) -> bytes:
    return move(session, request[1], request[2], False, True)


def move(session: "RespSession", source: bytes, target: bytes, from_left: bool, to_left: bool) -> bytes:
    """Moves one element and returns the reply that holds it, or a null."""
    core = session.service.core
    core.check_writable()
    value = core.keys.lists.move(source, target, from_left, to_left)
    return session.replies.null if value is None else replies.bulk(value)


def lmpop(session: "RespSession", request: list[bytes]) -> bytes:
    keys, left, count = read_lmpop(request, 1)
    for key in keys:
        if reply := pop_from(session, key, left, count):
            return reply
    return session.replies.null_array


def read_lmpop(request: list[bytes], at: int) -> tuple[list[bytes], bool, int]:
    """numkeys key [key ...] LEFT|RIGHT [COUNT count], from the index on."""
    keys, rest = counted_keys(request, at)
    left = is_left(rest[0])
    return keys, left, read_count(rest)


def read_count(words: list[bytes]) -> int:
    """What COUNT says behind the first word. It is looked at before what follows it, as in Redis."""
    if len(words) == 1:
        return 1
    if len(words) < 3 or words[1].upper() != b"COUNT":
        raise syntax_error()
    count = at_least(1, words[2], "count should be greater than 0")
    if len(words) > 3:
        raise syntax_error()
    return count


def pop_from(session: "RespSession", key: bytes, left: bool, count: int) -> bytes | None:
    """Takes up to `count` elements and returns the reply, None if there is no such list."""
    core = session.service.core
    core.check_writable()
    replies.check_size(core.keys.lists.bytes_at_end(key, left, count))
    values = core.keys.lists.pop(key, left, count)
    return replies.array([replies.bulk(key), replies.bulks(values)]) if values else None


COMMANDS: tuple[Command, ...] = rows(
    lindex, linsert, llen, lmove, lmpop, lpop, lpos, lpush, lpushx, lrange, lrem, lset, ltrim, rpop, rpoplpush,
    rpush, rpushx, alike=runs.LISTS,
)  # fmt: skip
