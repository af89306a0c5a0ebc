"""The settings of a share group, by the names that Kafka has for them, whatever topics it is of.

They are kept for the name of the group (core/profiles.py), also before there is any. New groups are made with them,
and those that are there are changed. A group that was made in another way keeps what nobody sets here.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from onemq.core.core import Core
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import Immediate, from_entry
from onemq.core.start import FIRST, LAST, Start
from onemq.core.topics import Topic
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.units import DURATION_MS_MAX

RESET = "share.auto.offset.reset"
LOCK = "share.record.lock.duration.ms"
DELIVERIES = "share.delivery.count.limit"
HEARTBEAT = "share.heartbeat.interval.ms"
SESSION = "share.session.timeout.ms"
ISOLATION = "share.isolation.level"

DEFAULTS = {
    RESET: "latest",
    LOCK: "30000",
    DELIVERIES: "5",
    HEARTBEAT: "5000",
    SESSION: "45000",
    ISOLATION: "read_uncommitted",
}
"""As in Kafka. The level of isolation makes no difference: nobody sees what is not committed."""

_KIND = "group.type"
_SHARE = "share"
_DELIVERIES_MAX = 10_000
_DURATION = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.\d+)?S)?)?")
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)


class ShareSettings:
    """The settings of all share groups."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def reserve(self, group: str) -> None:
        """The name is that of a share group from now on."""
        if not self.is_known(group):
            self._core.profiles.set(group, {**self._core.profiles.get(group), _KIND: _SHARE})

    def is_known(self, group: str) -> bool:
        """Whether the name is that of a share group."""
        return self._core.profiles.get(group).get(_KIND) == _SHARE

    def names(self) -> list[str]:
        """Those of all share groups."""
        return [name for name in self._core.profiles.names() if self.is_known(name)]

    def forget(self, group: str) -> None:
        """The group is deleted. What was set stays, as in Kafka."""
        self._core.profiles.set(group, self.own(group))

    def own(self, group: str) -> dict[str, str]:
        """Those that were set."""
        profile = self._core.profiles.get(group)
        return {name: profile[name] for name in DEFAULTS if name in profile}

    def all(self, group: str) -> dict[str, str]:
        """Those that hold, set or not."""
        return DEFAULTS | self.own(group)

    def change(self, group: str, changes: Mapping[str, str | None], dry: bool = False) -> None:
        """Sets some of them; None: as if it had never been set. Raises INVALID_CONFIG. Changes nothing if `dry`."""
        for name, value in changes.items():
            if name not in DEFAULTS:
                raise Refused(ErrorCode.INVALID_CONFIG, f"there is no setting {name!r} of a share group")
            if value is not None:
                _CHECKS[name](name, value)
        if dry:
            return
        known = dict(self._core.profiles.get(group)) | dict.fromkeys(changes, "")
        known |= {name: value for name, value in changes.items() if value is not None}
        self._core.profiles.set(group, {name: value for name, value in known.items() if value})
        for topic in self._core.topics:
            if group in topic.groups:
                self._alter(topic.groups[group], changes)

    def _alter(self, group: Group, changes: Mapping[str, str | None]) -> None:
        wanted = default_config(group.topic, self.own(group.name))
        config = group.config
        if LOCK in changes:
            config = msgspec.structs.replace(config, lease_ms=wanted.lease_ms)
        if DELIVERIES in changes:
            most = changes[DELIVERIES]
            policy = wanted.policy if most is None else limited(config.policy, int(most))
            config = msgspec.structs.replace(config, policy=policy)
        if config != group.config:
            self._core.groups.alter(group, config)

    def milliseconds(self, group: str, name: str) -> int:
        """A setting that is a time."""
        return int(self.all(group)[name])

    def start(self, group: str) -> Start:
        """Where it begins in a topic."""
        value = self.all(group)[RESET]
        if value in ("earliest", "latest"):
            return FIRST if value == "earliest" else LAST
        return Start("time", max(self._core.stage.now_ms - duration_ms(value), 0))


def default_config(topic: Topic, own: Mapping[str, str]) -> GroupConfig:
    """What a share group is like that is made here: as it was set, else as the topic has it for new groups, else as in
    Kafka."""
    config = topic.config.group
    deliveries = own.get(DELIVERIES) or (None if config.policy else DEFAULTS[DELIVERIES])
    if deliveries:
        config = msgspec.structs.replace(config, policy=limited(config.policy, int(deliveries)))
    lock = own.get(LOCK) or (None if config.lease_ms else DEFAULTS[LOCK])
    return msgspec.structs.replace(config, lease_ms=int(lock)) if lock else config


def limited(policy: list[Any] | None, deliveries: int) -> list[Any]:
    """A policy with another number of deliveries: the waiting times stay, the last one as often as need be."""
    if policy is None:
        return Immediate(deliveries).to_entry()
    known = from_entry(policy)
    if policy[0] == "ladder":
        steps = list(policy[1]) or [0]
        return ["ladder", (steps + steps[-1:] * deliveries)[: deliveries - 1]]
    if policy[0] == "backoff":
        return [*known.to_entry()[:-1], deliveries - 1]
    return Immediate(deliveries).to_entry()


def duration_ms(value: str) -> int:
    """Of `by_duration:` and a duration in the form of ISO 8601, such as PT1H30M."""
    found = _DURATION.fullmatch(value)
    if found is None or not any(found.groups()):
        raise Refused(ErrorCode.INVALID_CONFIG, f"{value!r} is not earliest, latest or by_duration: with one like PT1H")
    return sum(int(count or 0) * unit_ms for count, unit_ms in zip(found.groups(), _UNITS_MS, strict=True))


def _check_reset(name: str, value: str) -> None:
    if value not in ("earliest", "latest"):
        duration_ms(value)


def _check_isolation(name: str, value: str) -> None:
    if value not in ("read_uncommitted", "read_committed"):
        raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is read_uncommitted or read_committed, not {value!r}")


def _between(least: int, most: int) -> Callable[[str, str], None]:
    def check(name: str, value: str) -> None:
        if not (value.isascii() and value.isdigit() and least <= int(value[:20]) <= most):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is a number from {least} to {most}, not {value!r}")

    return check


_CHECKS: dict[str, Callable[[str, str], None]] = {
    RESET: _check_reset,
    LOCK: _between(1, min(DURATION_MS_MAX, (1 << 31) - 1)),
    DELIVERIES: _between(1, _DELIVERIES_MAX),
    HEARTBEAT: _between(100, 3_600_000),
    SESSION: _between(1_000, 3_600_000),
    ISOLATION: _check_isolation,
}
