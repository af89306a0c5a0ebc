"""From a tree to Python source, with every text, number and pattern of the filter bound as a constant.

The source consists of our own words and numbered names only: `f` for fields, `c` for constants, `t` for values in
between. Three-valued logic needs no third value in it, because each condition can be written in two ways: as an
expression that is true when the condition is TRUE, and as one that is true when it is FALSE. Neither holds when it
is UNKNOWN, NOT changes from one to the other, and FALSE of an AND is an OR over the FALSE of its parts.
"""

from typing import Any

from onemq.core.filter import values
from onemq.core.filter.build import is_number
from onemq.core.filter.fields import Field, field_of
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
    Not,
    Or,
    Value,
)
from onemq.message import message_id

_ARITHMETIC = {"+": "plus", "-": "minus", "*": "times", "/": "divided"}
_CALLED = ("number", "number_or_null", "boolean", "same", "plus", "minus", "times", "divided", "negative")
_COMPARE = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SCANNED_MAX = 6
"""For so many headers a walk over all is quicker than a dictionary of them."""


class Source:
    """The code of one filter."""

    def __init__(self, condition: Condition) -> None:
        self.names: dict[str, Any] = {name: getattr(values, name) for name in _CALLED}
        self.names["first_headers"], self.names["place_id"] = _first_headers, _place_id
        self._fields: dict[Field, str] = {}
        self._temporary = 0
        self._expression = self._when(condition, True)

    @property
    def uses_id(self) -> bool:
        """Whether it must know where a message lies."""
        return any(field.is_id for field in self._fields)

    def text(self) -> str:
        """Defines `make(topic_id, partition)`, which gives `matches(record)` and `select(records)`."""
        fetch = self._fetch()
        lines = ["def make(topic_id, partition):", " def matches(record):"]
        lines += [f"  {line}" for line in fetch]
        lines += [f"  return {self._expression}"]
        lines += [" def select(records):", "  found = []", "  for record in records:"]
        lines += [f"   {line}" for line in fetch]
        lines += [f"   if {self._expression}: found.append(record)", "  return found", " return matches, select"]
        return "\n".join(lines)

    # Fields

    def _fetch(self) -> list[str]:
        """Lines that take the fields from `record`."""
        by_header: dict[bytes, list[str]] = {}
        lines = []
        for field, name in self._fields.items():
            if field.header is not None:
                by_header.setdefault(field.header, []).append(name)
            else:
                lines.append(f"{name} = record[{field.record}]")
        if by_header:
            lines += self._scan(by_header)
        for field, name in self._fields.items():
            lines += self._completed(field, name)
        return lines

    def _scan(self, by_header: dict[bytes, list[str]]) -> list[str]:
        wanted = [(self._constant(header), " = ".join(names), names[0]) for header, names in by_header.items()]
        if len(wanted) > _SCANNED_MAX:
            return ["headers = first_headers(record[4])"] + [f"{all} = headers.get({c})" for c, all, _ in wanted]
        lines = [" = ".join(all for _, all, _ in wanted) + " = None", "for name, value in record[4]:"]
        for number, (constant, all, first) in enumerate(wanted):
            lines.append(f" {'elif' if number else 'if'} name == {constant}:")
            lines.append(f"  if {first} is None: {all} = value")
        return lines

    def _completed(self, field: Field, name: str) -> list[str]:
        if field.is_id:
            return [f"if {name} is None and topic_id is not None: {name} = place_id(topic_id, partition, record[0])"]
        if field.default is not None:
            return [f"{name} = {field.default} if {name} is None else number({name})"]
        if field.header is not None and field.record is not None:
            return [f"{name} = record[{field.record}] if {name} is None else number({name})"]
        return []

    def _field(self, name: Name) -> tuple[str, bool]:
        """The variable of a field, and whether it is a number always."""
        field = field_of(name)
        return self._fields.setdefault(field, f"f{len(self._fields)}"), field.numeric

    def _constant(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def _new(self) -> str:
        self._temporary += 1
        return f"t{self._temporary}"

    # Conditions

    def _when(self, condition: Condition, truth: bool) -> str:
        """An expression that is true when the condition is TRUE, or when it is FALSE."""
        match condition:
            case Not(part):
                return self._when(part, not truth)
            case And(parts):
                return _joined(" and " if truth else " or ", [self._when(part, truth) for part in parts])
            case Or(parts):
                return _joined(" or " if truth else " and ", [self._when(part, truth) for part in parts])
            case Literal(value):
                return str(value is truth)
            case Name():
                variable, _ = self._field(condition)
                return _guarded([f"{variable} is not None"], [f"boolean({variable}) is True"], truth)
            case IsNull(name):
                variable, _ = self._field(name)
                return f"({variable} is {'' if truth else 'not '}None)"
            case In():
                return self._is_in(condition, truth)
            case Like(name, pattern, escape):
                variable, _ = self._field(name)
                matching = f"{self._constant(like(pattern, escape))}({variable})"
                return _guarded([f"{variable} is not None"], [matching], truth)
            case Compare():
                return self._comparison(condition, truth)

    def _is_in(self, condition: In, truth: bool) -> str:
        variable, numeric = self._field(condition.name)
        numbers = frozenset(each.value for each in condition.values if is_number(each))
        texts = frozenset(each.value for each in condition.values if not is_number(each))
        tests = []
        if not numeric:
            tests.append(f"{variable} in {self._constant(texts)}")
        if numbers:
            found = variable if numeric else f"number({variable})"
            tests.append(f"{found} in {self._constant(numbers)}")
        return _guarded([f"{variable} is not None"], [_joined(" or ", tests) if tests else "False"], truth)

    def _comparison(self, condition: Compare, truth: bool) -> str:
        left, right = condition.left, condition.right
        kinds = {self._kind(left), self._kind(right)}
        operator = _COMPARE[condition.operator]
        if kinds == {"name"} and operator in ("==", "!="):
            return self._names_alike(left, right, operator, truth)
        if kinds <= {"number", "name"}:
            return self._typed(left, right, operator, truth, "number")
        if kinds <= {"boolean", "name"}:
            return self._typed(left, right, operator, truth, "boolean")
        present: list[str] = []
        sides = [self._present(side, present) for side in (left, right)]
        unlike = len(kinds - {"name"}) > 1
        return _guarded(present, ["False" if unlike else f"{sides[0]} {operator} {sides[1]}"], truth)

    def _names_alike(self, left: Value, right: Value, operator: str, truth: bool) -> str:
        present: list[str] = []
        sides = ", ".join(self._present(side, present) for side in (left, right))
        return _guarded(present, [f"{'' if operator == '==' else 'not '}same({sides})"], truth)

    def _typed(self, left: Value, right: Value, operator: str, truth: bool, kind: str) -> str:
        """Both as numbers or as truth values; a header that reads as none is of another type: the result is FALSE."""
        present: list[str] = []
        alike: list[str] = []
        sides = []
        for side in (left, right):
            found = self._present(side, present)
            if self._kind(side) == "name":
                temporary = self._new()
                alike.append(f"({temporary} := {kind}({found})) is not None")
                found = temporary
            sides.append(found)
        return _guarded(present, [*alike, f"{sides[0]} {operator} {sides[1]}"], truth)

    def _present(self, value: Value, present: list[str]) -> str:
        """An expression for a value, with what must hold for it to be not NULL."""
        found = self._value(value)
        if isinstance(value, Literal):
            return found
        if not isinstance(value, Name):
            temporary = self._new()
            present.append(f"({temporary} := {found}) is not None")
            return temporary
        present.append(f"{found} is not None")
        return found

    # Values

    def _kind(self, value: Value) -> str:
        match value:
            case Literal(bool()):
                return "boolean"
            case Literal(bytes()):
                return "text"
            case Name() if not field_of(value).numeric:
                return "name"
        return "number"

    def _value(self, value: Value) -> str:
        match value:
            case Literal(constant):
                return self._constant(constant)
            case Name():
                return self._field(value)[0]
            case Negative(operand):
                return f"negative({self._number(operand)})"
            case Arithmetic(operator, left, right):
                return f"{_ARITHMETIC[operator]}({self._number(left)}, {self._number(right)})"

    def _number(self, value: Value) -> str:
        found = self._value(value)
        return f"number_or_null({found})" if self._kind(value) == "name" else found


def _joined(operator: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({operator.join(parts)})"


def _guarded(present: list[str], tests: list[str], truth: bool) -> str:
    """TRUE: nothing is NULL and all tests hold. FALSE: nothing is NULL, and not all tests hold."""
    if truth:
        return _joined(" and ", [*present, *tests])
    return _joined(" and ", [*present, f"not ({' and '.join(tests)})"])


def _first_headers(headers: tuple[tuple[bytes, bytes | None], ...]) -> dict[bytes, bytes | None]:
    return dict(headers[::-1])


def _place_id(topic_id: int, partition: int, offset: int) -> bytes:
    return message_id(topic_id, partition, offset).encode()
