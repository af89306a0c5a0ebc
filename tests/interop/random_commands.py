"""Random commands for two servers, compared reply by reply, and the shortest sequence that still differs.

    python -m tests.interop.random_commands --seeds 1000          a longer run
    python -m tests.interop.random_commands --first 77 --seeds 1  one seed again

A sequence comes from its seed alone. Several connections take part, so that WATCH and MULTI have somebody to
collide with. What a command may look like stands in COMMANDS below, as in Redis's own documentation: capital
letters are words as they are, small letters are drawn from WORDS, `[...]` may be left out, `a | b` is one of
them, `...` repeats what stands before it.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import redis
from redis.exceptions import ResponseError

from tests.interop.pair import connection, redis_server, reply
from tests.process import Serve

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

Word = Callable[[Random], list[str]]
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


@dataclass(frozen=True, slots=True)
class Step:
    """A command on one of the connections."""

    client: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.client}> " + " ".join(repr(word) if not word.isalnum() else word for word in self.words)


def sequence(seed: int, length: int, clients: int = 2) -> list[Step]:
    """Commands from a seed."""
    random = Random(seed)
    steps: list[Step] = []
    while len(steps) < length:
        client = 0 if random.random() < 0.8 else random.randrange(clients)
        if random.random() < 0.03:
            steps += _transaction(random, client, clients)
        else:
            steps.append(Step(client, _command(random)))
    return steps


def _command(random: Random) -> tuple[str, ...]:
    words = random.choices(GRAMMAR, GRAMMAR_WEIGHTS)[0](random)
    if random.random() < 0.03 and words[0] not in RANDOM and words[1:2] not in ([key] for key in KEYS["lexical"]):
        place = random.randrange(1, len(words) + 1)
        words[place : place + random.choice((0, 1))] = random.choice(([], [random.choice(ODD)]))
    return tuple(words)


def _transaction(random: Random, client: int, clients: int) -> list[Step]:
    """MULTI with its commands, perhaps after WATCH, with others in between, and its end."""
    steps = [Step(client, ("WATCH", random.choice(ANY)))] if random.random() < 0.5 else []
    steps += [Step(random.randrange(clients), _command(random)) for _ in range(random.choice((0, 0, 1)))]
    steps.append(Step(client, ("MULTI",)))
    for _ in range(random.randrange(6)):
        other = (client + 1) % clients if random.random() < 0.1 else client
        steps.append(Step(other, _command(random)))
    return [*steps, Step(client, ("EXEC",) if random.random() < 0.9 else ("DISCARD",))]


class Server:
    """One of the two: its connections, and what each has queued in MULTI."""

    def __init__(self, port: int, protocol: int, clients: int = 2) -> None:
        self._clients = [connection(port, protocol) for _ in range(clients)]
        self._queued: list[list[str] | None] = [None] * clients

    def start_again(self) -> None:
        """Empties the server and the connections' states."""
        for number, client in enumerate(self._clients):
            if self._queued[number] is not None:
                reply(client, "DISCARD")
            self._queued[number] = None
            reply(client, "UNWATCH")
        reply(self._clients[0], "FLUSHALL")

    def reply(self, step: Step) -> Any:
        """The reply, made comparable."""
        try:
            answer = self._clients[step.client].execute_command(*step.words)
        except ResponseError as error:
            answer = error
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


READS = {
    b"string": ("GET",),
    b"list": ("LRANGE", "0", "-1"),
    b"hash": ("HGETALL",),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}


def contents(server: Server) -> dict[str, Any]:
    """Everything that is in a server."""
    found = {}
    for key in [*ANY, *KEYS["lexical"], "missing"]:
        kind = server.reply(Step(0, ("TYPE", key)))
        if kind != b"none":
            name, *options = READS[kind]
            value = server.reply(Step(0, (name, key, *options)))
            found[key] = (kind, value, server.reply(Step(0, ("PTTL", key))))
    return {**found, "DBSIZE": server.reply(Step(0, ("DBSIZE",)))}


def difference(steps: list[Step], ours: Server, theirs: Server) -> str:
    """Where the two servers first differ; empty if they do not."""
    ours.start_again()
    theirs.start_again()
    for number, step in enumerate(steps):
        answer, expected = ours.reply(step), theirs.reply(step)
        if answer != expected:
            return f"step {number}, {step}\n  OneMQ: {answer!r}\n  Redis: {expected!r}"
    close_multi = [Step(number, ("DISCARD",)) for number in range(2)]
    for step in close_multi:
        ours.reply(step), theirs.reply(step)
    answer, expected = contents(ours), contents(theirs)
    if answer == expected:
        return ""
    keys = [key for key in sorted({*answer, *expected}) if answer.get(key) != expected.get(key)]
    return "\n".join(
        ["at the end", *(f"{key}\n  OneMQ: {answer.get(key)!r}\n  Redis: {expected.get(key)!r}" for key in keys)]
    )


def shortest(steps: list[Step], differs: Callable[[list[Step]], bool]) -> list[Step]:
    """As few of the steps as still differ: takes out halves, quarters, ..., single ones while it can."""
    size = len(steps) // 2
    while size:
        place = 0
        while place < len(steps):
            fewer = steps[:place] + steps[place + size :]
            if differs(fewer):
                steps = fewer
            else:
                place += size
        size //= 2
    return steps


def check(seed: int, length: int, ours: Server, theirs: Server) -> str:
    """A readable counter-example from this seed; empty if there is none."""
    steps = sequence(seed, length)
    if not difference(steps, ours, theirs):
        return ""
    steps = shortest(steps, lambda fewer: bool(difference(fewer, ours, theirs)))
    told = difference(steps, ours, theirs)
    return "\n".join([f"seed {seed}, shortened to {len(steps)} commands:", *map(str, steps), told])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.random_commands", description="OneMQ against Redis")
    parser.add_argument("--seeds", type=int, default=1000, help="how many sequences")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--length", type=int, default=100, help="commands in a sequence")
    parser.add_argument("--all", action="store_true", help="go on after a difference")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, Serve(Path(folder) / "onemq") as broker:
        broker.wait_until_serving()
        with redis_server(Path(folder)) as redis_port:
            for seed in range(options.first, options.first + options.seeds):
                protocol = 2 + seed % 2
                ours, theirs = Server(broker.port, protocol), Server(redis_port, protocol)
                try:
                    told = check(seed, options.length, ours, theirs)
                except redis.ConnectionError as error:
                    told = f"seed {seed}: {error}"
                if told:
                    print(told, flush=True)
                    failed += 1
                    if not options.all:
                        break
                ours.close()
                theirs.close()
    print(f"{options.seeds} sequences of {options.length} commands, {failed} with a difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
