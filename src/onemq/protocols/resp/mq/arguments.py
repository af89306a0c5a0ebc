"""The words of MQ.* requests: options in any order, names, durations, times and places. Errors are for people."""

from datetime import UTC, datetime

from onemq.core.filter import Filter, compile_filter
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.numbers import parse_integer
from onemq.units import parse_bytes, parse_duration_ms

_TIME_MS_MAX = 1 << 50
_SHOWN_MAX = 60


class Words:
    """The words of a request from a place on, taken one after the other."""

    def __init__(self, request: list[bytes], at: int, command: str) -> None:
        self._request = request
        self._at = at
        self._command = command

    def __bool__(self) -> bool:
        return self._at < len(self._request)

    def option(self) -> str:
        """The next word, which names an option."""
        word = self._request[self._at].decode(errors="replace").upper()
        self._at += 1
        return word

    def value(self, option: str) -> bytes:
        """The word after an option."""
        if not self:
            raise self.problem(f"{option} needs a value after it")
        self._at += 1
        return self._request[self._at - 1]

    def peek(self) -> str:
        """The next word in capital letters, without taking it; empty at the end."""
        return self._request[self._at].decode(errors="replace").upper() if self else ""

    def rest(self) -> list[bytes]:
        """All words that are left."""
        words, self._at = self._request[self._at :], len(self._request)
        return words

    def text(self, option: str) -> str:
        return text_of(option, self.value(option))

    def integer(self, option: str, least: int = 0, most: int = 2**63 - 1) -> int:
        word = self.value(option)
        number = parse_integer(word)
        if number is None or not least <= number <= most:
            above = f"from {least} to {most}" if most < 2**63 - 1 else f"{least} or more"
            raise self.problem(f"{option} must be a whole number, {above}, not {shown(word)}")
        return number

    def duration_ms(self, option: str) -> int:
        try:
            return parse_duration_ms(self.value(option).decode(errors="replace"))
        except ValueError as problem:
            raise self.problem(f"{option}: {problem}") from None

    def duration_or_none(self, option: str) -> int | None:
        if self.peek() == "NONE":
            self.option()
            return None
        return self.duration_ms(option)

    def size(self, option: str) -> int:
        try:
            return parse_bytes(self.value(option).decode(errors="replace"))
        except ValueError as problem:
            raise self.problem(f"{option}: {problem}") from None

    def time_ms(self, option: str) -> int:
        """Milliseconds since 1970, or a date and time; UTC if it has no zone."""
        word = self.value(option)
        number = parse_integer(word)
        if number is not None and 0 <= number <= _TIME_MS_MAX:
            return number
        try:
            when = datetime.fromisoformat(word.decode(errors="replace"))
            when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
            return round(when.timestamp() * 1000)
        except (ValueError, OverflowError):
            raise self.problem(
                f"{option} must be a time: milliseconds since 1970, or as in 2026-11-16T08:00:00Z, not {shown(word)}"
            ) from None

    def choice(self, option: str, *choices: str) -> str:
        """One of some words, in capital letters."""
        word = self.value(option)
        chosen = word.decode(errors="replace").upper()
        if chosen not in choices:
            raise self.problem(f"{option} must be {' or '.join(choices)}, not {shown(word)}")
        return chosen

    def filter(self) -> Filter:
        """The filter after the word FILTER."""
        return compile_filter(self.text("FILTER"))

    def unknown(self, option: str) -> CommandError:
        """For an option that the command does not have."""
        return self.problem(f"there is no option {shown(option.encode())}; MQ.HELP {self._short} shows what there is")

    def problem(self, text: str) -> CommandError:
        """What is wrong with the request."""
        return CommandError(f"ERR {self._command}: {text}")

    @property
    def _short(self) -> str:
        return self._command.partition(".")[2].partition(" ")[0]


def text_of(what: str, word: bytes) -> str:
    """A name: text in UTF-8."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise CommandError(f"ERR {what} must be text in UTF-8") from None


def shown(word: bytes) -> str:
    """A word for an error text, cut if it is long."""
    text = word.decode(errors="replace")
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}...")
