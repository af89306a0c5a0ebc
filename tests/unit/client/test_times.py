"""Durations and times as callers give them."""

from datetime import UTC, datetime, timedelta

import pytest

from onemq.client.times import Duration, duration_word, milliseconds, time_word
from onemq.errors import InvalidArgument


@pytest.mark.parametrize(
    ("given", "expected_ms"),
    [("10s", 10_000), ("1h30m", 5_400_000), (3, 3_000), (0.25, 250), (timedelta(minutes=1), 60_000), (0, 0)],
)
def test_durations_are_text_seconds_or_timedeltas(given: Duration, expected_ms: int) -> None:
    assert milliseconds(given) == expected_ms
    assert duration_word(given) == b"%d" % expected_ms


@pytest.mark.parametrize("given", ["soon", -1, timedelta(days=-1), 1e20])
def test_what_is_no_duration_is_refused(given: Duration) -> None:
    with pytest.raises(InvalidArgument):
        milliseconds(given)


def test_times_are_datetimes_text_or_seconds() -> None:
    assert time_word(datetime(2026, 1, 1, tzinfo=UTC)) == b"1767225600000"
    assert time_word(1767225600.5) == b"1767225600500"
    assert time_word("2026-01-01T00:00:00Z") == b"2026-01-01T00:00:00Z"
