"""Commands on sorted sets that are about members. Ranges are in score_ranges.py, unions and such in combining.py."""

from typing import TYPE_CHECKING

from onemq.core.keyspace.ordered_pairs import Pair
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import INTEGER_MAX, at_least, counted_keys, double, signed_count
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.lists import read_count
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CONDITIONS = {b"NX": "if_absent", b"XX": "if_present", b"GT": "if_greater", b"LT": "if_less"}
_ADD_OPTIONS = (*_CONDITIONS, b"CH", b"INCR")


def zadd(session: "RespSession", request: list[bytes]) -> bytes:
    """ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]"""
    options = set()
    at = 2
    while at < len(request) and (option := request[at].upper()) in _ADD_OPTIONS:
        options.add(option)
        at += 1
    return _add(session, request[1], request[at:], options)


def _add(session: "RespSession", key: bytes, words: list[bytes], options: set[bytes]) -> bytes:
    if len(words) % 2 or not words:
        raise syntax_error()
    if options:
        _check_add_options(options, words)
    pairs = list(zip(map(double, words[::2]), words[1::2], strict=True))
    conditions = {name: True for option, name in _CONDITIONS.items() if option in options}
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    if b"INCR" in options:
        score = core.keys.sorted_sets.increment(key, words[1], pairs[0][0], **conditions)
        return session.replies.null if score is None else session.replies.double(score)
    added, updated = core.keys.sorted_sets.add(key, pairs, **conditions)
    return replies.integer(added + updated if b"CH" in options else added)


def _check_add_options(options: set[bytes], words: list[bytes]) -> None:
    if {b"NX", b"XX"} <= options:
        raise CommandError("ERR XX and NX options at the same time are not compatible")
    if len(options & {b"NX", b"GT", b"LT"}) > 1:
        raise CommandError("ERR GT, LT, and/or NX options at the same time are not compatible")
    if b"INCR" in options and len(words) > 2:
        raise CommandError("ERR INCR option supports a single increment-element pair")


def zincrby(session: "RespSession", request: list[bytes]) -> bytes:
    if request[2].upper() in _ADD_OPTIONS:  # Redis reads it as ZADD, so that the member is missing
        raise syntax_error()
    by = double(request[2])
    core = session.service.core
    core.check_writable()
    score = core.keys.sorted_sets.increment(request[1], request[3], by)
    assert score is not None, "there was no condition"
    return session.replies.double(score)


def zrem(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sorted_sets.remove(request[1], request[2:]))


def zcard(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.keys.sorted_sets.cardinality(request[1]))


def zscore(session: "RespSession", request: list[bytes]) -> bytes:
    return _score(session, request[1], request[2])


def zmscore(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.array([_score(session, request[1], member) for member in request[2:]])


def _score(session: "RespSession", key: bytes, member: bytes) -> bytes:
    score = session.service.core.keys.sorted_sets.score(key, member)
    return session.replies.null if score is None else session.replies.double(score)


def zrank(session: "RespSession", request: list[bytes]) -> bytes:
    return _rank(session, request, False)


def zrevrank(session: "RespSession", request: list[bytes]) -> bytes:
    return _rank(session, request, True)


def _rank(session: "RespSession", request: list[bytes], reverse: bool) -> bytes:
    rank = session.service.core.keys.sorted_sets.rank(request[1], request[2], reverse)
    return session.replies.null if rank is None else replies.integer(rank)


def zpopmin(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop_some(session, request, False)


def zpopmax(session: "RespSession", request: list[bytes]) -> bytes:
    return _pop_some(session, request, True)


def _pop_some(session: "RespSession", request: list[bytes], highest: bool) -> bytes:
    """Without a count it is one pair, and not an array of pairs with one in it."""
    if len(request) > 3:
        raise syntax_error()
    count = at_least(0, request[2]) if len(request) == 3 else 1
    pairs = pop(session, request[1], highest, count)
    if len(request) == 3:
        return session.replies.pairs([encoded(session, pair) for pair in pairs])
    return replies.array([item for pair in pairs for item in encoded(session, pair)])


def pop(session: "RespSession", key: bytes, highest: bool, count: int) -> list[Pair]:
    """Takes members from one end."""
    core = session.service.core
    core.check_writable()
    sorted_sets = core.keys.sorted_sets
    if count > 1:
        first, last = (-count, -1) if highest else (0, count - 1)
        replies.check_size(sum([len(member) for _, member in sorted_sets.ranks(key, first, last)]))
    return sorted_sets.pop_max(key, count) if highest else sorted_sets.pop_min(key, count)


def zmpop(session: "RespSession", request: list[bytes]) -> bytes:
    keys, highest, count = read_zmpop(request, 1)
    for key in keys:
        if reply := pop_from(session, key, highest, count):
            return reply
    return session.replies.null_array


def read_zmpop(request: list[bytes], at: int) -> tuple[list[bytes], bool, int]:
    """numkeys key [key ...] MIN|MAX [COUNT count], from the index on."""
    keys, rest = counted_keys(request, at)
    where = rest[0].upper()
    if where != b"MIN" and where != b"MAX":
        raise syntax_error()
    return keys, where == b"MAX", read_count(rest)


def pop_from(session: "RespSession", key: bytes, highest: bool, count: int) -> bytes | None:
    """Takes up to `count` members and returns the reply, None if there is no such sorted set."""
    pairs = pop(session, key, highest, count)
    if not pairs:
        return None
    return replies.array([
        replies.bulk(key), replies.array([replies.array(encoded(session, pair)) for pair in pairs])
    ])  # fmt: skip


def zrandmember(session: "RespSession", request: list[bytes]) -> bytes:
    """ZRANDMEMBER key [count [WITHSCORES]]: a negative count may repeat members."""
    count = signed_count(request[2]) if len(request) > 2 else None
    with_scores = len(request) > 3
    if len(request) > 4 or (with_scores and request[3].upper() != b"WITHSCORES"):
        raise syntax_error()
    if with_scores and count is not None and abs(count) > INTEGER_MAX // 2:
        raise CommandError("ERR value is out of range")
    sorted_sets, chance = session.service.core.keys.sorted_sets, session.service.chance
    size = sorted_sets.cardinality(request[1])
    ranks = chance.indexes(size, 1 if count is None else count)
    pairs = [sorted_sets.ranks(request[1], rank, rank)[0] for rank in ranks]
    if count is None:
        return replies.bulk(pairs[0][1]) if pairs else session.replies.null
    replies.check_sizes(member for _, member in pairs)
    if with_scores:
        return session.replies.pairs([encoded(session, pair) for pair in pairs])
    return replies.bulks([member for _, member in pairs])


def encoded(session: "RespSession", pair: Pair) -> tuple[bytes, bytes]:
    """A member and its score, encoded."""
    return replies.bulk(pair[1]), session.replies.double(pair[0])


COMMANDS: tuple[Command, ...] = rows(
    zadd, zcard, zincrby, zmpop, zmscore, zpopmax, zpopmin, zrandmember, zrank, zrem, zrevrank, zscore,
)  # fmt: skip
