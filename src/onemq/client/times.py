"""Durations and times as callers give them, and as the broker reads them.

A duration is text ("10s", "1h30m"), a `timedelta`, or a number of seconds. A time is a `datetime` (without a zone: the
local one), ISO 8601 text, or a number of seconds since 1970.
"""

from datetime import datetime, timedelta

from onemq.errors import InvalidArgument
from onemq.units import DURATION_MS_MAX, parse_duration_ms

Duration = str | int | float | timedelta
Time = str | int | float | datetime


def milliseconds(duration: Duration) -> int:
    """The duration in ms. Raises `InvalidArgument`."""
    if isinstance(duration, str):
        try:
            return parse_duration_ms(duration)
        except ValueError as problem:
            raise InvalidArgument(str(problem)) from None
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if not 0 <= seconds * 1000 <= DURATION_MS_MAX:
        raise InvalidArgument(f"{duration!r} is not a duration: give text such as '10s', seconds or a timedelta")
    return round(seconds * 1000)


def time_word(time: Time) -> bytes:
    """The time as the broker reads it."""
    if isinstance(time, str):
        return time.encode()
    if isinstance(time, datetime):
        time = time.timestamp()
    return b"%d" % round(time * 1000)


def duration_word(duration: Duration) -> bytes:
    """The duration as the broker reads it."""
    return b"%d" % milliseconds(duration)
