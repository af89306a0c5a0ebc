"""Which words of a request are keys, and what becomes of them: the key specifications of COMMAND INFO.

    flags ; where they begin ; how many there are : the commands it holds for

They begin at an index, or after a keyword looked for from an index. `range last step limit` reaches to the word
`last`, counted from the first key, or from the end of the request if negative; a limit of 2 takes the first half.
`keynum index first step` reads their number at an index. A command with two of them has them joined by `|`.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.replies import Replies

if TYPE_CHECKING:
    from onemq.protocols.resp.command import Command

_SPECS = """
RO access ; 1 ; range 0 1 0 : expiretime get getrange hget hgetall hkeys hmget hrandfield hscan hvals lindex lpos lrange
RO access ; 1 ; range 0 1 0 : pexpiretime pttl smembers smismember srandmember sscan substr ttl xpending xrange
RO access ; 1 ; range 0 1 0 : xrevrange zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank
RO access ; 1 ; range 0 1 0 : zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore
RW update ; 1 ; range 0 1 0 : expire expireat hmset hset lset persist pexpire pexpireat setrange xack xclaim xsetid zadd
RW update ; 1 ; range 0 1 0 : xadd
RW delete ; 1 ; range 0 1 0 : hdel lrem ltrim srem xautoclaim xdel xtrim zrem zremrangebylex zremrangebyrank
RW delete ; 1 ; range 0 1 0 : zremrangebyscore
RO ; 1 ; range 0 1 0 : hexists hlen hstrlen llen scard sismember strlen type xlen zcard
RW access update ; 1 ; range 0 1 0 : decr decrby getset hincrby hincrbyfloat incr incrby incrbyfloat zincrby getex
RW access update variable_flags ; 1 ; range 0 1 0 : set
RW insert ; 1 ; range 0 1 0 : append hsetnx linsert lpush lpushx rpush rpushx sadd
RW access delete ; 1 ; range 0 1 0 : getdel lpop rpop spop zpopmax zpopmin
OW update ; 1 ; range 0 1 0 : psetex setex
OW insert ; 1 ; range 0 1 0 : setnx
OW update ; 1 ; range -1 2 0 : mset
OW insert ; 1 ; range -1 2 0 : msetnx
RO access ; 1 ; range -1 1 0 : mget sdiff sinter sunion
RO ; 1 ; range -1 1 0 : exists touch watch
RM delete ; 1 ; range -1 1 0 : del unlink
RW access delete ; 1 ; range -2 1 0 : blpop brpop bzpopmax bzpopmin
RO ; 2 ; range 0 1 0 : memory|usage object|encoding object|freq object|idletime object|refcount
RO access ; 2 ; range 0 1 0 : xinfo|consumers xinfo|groups xinfo|stream
RW delete ; 2 ; range 0 1 0 : xgroup|delconsumer xgroup|destroy
RW insert ; 2 ; range 0 1 0 : xgroup|create xgroup|createconsumer
RW update ; 2 ; range 0 1 0 : xgroup|setid
RO access ; 1 ; keynum 0 1 1 : sintercard zdiff zinter zintercard zunion
RW access delete ; 1 ; keynum 0 1 1 : lmpop zmpop
RW access delete ; 2 ; keynum 0 1 1 : blmpop bzmpop
RW access update ; 2 ; keynum 0 1 1 : eval evalsha
RO access ; STREAMS 1 ; range -1 1 2 : xread
RO access ; STREAMS 4 ; range -1 1 2 : xreadgroup
RW access delete ; 1 ; range 0 1 0 | RW insert ; 2 ; range 0 1 0 : blmove brpoplpush lmove rpoplpush smove
RW access delete ; 1 ; range 0 1 0 | OW insert ; 2 ; range 0 1 0 : renamenx
RW access delete ; 1 ; range 0 1 0 | OW update ; 2 ; range 0 1 0 : rename
RO access ; 1 ; range 0 1 0 | OW update ; 2 ; range 0 1 0 : copy
OW update ; 1 ; range 0 1 0 | RO access ; 2 ; range 0 1 0 : zrangestore
OW update ; 1 ; range 0 1 0 | RO access ; 2 ; range -1 1 0 : sdiffstore sunionstore
RW update ; 1 ; range 0 1 0 | RO access ; 2 ; range -1 1 0 : sinterstore
OW update ; 1 ; range 0 1 0 | RO access ; 2 ; keynum 0 1 1 : zdiffstore zinterstore zunionstore
not_key ; 1 ; range -1 1 0 : ssubscribe sunsubscribe
not_key ; 1 ; range 0 1 0 : spublish
"""
_NOTES = {
    "eval": "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE",
    "getex": "RW and UPDATE because it changes the TTL",
    "set": "RW and ACCESS due to the optional `GET` argument",
    "xadd": "UPDATE instead of INSERT because of the optional trimming feature",
}


@dataclass(frozen=True, slots=True)
class KeySpec:
    flags: tuple[str, ...]
    keyword: str
    begin: int
    counted: bool
    """Whether a word tells how many keys there are."""
    numbers: tuple[int, int, int]

    def positions(self, words: list[bytes]) -> range | None:
        """Where the keys stand; None if the words make no sense."""
        begin = self._begin(words)
        if begin is None or begin >= len(words):
            return None
        one, two, three = self.numbers
        if self.counted:
            count = parse_integer(words[begin + one])
            first = begin + two
            if count is None or count < 1 or first + (count - 1) * three >= len(words):
                return None
            return range(first, first + (count - 1) * three + 1, three)
        if one >= 0:
            last = begin + one
        elif three > 1:
            last = begin + (len(words) - begin) // three + one
        else:
            last = len(words) + one
        return range(begin, last + 1, two) if begin <= last < len(words) else None

    def _begin(self, words: list[bytes]) -> int | None:
        if not self.keyword:
            return self.begin
        for position in range(self.begin, len(words)):
            if words[position].upper() == self.keyword.encode():
                return position + 1
        return None


@cache
def _all() -> dict[str, list[KeySpec]]:
    found: dict[str, list[KeySpec]] = {}
    for line in _SPECS.strip().splitlines():
        specs, _, names = line.partition(" : ")
        for name in names.split():
            found[name] = [_parse(spec) for spec in specs.split(" | ")]
    return found


def _parse(spec: str) -> KeySpec:
    flags, begin, find = spec.split(" ; ")
    *keyword, index = begin.split()
    how, *numbers = find.split()
    one, two, three = map(int, numbers)
    return KeySpec(tuple(flags.split()), "".join(keyword), int(index), how == "keynum", (one, two, three))


def key_specs(row: "Command") -> list[KeySpec]:
    """Those of a command; for one that Redis 7.0 does not have, what its row tells."""
    known = _all().get(row.name)
    if known is not None:
        return known
    first, last, step = row.keys
    if not first:
        return []
    flags = ("RW", "update") if row.writes else ("RO", "access")
    return [KeySpec(flags, "", first, False, (last - first if last > 0 else last, step, 0))]


def has_keys(row: "Command") -> bool:
    return any("not_key" not in spec.flags for spec in key_specs(row))


def find_keys(row: "Command", words: list[bytes]) -> list[tuple[bytes, tuple[str, ...]]] | None:
    """The keys of a request with what becomes of them; None if its words make no sense."""
    found = []
    for spec in key_specs(row):
        positions = spec.positions(words)
        if positions is None:
            return None
        flags = spec.flags
        if row.name == "set":
            reads = any(word.upper() == b"GET" for word in words[3:])
            flags = ("RW", "access", "update") if reads else ("OW", "update")
        found += [(words[position], flags) for position in positions]
    return found


def encode(row: "Command", form: Replies) -> bytes:
    """The specifications of a command, for COMMAND INFO."""
    return form.set([_encode(spec, _NOTES.get(row.name), form) for spec in key_specs(row)])


def _encode(spec: KeySpec, note: str | None, form: Replies) -> bytes:
    if spec.keyword:
        begin = ("keyword", {"keyword": replies.text(spec.keyword), "startfrom": replies.integer(spec.begin)})
    else:
        begin = ("index", {"index": replies.integer(spec.begin)})
    names = ("keynumidx", "firstkey", "keystep") if spec.counted else ("lastkey", "keystep", "limit")
    find = (
        "keynum" if spec.counted else "range",
        {name: replies.integer(number) for name, number in zip(names, spec.numbers, strict=True)},
    )
    facts = {} if note is None else {"notes": replies.text(note)}
    facts["flags"] = form.set([replies.simple(flag) for flag in spec.flags])
    for name, (kind, numbers) in (("begin_search", begin), ("find_keys", find)):
        facts[name] = _map({"type": replies.text(kind), "spec": _map(numbers, form)}, form)
    return _map(facts, form)


def _map(facts: dict[str, bytes], form: Replies) -> bytes:
    return form.map((replies.text(name), value) for name, value in facts.items())
