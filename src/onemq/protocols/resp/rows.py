"""Rows of the command table for handlers whose facts stand in facts.py."""

from collections.abc import Mapping

from onemq.protocols.resp.command import AlikeHandler, Command, Handler, RunHandler
from onemq.protocols.resp.facts import FACTS
from onemq.protocols.resp.usage import arguments

_CATEGORIES = {
    "string": "string", "list": "list", "hash": "hash", "set": "set", "sorted-set": "sortedset",
    "stream": "stream",
}
_DEFAULTS = ("O(1)", "")
"""Of complexity and tips."""


def rows(
    *handlers: Handler,
    runs: Mapping[str, RunHandler] | None = None,
    alike: Mapping[str, AlikeHandler] | None = None,
) -> tuple[Command, ...]:
    """One row for each handler; its name is that of the command, `_` at the end aside. `runs` and `alike` execute
    many."""
    names = [handler.__name__.rstrip("_") for handler in handlers]
    return tuple(
        _row(handler, name, (runs or {}).get(name), (alike or {}).get(name))
        for handler, name in zip(handlers, names, strict=True)
    )


def _row(handler: Handler, name: str, run: RunHandler | None, alike: AlikeHandler | None) -> Command:
    group, arity, words, keys, since, usage, summary, *rest = _LINES[name]
    complexity, tips = (*rest, *_DEFAULTS[len(rest) :])
    flags = tuple(word for word in words.split() if not word.startswith("@"))
    categories = tuple(word[1:] for word in words.split() if word.startswith("@"))
    first, last, step = map(int, keys.split())
    return Command(
        name,
        int(arity),
        handler,
        summary,
        since,
        group,
        flags=flags,
        categories=(*categories, _CATEGORIES[group]) if group in _CATEGORIES else categories,
        keys=(first, last, step),
        tips=tuple(tips.split()),
        complexity=complexity,
        arguments=arguments(usage),
        run=run,
        alike=alike,
    )


def _lines() -> dict[str, list[str]]:
    """The lines under their names, with the group in place of the name."""
    lines = {}
    group = ""
    for line in FACTS.strip().splitlines():
        if line.startswith("["):
            group = line.strip("[]")
        else:
            name, *rest = line.split(" ; ")
            lines[name] = [group, *rest]
    return lines


_LINES = _lines()
