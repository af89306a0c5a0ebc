"""Commands on ranges of sorted sets: by rank, by score, by member."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.core.keyspace.ordered_pairs import Pair
from onemq.core.keyspace.ranges import MemberRange, Range, ScoreRange
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.numbers import parse_bound
from onemq.protocols.resp.rows import rows
from onemq.protocols.resp.sorted_sets import encoded

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_NOTHING = ScoreRange(1, 0)


def score_range(low: bytes, high: bytes) -> Range:
    """Scores between two bounds, `(` before one that is not included."""
    low_score, low_open = _score(low)
    high_score, high_open = _score(high)
    return ScoreRange(low_score, high_score, low_open, high_open)


def _score(word: bytes) -> tuple[float, bool]:
    is_open = word.startswith(b"(")
    value = parse_bound(word[is_open:].partition(b"\0")[0])  # Redis reads it as a string of C
    if value is None:
        raise CommandError("ERR min or max is not a float")
    return value, is_open


def member_range(low: bytes, high: bytes) -> Range:
    """Members between two bounds: `[` or `(` before a member, or `-` and `+` for the ends."""
    for word in (low, high):
        if word not in (b"-", b"+") and word[:1] not in (b"[", b"("):
            raise CommandError("ERR min or max not valid string range item")
    if low == b"+" or high == b"-":
        return _NOTHING
    return MemberRange(
        None if low == b"-" else low[1:], None if high == b"+" else high[1:], low[:1] == b"(", high[:1] == b"("
    )


@dataclass(slots=True)
class Query:
    """What one of the range commands asks for."""

    kind: bytes = b""
    """BYSCORE, BYLEX, or nothing: by rank."""
    reverse: bool = False
    with_scores: bool = False
    offset: int = 0
    count: int = -1

    def read_options(self, words: list[bytes], allowed: tuple[bytes, ...]) -> None:
        """Reads the options, of which LIMIT is always allowed."""
        rest = iter(words)
        for option in map(bytes.upper, rest):
            if option == b"LIMIT":
                self.offset, self.count = _two(next(rest, None), next(rest, None))
            elif option not in allowed:
                raise syntax_error()
            elif option == b"REV" and not self.reverse:
                self.reverse = True
            elif option == b"WITHSCORES":
                self.with_scores = True
            elif option == b"REV" or self.kind:
                raise syntax_error()
            else:
                self.kind = option
        if self.count != -1 and not self.kind:
            raise CommandError(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
            )
        if self.with_scores and self.kind == b"BYLEX":
            raise CommandError("ERR syntax error, WITHSCORES not supported in combination with BYLEX")

    def run(self, session: "RespSession", key: bytes, start: bytes, stop: bytes) -> list[Pair]:
        sorted_sets = session.service.core.keys.sorted_sets
        if not self.kind:
            return sorted_sets.ranks(key, integer(start), integer(stop), self.reverse)
        low, high = (stop, start) if self.reverse else (start, stop)
        wanted = (score_range if self.kind == b"BYSCORE" else member_range)(low, high)
        return sorted_sets.range(key, wanted, self.reverse, self.offset, self.count)


def _two(first: bytes | None, second: bytes | None) -> tuple[int, int]:
    if first is None or second is None:
        raise syntax_error()
    return integer(first), integer(second)


def _query(session: "RespSession", request: list[bytes], query: Query, *allowed: bytes) -> bytes:
    query.read_options(request[4:], allowed)
    pairs = query.run(session, request[1], request[2], request[3])
    if query.with_scores:
        return session.replies.pairs([encoded(session, pair) for pair in pairs])
    return replies.bulks([member for _, member in pairs])


def zrange(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(), b"BYSCORE", b"BYLEX", b"REV", b"WITHSCORES")


def zrevrange(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(reverse=True), b"WITHSCORES")


def zrangebyscore(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(b"BYSCORE"), b"WITHSCORES")


def zrevrangebyscore(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(b"BYSCORE", reverse=True), b"WITHSCORES")


def zrangebylex(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(b"BYLEX"), b"WITHSCORES")


def zrevrangebylex(session: "RespSession", request: list[bytes]) -> bytes:
    return _query(session, request, Query(b"BYLEX", reverse=True), b"WITHSCORES")


def zrangestore(session: "RespSession", request: list[bytes]) -> bytes:
    query = Query()
    query.read_options(request[5:], (b"BYSCORE", b"BYLEX", b"REV"))
    pairs = query.run(session, request[2], request[3], request[4])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sorted_sets.store(request[1], pairs))


def zcount(session: "RespSession", request: list[bytes]) -> bytes:
    wanted = score_range(request[2], request[3])
    return replies.integer(session.service.core.keys.sorted_sets.count(request[1], wanted))


def zlexcount(session: "RespSession", request: list[bytes]) -> bytes:
    wanted = member_range(request[2], request[3])
    return replies.integer(session.service.core.keys.sorted_sets.count(request[1], wanted))


def zremrangebyrank(session: "RespSession", request: list[bytes]) -> bytes:
    start, stop = integer(request[2]), integer(request[3])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sorted_sets.remove_ranks(request[1], start, stop))


def zremrangebyscore(session: "RespSession", request: list[bytes]) -> bytes:
    return _remove(session, request, score_range)


def zremrangebylex(session: "RespSession", request: list[bytes]) -> bytes:
    return _remove(session, request, member_range)


def _remove(session: "RespSession", request: list[bytes], wanted: Callable[[bytes, bytes], Range]) -> bytes:
    chosen = wanted(request[2], request[3])
    core = session.service.core
    core.check_writable()
    return replies.integer(core.keys.sorted_sets.remove_range(request[1], chosen))


COMMANDS: tuple[Command, ...] = rows(
    zcount, zlexcount, zrange, zrangebylex, zrangebyscore, zrangestore, zremrangebylex, zremrangebyrank,
    zremrangebyscore, zrevrange, zrevrangebylex, zrevrangebyscore,
)  # fmt: skip
