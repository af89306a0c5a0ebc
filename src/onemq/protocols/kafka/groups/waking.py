"""Waking: the core's clock rings the alarms of the groups."""

from onemq.core.core import Core
from onemq.core.waiting import Wait
from onemq.protocols.kafka.groups.alarms import Alarms


class Waking:
    """Alarms that go by the time of the core's turns."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._wait: Wait | None = None
        self.alarms = Alarms(lambda: core.stage.now_ms, self._wake_at)

    def _wake_at(self, due_ms: int) -> None:
        if self._wait is not None:
            self._wait.cancel()
        self._wait = self._core.waiting.wait([], due_ms, self._ring)

    def _ring(self) -> None:
        self._wait = None
        self.alarms.ring()
