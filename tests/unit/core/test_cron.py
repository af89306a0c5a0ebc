"""Cron expressions, over the hours that time zones skip and repeat."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from onemq.core.cron import check_cron, next_cron_ms
from onemq.errors import InvalidArgument

BERLIN, NEW_YORK, SYDNEY = "Europe/Berlin", "America/New_York", "Australia/Sydney"


def ms(text: str, zone: str = "UTC", fold: int = 0) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return round(moment.timestamp() * 1000)


def times(expression: str, zone: str, start_ms: int, count: int) -> list[str]:
    """The next times as local time, with the distance from UTC."""
    found: list[str] = []
    for _ in range(count):
        following = next_cron_ms(expression, zone, start_ms)
        assert following is not None
        assert following > start_ms
        start_ms = following
        local = datetime.fromtimestamp(start_ms // 1000, ZoneInfo(zone))
        found.append(local.isoformat(" ", "seconds"))
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/15 * * * *", ["2026-01-31 23:45", "2026-02-01 00:00", "2026-02-01 00:15"]),
        ("0 8 * * MON-FRI", ["2026-02-02 08:00", "2026-02-03 08:00", "2026-02-04 08:00"]),
        ("30 6 1,15 * *", ["2026-02-01 06:30", "2026-02-15 06:30", "2026-03-01 06:30"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
        ("0 12 L * *", ["2026-02-28 12:00", "2026-03-31 12:00", "2026-04-30 12:00"]),
    ],
)
def test_the_next_times_are_those_that_the_expression_says(expression: str, expected: list[str]) -> None:
    """B9"""
    found = times(expression, "UTC", ms("2026-01-31 23:30:00.500"), 3)
    assert found == [f"{each}:00+00:00" for each in expected]


def test_an_expression_with_six_fields_begins_with_the_second() -> None:
    found = times("10,40 * * * * *", "UTC", ms("2026-01-31 23:59:39.999"), 3)
    assert [each[11:19] for each in found] == ["23:59:40", "00:00:10", "00:00:40"]


@pytest.mark.parametrize("start", ["08:00:00", "08:00:00.001", "08:00:00.999"])
def test_a_time_is_after_the_one_given_to_the_millisecond(start: str) -> None:
    assert next_cron_ms("0 8 * * *", "UTC", ms(f"2026-01-31 {start}")) == ms("2026-02-01 08:00")
    assert next_cron_ms("0 8 * * *", "UTC", ms("2026-01-31 07:59:59.999")) == ms("2026-01-31 08:00")


def test_a_daily_time_keeps_to_the_clock_on_the_wall_when_the_clock_changes() -> None:
    """B9: in Berlin summer begins on 2026-03-29 and ends on 2026-10-25"""
    assert times("0 8 * * *", BERLIN, ms("2026-03-28 00:00", BERLIN), 2) == [
        "2026-03-28 08:00:00+01:00",
        "2026-03-29 08:00:00+02:00",
    ]
    assert times("0 8 * * *", BERLIN, ms("2026-10-24 09:00", BERLIN), 2) == [
        "2026-10-25 08:00:00+01:00",
        "2026-10-26 08:00:00+01:00",
    ]


def test_a_time_that_is_skipped_in_spring_comes_right_after_the_gap() -> None:
    assert times("30 2 * * *", BERLIN, ms("2026-03-28 03:00", BERLIN), 2) == [
        "2026-03-29 03:00:00+02:00",
        "2026-03-30 02:30:00+02:00",
    ]


def test_a_time_that_is_there_twice_in_autumn_comes_once() -> None:
    assert times("30 2 * * *", BERLIN, ms("2026-10-24 03:00", BERLIN), 2) == [
        "2026-10-25 02:30:00+02:00",
        "2026-10-26 02:30:00+01:00",
    ]
    for fold in (0, 1):  # also when the broker asks within that hour
        after_ms = ms("2026-10-25 02:40" if fold == 0 else "2026-10-25 02:10", BERLIN, fold)
        assert times("30 2 * * *", BERLIN, after_ms, 1) == ["2026-10-26 02:30:00+01:00"]


def test_what_comes_every_few_minutes_goes_by_real_time() -> None:
    for zone, start in ((BERLIN, "2026-10-25 00:00"), (NEW_YORK, "2026-03-08 00:00"), (SYDNEY, "2026-04-05 00:00")):
        start_ms = ms(start, zone)
        following = start_ms
        for step in range(1, 24):
            found = next_cron_ms("*/30 * * * *", zone, following)
            assert found == start_ms + step * 30 * 60_000
            following = found


def test_an_expression_that_never_comes_true_has_no_next_time() -> None:
    assert next_cron_ms("0 0 31 2 MON#5", "UTC", 0) is not None  # Mondays count, too
    assert next_cron_ms("0 0 29-30 2 *", "UTC", ms("2026-01-01 00:00")) == ms("2028-02-29 00:00")


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *",
     "*/0 * * * *", "5-1 * * * *", "0 0 30 2 *", "* * L/2 * * x", "9" * 300],
)  # fmt: skip
def test_what_is_no_cron_expression_is_refused_with_a_reason(expression: str) -> None:
    with pytest.raises(InvalidArgument, match="cron expression"):
        check_cron(expression, "UTC")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "posixrules\0"])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidArgument, match="there is no time zone"):
        check_cron("* * * * *", zone)


def test_utc_and_named_zones_are_known() -> None:
    for zone in ("UTC", "Etc/UTC", BERLIN, NEW_YORK, SYDNEY, "Asia/Kolkata"):
        check_cron("0 8 * * *", zone)
    assert next_cron_ms("0 8 * * *", "Asia/Kolkata", ms("2026-01-01 00:00")) == ms("2026-01-01 02:30")
    assert datetime.fromtimestamp(ms("2026-01-01 02:30") / 1000, UTC).hour == 2
