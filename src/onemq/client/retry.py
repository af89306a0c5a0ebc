"""What becomes of a message whose handler fails: the group's policy, and what a handler may ask for itself."""

from dataclasses import dataclass

from onemq.client.connection import Word
from onemq.client.times import Duration, duration_word, milliseconds


@dataclass(frozen=True, slots=True)
class Ladder:
    """The 16 steps: 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h, then a dead letter."""

    def words(self) -> tuple[Word, ...]:
        return ("LADDER",)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits `first`, then each time `factor` times as long, at most `most`; after `times` retries a dead letter.
    None: without an end."""

    first: Duration = "1s"
    factor: float = 2
    most: Duration | None = "1h"
    times: int | None = 6

    def words(self) -> tuple[Word, ...]:
        most: Word = "NONE" if self.most is None else duration_word(self.most)
        times: Word = "NONE" if self.times is None else self.times
        return ("BACKOFF", duration_word(self.first), f"{self.factor:g}", most, times)


@dataclass(frozen=True, slots=True)
class Immediate:
    """Again at once, `times` times; None: for ever."""

    times: int | None = None

    def words(self) -> tuple[Word, ...]:
        return ("NONE",) if self.times is None else ("NONE", self.times)


Policy = Ladder | Backoff | Immediate


class Retry(Exception):
    """Raised by a handler: the message failed, again after this time (none: after what the group's policy says)."""

    def __init__(self, after: Duration | None = None, reason: str = "") -> None:
        super().__init__(reason or "the handler asked for a retry")
        self.after_ms = None if after is None else milliseconds(after)
        self.reason = reason or "the handler asked for a retry"


class Reject(Exception):
    """Raised by a handler: the message is a dead letter now, for this reason."""

    def __init__(self, reason: str = "the handler rejected it") -> None:
        super().__init__(reason)
        self.reason = reason
