"""Glob patterns over bytes, with the rules of `KEYS`, `SCAN` and `PSUBSCRIBE`.

    *        any bytes, also none          [abc]    one of these
    ?        one byte                      [^abc]   one byte, none of these
    \\x       the byte x itself             [a-c]    one of this range, whichever way round

A class without its closing bracket reaches to the end of the pattern; `[]` matches nothing.

Patterns become regular expressions that never back off over a `*` once the text after it was
found. For globs this loses no match, and a hostile pattern such as `*a*a*a*a*b` stays quick.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from onemq.errors import TooLarge

PATTERN_BYTES_MAX = 4096

_STAR = b"*"
_NOTHING = b"(?!)"


@lru_cache(maxsize=256)
def matcher(pattern: bytes) -> Callable[[bytes], object]:
    """A function whose result is true for the texts that match as a whole.

    Raises TooLarge for a pattern over PATTERN_BYTES_MAX.
    """
    if len(pattern) > PATTERN_BYTES_MAX:
        raise TooLarge(f"pattern is longer than {PATTERN_BYTES_MAX} bytes")
    return re.compile(_expression(pattern), re.DOTALL).fullmatch


def _expression(pattern: bytes) -> bytes:
    first, *rest = _parts_between_stars(pattern)
    if not rest:
        return first
    *middle, last = rest
    return first + b"".join(b"(?>.*?" + part + b")" for part in middle if part) + b".*" + last


def _parts_between_stars(pattern: bytes) -> list[bytes]:
    parts = [b""]
    position = 0
    while position < len(pattern):
        atom, position = _atom(pattern, position)
        if atom is _STAR:
            parts.append(b"")
        else:
            parts[-1] += atom
    return parts


def _atom(pattern: bytes, position: int) -> tuple[bytes, int]:
    """The expression for what stands at the position, and the position after it."""
    byte = pattern[position : position + 1]
    if byte == b"*":
        return _STAR, position + 1
    if byte == b"?":
        return b".", position + 1
    if byte == b"[":
        return _byte_class(pattern, position + 1)
    if byte == b"\\" and position + 1 < len(pattern):
        position += 1
    return _literal(pattern[position]), position + 1


def _byte_class(pattern: bytes, position: int) -> tuple[bytes, int]:
    negated = pattern[position : position + 1] == b"^"
    position += negated
    members: list[bytes] = []
    end = len(pattern)
    while position < end and pattern[position] != ord("]"):
        if pattern[position] == ord("\\") and position + 1 < end:
            members.append(_literal(pattern[position + 1]))
            position += 2
        elif pattern[position + 1 : position + 2] == b"-" and position + 2 < end:
            low, high = sorted((pattern[position], pattern[position + 2]))
            members.append(_literal(low) + b"-" + _literal(high))
            position += 3
        else:
            members.append(_literal(pattern[position]))
            position += 1
    if members:
        return b"[" + b"^" * negated + b"".join(members) + b"]", position + 1
    return (b"." if negated else _NOTHING), position + 1


def _literal(byte: int) -> bytes:
    return b"\\x%02x" % byte
