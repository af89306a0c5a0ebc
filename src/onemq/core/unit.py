"""An atomic unit: several sends and acknowledgements that happen together or not at all.

Nothing of it is visible before `commit`. A unit is as durable as its strongest part: if anything in it
goes to a sync topic, what goes to async topics survives with it.
"""

from typing import TYPE_CHECKING, NamedTuple

from onemq.core.group import Group
from onemq.errors import InvalidArgument, NotFound, TooLarge
from onemq.limits import TURN_BYTES_MAX
from onemq.message import Headers

if TYPE_CHECKING:
    from onemq.core.core import Core


class UnitSend(NamedTuple):
    """A message to be sent at commit."""

    topic: str
    body: bytes
    key: bytes | None
    headers: Headers
    number: int | None
    deliver_at_ms: int | None


class Unit:
    """Gathers what shall happen together."""

    def __init__(self, core: "Core") -> None:
        self._core = core
        self._sends: list[UnitSend] = []
        self._done: list[tuple[Group, int, list[int]]] = []
        self._bytes = 0
        self.open = True

    def send(
        self,
        topic: str,
        body: bytes,
        key: bytes | None = None,
        headers: Headers = (),
        number: int | None = None,
        deliver_at_ms: int | None = None,
    ) -> None:
        """The message will be sent at commit."""
        self._check_open()
        found = self._core.topics.get(topic)
        found.choose(key, number)
        if len(body) > found.config.message_bytes_max:
            raise TooLarge(f"topic {topic!r} takes messages of up to {found.config.message_bytes_max} bytes")
        self._bytes += len(body)
        if self._bytes > TURN_BYTES_MAX:
            raise TooLarge(f"an atomic unit can hold {TURN_BYTES_MAX} bytes of messages")
        self._sends.append(UnitSend(topic, body, key, headers, number, deliver_at_ms))

    def acknowledge(self, group: Group, number: int, offsets: list[int]) -> None:
        """The deliveries will be acknowledged at commit."""
        self._check_open()
        self._done.append((group, number, offsets))

    def commit(self) -> list[tuple[int, int]]:
        """All of it happens now. Returns (partition, offset) of each message, or (-1, timer) of a scheduled one.

        Raises if a topic or group is gone or nothing may be written; then nothing has happened, and the
        unit can still be rolled back.
        """
        self._check_open()
        core = self._core
        if core.sending.refusal is not None:
            raise core.sending.refusal
        core.stage.check()
        for send in self._sends:
            core.topics.get(send.topic)
        for group, _, _ in self._done:
            if core.topics.get(group.topic.name).groups.get(group.name) is not group:
                raise NotFound(f"the group {group.name!r} is gone")
        self.open = False
        placed = [core.send(*send) for send in self._sends]
        for group, number, offsets in self._done:
            core.groups.acknowledge(group, number, offsets)
        core.stage.promote()
        return placed

    def rollback(self) -> None:
        """Nothing of it happens; the deliveries count as failed and come again."""
        if self.open:
            self.open = False
            for group, number, offsets in self._done:
                self._core.groups.fail(group, number, offsets, "the transaction was rolled back")

    def _check_open(self) -> None:
        if not self.open:
            raise InvalidArgument("this transaction has ended; begin a new one")
