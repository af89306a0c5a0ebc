"""What a pipeline did: tables for people, JSON for programs."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

_WIDTH_WITHOUT_TERMINAL = 10_000
_NUMBERS = (int, float, type(None))


@dataclass(frozen=True, slots=True)
class Summary:
    """Returned by `run` of every pipeline. Times are seconds, sizes bytes, names words with underscores."""

    pipeline: str
    facts: Mapping[str, Any]
    """What is one number or word: `{"messages": 1000, "files": 2}`."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """What has rows: `{"topics": [{"topic": "orders", "messages": 1000}]}`."""
    is_good: bool = True
    """False if the command shall end with status 1: the books do not balance."""

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"pipeline": self.pipeline, **self.facts, **{name: list(rows) for name, rows in self.tables.items()}}

    def show(self, as_json: bool = False) -> None:
        """Prints it on standard output."""
        if as_json:
            print(to_json(self.to_dict()))
            return
        show_facts({"pipeline": self.pipeline, **self.facts})
        for name, rows in self.tables.items():
            print(f"\n{name.replace('_', ' ')}")
            show_rows(rows)


def show_facts(facts: Mapping[str, Any]) -> None:
    """One below the other; what is not known is left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        if value is not None:
            table.add_row(Text(name.replace("_", " "), style="bold"), Text(cell(value)))
    _print(table)


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """A table; without columns those that the rows have."""
    names = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        print("none")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, show_edge=False)
    for name in names:
        is_number = all(type(row.get(name)) in _NUMBERS for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in names))
    _print(table)


def to_json(value: Any) -> str:
    """One line. Times as ISO 8601; bytes as text where they are text, else as {"base64": ...}."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def cell(value: Any) -> str:
    """A value as people read it, on one line and without anything that moves their cursor."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".").replace(",", "")
    if isinstance(value, bytes | bytearray):
        value = _text(bytes(value)) or repr(bytes(value))[2:-1]
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}={cell(each)}" for name, each in value.items())
    elif isinstance(value, list | tuple):
        value = ", ".join(cell(each) for each in value)
    elif isinstance(value, datetime):
        value = value.isoformat(" ", "milliseconds")
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value))


def _print(table: object) -> None:
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _WIDTH_WITHOUT_TERMINAL, highlight=False)
    if is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        text = _text(bytes(value))
        if text is not None:
            return text
        import base64

        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, datetime | date):
        return value.isoformat()
    if hasattr(value, "asDict"):
        return value.asDict()
    return str(value)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
