"""From text to a tree: the grammar of SQL-92 conditions as JMS selectors have them, read by Lark."""

from functools import lru_cache
from typing import TYPE_CHECKING

from onemq.core.filter.build import Build, Built
from onemq.core.filter.tree import Condition
from onemq.errors import InvalidArgument

if TYPE_CHECKING:
    from lark import Lark, Token

_GRAMMAR = r"""
?start: choice
?choice: both (OR both)*
?both: inverted (AND inverted)*
?inverted: NOT inverted -> negation
    | test
?test: sum
    | sum COMPARE sum                            -> comparison
    | sum BETWEEN sum AND sum                    -> between
    | sum NOT BETWEEN sum AND sum                -> not_between
    | sum IN "(" constant ("," constant)* ")"     -> is_in
    | sum NOT IN "(" constant ("," constant)* ")" -> not_in
    | sum LIKE STRING [ESCAPE STRING]            -> like
    | sum NOT LIKE STRING [ESCAPE STRING]        -> not_like
    | sum IS NULL                                -> is_null
    | sum IS NOT NULL                            -> is_not_null
?sum: product
    | sum ADD product                            -> arithmetic
?product: signed
    | product MULTIPLY signed                    -> arithmetic
?signed: value
    | ADD signed                                 -> sign
?value: constant
    | NAME                                       -> name
    | QUOTED                                     -> quoted
    | "(" choice ")"                             -> parentheses
constant: STRING                                 -> text
    | NUMBER                                     -> number
    | TRUE                                       -> truth
    | FALSE                                      -> truth

OR.2: /or(?![\w$.])/i
AND.2: /and(?![\w$.])/i
NOT.2: /not(?![\w$.])/i
BETWEEN.2: /between(?![\w$.])/i
IN.2: /in(?![\w$.])/i
LIKE.2: /like(?![\w$.])/i
ESCAPE.2: /escape(?![\w$.])/i
IS.2: /is(?![\w$.])/i
NULL.2: /null(?![\w$.])/i
TRUE.2: /true(?![\w$.])/i
FALSE.2: /false(?![\w$.])/i
COMPARE: /<>|<=|>=|=|<|>/
ADD: /[+-]/
MULTIPLY: /[*\/]/
STRING: /'(?:[^']|'')*'/
QUOTED: /"(?:[^"]|"")+"/
NUMBER: /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?[lLdDfF]?(?![\w$.])/
NAME: /[^\W\d][\w$.]*|[$][\w$.]*/
%ignore /\s+/
"""

_VALUE = "a name or a value"
_WORDS = {
    "STRING": _VALUE, "NUMBER": _VALUE, "TRUE": _VALUE, "FALSE": _VALUE, "NAME": _VALUE, "QUOTED": _VALUE,
    "COMPARE": "a comparison", "BETWEEN": "a comparison", "IN": "a comparison", "LIKE": "a comparison",
    "IS": "a comparison", "ADD": "+ or -", "MULTIPLY": "* or /", "LPAR": "(", "RPAR": ")", "COMMA": "a comma",
    "$END": "the end",
}  # fmt: skip


def parse(text: str) -> Condition:
    """The tree of a condition. Raises `InvalidArgument` saying where it ceases to be one."""
    from lark import UnexpectedCharacters, UnexpectedToken

    try:
        built: object = _parser().parse(text)
    except UnexpectedCharacters as problem:
        raise InvalidArgument(f"filter: {_unreadable(text, problem.pos_in_stream or 0)}") from None
    except UnexpectedToken as problem:
        expected = _expected(problem.expected)
        raise InvalidArgument(f"filter: {_found(problem.token, text)}, expected {expected}") from None
    assert isinstance(built, Built)
    return built.condition()


@lru_cache(maxsize=1)
def _parser() -> "Lark":
    # Not with the module: whoever uses no filter pays nothing for loading Lark and building its tables.
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", lexer="basic", transformer=Build(), maybe_placeholders=False)


def _unreadable(text: str, at: int) -> str:
    if text[at] in "'\"":
        return f"what begins with {text[at]} at character {at + 1} does not end, or is empty"
    return f"{text[at]!r} at character {at + 1} cannot stand there"


def _found(token: "Token", text: str) -> str:
    if token.type == "$END":
        return f"it ends after character {len(text)}"
    return f"found {str(token)!r} at character {(token.start_pos or 0) + 1}"


def _expected(terminals: set[str]) -> str:
    if terminals == {"STRING"}:
        return "text in single quotes"
    words = sorted({_WORDS.get(terminal, terminal) for terminal in terminals})
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
