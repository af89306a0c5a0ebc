"""Redelivery policies: how long a message waits after a failed delivery, and when it is dead.

Three kinds with one interface:

- `Ladder`, a list of waiting times, one for each redelivery (as RocketMQ's consumers retry);
- `Backoff`, a first time that may then grow (as ActiveMQ's RedeliveryPolicy, setting by setting);
- `Immediate`, no waiting at all.

A policy is part of a topic's or group's settings, so it is kept in the log: see `to_entry` and `from_entry`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from onemq.errors import InvalidArgument
from onemq.units import DURATION_MS_MAX

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS

DELAY_LEVELS: tuple[int, ...] = (
    *(count * SECOND_MS for count in (1, 5, 10, 30)),
    *(count * MINUTE_MS for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)),
    *(count * HOUR_MS for count in (1, 2)),
)
"""RocketMQ's 18 delay levels in milliseconds. Its users count them from 1; level 0 is no delay."""

LADDER_STEPS_MS = DELAY_LEVELS[2:]
"""RocketMQ's 16 waiting times between redeliveries."""

FOR_EVER = -1
NO_MAXIMUM = -1
BACKOFF_STEPS_MAX = 1_000
"""After so many redeliveries the delay grows no more, so that computing it stays cheap."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Wait one step after each failed delivery; after the last step's redelivery the message is dead."""

    steps_ms: tuple[int, ...] = LADDER_STEPS_MS

    def __post_init__(self) -> None:
        for step_ms in self.steps_ms:
            _check_delay("a step", step_ms)

    @property
    def max_deliveries(self) -> int | None:
        return len(self.steps_ms) + 1

    def delay_ms(self, deliveries: int, seed: int) -> int | None:
        """How long to wait after the n-th delivery (from 1) failed; None when the message is dead."""
        assert deliveries >= 1, deliveries
        return self.steps_ms[deliveries - 1] if deliveries <= len(self.steps_ms) else None

    def to_entry(self) -> list[Any]:
        return ["ladder", list(self.steps_ms)]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Wait a first time, then times that may grow, as ActiveMQ's RedeliveryPolicy does; its defaults too.

    The first redelivery waits exactly `initial_delay_ms` (initialRedeliveryDelay). Each later one waits the same,
    or `redelivery_delay_ms` (redeliveryDelay) if the initial delay is 0.

    If `exponential` (useExponentialBackOff) and the `multiplier` (backOffMultiplier) is above 1, a later one waits
    the time before it, multiplied. What was multiplied and is above `max_delay_ms` (maximumRedeliveryDelay; -1: no
    maximum) becomes that, or `redelivery_delay_ms` if that is more.

    With `collision_avoidance` (useCollisionAvoidance, collisionAvoidanceFactor; 0: off) each time but the first is
    moved by up to this part of it, up or down. ActiveMQ throws dice for this and multiplies what they made of the
    time before; here the seed decides, and times are multiplied unmoved, so that all stay near the settings.

    After `max_redeliveries` (maximumRedeliveries; -1: for ever) the message is dead.
    """

    initial_delay_ms: int = 1_000
    redelivery_delay_ms: int = 1_000
    multiplier: float = 5.0
    exponential: bool = False
    collision_avoidance: float = 0.0
    max_delay_ms: int = NO_MAXIMUM
    max_redeliveries: int = 6

    def __post_init__(self) -> None:
        _check_delay("the initial delay", self.initial_delay_ms)
        _check_delay("the redelivery delay", self.redelivery_delay_ms)
        if self.max_delay_ms != NO_MAXIMUM:
            _check_delay("the maximum delay", self.max_delay_ms)
        if not (math.isfinite(self.multiplier) and self.multiplier >= 0):
            raise InvalidArgument(f"the back-off multiplier must be a number from 0, not {self.multiplier}")
        if not 0 <= self.collision_avoidance <= 1:
            raise InvalidArgument(f"collision avoidance must be from 0 to 1, not {self.collision_avoidance}")
        if self.max_redeliveries < FOR_EVER:
            raise InvalidArgument(
                f"the maximum of redeliveries must be 0 or more, or -1: for ever, not {self.max_redeliveries}"
            )

    @property
    def max_deliveries(self) -> int | None:
        return None if self.max_redeliveries == FOR_EVER else self.max_redeliveries + 1

    def delay_ms(self, deliveries: int, seed: int) -> int | None:
        """How long to wait after the n-th delivery (from 1) failed; None when the message is dead."""
        assert deliveries >= 1, deliveries
        if self.max_redeliveries != FOR_EVER and deliveries > self.max_redeliveries:
            return None
        if deliveries == 1:
            return self.initial_delay_ms
        unmoved_ms = self._unmoved_ms(deliveries)
        moved_ms = int(unmoved_ms + unmoved_ms * self.collision_avoidance * _spread(seed, deliveries))
        return min(moved_ms, DURATION_MS_MAX)

    def to_entry(self) -> list[Any]:
        return ["backoff", *astuple(self)]

    def _unmoved_ms(self, deliveries: int) -> int:
        """The time after the n-th delivery, from the second on, before collision avoidance."""
        first_ms = delay_ms = self.initial_delay_ms or self.redelivery_delay_ms
        if not self.exponential or self.multiplier <= 1:
            return delay_ms
        limit_ms = DURATION_MS_MAX if self.max_delay_ms == NO_MAXIMUM else self.max_delay_ms
        beyond_ms = max(limit_ms, self.redelivery_delay_ms)
        # With no initial delay the second time is the one that all later ones grow from.
        multiplications = deliveries - (1 if self.initial_delay_ms else 2)
        for _ in range(min(multiplications, BACKOFF_STEPS_MAX)):
            # Fractions of a millisecond are cut off at each step, as ActiveMQ does.
            longer_ms = int(min(delay_ms * self.multiplier, limit_ms + 1))  # of floats it may be infinite
            if longer_ms > limit_ms:
                longer_ms = beyond_ms
            if not delay_ms:
                longer_ms = first_ms  # after a maximum of 0 it begins anew
            if longer_ms == delay_ms:
                break
            delay_ms = longer_ms
        return delay_ms


@dataclass(frozen=True, slots=True)
class Immediate:
    """Deliver again at once, up to `max_deliveries` in all; None: for ever."""

    max_deliveries: int | None = None

    def __post_init__(self) -> None:
        if self.max_deliveries is not None and self.max_deliveries < 1:
            raise InvalidArgument(f"the maximum of deliveries must be 1 or more, not {self.max_deliveries}")

    def delay_ms(self, deliveries: int, seed: int) -> int | None:
        """0 after the n-th delivery (from 1) failed; None when the message is dead."""
        assert deliveries >= 1, deliveries
        return None if self.max_deliveries is not None and deliveries >= self.max_deliveries else 0

    def to_entry(self) -> list[Any]:
        return ["immediate", self.max_deliveries]


Redelivery = Ladder | Backoff | Immediate
"""What they have in common: `max_deliveries` (None: no limit), `delay_ms(deliveries, seed)`, `to_entry()`."""

_KINDS: dict[str, Callable[..., Redelivery]] = {
    "ladder": lambda steps_ms: Ladder(tuple(steps_ms)),
    "backoff": Backoff,
    "immediate": Immediate,
}


def from_entry(entry: Sequence[Any]) -> Redelivery:
    """Return the policy that `to_entry` turned into a list (a tuple will do)."""
    kind, *settings = entry
    if kind not in _KINDS:
        raise InvalidArgument(f"no such redelivery policy: {kind!r}; there are {', '.join(_KINDS)}")
    return _KINDS[kind](*settings)


def _check_delay(name: str, delay_ms: int) -> None:
    if not 0 <= delay_ms <= DURATION_MS_MAX:
        raise InvalidArgument(f"{name} must be from 0 to {DURATION_MS_MAX} ms, not {delay_ms}")


def _spread(seed: int, deliveries: int) -> float:
    """Return a number from -1 to 1, evenly spread over seeds and counts, always the same for the same two."""
    mixed = (seed + deliveries * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ mixed >> 31) / (1 << 63) - 1


ORDERED_POLICY = Backoff(max_redeliveries=FOR_EVER)
"""For groups that keep an order: what fails blocks what comes after it, so it is tried every second, for ever."""
