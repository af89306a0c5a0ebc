"""Random stream commands, for comparisons with redis-server and for tests of crashes.

A step is one command, or several as one transaction. Ids are explicit, but for one stream whose ids are its own choice;
idle times are set by XCLAIM's options, and keys expire late or at once: no reply depends on the clock.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Self

from tests.interop.drawn import Drawn

Words = tuple[str, ...]
Step = tuple[Words, ...]

AUTOMATIC = "v"
"""The key whose ids are the stream's choice."""
_KEYS = ("s",) * 6 + ("t",) * 3 + ("u",) + (AUTOMATIC,) * 3
_GROUPS = ("g", "g", "h")
_CONSUMERS = ("alice", "bob", "carol")
_TRANSACTIONS = 0.05
_LONG_AGO_MS, _FAR_AHEAD_MS = 1_000_000_000_000, 4_000_000_000_000
START: tuple[Words, ...] = (
    ("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"),
    ("XGROUP", "CREATE", "s", "h", "$"),
    ("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM"),
    ("XGROUP", "CREATE", "t", "h", "0"),
    ("XGROUP", "CREATE", AUTOMATIC, "g", "0", "MKSTREAM"),
)
"""What a sequence begins with."""


class Commands:
    """Random commands. Plain ones never delete entries or move groups past them, so that lags are known.

    Tell them the replies: they refer to the ids that they learn."""

    def __init__(self, random: Random | Drawn, plain: bool = False) -> None:
        self._random = random
        self._plain = plain
        self._last = 0
        self._added: dict[str, list[str]] = {key: ["0-0"] for key in _KEYS}
        names = [
            (25, self._xadd), (4, self._xrange), (2, self._xrevrange), (3, self._xread), (20, self._xreadgroup),
            (5, self._history), (8, self._xack), (8, self._xclaim), (5, self._xautoclaim), (5, self._xpending),
            (4, self._xgroup), (6, self._xinfo), (1, self._key), (1, self._rename), (1, self._expire),
            (1, self._persist),
        ]  # fmt: skip
        if not plain:
            names += [(6, self._xdel), (3, self._xtrim), (2, self._xsetid), (1, self._del), (2, self._broken)]
        self._weights = [weight for weight, _ in names]
        self._makers: list[Callable[[], Words]] = [maker for _, maker in names]

    def steps(self, count: int) -> list[Step]:
        """A sequence of about so many commands."""
        steps = [(words,) for words in START]
        while sum(map(len, steps)) < count:
            steps.append(self.step())
        return steps

    def step(self) -> Step:
        together = self._random.randint(2, 5) if self._random.random() < _TRANSACTIONS else 1
        return tuple(self.command() for _ in range(together))

    def command(self) -> Words:
        return self._random.choices(self._makers, self._weights)[0]()

    def learn(self, words: Words, answer: Any) -> None:
        """An id that the stream chose."""
        if words[0] == "XADD" and isinstance(answer, bytes) and words[1] in self._added:
            self._added[words[1]].append(answer.decode())

    def drawing(self, random: Random | Drawn) -> Self:
        """The same, which goes on with another source of chance."""
        self._random = random
        return self

    # Words.

    def _one(self, *choices: Any) -> str:
        return str(self._random.choice(choices))

    def _some(self, *words: str) -> Words:
        """The words or nothing."""
        return words if self._random.random() < 0.4 else ()

    def _key_name(self) -> str:
        return self._one(*_KEYS)

    def _group(self) -> str:
        return self._one(*_GROUPS)

    def _consumer(self) -> str:
        return self._one(*_CONSUMERS)

    def _id(self, key: str) -> str:
        """An id that is probably there."""
        if self._random.random() < 0.85:
            return self._random.choice(self._added[key][-12:])
        near = self._random.randint(max(0, self._last - 12), self._last + 1)
        return self._one(f"{near // 4}-{near % 4}", near // 4)

    def _ids(self, key: str) -> Words:
        return tuple(self._id(key) for _ in range(self._random.randint(1, 5)))

    def _end(self, open_end: str, key: str) -> str:
        return self._one(open_end, open_end, self._id(key), "(" + self._id(key))

    def _count(self) -> Words:
        return self._some("COUNT", self._one(1, 2, 3, 10, 0, -1))

    # Commands.

    def _xadd(self) -> Words:
        key = self._key_name()
        trimming = self._threshold(key) if not self._plain and self._random.random() < 0.1 else ()
        if self._random.random() < 0.92 and key == AUTOMATIC:
            entry = "*"
        elif self._random.random() < 0.92:
            self._last += self._random.randint(1, 3)
            entry = f"{self._last // 4}-{self._last % 4}"
            self._added[key].append(entry)
        else:
            entry = self._one(self._id(key), f"{self._last // 4}-*", "0-0", "x")
        nomkstream = ("NOMKSTREAM",) if self._random.random() < 0.1 else ()
        fields = [word for number in range(self._random.randint(1, 3)) for word in (f"f{number}", self._one(*range(9)))]
        return ("XADD", key, *nomkstream, *trimming, entry, *fields)

    def _threshold(self, key: str) -> Words:
        if self._random.random() < 0.2:
            return (*self._about(), *self._some("LIMIT", self._one(0, 1, 100)))
        sign = self._some("=")
        if self._random.random() < 0.5:
            return ("MAXLEN", *sign, self._one(0, 1, 3, 5, 8, 20))
        return ("MINID", *sign, self._id(key))

    def _about(self) -> Words:
        """All or nothing: between these, each trims as far as it likes."""
        return ("MAXLEN", "~", self._one(0, 1000, 5000)) if self._random.random() < 0.5 else ("MINID", "~", "0-1")

    def _xrange(self) -> Words:
        key = self._key_name()
        return ("XRANGE", key, self._end("-", key), self._end("+", key), *self._count())

    def _xrevrange(self) -> Words:
        key = self._key_name()
        return ("XREVRANGE", key, self._end("+", key), self._end("-", key), *self._count())

    def _xread(self) -> Words:
        if self._random.random() < 0.3:
            return ("XREAD", *self._count(), "STREAMS", "s", "t", self._id("s"), self._one(self._id("t"), "$"))
        key = self._key_name()
        return ("XREAD", *self._count(), "STREAMS", key, self._one(self._id(key), "0", "$"))

    def _xreadgroup(self) -> Words:
        start = ("XREADGROUP", "GROUP", self._group(), self._consumer(), *self._count())
        noack = ("NOACK",) if self._random.random() < 0.1 else ()
        if self._random.random() < 0.15:
            return (*start, *noack, "STREAMS", "s", "t", ">", self._one(">", "0"))
        return (*start, *noack, "STREAMS", self._key_name(), ">")

    def _history(self) -> Words:
        key = self._key_name()
        start = ("XREADGROUP", "GROUP", self._group(), self._consumer(), *self._count())
        return (*start, "STREAMS", key, self._one("0", self._id(key)))

    def _xack(self) -> Words:
        key = self._key_name()
        return ("XACK", key, self._group(), *self._ids(key))

    def _xclaim(self) -> Words:
        key = self._key_name()
        options = (
            (self._some("IDLE", "1000000") or self._some("TIME", self._one(_LONG_AGO_MS, _FAR_AHEAD_MS)))
            + self._some("RETRYCOUNT", self._one(0, 1, 7))
            + self._some("FORCE")
            + self._some("JUSTID")
        )
        if not self._plain and self._random.random() < 0.1:
            options += ("LASTID", self._id(key))
        idle = self._one(0, 0, 500000)
        return ("XCLAIM", key, self._group(), self._consumer(), idle, *self._ids(key), *options)

    def _xautoclaim(self) -> Words:
        key = self._key_name()
        options = self._some("COUNT", self._one(1, 2, 5)) + self._some("JUSTID")
        where = (key, self._group(), self._consumer(), self._one(0, 0, 500000), self._end("-", key))
        return ("XAUTOCLAIM", *where, *options)

    def _xpending(self) -> Words:
        key = self._key_name()
        if self._random.random() < 0.4:
            return ("XPENDING", key, self._group())
        within = (self._end("-", key), self._end("+", key), self._one(1, 5, 100))
        return ("XPENDING", key, self._group(), *self._some("IDLE", "500000"), *within, *self._some(self._consumer()))

    def _xgroup(self) -> Words:
        key, group = self._key_name(), self._group()
        kind = self._random.randrange(12)
        if kind < 5:
            start = self._one("0", "$") if self._plain else self._one("0", "$", self._id(key))
            return ("XGROUP", "CREATE", key, group, start, *self._some("MKSTREAM"))
        if kind < 8:
            return ("XGROUP", "CREATECONSUMER", key, group, self._consumer())
        if kind < 10:
            return ("XGROUP", "DELCONSUMER", key, group, self._consumer())
        if kind == 10 or self._plain:
            return ("XGROUP", "DESTROY", key, group)
        reading = self._some("ENTRIESREAD", self._one(-1, 0, 5))
        return ("XGROUP", "SETID", key, group, self._one("0", "$", self._id(key)), *reading)

    def _xinfo(self) -> Words:
        return self._random.choice(
            (
                ("XINFO", "STREAM", self._key_name()),
                ("XINFO", "STREAM", self._key_name(), "FULL", *self._count()),
                ("XINFO", "GROUPS", self._key_name()),
                ("XINFO", "CONSUMERS", self._key_name(), self._group()),
            )
        )

    def _key(self) -> Words:
        return (self._one("TYPE", "EXISTS", "XLEN", "TTL"), self._key_name())

    def _rename(self) -> Words:
        """Not of the stream that chooses its ids: nothing could be added with an older one."""
        return (self._one("RENAME", "RENAMENX"), self._one("s", "t", "u"), self._key_name())

    def _expire(self) -> Words:
        return ("EXPIRE", self._key_name(), self._one(5000, 5000, 5000, 0))

    def _persist(self) -> Words:
        return ("PERSIST", self._key_name())

    def _xdel(self) -> Words:
        key = self._key_name()
        return ("XDEL", key, *self._ids(key))

    def _xtrim(self) -> Words:
        key = self._key_name()
        return ("XTRIM", key, *self._threshold(key))

    def _xsetid(self) -> Words:
        key = self._key_name()
        options = self._some("ENTRIESADDED", self._one(3, 50)) + self._some("MAXDELETEDID", self._id(key))
        return ("XSETID", key, self._id(key), *options)

    def _del(self) -> Words:
        return ("DEL", self._key_name()) if self._random.random() < 0.3 else ("DEL", "u")

    def _broken(self) -> Words:
        """A command without its last word, or with a strange one."""
        words = list(self._random.choice([self._xadd, self._xreadgroup, self._xclaim, self._xpending, self._xgroup])())
        if self._random.random() < 0.5:
            words.pop()
        else:
            words[self._random.randrange(1, len(words))] = self._one("x", "-", "$", "99999999999999999999", "COUNT")
        return tuple(words)
