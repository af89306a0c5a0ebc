"""Random commands on the keys of one connection: those that change lists, and those that hand out a stream's entries.

Ids are explicit and no idle time matters, so that two brokers that execute the same commands hold the same.
"""

import random
from collections.abc import Callable

Words = tuple[str, ...]
Unit = tuple[Words, ...]
"""One command, or a transaction from MULTI to EXEC."""

_TRANSACTIONS = 0.2
_GROUPS = ("g", "h")
_CONSUMERS = ("alice", "bob", "carol")


class MixedCommands:
    """All of it happens under keys that begin with `name`."""

    def __init__(self, name: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._lists = (f"{name}:left", f"{name}:right")
        self._stream = f"{name}:stream"
        self._last = 0
        self._units = [((("XGROUP", "CREATE", self._stream, group, "0", "MKSTREAM"),)) for group in _GROUPS]
        weights: list[tuple[int, Callable[[], Words]]] = [
            (8, self._push), (3, self._lset), (3, self._linsert), (3, self._lrem), (1, self._ltrim), (4, self._lmove),
            (10, self._xadd), (8, self._xreadgroup), (5, self._xack), (4, self._xclaim), (3, self._xautoclaim),
            (3, self._xnack), (2, self._xdel), (1, self._xtrim),
        ]  # fmt: skip
        self._weights = [weight for weight, _ in weights]
        self._makers = [maker for _, maker in weights]

    def units(self, count: int) -> list[Unit]:
        """The next so many; the first ones ever make the groups."""
        units, self._units = self._units, []
        return units + [self._unit() for _ in range(count)]

    def _unit(self) -> Unit:
        if self._random.random() >= _TRANSACTIONS:
            return (self._command(),)
        return (("MULTI",), *(self._command() for _ in range(self._random.randint(2, 5))), ("EXEC",))

    def _command(self) -> Words:
        return self._random.choices(self._makers, self._weights)[0]()

    def _one(self, *choices: object) -> str:
        return str(self._random.choice(choices))

    # Lists.

    def _element(self) -> str:
        return self._one(*range(9))

    def _push(self) -> Words:
        return (self._one("LPUSH", "RPUSH"), self._one(*self._lists), self._element(), self._element())

    def _lset(self) -> Words:
        return ("LSET", self._one(*self._lists), self._one(-1, 0, 1, 2, 5), self._element())

    def _linsert(self) -> Words:
        place = self._one("BEFORE", "AFTER")
        return ("LINSERT", self._one(*self._lists), place, self._element(), f"{self._element()}{self._element()}")

    def _lrem(self) -> Words:
        return ("LREM", self._one(*self._lists), self._one(-1, 0, 1, 2), self._element())

    def _ltrim(self) -> Words:
        return ("LTRIM", self._one(*self._lists), *self._random.choice((("0", "19"), ("-20", "-1"), ("1", "-2"))))

    def _lmove(self) -> Words:
        ends = (self._one("LEFT", "RIGHT"), self._one("LEFT", "RIGHT"))
        return ("LMOVE", self._one(*self._lists), self._one(*self._lists), *ends)

    # Streams.

    def _ids(self) -> Words:
        """Some of the last ones, of which some may be gone."""
        return tuple(f"{max(1, self._last - self._random.randrange(20))}-0" for _ in range(self._random.randint(1, 4)))

    def _xadd(self) -> Words:
        self._last += 1
        return ("XADD", self._stream, f"{self._last}-0", "number", str(self._last))

    def _xreadgroup(self) -> Words:
        who = ("GROUP", self._one(*_GROUPS), self._one(*_CONSUMERS), "COUNT", self._one(1, 3, 10))
        return ("XREADGROUP", *who, "STREAMS", self._stream, self._one(">", ">", ">", "0"))

    def _xack(self) -> Words:
        return ("XACK", self._stream, self._one(*_GROUPS), *self._ids())

    def _xclaim(self) -> Words:
        options = self._random.choice(((), (), ("JUSTID",), ("FORCE",), ("RETRYCOUNT", "5")))
        return ("XCLAIM", self._stream, self._one(*_GROUPS), self._one(*_CONSUMERS), "0", *self._ids(), *options)

    def _xautoclaim(self) -> Words:
        who = (self._stream, self._one(*_GROUPS), self._one(*_CONSUMERS))
        return ("XAUTOCLAIM", *who, "0", self._ids()[0], "COUNT", self._one(1, 3, 10))

    def _xnack(self) -> Words:
        ids = self._ids()
        mode = self._one("SILENT", "FAIL", "FATAL")
        return ("XNACK", self._stream, self._one(*_GROUPS), mode, "IDS", str(len(ids)), *ids)

    def _xdel(self) -> Words:
        return ("XDEL", self._stream, *self._ids())

    def _xtrim(self) -> Words:
        return ("XTRIM", self._stream, "MAXLEN", self._one(10, 30))
