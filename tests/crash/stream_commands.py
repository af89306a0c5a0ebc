"""Random stream commands for tests of restarts, and everything that clients can see of the streams afterwards.

What `tests/interop/streams_random.py` sends, and beyond that what redis-server 7.0 does not know or sees otherwise:
XADD with IDMP, XNACK, XDELEX, XACKDEL, groups set ahead, keys that other types take over.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.interop.streams_random import AUTOMATIC, Commands, Words

Ask = Callable[..., Any]
"""Sends a command; gives its reply, errors as objects."""

_KEYS = ("s", "s", "s", "t", "t", "u", AUTOMATIC, AUTOMATIC)
_UNSTABLE = {b"seen-time", b"idle", b"iids-duplicates"}
"""Times that are not kept, and a count that a crash sets back."""
_ALL = 1_000_000


class MoreCommands(Commands):
    """Random commands, deletions among them."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self._added = {key: ["0-0"] for key in _KEYS}
        more = [
            (6, self._xnack), (3, self._xdelex), (2, self._xackdel), (3, self._set_group), (3, self._force),
            (2, self._rename), (1, self._expire), (1, self._window), (1, self._set),
        ]  # fmt: skip
        self._weights += [weight for weight, _ in more]
        self._makers += [maker for _, maker in more]

    def _key_name(self) -> str:
        return self._one(*_KEYS)

    def _xadd(self) -> Words:
        words = super()._xadd()
        key = words[1]
        if key != AUTOMATIC:
            return words
        trimming = self._threshold(key) if self._random.random() < 0.1 else ()
        kind = self._random.random()
        named: Words = ()
        if kind < 0.3:
            named = ("IDMP", self._one("p", "q"), self._one(*range(20)))
        elif kind < 0.4:
            named = ("IDMPAUTO", "p")
        fields = ("body", "b") if self._random.random() < 0.2 else words[-2:]
        return ("XADD", key, *named, *trimming, "*", *fields)

    def _removal(self) -> Words:
        return self._some(self._one("KEEPREF", "DELREF", "ACKED"))

    def _xtrim(self) -> Words:
        return (*super()._xtrim(), *self._removal())

    def _xnack(self) -> Words:
        key = self._key_name()
        ids = self._ids(key)
        options = self._some("RETRYCOUNT", self._one(0, 3)) + self._some("FORCE")
        return ("XNACK", key, self._group(), self._one("SILENT", "FAIL", "FATAL"), "IDS", str(len(ids)), *ids, *options)

    def _xdelex(self) -> Words:
        key = self._key_name()
        ids = self._ids(key)
        return ("XDELEX", key, *self._removal(), "IDS", str(len(ids)), *ids)

    def _xackdel(self) -> Words:
        key = self._key_name()
        ids = self._ids(key)
        return ("XACKDEL", key, self._group(), *self._removal(), "IDS", str(len(ids)), *ids)

    def _set_group(self) -> Words:
        """Back, ahead, and far ahead."""
        key = self._key_name()
        place = self._one("0", "$", self._id(key), f"{self._last // 4 + 3}-0")
        reading = self._some("ENTRIESREAD", self._one(-1, 0, 5))
        return ("XGROUP", "SETID", key, self._group(), place, *reading)

    def _force(self) -> Words:
        key = self._key_name()
        return ("XCLAIM", key, self._group(), self._consumer(), "0", *self._ids(key), "FORCE")

    def _rename(self) -> Words:
        return (self._one("RENAME", "RENAMENX"), self._key_name(), self._key_name())

    def _window(self) -> Words:
        return ("XCFGSET", AUTOMATIC, "IDMP-MAXSIZE", self._one(3, 10, 100))

    def _set(self) -> Words:
        return ("SET", "u", "a string")


def everything(ask: Ask, pattern: str = "*") -> dict[bytes, Any]:
    """What can be seen of all keys, or of those that match a pattern, without what is not kept."""
    return {key: _key(ask, key) for key in sorted(ask("KEYS", pattern))}


def _key(ask: Ask, key: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"type": ask("TYPE", key), "expires": ask("PEXPIRETIME", key)}
    if found["type"] == b"list":
        return found | {"value": ask("LRANGE", key, 0, -1)}
    if found["type"] != b"stream":
        return found | {"value": ask("GET", key)}
    found |= {
        "length": ask("XLEN", key),
        "range": ask("XRANGE", key, "-", "+"),
        "back": ask("XREVRANGE", key, "+", "-"),
        "info": stable(ask("XINFO", "STREAM", key)),
        "full": stable(ask("XINFO", "STREAM", key, "FULL", "COUNT", "0")),
        "groups": stable(ask("XINFO", "GROUPS", key)),
    }
    for group in found["groups"]:
        name = group[group.index(b"name") + 1]
        rows = ask("XPENDING", key, name, "-", "+", _ALL)
        found[f"group {name.decode()}"] = {
            "summary": ask("XPENDING", key, name),
            "pending": [[id, owner, idle == -1, count] for id, owner, idle, count in rows],
            "consumers": stable(ask("XINFO", "CONSUMERS", key, name)),
        }
    return found


def stable(answer: Any) -> Any:
    """A reply of XINFO without what varies."""
    if not isinstance(answer, list):
        return answer
    flat = [stable(item) for item in answer]
    for place, item in enumerate(flat[:-1]):
        if isinstance(item, bytes) and item in _UNSTABLE:
            flat[place + 1] = "varies"
    return flat
