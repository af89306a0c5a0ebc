"""Entries that are due later: XADD's fields `_delay` and `_deliver_at`.

    XADD orders * _delay 10s  order 10001            in ten seconds
    XADD orders * _deliver_at 1793491200000  ...     at a time, in ms since 1970

Only as the first field does either mean anything; it does not become part of the entry.
"""

from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.numbers import parse_integer
from onemq.units import parse_duration_ms

_DELAY = b"_delay"
_DELIVER_AT = b"_deliver_at"


def due_time(now_ms: int, fields: list[bytes]) -> tuple[int | None, list[bytes]]:
    """When an entry is due if not now, and its fields without that."""
    name = fields[0]
    if name not in (_DELAY, _DELIVER_AT):
        return None, fields
    if len(fields) == 2:
        raise CommandError(f"ERR an entry with {name.decode()} needs at least one more field")
    due_ms = _at(fields[1]) if name == _DELIVER_AT else now_ms + _duration(fields[1])
    return (due_ms if due_ms > now_ms else None), fields[2:]


def _at(value: bytes) -> int:
    due_ms = parse_integer(value)
    if due_ms is None or due_ms < 0:
        raise CommandError("ERR _deliver_at must be a time in milliseconds since 1970")
    return due_ms


def _duration(value: bytes) -> int:
    try:
        return parse_duration_ms(value.decode(errors="replace"))
    except ValueError as problem:
        raise CommandError(f"ERR _delay: {problem}") from None
