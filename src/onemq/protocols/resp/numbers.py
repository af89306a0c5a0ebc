"""Numbers as requests carry them: text, read as strictly as Redis reads it."""

import re

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_INTEGER_MAX = 2**63 - 1


def parse_integer(text: bytes) -> int | None:
    """A signed 64-bit integer in its shortest form, or None."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INTEGER_MAX - 1 <= value <= _INTEGER_MAX else None
