"""Random sequences of stream commands, the same for both servers, and the shortest of those that differ.

A sequence is a list of steps; a step is one command, or several as one transaction. Ids are explicit and idle
times are set by XCLAIM's options, so that no reply depends on the clock.
"""

import random
from collections.abc import Callable
from typing import Any

from tests.interop.pair import Pair, reply
from tests.interop.streams import Form, form_of, known, texts

Words = tuple[str, ...]
Step = tuple[Words, ...]

_KEYS = ("s",) * 6 + ("t",) * 3 + ("u",)
_GROUPS = ("g", "g", "h")
_CONSUMERS = ("alice", "bob", "carol")
_ESTIMATES = (b"entries-read", b"lag")
_TRANSACTIONS = 0.05
_TRIES_MAX = 400
"""How often a shorter sequence is tried."""


class Commands:
    """Random commands. Plain ones never delete entries or move groups past them, so that lags are known."""

    def __init__(self, seed: int, plain: bool = False) -> None:
        self._random = random.Random(seed)
        self._plain = plain
        self._last = 0
        self._added: dict[str, list[str]] = {key: ["0-0"] for key in _KEYS}
        names = [
            (25, self._xadd), (4, self._xrange), (2, self._xrevrange), (3, self._xread), (20, self._xreadgroup),
            (5, self._history), (8, self._xack), (8, self._xclaim), (5, self._xautoclaim), (5, self._xpending),
            (4, self._xgroup), (6, self._xinfo), (1, self._key),
        ]  # fmt: skip
        if not plain:
            names += [(6, self._xdel), (3, self._xtrim), (2, self._xsetid), (1, self._del), (2, self._broken)]
        self._weights = [weight for weight, _ in names]
        self._makers: list[Callable[[], Words]] = [maker for _, maker in names]

    def steps(self, count: int) -> list[Step]:
        """A sequence of about so many commands."""
        steps: list[Step] = [
            (("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"),),
            (("XGROUP", "CREATE", "s", "h", "$"),),
            (("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM"),),
            (("XGROUP", "CREATE", "t", "h", "0"),),
        ]
        left = count - len(steps)
        while left > 0:
            together = self._random.randint(2, 5) if self._random.random() < _TRANSACTIONS else 1
            steps.append(tuple(self._command() for _ in range(together)))
            left -= together
        return steps

    def _command(self) -> Words:
        return self._random.choices(self._makers, self._weights)[0]()

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
        if self._random.random() < 0.92:
            self._last += self._random.randint(1, 3)
            entry = f"{self._last // 4}-{self._last % 4}"
            self._added[key].append(entry)
        else:
            entry = self._one(self._id(key), f"{self._last // 4}-*", "0-0", "x")
        nomkstream = ("NOMKSTREAM",) if self._random.random() < 0.1 else ()
        fields = [word for number in range(self._random.randint(1, 3)) for word in (f"f{number}", self._one(*range(9)))]
        return ("XADD", key, *nomkstream, *trimming, entry, *fields)

    def _threshold(self, key: str) -> Words:
        sign = self._some("=")
        if self._random.random() < 0.5:
            return ("MAXLEN", *sign, self._one(0, 1, 3, 5, 8, 20))
        return ("MINID", *sign, self._id(key))

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
            self._some("IDLE", "1000000")
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


def difference(pair: Pair, steps: list[Step], plain: bool) -> str | None:
    """Executes a sequence on both servers, which are emptied first; returns what differs first."""
    for client in (pair.ours, pair.theirs):
        reply(client, "FLUSHALL")
    for number, step in enumerate(steps):
        answers, expected = _run(pair.ours, step), _run(pair.theirs, step)
        for words, mine, theirs in zip(step, answers, expected, strict=True):
            form = _form(words, plain)
            if known(form(mine), form(theirs)) != form(theirs):
                return f"step {number}, {' '.join(words)}:\n  OneMQ {mine!r}\n  Redis {theirs!r}"
    return None


def shortest(pair: Pair, steps: list[Step], plain: bool) -> list[Step]:
    """A simpler sequence that differs, too: with fewer steps, without transactions, with fewer words."""

    def differs(tried: list[Step]) -> bool:
        return difference(pair, tried, plain) is not None

    steps = _without_parts(steps, differs)
    flat: list[Step] = [(words,) for step in steps for words in step]
    if differs(flat):
        steps = _without_parts(flat, differs)
    for number, step in enumerate(steps):
        if len(step) == 1:
            before, behind = steps[:number], steps[number + 1 :]
            words = _without_parts(
                list(step[0]), lambda tried: bool(tried) and differs([*before, (tuple(tried),), *behind])
            )
            steps = [*before, (tuple(words),), *behind]
    return steps


def _without_parts(parts: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Leaves out what it can, first large parts, then single ones."""
    size, tries = max(1, len(parts) // 2), _TRIES_MAX
    while size and tries:
        start = 0
        while start < len(parts) and tries:
            tries -= 1
            shorter = parts[:start] + parts[start + size :]
            if fails(shorter):
                parts = shorter
            else:
                start += size
        size //= 2
    return parts


def check(pair: Pair, seed: int, count: int, plain: bool) -> None:
    """Fails with the shortest sequence if one of so many random commands is answered differently."""
    steps = Commands(seed, plain).steps(count)
    if difference(pair, steps, plain):
        steps = shortest(pair, steps, plain)
        lines = "\n".join("; ".join(" ".join(words) for words in step) for step in steps)
        raise AssertionError(f"seed {seed}: after\n{lines}\ndiffers {difference(pair, steps, plain)}")


def _run(client: Any, step: Step) -> list[Any]:
    if len(step) == 1:
        return [reply(client, *step[0])]
    reply(client, "MULTI")
    queued = [reply(client, *words) for words in step]
    answers = reply(client, "EXEC")
    return texts(answers) if isinstance(answers, list) else queued


def _form(words: Words, plain: bool) -> Form:
    form = form_of(*words)
    return form if plain else lambda answer: _without_estimates(form(answer))


def _without_estimates(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_estimates(item) for item in answer]
    if isinstance(answer, tuple) and len(answer) == 2:
        return (answer[0], "varies" if answer[0] in _ESTIMATES else _without_estimates(answer[1]))
    return answer
