"""Cron expressions: five fields (minute, hour, day, month, weekday), or six with the second first.

Times are those of a time zone. As Debian's cron does it, a time that the zone skips in spring comes right after the
gap, and one that it has twice in autumn comes once; expressions that begin with `*` in minute or hour, and those
with seconds, go by real time and come in both hours.
"""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from onemq.errors import InvalidArgument
from onemq.limits import CRON_CHARACTERS_MAX

DEFAULT_ZONE = "UTC"


def check_cron(expression: str, zone: str) -> None:
    """Raises `InvalidArgument` for what is no cron expression or no time zone."""
    if len(expression) > CRON_CHARACTERS_MAX:
        raise InvalidArgument(f"a cron expression may have {CRON_CHARACTERS_MAX} characters, not {len(expression)}")
    try:
        CronSim(expression, datetime(2000, 1, 1, tzinfo=zone_of(zone)))
    except (CronSimError, AssertionError) as problem:
        raise InvalidArgument(
            f"{expression!r} is no cron expression ({str(problem).lower() or 'bad step'}): it has five fields, minute "
            'hour day month weekday, as in "0 8 * * MON-FRI", or six with the second before them'
        ) from None


def zone_of(name: str) -> tzinfo:
    """The time zone of a name. Raises `InvalidArgument`."""
    if name == DEFAULT_ZONE:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidArgument(f"there is no time zone {name!r}: use a name such as Europe/Berlin or UTC") from None


def next_cron_ms(expression: str, zone: str, after_ms: int) -> int | None:
    """The first time after another one; None if there is none within fifty years."""
    times = CronSim(expression, datetime.fromtimestamp(after_ms // 1000, zone_of(zone)))
    for found in times:
        found_ms = int(found.timestamp()) * 1000
        if found_ms > after_ms:  # in the hour that comes twice, the same time was there before
            return found_ms
    return None
