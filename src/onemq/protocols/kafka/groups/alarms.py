"""Alarms: what is to be done when, without a clock of its own."""

from collections.abc import Callable

from onemq.core.deadlines import Deadlines


class Alarm:
    """A call that is due at a time, unless it is cancelled before."""

    __slots__ = ("call", "due_ms", "over")

    def __init__(self, due_ms: int, call: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.call = call
        self.over = False

    def cancel(self) -> None:
        self.over = True


class Alarms:
    """All of them. Cancelled ones do not pile up."""

    def __init__(self, now_ms: Callable[[], int], wake_at: Callable[[int], None]) -> None:
        """`wake_at` is told when `ring` must be called at the latest, whenever that is earlier than what it knows."""
        self._now_ms = now_ms
        self._wake_at = wake_at
        self._wake_ms: int | None = None
        self._deadlines: Deadlines[Alarm] = Deadlines(lambda alarm: alarm.over)

    def __len__(self) -> int:
        return len(self._deadlines)

    @property
    def now_ms(self) -> int:
        return self._now_ms()

    def add(self, due_ms: int, call: Callable[[], None]) -> Alarm:
        """Calls it then."""
        alarm = Alarm(due_ms, call)
        self._deadlines.add(due_ms, alarm)
        self._wake(due_ms)
        return alarm

    def ring(self) -> None:
        """Does what is due by now."""
        self._wake_ms = None
        for alarm in self._deadlines.pop_due(self.now_ms):
            alarm.over = True
            alarm.call()
        due_ms = self._deadlines.next_due_ms()
        if due_ms is not None:
            self._wake(due_ms)

    def _wake(self, due_ms: int) -> None:
        if self._wake_ms is None or due_ms < self._wake_ms:
            self._wake_ms = due_ms
            self._wake_at(due_ms)
