"""Durations and sizes: what is accepted, what is refused, and that what we print reads back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.units import (
    BYTES_MAX,
    DURATION_MS_MAX,
    format_bytes,
    format_duration,
    parse_bytes,
    parse_duration_ms,
)


@pytest.mark.parametrize(
    ("value", "duration_ms"),
    [
        (0, 0),
        (1500, 1500),
        ("1500", 1500),
        ("500ms", 500),
        ("10s", 10_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        (" 2 h ", 7_200_000),
        ("7d", 604_800_000),
        ("1w", 604_800_000),
        ("1m500ms", 60_500),
        ("0s", 0),
        ("90s", 90_000),
        ("36500d", DURATION_MS_MAX),
    ],
)
def test_durations_that_are_accepted(value: str | int, duration_ms: int) -> None:
    assert parse_duration_ms(value) == duration_ms


NO_DURATIONS = ["", " ", "s", "ten", "10x", "-5s", "1.5s", "30m1h", "5m5m", "1h30", "10S", "1_0", "٣s", "9" * 5000]


@pytest.mark.parametrize("value", [*NO_DURATIONS, -1, DURATION_MS_MAX + 1, "36501d", True, 1.5, None])
def test_other_durations_are_refused_with_what_is_accepted(value: Any) -> None:
    with pytest.raises(ValueError, match=r'is not a duration; accepted is .*"1h30m"') as refused:
        parse_duration_ms(value)
    assert repr(value)[:20] in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(0, "0ms"), (500, "500ms"), (1500, "1s500ms"), (5_400_000, "1h30m"), (604_800_000, "7d"), (86_400_001, "1d1ms")],
)
def test_durations_are_written_without_empty_parts(duration_ms: int, text: str) -> None:
    assert format_duration(duration_ms) == text


@given(st.integers(0, DURATION_MS_MAX))
def test_a_duration_that_was_written_reads_back_the_same(duration_ms: int) -> None:
    assert parse_duration_ms(format_duration(duration_ms)) == duration_ms


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (0, 0),
        (4096, 4096),
        ("4096", 4096),
        ("512B", 512),
        ("4k", 4096),
        ("4K", 4096),
        ("64MiB", 64 << 20),
        ("64 mib", 64 << 20),
        ("1GB", 1_000_000_000),
        ("1kB", 1000),
        ("1.5GiB", 3 << 29),
        ("2T", 2 << 40),
        ("0.0001kB", 0),
        (BYTES_MAX, BYTES_MAX),
    ],
)
def test_sizes_that_are_accepted(value: str | int, size_bytes: int) -> None:
    assert parse_bytes(value) == size_bytes


NO_SIZES = ["", "MiB", "-1", "1.GB", "1.5", "1.5B", "1e6", "5 apples", "1PB", "1KiB/s", "1_0", "9" * 5000]


@pytest.mark.parametrize("value", [*NO_SIZES, -1, BYTES_MAX + 1, "9000000T", True, 1.5, None])
def test_other_sizes_are_refused_with_what_is_accepted(value: Any) -> None:
    with pytest.raises(ValueError, match=r'is not a size; accepted is .*"64MiB"') as refused:
        parse_bytes(value)
    assert repr(value)[:20] in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0B"),
        (512, "512B"),
        (1023, "1023B"),
        (1024, "1KiB"),
        (64 << 20, "64MiB"),
        (3 << 29, "1.5GiB"),
        ((1 << 20) - 1, "1MiB"),
        (1_000_000_000, "953.7MiB"),
        (5000 << 40, "5000TiB"),
    ],
)
def test_sizes_are_written_for_people(size_bytes: int, text: str) -> None:
    assert format_bytes(size_bytes) == text


@given(st.integers(0, 1 << 62))
def test_a_size_that_was_written_reads_back_nearly_the_same(size_bytes: int) -> None:
    assert abs(parse_bytes(format_bytes(size_bytes)) - size_bytes) <= size_bytes / 20 + 1
