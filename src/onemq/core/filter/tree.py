"""A filter as a tree: conditions over values.

NOT IN, NOT LIKE and so on are a `Not` around the plain condition, BETWEEN is two comparisons, and chains of AND or of
OR are one node: so only parentheses, signs and arithmetic make a tree deep.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """Text (in UTF-8), a number, or TRUE or FALSE, which is a condition as well."""

    value: bytes | int | float | bool


@dataclass(frozen=True, slots=True)
class Name:
    """A header or a field of the message. A quoted name is always a header."""

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Negative:
    operand: "Value"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str
    left: "Value"
    right: "Value"


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: "Value"
    right: "Value"


@dataclass(frozen=True, slots=True)
class In:
    name: Name
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like:
    name: Name
    pattern: str
    escape: str | None


@dataclass(frozen=True, slots=True)
class IsNull:
    name: Name


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Condition", ...]


Value = Literal | Name | Negative | Arithmetic
Condition = Literal | Name | Compare | In | Like | IsNull | Not | And | Or
Node = Value | Condition
