"""Regular expressions that clients give and the broker matches: names of topics (KIP-848) and of transactions.

Python's own engine goes back and tries again, so that an expression of some dozen characters may take for ever, and
everybody with it. This is RE2, as Kafka has it: the time depends on the length alone, whatever the expression. What
that cannot be done for, references back and looking around, is not in its language.
"""

from typing import Protocol

import re2

from onemq.limits import KAFKA_REGEX_CHARACTERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused

_MEMORY_BYTES_MAX = 1 << 20
"""Of one that is compiled: a thousand characters may ask for millions of repetitions."""


class Expression(Protocol):
    """One that was compiled."""

    def fullmatch(self, text: str) -> object | None:
        """None unless it matches all of the text."""


def compile_expression(text: str) -> Expression:
    """Raises INVALID_REGULAR_EXPRESSION."""
    if len(text) > KAFKA_REGEX_CHARACTERS_MAX:
        reason = f"it has more than {KAFKA_REGEX_CHARACTERS_MAX} characters"
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{text[:100]!r}: {reason}")
    options = re2.Options()
    options.max_mem = _MEMORY_BYTES_MAX
    options.log_errors = False
    try:
        compiled: Expression = re2.compile(text, options)
    except re2.error as problem:
        reason = problem.args[0]
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{text[:100]!r}: {reason}") from None
    return compiled
