"""Sessions: members of a classic group must show that they live, unless they wait for an answer."""

from collections.abc import Callable
from functools import partial

from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.member import Member


class Sessions:
    """Those of one group."""

    def __init__(self, alarms: Alarms, over: Callable[[Member], None]) -> None:
        """`over` is told of each member that has not shown that it lives."""
        self._alarms = alarms
        self._over = over

    def renew(self, member: Member) -> None:
        """It has shown that it lives."""
        member.expires_ms = self._alarms.now_ms + member.session_timeout_ms
        if member.alarm is None or member.expires_ms < member.alarm.due_ms:
            self._watch(member)

    def end(self, member: Member) -> None:
        """It is no member any more."""
        if member.alarm is not None:
            member.alarm.cancel()

    def _watch(self, member: Member) -> None:
        if member.alarm is not None:
            member.alarm.cancel()
        member.alarm = self._alarms.add(member.expires_ms, partial(self._due, member))

    def _due(self, member: Member) -> None:
        member.alarm = None
        if member.is_waiting:
            self.renew(member)
        elif member.expires_ms > self._alarms.now_ms:
            self._watch(member)
        else:
            self._over(member)
