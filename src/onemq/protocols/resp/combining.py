"""Commands that combine sorted sets, and sets as well: union, intersection, difference."""

from typing import TYPE_CHECKING

from onemq.core.keyspace import combining
from onemq.core.keyspace.combining import Aggregate, add_scores
from onemq.core.keyspace.ordered_pairs import Pair
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import double, integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.rows import rows
from onemq.protocols.resp.sets import read_limit
from onemq.protocols.resp.sorted_sets import encoded

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_AGGREGATES: dict[bytes, Aggregate] = {b"SUM": add_scores, b"MIN": min, b"MAX": max}


class _Options:
    """[WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES], each of them where it is allowed."""

    def __init__(self, words: list[bytes], keys: int, weighed: bool, scored: bool) -> None:
        self.weights = [1.0] * keys
        self.aggregate: Aggregate = add_scores
        self.with_scores = False
        rest = list(reversed(words))
        while rest:
            option = rest.pop().upper()
            if weighed and option == b"WEIGHTS" and len(rest) >= keys:
                self.weights = [double(rest.pop(), "weight value is not a float") for _ in range(keys)]
            elif weighed and option == b"AGGREGATE" and rest:
                self.aggregate = _aggregate(rest.pop())
            elif scored and option == b"WITHSCORES":
                self.with_scores = True
            else:
                raise syntax_error()


def _aggregate(word: bytes) -> Aggregate:
    found = _AGGREGATES.get(word.upper())
    if found is None:
        raise syntax_error()
    return found


def _keys(request: list[bytes], at: int, command: str) -> tuple[list[bytes], list[bytes]]:
    """The keys after their number, which stands at the index, and the words after them."""
    count = integer(request[at])
    if count < 1:
        raise CommandError(f"ERR at least 1 input key is needed for '{command}' command")
    if count > len(request) - at - 1:
        raise syntax_error()
    return request[at + 1 : at + 1 + count], request[at + 1 + count :]


def zunion(session: "RespSession", request: list[bytes]) -> bytes:
    return _reply(session, *_union(session, request, 1, "zunion"))


def zinter(session: "RespSession", request: list[bytes]) -> bytes:
    return _reply(session, *_intersection(session, request, 1, "zinter"))


def zdiff(session: "RespSession", request: list[bytes]) -> bytes:
    return _reply(session, *_difference(session, request, 1, "zdiff"))


def zunionstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], _union(session, request, 2, "zunionstore")[0])


def zinterstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], _intersection(session, request, 2, "zinterstore")[0])


def zdiffstore(session: "RespSession", request: list[bytes]) -> bytes:
    return _store(session, request[1], _difference(session, request, 2, "zdiffstore")[0])


def zintercard(session: "RespSession", request: list[bytes]) -> bytes:
    """ZINTERCARD numkeys key [key ...] [LIMIT limit]"""
    keys, rest = _keys(request, 1, "zintercard")
    found = combining.inputs(session.service.core.keys, keys)
    limit = read_limit(rest)
    common = len(combining.intersection(found, [1.0] * len(keys), add_scores))
    return replies.integer(min(common, limit) if limit else common)


def _union(session: "RespSession", request: list[bytes], at: int, command: str) -> tuple[list[Pair], bool]:
    keys, rest = _keys(request, at, command)
    found = combining.inputs(session.service.core.keys, keys)
    options = _Options(rest, len(keys), weighed=True, scored=at == 1)
    return combining.union(found, options.weights, options.aggregate), options.with_scores


def _intersection(session: "RespSession", request: list[bytes], at: int, command: str) -> tuple[list[Pair], bool]:
    keys, rest = _keys(request, at, command)
    found = combining.inputs(session.service.core.keys, keys)
    options = _Options(rest, len(keys), weighed=True, scored=at == 1)
    return combining.intersection(found, options.weights, options.aggregate), options.with_scores


def _difference(session: "RespSession", request: list[bytes], at: int, command: str) -> tuple[list[Pair], bool]:
    keys, rest = _keys(request, at, command)
    found = combining.inputs(session.service.core.keys, keys)
    options = _Options(rest, len(keys), weighed=False, scored=at == 1)
    return combining.difference(found), options.with_scores


def _reply(session: "RespSession", pairs: list[Pair], with_scores: bool) -> bytes:
    if with_scores:
        return session.replies.pairs([encoded(session, pair) for pair in pairs])
    return replies.bulks([member for _, member in pairs])


def _store(session: "RespSession", key: bytes, pairs: list[Pair]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sorted_sets.store(key, pairs))


COMMANDS: tuple[Command, ...] = rows(zdiff, zdiffstore, zinter, zintercard, zinterstore, zunion, zunionstore)
