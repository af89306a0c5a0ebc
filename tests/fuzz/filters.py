"""Filters: random conditions over random messages mean what a slow and obvious evaluator says, and texts that are
none are refused in words, whatever they are."""

from dataclasses import dataclass
from random import Random

from onemq.core.filter import compile_filter
from onemq.errors import InvalidArgument
from onemq.message import Headers, Record

Truth = bool | None
Number = int | float

NAMES = ("a", "b", "c", "d", "tag", "priority", "stored", "JMSTimestamp", "quoted name")
_HEADERS = {"tag": b"_tag", "priority": b"_pri", "JMSTimestamp": b"_born"}
_TEXTS = ("", "x", "xy", "yx", "%", "_", "true", "FALSE", "1", "2.5", "-3", "1e2", "1e", "it's", "ä", "01", "1.0")
_PIECES = (
    "(", ")", "'", '"', "''", "AND", "or", "NOT", "IN", "LIKE", "ESCAPE", "BETWEEN", "IS", "NULL", "TRUE", "=", "<>",
    "<", ">=", "+", "-", "*", "/", "||", ",", "a", "'x'", '"q"', "1", "1.5e3", "5x", "\\", "\n", "%", ";", "#", "\x00",
    "ä", "{}",
)  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A condition or a value: its operator, and its operands or its constant."""

    kind: str
    parts: tuple["Node", ...] = ()
    constant: object = None


def run(seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        tree = _condition(random, 4)
        text = write(tree)
        try:
            compiled = compile_filter(text)
        except InvalidArgument as refused:
            raise AssertionError(f"{text} is a filter, but: {refused.text}") from None
        for _ in range(5):
            record = _record(random)
            expected = evaluate(tree, record) is True
            assert bool(compiled.matches(record)) is expected, f"{text} should be {expected} for {record}"
            assert compiled.select([record]) == [record] * expected
    _nonsense(random)


def _nonsense(random: Random) -> None:
    text = " ".join(random.choice(_PIECES) for _ in range(random.randint(1, 12)))
    if random.random() < 0.5:
        whole = write(_condition(random, 3))
        at = random.randint(0, len(whole))
        text = whole[:at] + random.choice(_PIECES) + whole[at + random.randint(0, 2) :]
    try:
        compile_filter(text).matches(_record(random))
    except InvalidArgument as refused:
        assert "filter" in refused.text, refused.text


# Making conditions


def _condition(random: Random, depth: int) -> Node:
    kinds = ("compare", "compare", "between", "in", "like", "null", "bool", "truth")
    if depth > 0 and random.random() < 0.6:
        kinds = ("and", "or", "not")
    kind = random.choice(kinds)
    match kind:
        case "and" | "or":
            return Node(kind, tuple(_condition(random, depth - 1) for _ in range(random.randint(2, 3))))
        case "not":
            return Node(kind, (_condition(random, depth - 1),))
        case "compare":
            operator = random.choice(("=", "<>", "<", "<=", ">", ">="))
            make = _value if operator in ("=", "<>") else _number
            return Node(kind, (make(random, 2), make(random, 2)), operator)
        case "between":
            return Node(kind, (_number(random, 1), _number(random, 1), _number(random, 1)))
        case "in":
            texts = [Node("text", (), random.choice(_TEXTS)) for _ in range(random.randint(1, 3))]
            return Node(kind, (_name(random), *texts, *(_literal(random) for _ in range(random.randint(0, 2)))))
        case "like":
            pattern = "".join(random.choice("xy%_1") for _ in range(random.randint(0, 4)))
            return Node(kind, (_text_name(random),), pattern)
        case "null":
            return Node(kind, (_name(random),))
        case "bool":
            return Node(kind, (_text_name(random),))
    return Node("truth", (), random.random() < 0.5)


def _value(random: Random, depth: int) -> Node:
    choice = random.random()
    if choice < 0.3:
        return Node("text", (), random.choice(_TEXTS))
    if choice < 0.4:
        return Node("truth", (), random.random() < 0.5)
    return _number(random, depth)


def _number(random: Random, depth: int) -> Node:
    choice = random.random()
    if depth > 0 and choice < 0.2:
        return Node(random.choice("+-*/"), (_number(random, depth - 1), _number(random, depth - 1)))
    if depth > 0 and choice < 0.3:
        return Node("negative", (_number(random, depth - 1),))
    return _literal(random) if choice < 0.6 else _name(random)


def _literal(random: Random) -> Node:
    return Node("number", (), random.choice((0, 1, 2, 4, 100, 2.5, 1.0)))


def _name(random: Random) -> Node:
    return Node("name", (), random.choice(NAMES))


def _text_name(random: Random) -> Node:
    return Node("name", (), random.choice(("a", "b", "c", "d", "tag", "quoted name")))


def _record(random: Random) -> Record:
    headers: list[tuple[bytes, bytes | None]] = []
    for name in NAMES:
        if name == "stored" or random.random() < 0.4:
            continue
        value = random.choice(("0", "9", "5")) if name in ("priority", "JMSTimestamp") else random.choice(_TEXTS)
        headers.append((_HEADERS.get(name, name.encode()), None if random.random() < 0.05 else value.encode()))
    random.shuffle(headers)
    return random.randint(0, 9), random.choice((0, 1, 100)), None, b"", Headers(headers)


# Writing them


def write(node: Node) -> str:
    """The condition as text; what is nested is in parentheses."""
    parts = [write(part) for part in node.parts]
    match node.kind:
        case "and" | "or":
            return "(" + f" {node.kind.upper()} ".join(parts) + ")"
        case "not":
            return f"(NOT {parts[0]})"
        case "compare":
            return f"{parts[0]} {node.constant} {parts[1]}"
        case "between":
            return f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"
        case "in":
            return f"{parts[0]} IN ({', '.join(parts[1:])})"
        case "like":
            return f"{parts[0]} LIKE '{node.constant}'"
        case "null":
            return f"{parts[0]} IS NULL"
        case "bool":
            return f"({parts[0]})"
        case "truth":
            return f"({str(node.constant).upper()})"
        case "negative":
            return f"(- {parts[0]})"
        case "text":
            return "'" + str(node.constant).replace("'", "''") + "'"
        case "name":
            return f'"{node.constant}"' if " " in str(node.constant) else str(node.constant)
        case "number":
            return str(node.constant)
    return f"({parts[0]} {node.kind} {parts[1]})"


# Evaluating them, slowly


def evaluate(node: Node, record: Record) -> Truth:
    """The truth of a condition, by the book."""
    match node.kind:
        case "and":
            return _all([evaluate(part, record) for part in node.parts])
        case "or":
            return _not(_all([_not(evaluate(part, record)) for part in node.parts]))
        case "not":
            return _not(evaluate(node.parts[0], record))
        case "compare":
            return _compare(str(node.constant), *node.parts, record)
        case "between":
            value, low, high = node.parts
            return _all([_compare(">=", value, low, record), _compare("<=", value, high, record)])
        case "in":
            name, *constants = node.parts
            return _not(_all([_not(_compare("=", name, constant, record)) for constant in constants]))
        case "like":
            value = _find(node.parts[0], record)
            return None if value is None else _like(str(node.constant), str(value))
        case "null":
            return _find(node.parts[0], record) is None
        case "bool":
            value = _find(node.parts[0], record)
            return None if value is None else str(value).lower() == "true"
    return bool(node.constant)


def _all(truths: list[Truth]) -> Truth:
    if any(truth is False for truth in truths):
        return False
    return None if None in truths else True


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compare(operator: str, left: Node, right: Node, record: Record) -> Truth:
    one, other = _find(left, record), _find(right, record)
    if one is None or other is None:
        return None
    untyped = [node.kind == "name" and isinstance(value, str) for node, value in ((left, one), (right, other))]
    if all(untyped):
        numbers = _as_number(str(one)), _as_number(str(other))
        if None not in numbers:
            one, other = numbers[0], numbers[1]
    elif untyped[0]:
        one = _as_like(str(one), other)
    elif untyped[1]:
        other = _as_like(str(other), one)
    if type(one) is not type(other) and not (_is_number(one) and _is_number(other)):
        return False
    if operator in ("=", "<>"):
        return (one == other) is (operator == "=")
    if not _is_number(one):
        return False
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator])  # type: ignore


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_like(text: str, other: object) -> object:
    """A header as what it is compared with; None if it reads as no such thing."""
    if isinstance(other, bool):
        return {"true": True, "false": False}.get(text.lower())
    return _as_number(text) if _is_number(other) else text


def _as_number(text: str) -> Number | None:
    return {"1": 1, "2.5": 2.5, "-3": -3, "1e2": 100.0, "01": 1, "1.0": 1.0, "0": 0, "9": 9, "5": 5}.get(text)


def _find(node: Node, record: Record) -> object:
    """The value of a node; None for NULL."""
    if node.kind == "name":
        return _field(str(node.constant), record)
    if node.kind in ("text", "number", "truth"):
        return node.constant
    numbers = [_operand(part, record) for part in node.parts]
    if None in numbers:
        return None
    return _calculate(node.kind, *numbers)  # type: ignore


def _operand(node: Node, record: Record) -> Number | None:
    value = _find(node, record)
    return _as_number(value) if isinstance(value, str) else value  # type: ignore


def _calculate(operator: str, one: Number, other: Number = 0) -> Number | None:
    match operator:
        case "negative":
            return -one
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
    if other == 0:
        return None
    return one / other if float in (type(one), type(other)) else int(one / other)


def _field(name: str, record: Record) -> object:
    if name == "stored":
        return record[1]
    found = next((value for key, value in record[4] if key == _HEADERS.get(name, name.encode())), None)
    if name == "priority":
        return 4 if found is None else int(found)
    if name == "JMSTimestamp":
        return record[1] if found is None else int(found)
    return None if found is None else found.decode()


def _like(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and _like(pattern[1:], text[1:])
