"""Durations and sizes as people write them ("1h30m", "64MiB"). Inside OneMQ they are ints: ms and bytes."""

import re
from fractions import Fraction

DURATION_UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
DURATION_MS_MAX = 36_500 * DURATION_UNITS_MS["d"]
DURATION_ACCEPTED = (
    "a whole number of milliseconds, or whole numbers with the units w, d, h, m, s, ms, "
    'large before small, as in "10s", "1h30m" or "500ms"; at most 36500d'
)

BYTES_UNITS = {
    "": 1,
    "b": 1,
    **{letter: 1 << 10 * power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1 << 10 * power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 1_000**power for power, letter in enumerate("kmgt", 1)},
}
BYTES_MAX = (1 << 63) - 1
BYTES_ACCEPTED = (
    "a whole number of bytes, or a number with one of the units k, M, G, T, KiB, MiB, GiB, TiB (of 1024) "
    'or kB, MB, GB, TB (of 1000), as in "4k", "64MiB" or "1.5GB"; below 2**63'
)

_DURATION = re.compile(" ?".join(f"(?:([0-9]{{1,18}}) ?{unit})?" for unit in DURATION_UNITS_MS))
_MILLISECONDS = re.compile("[0-9]{1,18}")
_BYTES = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([A-Za-z]{0,3})")


def parse_duration_ms(value: str | int) -> int:
    """Return the milliseconds that `value` stands for; ValueError, saying what is accepted, if it is none."""
    duration_ms = value if type(value) is int else _duration_text_ms(str(value).strip())
    if duration_ms is None or not 0 <= duration_ms <= DURATION_MS_MAX:
        raise ValueError(f"{_shown(value)} is not a duration; accepted is {DURATION_ACCEPTED}")
    return duration_ms


def format_duration(duration_ms: int) -> str:
    """Return the text that `parse_duration_ms` turns back into the same number, in days and less: "1d12h"."""
    assert duration_ms >= 0, duration_ms
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, duration_ms = divmod(duration_ms, DURATION_UNITS_MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0ms"


def parse_bytes(value: str | int) -> int:
    """Return the bytes that `value` stands for, rounded down; ValueError, as above, if it is no size."""
    size_bytes = value if type(value) is int else _size_text_bytes(str(value).strip())
    if size_bytes is None or not 0 <= size_bytes <= BYTES_MAX:
        raise ValueError(f"{_shown(value)} is not a size; accepted is {BYTES_ACCEPTED}")
    return size_bytes


def format_bytes(size_bytes: int) -> str:
    """Return a size for people, to a tenth of the unit: "512B", "64MiB", "1.5GiB"."""
    assert size_bytes >= 0, size_bytes
    tenths, unit = size_bytes * 10, "B"
    for power, larger in enumerate(("KiB", "MiB", "GiB", "TiB"), 1):
        # 1023.96 KiB is written 1MiB, not 1024KiB.
        if tenths < 10_240:
            break
        divisor = 1 << 10 * power
        tenths, unit = (size_bytes * 10 + divisor // 2) // divisor, larger
    whole, tenth = divmod(tenths, 10)
    return f"{whole}.{tenth}{unit}" if tenth else f"{whole}{unit}"


def _duration_text_ms(text: str) -> int | None:
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    pairs = zip(match.groups(), DURATION_UNITS_MS.values(), strict=True)
    return sum(int(count) * unit_ms for count, unit_ms in pairs if count)


def _size_text_bytes(text: str) -> int | None:
    match = _BYTES.fullmatch(text)
    unit_bytes = BYTES_UNITS.get(match[2].lower()) if match else None
    if match is None or unit_bytes is None or (unit_bytes == 1 and "." in match[1]):
        return None
    return int(Fraction(match[1]) * unit_bytes)


def _shown(value: object) -> str:
    """Quote what was given, cut to a length that fits in a message."""
    text = repr(value)
    return text if len(text) <= 50 else f"{text[:50]}..."
