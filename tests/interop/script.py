"""Many commands for both servers: a line for each, in the words of a shell."""

import shlex
from typing import Any

from tests.interop.pair import Pair, reply


def same_replies(pair: Pair, script: str, *, in_order: bool = True) -> None:
    """Every reply is the same, and so is what is stored afterwards."""
    for line in script.strip().splitlines():
        words = shlex.split(line, comments=True)
        if words:
            form = to_ten_seconds if words[0] == "TTL" else as_it_is if in_order else unordered
            pair.same(*words, alike=form)
    same_contents(pair)


def same_contents(pair: Pair) -> None:
    """Both hold the same keys with the same values, and those that expire are the same."""
    assert contents(pair.ours) == contents(pair.theirs)


def contents(client: Any) -> dict[bytes, Any]:
    found = {}
    for key in sorted(reply(client, "KEYS", "*")):
        kind = text(reply(client, "TYPE", key))
        expires = reply(client, "PTTL", key) >= 0
        found[key] = (kind, expires, unordered(reply(client, *_READ[kind](key))))
    return found


_READ = {
    "string": lambda key: ("GET", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "hash": lambda key: ("HGETALL", key),
    "set": lambda key: ("SMEMBERS", key),
    "zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
}


def as_it_is(answer: Any) -> Any:
    return answer


def to_ten_seconds(answer: Any) -> Any:
    """A remaining time as a slow machine tells it, too: some seconds may lie between the two servers."""
    return (answer + 5) // 10 if isinstance(answer, int) and answer > 0 else answer


def unordered(answer: Any) -> Any:
    """Alike whatever the order of the elements. RESP3's sets come as lists, too."""
    if isinstance(answer, list | tuple | set):
        return sorted(map(repr, map(unordered, answer)))
    return answer


def text(answer: Any) -> str:
    return answer.decode() if isinstance(answer, bytes) else str(answer)
