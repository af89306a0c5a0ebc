"""Numbers as requests carry them: text, read as strictly as Redis reads it."""

import re
from math import inf

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_INTEGER_MAX = 2**63 - 1
_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_ZERO = re.compile(rb"[+-]?(0x)?[0.]+([ep].*)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]+)?", re.IGNORECASE)
_INFINITY = re.compile(rb"[+-]?inf(inity)?", re.IGNORECASE)


def parse_integer(text: bytes) -> int | None:
    """A signed 64-bit integer in its shortest form, or None."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INTEGER_MAX - 1 <= value <= _INTEGER_MAX else None


def parse_float(text: bytes) -> float | None:
    """A double, or None. Not-a-number is none, nor is what is too large or too small for one."""
    value = parse_bound(text)
    if value is None or not text or text[:1].isspace():
        return None
    if abs(value) == inf and not _INFINITY.fullmatch(text):
        return None
    if value == 0 and not _ZERO.fullmatch(text):
        return None
    return value


def parse_bound(text: bytes) -> float | None:
    """A double as C reads it, or None: with blanks before it, 0 for nothing at all, and infinite if it is too large."""
    if not text:
        return 0.0
    digits = text.lstrip(b" \t\n\v\f\r")
    if _DECIMAL.fullmatch(digits) or _INFINITY.fullmatch(digits):
        return float(digits)
    if not _HEXADECIMAL.fullmatch(digits):
        return None
    try:
        return float.fromhex(digits.decode())
    except OverflowError:
        return -inf if digits.startswith(b"-") else inf
