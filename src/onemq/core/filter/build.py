"""What the parser calls for each piece of a filter that it has read: checks what may stand there, and makes the tree.

Its methods are named after the rules of the grammar and get the pieces of the rule, tokens included.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from onemq.core.filter.fields import field_of
from onemq.core.filter.like import like
from onemq.core.filter.tree import (
    And,
    Arithmetic,
    Compare,
    Condition,
    In,
    IsNull,
    Like,
    Literal,
    Name,
    Negative,
    Node,
    Not,
    Or,
    Value,
)
from onemq.core.filter.values import exact
from onemq.errors import InvalidArgument
from onemq.limits import FILTER_DEPTH_MAX

if TYPE_CHECKING:
    from lark import Token

_EXACT_DIGITS_MAX = 19


class Built(NamedTuple):
    """A finished part of the tree, how deep it is, and where it begins in the text."""

    node: Node
    depth: int
    at: int

    def condition(self) -> Condition:
        """As a condition, or `InvalidArgument`."""
        node = self.node
        if isinstance(node, Literal) and isinstance(node.value, bool):
            return node
        if isinstance(node, Literal | Negative | Arithmetic) or (isinstance(node, Name) and field_of(node).numeric):
            self.refuse("is a value and no condition: compare it with something")
        return node

    def value(self) -> Value:
        """As a value to compare or to calculate with, or `InvalidArgument`."""
        if not isinstance(self.node, Literal | Name | Negative | Arithmetic):
            self.refuse("is a condition and cannot be compared or calculated with")
        return self.node

    def number(self) -> Value:
        """As an operand of arithmetic, or `InvalidArgument`."""
        value = self.value()
        if isinstance(value, Literal) and not is_number(value):
            self.refuse("is no number: only numbers can be calculated with")
        return value

    def listed(self) -> Literal:
        """As an item of the list of IN, or `InvalidArgument`."""
        if not isinstance(self.node, Literal) or isinstance(self.node.value, bool):
            self.refuse("is neither text nor a number, which IN takes")
        return self.node

    def name(self, verb: str) -> Name:
        """As the name of a header or field, or `InvalidArgument`."""
        if not isinstance(self.node, Name):
            self.refuse(f"is no name: {verb} asks about a header or a field")
        return self.node

    def refuse(self, why: str) -> NoReturn:
        raise InvalidArgument(f"filter: what stands at character {self.at + 1} {why}")


def is_number(literal: Literal) -> bool:
    """Whether it is a number and neither text nor a truth value."""
    return isinstance(literal.value, int | float) and not isinstance(literal.value, bool)


class Build:
    """Makes the tree from the leaves up."""

    def choice(self, parts: list[Any]) -> Built:
        return _joined(Or, parts)

    def both(self, parts: list[Any]) -> Built:
        return _joined(And, parts)

    def negation(self, parts: "tuple[Token, Built]") -> Built:
        word, part = parts
        return _over(Not(part.condition()), part, at=word.start_pos)

    def parentheses(self, parts: list[Built]) -> Built:
        return _over(parts[0].node, parts[0])

    def comparison(self, parts: "tuple[Built, Token, Built]") -> Built:
        left, operator, right = parts
        return _over(_compared(left, str(operator), right), left, right)

    def between(self, parts: list[Any]) -> Built:
        value, low, high = (part for part in parts if isinstance(part, Built))
        return _over(And((_compared(value, ">=", low), _compared(value, "<=", high))), value, low, high)

    def not_between(self, parts: list[Any]) -> Built:
        return _inverted(self.between(parts))

    def is_in(self, parts: list[Any]) -> Built:
        value, *constants = (part for part in parts if isinstance(part, Built))
        return _over(In(value.name("IN"), tuple(constant.listed() for constant in constants)), value)

    def not_in(self, parts: list[Any]) -> Built:
        return _inverted(self.is_in(parts))

    def like(self, parts: list[Any]) -> Built:
        value = parts[0]
        pattern, *escapes = (_unquoted(part) for part in parts[1:] if part.type == "STRING")
        escape = escapes[0] if escapes else None
        if escape is not None and len(escape) != 1:
            value.refuse("has an ESCAPE of more or less than one character")
        name = value.name("LIKE")
        if field_of(name).numeric:
            value.refuse("is a number: LIKE compares text")
        like(pattern, escape)
        return _over(Like(name, pattern, escape), value)

    def not_like(self, parts: list[Any]) -> Built:
        return _inverted(self.like(parts))

    def is_null(self, parts: list[Any]) -> Built:
        return _over(IsNull(parts[0].name("IS NULL")), parts[0])

    def is_not_null(self, parts: list[Any]) -> Built:
        return _inverted(self.is_null(parts))

    def arithmetic(self, parts: "tuple[Built, Token, Built]") -> Built:
        left, operator, right = parts
        return _over(Arithmetic(str(operator), left.number(), right.number()), left, right)

    def sign(self, parts: "tuple[Token, Built]") -> Built:
        sign, part = parts
        value = part.number()
        return _over(Negative(value) if sign == "-" else Arithmetic("+", Literal(0), value), part, at=sign.start_pos)

    def name(self, parts: "list[Token]") -> Built:
        return _name(Name(str(parts[0])), parts[0])

    def quoted(self, parts: "list[Token]") -> Built:
        return _name(Name(parts[0][1:-1].replace('""', '"'), quoted=True), parts[0])

    def text(self, parts: "list[Token]") -> Built:
        return _leaf(Literal(_unquoted(parts[0]).encode("utf-8", "surrogatepass")), parts[0])

    def number(self, parts: "list[Token]") -> Built:
        digits = parts[0].rstrip("lL")
        if digits.isdigit() and len(digits) <= _EXACT_DIGITS_MAX:
            return _leaf(Literal(exact(int(digits))), parts[0])
        return _leaf(Literal(float(digits.rstrip("dDfF"))), parts[0])

    def truth(self, parts: "list[Token]") -> Built:
        return _leaf(Literal(parts[0].upper() == "TRUE"), parts[0])


def _unquoted(token: "Token") -> str:
    return token[1:-1].replace("''", "'")


def _leaf(node: Node, token: "Token") -> Built:
    return Built(node, 1, token.start_pos or 0)


def _name(name: Name, token: "Token") -> Built:
    field_of(name)
    return _leaf(name, token)


def _over(node: Node, *parts: Built, at: int | None = None) -> Built:
    """A node over others; refused if the tree becomes too deep."""
    built = Built(node, max(part.depth for part in parts) + 1, parts[0].at if at is None else at)
    if built.depth > FILTER_DEPTH_MAX:
        built.refuse(f"is nested more than {FILTER_DEPTH_MAX} deep")
    return built


def _joined(join: Callable[[tuple[Condition, ...]], Node], parts: list[Any]) -> Built:
    conditions = [part for part in parts if isinstance(part, Built)]
    return _over(join(tuple(part.condition() for part in conditions)), *conditions)


def _inverted(built: Built) -> Built:
    return built._replace(node=Not(built.condition()))


def _compared(left: Built, operator: str, right: Built) -> Compare:
    for side in (left, right):
        value = side.value()
        if operator not in ("=", "<>") and isinstance(value, Literal) and not is_number(value):
            side.refuse(f"is no number: {operator} compares numbers, text and truth values know = and <> only")
    return Compare(operator, left.value(), right.value())
