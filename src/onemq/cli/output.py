"""What commands print: tables for people, JSON for programs (`--json`)."""

import base64
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="For programs: JSON on standard output.")]
Facts = Mapping[str, Any]

TIMES = frozenset(("at", "born", "due", "expires", "failed", "handed", "idle_since", "next_check", "seen", "since",
                   "stored", "time"))  # fmt: skip
"""Facts that are milliseconds since 1970."""
BODY_CHARACTERS_MAX = 80
_WIDTH_WITHOUT_TERMINAL = 10_000
_NUMBERS = (int, float, type(None))


def show_table(rows: Sequence[Facts], columns: Sequence[str], as_json: bool) -> None:
    """One row for each; columns that no row has are left out."""
    if as_json:
        show_json(rows)
        return
    if not rows:
        print("none")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = [name for name in columns if any(row.get(name) is not None for row in rows)]
    table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, show_edge=False)
    for name in shown:
        is_number = all(type(row.get(name)) in _NUMBERS for row in rows) and name not in TIMES
        table.add_column(name.replace("_", " "), justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(_cell(name, row.get(name))) for name in shown))
    _print(table)


def show_facts(facts: Facts, as_json: bool) -> None:
    """One below the other; lists of maps as tables of their own."""
    if as_json:
        show_json(facts)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    nested = {name: value for name, value in facts.items() if _is_table(value)}
    for name, value in facts.items():
        if name not in nested and value not in (None, {}, []):
            table.add_row(Text(name.replace("_", " "), style="bold"), Text(_cell(name, value, cut=False)))
    _print(table)
    for name, rows in nested.items():
        print(f"\n{name.replace('_', ' ')}")
        show_table(rows, list(dict.fromkeys(key for row in rows for key in row)), as_json=False)


def show_messages(messages: Iterable[Facts], as_json: bool) -> int:
    """A line for each, or a line of JSON for each, as they come. Returns how many."""
    count = 0
    try:
        for message in messages:
            print(to_json(message) if as_json else message_line(message), flush=True)
            count += 1
    except BrokenPipeError:
        # The reader, `head` for example, has seen enough. Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
    return count


def message_line(message: Facts) -> str:
    """A message on one line: when, where, key, tag, body."""
    words = [_time(message["stored"]), f"{message['partition']}:{message['offset']}"]
    words += [f"{name}={_cell(name, message[name])}" for name in ("key", "tag") if message.get(name) is not None]
    if message.get("deliveries", 0) > 1:
        words.append(f"deliveries={message['deliveries']}")
    words += [f"{name}={_one_line(_text(value))}" for name, value in (message.get("headers") or {}).items()]
    return "  ".join([*words, _one_line(_text(message.get("body")), cut=False)])


def show_json(value: Any) -> None:
    """One document."""
    print(to_json(value))


def to_json(value: Any) -> str:
    """On one line. Bytes that are no text are {"base64": ...}."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def say(text: str, as_json: bool, **facts: object) -> None:
    """What was done: a sentence for people, facts for programs."""
    print(to_json(facts) if as_json else text)


def plural(count: int, what: str) -> str:
    """`1 message`, `2 messages`"""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _print(table: object) -> None:
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _WIDTH_WITHOUT_TERMINAL, highlight=False, soft_wrap=False)
    if is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _is_table(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _cell(name: str, value: Any, cut: bool = True) -> str:
    if value is None:
        return "-"
    if name in TIMES and isinstance(value, int):
        return _time(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_cell(key, each, cut)}" for key, each in value.items() if each is not None)
    if isinstance(value, list):
        return ", ".join(_cell("", each, cut) for each in value)
    return _one_line(_text(value), cut)


def _one_line(text: str, cut: bool = True) -> str:
    """Nothing that a sender wrote may move the cursor of whoever looks at it."""
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return f"{text[:BODY_CHARACTERS_MAX]}…" if cut and len(text) > BODY_CHARACTERS_MAX else text


def _text(value: Any) -> str:
    return "" if value is None else repr(value)[2:-1] if isinstance(value, bytes) else str(value)


def _time(time_ms: int) -> str:
    """Of this machine's zone."""
    try:
        return datetime.fromtimestamp(time_ms / 1000).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return str(time_ms)


def _plain(value: object) -> object:
    assert isinstance(value, bytes), type(value)
    return {"base64": base64.b64encode(value).decode()}
