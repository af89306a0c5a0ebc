"""Regular expressions for the names of topics, which clients give and the broker matches (KIP-848).

Python's engine goes back and tries again, so an expression that repeats what repeats already may take for ever. Those
are refused, and so are long ones.
"""

import re

from onemq.limits import KAFKA_REGEX_CHARACTERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused

_REPEATS_MAX = 3
_REPEAT = re.compile(r"(?<!\\)(?:\\\\)*(?:[*+?]|\{\d*,?\d*\})")
_REPEATED_GROUP = re.compile(r"\)\s*(?:[*+]|\{)")
_BACK = re.compile(r"\\[1-9]|\(\?[P=!<]")


def compile_regex(expression: str) -> re.Pattern[str]:
    """Raises INVALID_REGULAR_EXPRESSION."""
    unbounded = [found for found in _REPEAT.findall(expression) if not found.endswith("?")]
    too_hard = len(unbounded) > _REPEATS_MAX or _REPEATED_GROUP.search(expression) or _BACK.search(expression)
    if too_hard or len(expression) > KAFKA_REGEX_CHARACTERS_MAX:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{expression[:100]!r} is too complicated: it may have {KAFKA_REGEX_CHARACTERS_MAX} characters,"
            f" {_REPEATS_MAX} repetitions and no repeated groups",
        )
    try:
        return re.compile(expression)
    except re.error as problem:
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{expression[:100]!r}: {problem}") from None
