"""LIKE patterns: `_` is one character, `%` any number of them.

As in the keyspace's globs, the expression never backs off over a `%` once the text after it was found: that loses
no match, and `%a%a%a%a%b` stays quick on any text.
"""

import re
from collections.abc import Callable

from onemq.errors import InvalidArgument


def like(pattern: str, escape: str | None) -> Callable[[bytes], bool]:
    """Whether a header matches as a whole. Raises `InvalidArgument` for a pattern that makes no sense."""
    parts = _parts(pattern, escape)
    if len(parts) == 1 and None not in parts[0]:
        return _text(parts[0]).__eq__
    if len(parts) == 2 and None not in parts[0] + parts[1]:
        return _starts_and_ends(_text(parts[0]), _text(parts[1]))
    fullmatch = re.compile(_expression(parts), re.DOTALL).fullmatch
    return lambda value: fullmatch(value.decode("utf-8", "replace")) is not None


Part = list[str | None]
"""What stands between two `%`: characters, and None for `_`."""


def _parts(pattern: str, escape: str | None) -> list[Part]:
    parts: list[Part] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following not in ("%", "_", escape):
                raise InvalidArgument(f"filter: the ESCAPE character {escape} must stand before %, _ or itself")
            parts[-1].append(following)
        elif character == "%":
            parts.append([])
        else:
            parts[-1].append(None if character == "_" else character)
    return parts


def _text(part: Part) -> bytes:
    return "".join(character or "" for character in part).encode("utf-8", "surrogatepass")


def _starts_and_ends(start: bytes, end: bytes) -> Callable[[bytes], bool]:
    shortest = len(start) + len(end)
    return lambda value: len(value) >= shortest and value.startswith(start) and value.endswith(end)


def _expression(parts: list[Part]) -> str:
    first, *middle = ("".join("." if each is None else re.escape(each) for each in part) for part in parts)
    if not middle:
        return first
    *between, last = middle
    return first + "".join(f"(?>.*?{part})" for part in between if part) + ".*" + last
