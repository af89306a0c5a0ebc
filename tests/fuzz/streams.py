"""Streams of RESP requests: sensible, senseless, damaged, and cut into pieces."""

from collections.abc import Iterator
from random import Random

from onemq.protocols.resp.commands import COMMANDS

_CONFUSING = (
    b"\r\n", b"*", b"$", b"*1\r\n", b"$4\r\n", b"PING", b"\r\n*2\r\n", b"x", b"0", b"-1", b"12345", b"\0",
    b"*100000\r\n", b":5\r\n", b"_\r\n", b"#f\r\n", b"%1\r\n", b">1\r\n", b" ", b'"', b"*0\r\n", b"\xff",
    b"*-1\r\n", b"$-1\r\n", b"'", b"*99999999999\r\n", b"$99999999999\r\n", b"\r", b"\n",
)  # fmt: skip
_WORDS = (
    b"a", b"b", b"c", b"k", b"", b"0", b"1", b"-1", b"2", b"10", b"0.5", b"-inf", b"+inf", b"nan", b"*", b"$", b">",
    b"-", b"+", b"(1", b"[a", b"1-1", b"2-2", b"0-0", b"9223372036854775807", b"-9223372036854775808",
    b"99999999999999999999", b"LEFT", b"RIGHT", b"COUNT", b"MATCH", b"LIMIT", b"GET", b"NX", b"XX", b"EX", b"PX",
    b"WITHSCORES", b"BEFORE", b"STREAMS", b"MAXLEN", b"MINID", b"~", b"=", b"GROUP", b"g", b"BLOCK", b"MKSTREAM",
    b"TYPE", b"ID", b"ON", b"OFF", b"a*", b"[a-", b"\\", b"\xff\x00", b"KEEPTTL", b"REPLACE", b"WEIGHTS",
    b"AGGREGATE", b"SUM", b"MIN", b"MAX", b"BYSCORE", b"BYLEX", b"REV", b"RANK", b"KEY", b"TAG", b"HEADER",
    b"PARTITION", b"DELAY", b"AT", b"EXPIRES", b"MEMBER", b"WAIT", b"CREDIT", b"AUTOACK", b"FROM", b"FIRST", b"LAST",
    b"OFFSET", b"TIME", b"RETRY", b"LADDER", b"BACKOFF", b"NONE", b"DEAD", b"LEASE", b"FILTER", b"ORDER",
    b"ASSIGN", b"ONCE", b"WITHIN",
    b"PARTITIONS", b"BODIES", b"IDS", b"IDLE", b"TRANSACTION", b"PRODUCER", b"REASON", b"0:0", b"0:0-9", b"1:5", b"10s",
)  # fmt: skip
_NAMES = sorted({row.name for row in COMMANDS})
_SUBCOMMANDS = {row.name: sorted(row.subcommands) for row in COMMANDS if row.subcommands}
_NOT_REPEATABLE = {"info", "client", "command"}
"""They tell of memory, of addresses, or very much."""


def encode(words: list[bytes]) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(each), each) for each in words)


def requests(random: Random) -> bytes:
    """Requests that have nothing in common but the form; their arguments are made of what confuses parsers."""
    parts = []
    for _ in range(random.randrange(1, 30)):
        kind = random.random()
        if kind < 0.7:
            parts.append(encode([_argument(random) for _ in range(random.randrange(1, 6))]))
        elif kind < 0.8:
            parts.append(b"ECHO inline \"a b\" 'c'\r\n")
        elif kind < 0.95:
            parts.append(encode([b"XADD", b"s", b"*", b"f", b"v" * random.randrange(200)]))
        else:
            parts.append(b"".join(random.choices(_CONFUSING, k=random.randrange(6))))
    return b"".join(parts)


def _argument(random: Random) -> bytes:
    if random.random() < 0.85:
        return b"".join(random.choices(_CONFUSING, k=random.randrange(6)))
    return random.randbytes(random.choice([5, 300, 3_000, 20_000, 70_000]))


def commands(random: Random, count: int) -> list[list[bytes]]:
    """Known commands with arguments that may suit them."""
    return [_command(random) for _ in range(count)]


def _command(random: Random) -> list[bytes]:
    name = random.choice(_NAMES)
    while name in _NOT_REPEATABLE:
        name = random.choice(_NAMES)
    words = [name.encode()]
    if name in _SUBCOMMANDS and random.random() < 0.9:
        words.append(random.choice(_SUBCOMMANDS[name]))
    return words + random.choices(_WORDS, k=random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8]))


def damaged(random: Random, stream: bytes) -> bytes:
    """Half of the time as it is; else with some bytes changed, lost, doubled or added."""
    if random.random() < 0.5:
        return stream
    data = bytearray(stream)
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(data) + 1)
        change = random.randrange(4)
        if change == 0 and at < len(data):
            data[at] = random.choice(b"*$:\r\n0123456789 \"'\xff")
        elif change == 1:
            del data[at : at + random.randrange(1, 20)]
        elif change == 2:
            data[at:at] = data[at : at + random.randrange(1, 50)]
        else:
            data[at:at] = random.choice(_CONFUSING)
    return bytes(data)


def pieces(random: Random, data: bytes) -> Iterator[bytes]:
    """The bytes as a network may deliver them."""
    size_max = random.choice([1, 7, 100, 1_500, 40_000]) if len(data) < 20_000 else random.choice([1_500, 40_000])
    at = 0
    while at < len(data):
        size = random.randrange(1, size_max + 1)
        yield data[at : at + size]
        at += size
