"""A filter: text in one of two languages, compiled to a function over records.

Tags: `created`, `created || paid`, `*`. All else is SQL: the conditions of SQL-92 as JMS selectors have them.
docs/filters.md tells both in full.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from onemq.core.filter.grammar import parse
from onemq.core.filter.source import Source
from onemq.core.filter.tree import Condition, In, Literal, Name
from onemq.errors import InvalidArgument
from onemq.limits import FILTER_CHARACTERS_MAX, FILTERS_KEPT
from onemq.message import Record

_TAGS = re.compile(r"\s*[\w.:/-]+(?:\s*\|\|\s*[\w.:/-]+)*\s*")
_TRUTH = ("TRUE", "FALSE")

Make = Callable[[int | None, int], tuple[Callable[[Record], bool], Callable[[list[Record]], list[Record]]]]


class Filter:
    """A compiled filter. Immutable, and shared by all who use the same text."""

    __slots__ = ("_make", "matches", "select", "text", "uses_id")

    matches: Callable[[Record], bool]
    """Whether a record is wanted."""
    select: Callable[[list[Record]], list[Record]]
    """Those of many records that are wanted, in their order: the quick way."""

    def __init__(self, text: str, make: Make, uses_id: bool, topic_id: int | None = None, partition: int = 0) -> None:
        self.text = text
        self.uses_id = uses_id
        """Whether it asks for the message id. Then only `at` finds messages whose place is their id."""
        self._make = make
        self.matches, self.select = make(topic_id, partition)

    def at(self, topic_id: int, partition: int) -> "Filter":
        """The same filter for the messages of one partition."""
        return Filter(self.text, self._make, True, topic_id, partition) if self.uses_id else self


@lru_cache(maxsize=FILTERS_KEPT)
def compile_filter(text: str) -> Filter:
    """The filter of a text. Raises `InvalidArgument` saying what is wrong, and where."""
    if len(text) > FILTER_CHARACTERS_MAX:
        raise InvalidArgument(f"a filter may have {FILTER_CHARACTERS_MAX} characters, this one has {len(text)}")
    if not text.strip():
        raise InvalidArgument("a filter must not be empty: * lets everything pass")
    source = Source(_by_tag(text) or parse(text))
    exec(compile(source.text(), "<filter>", "exec"), source.names)
    return Filter(text, source.names["make"], source.uses_id)


def _by_tag(text: str) -> Condition | None:
    """A tag expression as a condition; None if it is none."""
    if text.strip() == "*":
        return Literal(True)
    if not _TAGS.fullmatch(text) or text.strip().upper() in _TRUTH:
        return None
    return In(Name("tag"), tuple(Literal(tag.strip().encode()) for tag in text.split("||")))
