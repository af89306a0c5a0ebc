"""The forms that the value of a setting can have, checked and refused in Kafka's words."""

from dataclasses import dataclass
from typing import Protocol

from onemq.protocols.kafka.errors import ErrorCode, Refused

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
"""Kafka's numbers for them in DescribeConfigs."""
INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1
_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}


class Form(Protocol):
    """What a text must look like."""

    @property
    def type(self) -> int:
        """Kafka's number for it."""

    def check(self, name: str, text: str) -> str:
        """The text in its usual form. Raises `Refused`."""


def invalid(name: str, text: object, reason: str) -> Refused:
    """The refusal of a value."""
    return Refused(ErrorCode.INVALID_CONFIG, f"Invalid value {text} for configuration {name}: {reason}")


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number, within bounds."""

    type: int
    at_least: int | None = None
    at_most: int | None = None

    def check(self, name: str, text: str) -> str:
        most = INT_MAX if self.type == INT else LONG_MAX
        digits = text.strip()
        if not digits.lstrip("+-").isdecimal() or not digits.isascii() or len(digits) > 20:
            raise invalid(name, text, f"Not a number of type {_NAMES[self.type]}")
        value = int(digits)
        if not -most - 1 <= value <= most:
            raise invalid(name, text, f"Not a number of type {_NAMES[self.type]}")
        if self.at_least is not None and value < self.at_least:
            raise invalid(name, value, f"Value must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            raise invalid(name, value, f"Value must be no more than {self.at_most}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Share:
    """A number from 0 to 1."""

    type: int = DOUBLE

    def check(self, name: str, text: str) -> str:
        try:
            value = float(text)
        except ValueError:
            raise invalid(name, text, f"Not a number of type {_NAMES[self.type]}") from None
        if not value >= 0:
            raise invalid(name, value, "Value must be at least 0")
        if value > 1:
            raise invalid(name, value, "Value must be no more than 1")
        return str(value)


@dataclass(frozen=True, slots=True)
class Boolean:
    type: int = BOOLEAN

    def check(self, name: str, text: str) -> str:
        if text.strip().lower() not in ("true", "false"):
            raise invalid(name, text, "Expected value to be either true or false")
        return text.strip().lower()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]
    type: int = STRING

    def check(self, name: str, text: str) -> str:
        if text.strip() not in self.words:
            raise invalid(name, text, f"String must be one of: {', '.join(self.words)}")
        return text.strip()


@dataclass(frozen=True, slots=True)
class Words:
    """Some words with commas between, of a choice if there is one."""

    words: tuple[str, ...] = ()
    type: int = LIST

    def check(self, name: str, text: str) -> str:
        found = parts(text)
        for word in found:
            if self.words and word not in self.words:
                raise invalid(name, word, f"String must be one of: {', '.join(self.words)}")
        return ",".join(found)


@dataclass(frozen=True, slots=True)
class Text:
    type: int = STRING

    def check(self, name: str, text: str) -> str:
        return text


def parts(text: str) -> list[str]:
    """The words of a list."""
    return [word for each in text.split(",") if (word := each.strip())]
