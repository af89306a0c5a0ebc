"""A series: a scheduled message that comes again and again, with a period or by a cron expression."""

from typing import Any, NamedTuple

from onemq.core.cron import DEFAULT_ZONE, check_cron, next_cron_ms
from onemq.errors import InvalidArgument
from onemq.limits import SCHEDULE_AHEAD_MS_MAX


class Repeat(NamedTuple):
    """How a message repeats: with a period or by a cron expression, so many times or for ever."""

    every_ms: int | None = None
    cron: str | None = None
    zone: str = DEFAULT_ZONE
    times: int | None = None
    """How often it comes, the first time included; None: until it is cancelled."""

    def check(self) -> None:
        """Raises `InvalidArgument` for what makes no sense."""
        if (self.every_ms is None) == (self.cron is None):
            raise InvalidArgument("a message repeats with a period or by a cron expression: name one of them")
        if self.every_ms is not None and not 1 <= self.every_ms <= SCHEDULE_AHEAD_MS_MAX:
            raise InvalidArgument("a message can repeat every millisecond to every hundred years")
        if self.times is not None and not 1 <= self.times < 1 << 53:
            raise InvalidArgument(f"a message can come once or more often, not {self.times} times")
        if self.cron is not None:
            check_cron(self.cron, self.zone)

    def first_ms(self, now_ms: int, not_before_ms: int | None) -> int:
        """When it comes first: at the time asked for or after one period; by its cron expression, not before it."""
        if self.cron is None:
            assert self.every_ms is not None
            return now_ms + self.every_ms if not_before_ms is None else max(not_before_ms, now_ms)
        first_ms = next_cron_ms(self.cron, self.zone, max(now_ms, (not_before_ms or 0) - 1))
        if first_ms is None:
            raise InvalidArgument(f"the cron expression {self.cron!r} never comes true")
        return first_ms


class Series:
    """A series that has not ended."""

    __slots__ = ("due_ms", "left", "repeat")

    def __init__(self, due_ms: int, repeat: Repeat, left: int | None) -> None:
        self.due_ms = due_ms
        """When it comes next."""
        self.repeat = repeat
        self.left = left
        """How often it is still to come; None: for ever."""

    def following_ms(self, now_ms: int) -> int | None:
        """When it comes again after it came now; None if that was the last time. What was missed, because the
        broker was down or the clock jumped, is not made up for: the next time is the first one after now."""
        if self.left == 1:
            return None
        if self.repeat.cron is not None:
            return next_cron_ms(self.repeat.cron, self.repeat.zone, now_ms)
        assert self.repeat.every_ms is not None
        missed = max(now_ms - self.due_ms, 0) // self.repeat.every_ms
        return self.due_ms + (missed + 1) * self.repeat.every_ms

    def row(self) -> list[Any]:
        """For entries and the snapshot."""
        return [self.due_ms, self.repeat.every_ms, self.repeat.cron, self.repeat.zone, self.left]

    @classmethod
    def from_row(cls, row: list[Any]) -> "Series":
        """The reverse of `row`."""
        due_ms, every_ms, cron, zone, left = row
        return cls(due_ms, Repeat(every_ms, cron, zone, left), left)
