"""What compiled filters call: numbers and truth values out of text, and arithmetic with NULL.

Exact numbers have 64 bits, and what does not fit becomes approximate; so no filter can make numbers grow.
NULL is None here.
"""

import re

Number = int | float

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]{1,4})?")
_NUMBER_BYTES_MAX = 64
_EXACT_MAX = 2**63 - 1
_PLAIN_DIGITS_MAX = 18


def number(text: bytes) -> Number | None:
    """The number that the text reads as, if it does."""
    if len(text) <= _PLAIN_DIGITS_MAX and text.isdigit():
        return int(text)
    if len(text) > _NUMBER_BYTES_MAX:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    return float(text) if any(found.groups()) else exact(int(text))


def number_or_null(text: bytes | None) -> Number | None:
    """The same for a header that may be missing."""
    return None if text is None else number(text)


def exact(value: Number) -> Number:
    """The number itself, or approximated if it has more than 64 bits."""
    return value if -_EXACT_MAX - 1 <= value <= _EXACT_MAX else float(value)


def boolean(text: bytes) -> bool | None:
    """TRUE or FALSE, whichever the text reads as, if it does."""
    lowered = text.lower()
    return True if lowered == b"true" else False if lowered == b"false" else None


def same(left: bytes, right: bytes) -> bool:
    """Whether two headers are equal: as numbers if both read as such, else as text."""
    if left == right:
        return True
    value = number(left)
    return value is not None and value == number(right)


def plus(left: Number | None, right: Number | None) -> Number | None:
    return None if left is None or right is None else exact(left + right)


def minus(left: Number | None, right: Number | None) -> Number | None:
    return None if left is None or right is None else exact(left - right)


def times(left: Number | None, right: Number | None) -> Number | None:
    return None if left is None or right is None else exact(left * right)


def divided(left: Number | None, right: Number | None) -> Number | None:
    """Exact numbers are divided as Java does it, without the remainder. By zero there is no result."""
    if left is None or right is None or right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    whole = abs(left) // abs(right)
    return exact(whole if (left < 0) == (right < 0) else -whole)


def negative(value: Number | None) -> Number | None:
    return None if value is None else exact(-value)
