"""Integers kept as text, as INCR and HINCRBY read and write them: signed, 64 bits."""

from onemq.errors import InvalidArgument

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1
_TEXT_BYTES_MAX = len(str(INTEGER_MIN))
_SHORT_BYTES = len(str(INTEGER_MAX))
"""Shorter digits are surely a number of 64 bits."""
_ZERO = ord("0")


def parse(text: bytes) -> int | None:
    """The number, or None unless the text is exactly how we would write it (no blanks, +, leading zeros)."""
    if text.isdigit() and len(text) < _SHORT_BYTES and (text[0] != _ZERO or text == b"0"):
        return int(text)
    if len(text) > _TEXT_BYTES_MAX:
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    if b"%d" % number != text or not INTEGER_MIN <= number <= INTEGER_MAX:
        return None
    return number


def plus(number: int, by: int) -> int:
    """The sum; raises InvalidArgument when it does not fit."""
    total = number + by
    if not INTEGER_MIN <= total <= INTEGER_MAX:
        raise InvalidArgument("increment or decrement would overflow")
    return total
