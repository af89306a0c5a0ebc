"""How a command is used, read from one line of text into the arguments that COMMAND DOCS tells.

    key  value  member         arguments; `key` is a key, `pattern` a pattern, the others are strings
    count:integer              an argument of another type
    [ ... ]                    may be left out
    member ...                 may be repeated
    NX  change=CH              a word that stands for itself; the second one under another name
    COUNT count:integer        an argument after its word
    where=(LEFT | RIGHT)       one of these
    pair={score:double member} these together
"""

import re
from collections.abc import Callable

from onemq.protocols.resp.command import Argument

_TOKEN = re.compile(r"\.\.\.|[][(){}|]|[^][(){}|\s]+")
_TYPES = {"key": "key", "pattern": "pattern"}


def arguments(usage: str) -> tuple[Argument, ...]:
    """The arguments that the line describes."""
    return _Reader(_TOKEN.findall(usage)).sequence()


class _Reader:
    """Reads from the front of a list of tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [*tokens, ""]

    def sequence(self, end: str = "") -> tuple[Argument, ...]:
        found = []
        while not self._skip(end):
            found.append(self._item())
        return tuple(found)

    def _alternatives(self) -> tuple[Argument, ...]:
        found = [self._item()]
        while self._skip("|"):
            found.append(self._item())
        assert self._skip(")")
        return tuple(found)

    def _item(self) -> Argument:
        if self._skip("["):
            return self._flagged(self._unit(), "optional", "]")
        return self._flagged(self._unit())

    def _flagged(self, make: Callable[[tuple[str, ...]], Argument], flag: str = "", end: str = "") -> Argument:
        flags: tuple[str, ...] = (flag,) if flag else ()
        if self._skip("..."):
            flags += ("multiple",)
        if end:
            assert self._skip(end)
        return make(flags)

    def _unit(self) -> Callable[[tuple[str, ...]], Argument]:
        word = self._next()
        token = ""
        if word.isupper() and self._tokens[0][:1].islower():
            token, word = word, self._next()
        name, _, rest = word.partition("=")
        if rest or word.isupper():
            return lambda flags: Argument(name.lower(), "pure-token", rest or word, flags)
        if word.endswith("="):
            kind, inner = self._inner()
            return lambda flags: Argument(name, kind, token, flags, inner)
        name, _, kind = word.partition(":")
        kind = kind or _TYPES.get(name, "string")
        return lambda flags: Argument(name, kind, token, flags)

    def _inner(self) -> tuple[str, tuple[Argument, ...]]:
        if self._skip("("):
            return "oneof", self._alternatives()
        assert self._skip("{")
        return "block", self.sequence("}")

    def _next(self) -> str:
        return self._tokens.pop(0)

    def _skip(self, token: str) -> bool:
        """Goes past the token if it stands there."""
        found = self._tokens[0] == token
        if found:
            del self._tokens[0]
        return found
