"""Profiles: what a protocol keeps about groups by their name, whatever topics they are of, also before there are any.

The core keeps the texts and knows nothing of what they mean.
"""

from collections.abc import Callable, Mapping
from typing import Any

from onemq.core.entries import PROFILE
from onemq.core.stage import Stage
from onemq.errors import InvalidArgument, TooLarge
from onemq.limits import PROFILE_BYTES_MAX, PROFILES_MAX
from onemq.message import check_name


class Profiles:
    """The profiles of all names."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._known: dict[str, dict[str, str]] = {}

    def get(self, name: str) -> Mapping[str, str]:
        """What is kept about the groups of a name; empty if nothing is."""
        return self._known.get(name, {})

    def names(self) -> list[str]:
        """Those that something is kept about."""
        return list(self._known)

    def set(self, name: str, profile: Mapping[str, str]) -> None:
        """Keeps that, and nothing else any more; nothing at all if it is empty."""
        check_name("group", name)
        if sum(len(key.encode()) + len(value.encode()) for key, value in profile.items()) > PROFILE_BYTES_MAX:
            raise InvalidArgument(f"the profile of a group takes {PROFILE_BYTES_MAX} bytes at most")
        if self._known.get(name, {}) == profile:
            return
        if name not in self._known and len(self._known) >= PROFILES_MAX:
            raise TooLarge(f"there are profiles for {PROFILES_MAX} names of groups, and no more are kept")
        self._stage.check()
        entry = (PROFILE, name, dict(profile))
        self._apply(entry)
        self._stage.entry(entry, True)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {PROFILE: self._apply}

    def _apply(self, entry: Any) -> None:
        _, name, profile = entry
        if profile:
            self._known[name] = profile
        else:
            self._known.pop(name, None)

    def dump(self) -> object:
        """For the snapshot."""
        return self._known

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        self._known = state
