"""Arguments of commands: read from words, or refused in Redis's words."""

from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.numbers import parse_float, parse_integer

INTEGER_MAX = 2**63 - 1
SMALL_INTEGER_MAX = 2**31 - 1
_NOT_POSITIVE = "value is out of range, must be positive"


def integer(word: bytes, problem: str = "value is not an integer or out of range") -> int:
    """A signed integer of 64 bits; `problem` is what is wrong with any other word."""
    value = parse_integer(word)
    if value is None:
        raise CommandError(f"ERR {problem}")
    return value


def small_integer(word: bytes) -> int:
    """A signed integer of 32 bits."""
    value = integer(word)
    if not -SMALL_INTEGER_MAX - 1 <= value <= SMALL_INTEGER_MAX:
        raise CommandError(
            f"ERR value is out of range, value must between {-SMALL_INTEGER_MAX - 1} and {SMALL_INTEGER_MAX}"
        )
    return value


def at_least(least: int, word: bytes, problem: str = _NOT_POSITIVE) -> int:
    """An integer that is not below the least; `problem` is what is wrong with any other word."""
    value = parse_integer(word)
    if value is None or value < least:
        raise CommandError(f"ERR {problem}")
    return value


def signed_count(word: bytes) -> int:
    """A count whose sign has a meaning."""
    value = integer(word)
    if value < -INTEGER_MAX:
        raise CommandError(f"ERR value is out of range, value must between {-INTEGER_MAX} and {INTEGER_MAX}")
    return value


def double(word: bytes, problem: str = "value is not a valid float") -> float:
    value = parse_float(word)
    if value is None:
        raise CommandError(f"ERR {problem}")
    return value


def is_left(word: bytes) -> bool:
    """LEFT or RIGHT."""
    where = word.upper()
    if where != b"LEFT" and where != b"RIGHT":
        raise syntax_error()
    return where == b"LEFT"


def counted_keys(request: list[bytes], at: int) -> tuple[list[bytes], list[bytes]]:
    """The keys after their number, which stands at the index, and the words after them; at least one of these."""
    count = at_least(1, request[at], "numkeys should be greater than 0")
    if at + 1 + count >= len(request):
        raise syntax_error()
    return request[at + 1 : at + 1 + count], request[at + 1 + count :]
