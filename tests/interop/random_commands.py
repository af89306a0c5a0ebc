"""Random commands on keys, for comparisons with redis-server, and all that is in a server afterwards.

Several connections take part, so that WATCH and MULTI have somebody to collide with. What a command may look like
stands in COMMANDS below, as in Redis's own documentation: capital letters are words as they are, small letters are
drawn from WORDS, `[...]` may be left out, `a | b` is one of them, `...` repeats what stands before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from tests.interop.drawn import Drawn
from tests.interop.pair import connection, last_node, reply

COMMANDS = """
SET string value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT later | PXAT later_ms | KEEPTTL]
GET string
GETDEL string
GETEX string [EX seconds | PX milliseconds | EXAT when | PERSIST]
GETSET string value
MGET string...
MSET {string value}...
MSETNX {string value}...
SETNX string value
SETEX string seconds value
PSETEX string milliseconds value
INCR string
DECR string
INCRBY string number
DECRBY string number
INCRBYFLOAT string decimal
APPEND string value
STRLEN string
GETRANGE string index index
SETRANGE string offset value

DEL any...
UNLINK any...
EXISTS any...
TOUCH any...
TYPE any
RENAME any any
RENAMENX any any
COPY any any [REPLACE]
EXPIRE any seconds [NX | XX | GT | LT]
PEXPIRE any milliseconds [NX | XX | GT | LT]
EXPIREAT any when [NX | XX | GT | LT]
PEXPIREAT any when_ms [NX | XX | GT | LT]
TTL any
PTTL any
EXPIRETIME any
PEXPIRETIME any
PERSIST any
KEYS pattern
SCAN 0 [MATCH pattern] COUNT 1000 [TYPE kind]
DBSIZE
FLUSHDB

LPUSH list value...
RPUSH list value...
LPUSHX list value...
RPUSHX list value...
LPOP list [count]
RPOP list [count]
LLEN list
LRANGE list index index
LINDEX list index
LSET list index value
LINSERT list {BEFORE | AFTER} value value
LREM list number value
LTRIM list index index
LPOS list value [RANK number] [COUNT count] [MAXLEN count]
LMOVE list list {LEFT | RIGHT} {LEFT | RIGHT}
RPOPLPUSH list list
LMPOP 2 list list {LEFT | RIGHT} [COUNT count]
BLPOP list... 0.01
BRPOP list... 0.01
BLMOVE list list {LEFT | RIGHT} {LEFT | RIGHT} 0.01
BRPOPLPUSH list list 0.01
BLMPOP 0.01 2 list list {LEFT | RIGHT} [COUNT count]

HSET hash {field value}...
HSETNX hash field value
HMSET hash {field value}...
HGET hash field
HMGET hash field...
HGETALL hash
HKEYS hash
HVALS hash
HLEN hash
HEXISTS hash field
HSTRLEN hash field
HDEL hash field...
HINCRBY hash field number
HINCRBYFLOAT hash field decimal
HSCAN hash 0 [MATCH pattern] COUNT 1000

SADD set value...
SREM set value...
SMEMBERS set
SISMEMBER set value
SMISMEMBER set value...
SCARD set
SMOVE set set value
SPOP set 1000
SRANDMEMBER set 1000
SINTER set...
SUNION set...
SDIFF set...
SINTERCARD 2 set set [LIMIT count]
SINTERSTORE set set...
SUNIONSTORE set set...
SDIFFSTORE set set...
SSCAN set 0 [MATCH pattern] COUNT 1000

ZADD sorted [NX | XX] [GT | LT] [CH] {score value}...
ZADD sorted [XX] [CH] INCR score value
ZADD lexical {0 value}...
ZREM sorted value...
ZCARD sorted
ZSCORE sorted value
ZMSCORE sorted value...
ZINCRBY sorted score value
ZRANK sorted value
ZREVRANK sorted value
ZCOUNT sorted bound bound
ZLEXCOUNT lexical edge edge
ZRANGE sorted index index [REV] [WITHSCORES]
ZRANGE sorted bound bound BYSCORE [LIMIT number number] [WITHSCORES]
ZRANGE sorted bound bound BYSCORE REV [LIMIT number number] [WITHSCORES]
ZRANGE lexical edge edge BYLEX [REV] [LIMIT number number]
ZRANGESTORE sorted sorted bound bound BYSCORE [REV] [LIMIT number number]
ZRANGESTORE sorted sorted index index [REV]
ZREVRANGE sorted index index [WITHSCORES]
ZRANGEBYSCORE sorted bound bound [WITHSCORES] [LIMIT number number]
ZREVRANGEBYSCORE sorted bound bound [WITHSCORES] [LIMIT number number]
ZRANGEBYLEX lexical edge edge [LIMIT number number]
ZREVRANGEBYLEX lexical edge edge [LIMIT number number]
ZREMRANGEBYRANK sorted index index
ZREMRANGEBYSCORE sorted bound bound
ZREMRANGEBYLEX lexical edge edge
ZPOPMIN sorted [count]
ZPOPMAX sorted [count]
ZMPOP 2 sorted sorted {MIN | MAX} [COUNT count]
BZPOPMIN sorted... 0.01
BZPOPMAX sorted... 0.01
BZMPOP 0.01 2 sorted sorted {MIN | MAX} [COUNT count]
ZUNION 2 sorted sorted [WEIGHTS score score] [AGGREGATE {SUM | MIN | MAX}] [WITHSCORES]
ZINTER 2 sorted sorted [WEIGHTS score score] [AGGREGATE {SUM | MIN | MAX}] [WITHSCORES]
ZDIFF 2 sorted sorted [WITHSCORES]
ZUNIONSTORE sorted 2 sorted sorted [WEIGHTS score score] [AGGREGATE {SUM | MIN | MAX}]
ZINTERSTORE sorted 2 sorted set
ZDIFFSTORE sorted 2 sorted sorted
ZINTERCARD 2 sorted sorted [LIMIT count]
ZSCAN sorted 0 [MATCH pattern] COUNT 1000

WATCH any...
UNWATCH
"""

WEIGHTS = {"SET": 3, "LPUSH": 4, "RPUSH": 4, "HSET": 4, "SADD": 5, "ZADD": 3, "FLUSHDB": 0.1, "B": 0.15}
"""How often a command comes, if not once: often what fills keys; seldom what empties all, or may wait (B...)."""

TYPES = ("string", "list", "hash", "set", "sorted", "lexical")
KEYS = {name: [f"{name}:{number}" for number in (1, 2)] for name in TYPES}
ANY = [key for name, keys in KEYS.items() for key in keys if name != "lexical"]
"""Without those whose scores must all be equal for ranges of members to mean anything."""
WORDS: dict[str, list[str]] = {
    **KEYS,
    "any": [*ANY, "missing"],
    "value": ["a", "b", "c", "d", "hello", "", "1", "2", "10", "-7", "1.5", "a\r\nb\x00", "é", "9223372036854775807"],
    "field": ["a", "b", "c", "1", "2", ""],
    "pattern": ["*", "?", "string:*", "*:1", "[a-c]*", "[^a]*", "l?st:[12]", "a\\*", ""],
    "kind": ["string", "list", "hash", "set", "zset", "stream", "nothing"],
    "number": ["-2", "-1", "0", "1", "2", "5", "100"],
    "count": ["0", "1", "2", "5"],
    "index": ["-100", "-3", "-2", "-1", "0", "1", "2", "3", "100"],
    "offset": ["0", "1", "5", "20"],
    "decimal": ["0.5", "-1.25", "3", "0.1", "1e3", "-100"],
    "score": ["0", "1", "-1", "2.5", "1e10", "0.1", "inf", "-inf", "3"],
    "bound": ["-inf", "+inf", "0", "(0", "1", "(1", "2.5", "-1", "(-1", "3"],
    "edge": ["-", "+", "[a", "(a", "[b", "(c", "[hello", "[", "(1"],
    # Far away, so that the time that passes during a run makes no difference.
    "seconds": ["100000", "200000", "300000", "0", "-1"],
    "milliseconds": ["100000000", "200000000", "300000000", "-1"],
    "later": ["4000000000", "5000000000", "0"],
    "later_ms": ["4000000000000", "5000000000000", "0"],
    # In the past as well. Not for SET: Redis then keeps the key, expired, and counts it until it cleans up.
    "when": ["4000000000", "5000000000", "1"],
    "when_ms": ["4000000000000", "5000000000000", "1"],
}
ODD = ["", "x", "-1", "0", "1.5", "9223372036854775807", "-9223372036854775808", "nan", "COUNT", "(", "[a"]
"""What stands where something else was expected, now and then."""

UNORDERED = {"SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP", "SRANDMEMBER", "KEYS", "HKEYS", "HVALS"}
RANDOM = {"SPOP", "SRANDMEMBER"}
"""They may differ unless they take everything, so they always do."""
UNORDERED_PAIRS = {"HGETALL", "HSCAN", "ZSCAN"}
TIMES = {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"}
TIME_TOLERANCE = 20_000
"""Milliseconds or seconds that deadlines may differ by, since the two servers got them one after the other."""

READS = {
    b"string": ("GET",),
    b"list": ("LRANGE", "0", "-1"),
    b"hash": ("HGETALL",),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}

Word = Callable[[Drawn], list[str]]
"""One part of a command: gives its words, none if it was left out."""


def _parse(line: str) -> Word:
    """What a line of COMMANDS gives."""
    text = line.replace("...", " ... ")
    for sign in "[]{}|":
        text = text.replace(sign, f" {sign} ")
    tokens = text.split()[::-1]
    word = _alternatives(tokens, "")
    assert not tokens, line
    return word


def _alternatives(tokens: list[str], closing: str) -> Word:
    choices: list[list[Word]] = [[]]
    while tokens and tokens[-1] != closing:
        token = tokens.pop()
        if token == "|":
            choices.append([])
        elif token == "...":
            choices[-1].append(_repeated(choices[-1].pop()))
        elif token == "[":
            choices[-1].append(_optional(_alternatives(tokens, "]")))
        elif token == "{":
            choices[-1].append(_alternatives(tokens, "}"))
        else:
            choices[-1].append(_drawn(token) if token in WORDS else _literal(token))
    if closing:
        assert tokens.pop() == closing
    return lambda random: [text for word in random.choice(choices) for text in word(random)]


def _literal(text: str) -> Word:
    return lambda random: [text]


def _drawn(name: str) -> Word:
    """One of the words; one time in thirty a key of another type."""
    others = [key for key in ANY if name in KEYS and not (name == "lexical" and key in KEYS["sorted"])]
    return lambda random: [random.choice(others if others and random.random() < 0.03 else WORDS[name])]


def _optional(word: Word) -> Word:
    return lambda random: word(random) if random.random() < 0.4 else []


def _repeated(word: Word) -> Word:
    return lambda random: [text for _ in range(random.choice((1, 1, 2, 3))) for text in word(random)]


LINES = [line for line in COMMANDS.splitlines() if line]
GRAMMAR = [_parse(line) for line in LINES]
GRAMMAR_WEIGHTS = [WEIGHTS.get(line.split()[0], WEIGHTS["B"] if line[0] == "B" else 1) for line in LINES]

CLIENTS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """A command on one of the connections."""

    client: int
    words: tuple[str, ...]


def next_steps(random: Drawn) -> list[Step]:
    """A command, or a transaction and what happens meanwhile."""
    client = 0 if random.random() < 0.8 else random.randrange(CLIENTS)
    if random.random() < 0.03:
        return _transaction(random, client)
    return [Step(client, _command(random))]


def _command(random: Drawn) -> tuple[str, ...]:
    words = random.choices(GRAMMAR, GRAMMAR_WEIGHTS)[0](random)
    if random.random() < 0.03 and words[0] not in RANDOM and words[1:2] not in ([key] for key in KEYS["lexical"]):
        place = random.randrange(1, len(words) + 1)
        words[place : place + random.choice((0, 1))] = random.choice(([], [random.choice(ODD)]))
    return tuple(words)


def _transaction(random: Drawn, client: int) -> list[Step]:
    """MULTI with its commands, perhaps after WATCH, with others in between, and its end."""
    steps = [Step(client, ("WATCH", random.choice(ANY)))] if random.random() < 0.5 else []
    steps += [Step(random.randrange(CLIENTS), _command(random)) for _ in range(random.choice((0, 0, 1)))]
    steps.append(Step(client, ("MULTI",)))
    for _ in range(random.randrange(6)):
        other = (client + 1) % CLIENTS if random.random() < 0.1 else client
        steps.append(Step(other, _command(random)))
    return [*steps, Step(client, ("EXEC",) if random.random() < 0.9 else ("DISCARD",))]


class Server:
    """One of the two: its connections, and what each has queued in MULTI."""

    def __init__(self, port: int, protocol: int) -> None:
        self._clients = [connection(port, protocol) for _ in range(CLIENTS)]
        self._queued: list[list[str] | None] = [None] * CLIENTS

    def start_again(self) -> None:
        """Empties the server and the connections' states."""
        self.end_transactions()
        for client in self._clients:
            reply(client, "UNWATCH")
        reply(self._clients[0], "FLUSHALL")

    def end_transactions(self) -> None:
        for number, client in enumerate(self._clients):
            if self._queued[number] is not None:
                reply(client, "DISCARD")
            self._queued[number] = None

    def reply(self, step: Step) -> tuple[Any, str]:
        """The reply, made comparable, and its form on the wire."""
        client = self._clients[step.client]
        try:
            answer = client.execute_command(*step.words)
        except ResponseError as error:
            answer = error
        return self._comparable(step, answer), str(last_node(client))

    def _comparable(self, step: Step, answer: Any) -> Any:
        queued, name = self._queued[step.client], step.words[0].upper()
        if queued is None:
            if name == "MULTI" and answer == b"OK":
                self._queued[step.client] = []
            return comparable(name, answer)
        if name in ("EXEC", "DISCARD") and len(step.words) == 1:
            self._queued[step.client] = None
            if isinstance(answer, list):
                return [comparable(each, one) for each, one in zip(queued, answer, strict=True)]
        elif answer == b"QUEUED":
            queued.append(name)
        return comparable("", answer)

    def contents(self) -> dict[str, Any]:
        """Everything that is in it, and the forms in which it comes."""
        found = {}
        for key in [*ANY, *KEYS["lexical"], "missing"]:
            kind, _ = self.reply(Step(0, ("TYPE", key)))
            if kind != b"none":
                name, *options = READS[kind]
                found[key] = kind, self.reply(Step(0, (name, key, *options))), self.reply(Step(0, ("PTTL", key)))
        return {**found, "DBSIZE": self.reply(Step(0, ("DBSIZE",)))}

    def close(self) -> None:
        for client in self._clients:
            client.close()


def comparable(name: str, answer: Any) -> Any:
    """A reply without what may differ: the order where there is none."""
    if isinstance(answer, ResponseError):
        return (type(answer).__name__, str(answer))
    if name in TIMES and isinstance(answer, int) and answer > 0:
        return Time(answer)
    if name in ("SCAN", "SSCAN") and isinstance(answer, list):
        return [answer[0], sorted(answer[1])]
    if name in UNORDERED and isinstance(answer, list | set):
        return sorted(answer)
    if name in UNORDERED_PAIRS and isinstance(answer, list):
        cursor, pairs = answer if name != "HGETALL" else (b"0", answer)
        if pairs and isinstance(pairs[0], list):
            return [cursor, sorted(tuple(pair) for pair in pairs)]
        return [cursor, sorted(zip(pairs[::2], pairs[1::2], strict=True))]
    return answer


class Time(int):
    """A moment or a duration that the two servers may see a little differently."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and abs(int(self) - int(other)) <= TIME_TOLERANCE

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__
