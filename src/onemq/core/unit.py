"""An atomic unit: several sends and acknowledgements that happen together or not at all.

Nothing of it is visible before `commit`. A unit is as durable as its strongest part: if anything in it
goes to a sync topic, what goes to async topics survives with it.
"""

from typing import TYPE_CHECKING, NamedTuple

from onemq.core.group import Group
from onemq.core.placed import Placed
from onemq.core.ranking import with_priority
from onemq.core.sending import check_size
from onemq.errors import InvalidArgument, TooLarge
from onemq.limits import TURN_BYTES_MAX
from onemq.log.records import encode_headers
from onemq.message import PRIORITY_DEFAULT, Headers

if TYPE_CHECKING:
    from onemq.core.core import Core

# What each message and each acknowledgement counts beside its own bytes.
_MESSAGE_BYTES = 100
_OFFSET_BYTES = 16


class UnitSend(NamedTuple):
    """A message to be sent at commit."""

    topic: str
    body: bytes
    key: bytes | None
    headers: Headers
    number: int | None
    deliver_at_ms: int | None
    priority: int


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
        priority: int = PRIORITY_DEFAULT,
    ) -> None:
        """The message will be sent at commit."""
        self._check_open()
        send = UnitSend(topic, body, key, headers, number, deliver_at_ms, priority)
        self._grow(self._check(send) + _MESSAGE_BYTES)
        self._sends.append(send)

    def acknowledge(self, group: Group, number: int, offsets: list[int]) -> None:
        """The deliveries will be acknowledged at commit."""
        self._check_open()
        self._core.groups.cursor(group, number)
        self._grow(len(offsets) * _OFFSET_BYTES)
        self._done.append((group, number, offsets))

    def commit(self) -> list[Placed]:
        """All of it happens now. Returns (partition, offset) of each message, or (-1, timer) of a scheduled one.

        Raises if a topic or group is gone or has changed, or nothing may be written; then nothing has
        happened, and the unit can still be rolled back.
        """
        self._check_open()
        core = self._core
        core.stage.check()
        if self._sends:
            core.sending.check()
        for send in self._sends:
            self._check(send)
        for group, _, _ in self._done:
            core.groups.check(group)
        self.open = False
        placed = [core.send(*send[:-1], priority=send.priority) for send in self._sends]
        for group, number, offsets in self._done:
            core.groups.acknowledge(group, number, offsets)
        core.stage.promote()
        return placed

    def rollback(self) -> None:
        """Nothing of it happens; the deliveries count as failed and come again."""
        if self.open:
            self.open = False
            for group, number, offsets in self._done:
                if self._core.groups.has(group):
                    self._core.groups.fail(group, number, offsets, "the transaction was rolled back")

    def _check(self, send: UnitSend) -> int:
        """Raises what sending it now would raise, and returns its size."""
        topic = self._core.topics.get(send.topic)
        if send.number is not None:
            topic.choose(send.key, send.number)
        if send.deliver_at_ms is not None:
            self._core.schedule.check_due(max(send.deliver_at_ms, 0))
        return check_size(topic, send.body, send.key, encode_headers(with_priority(send.headers, send.priority)))

    def _grow(self, size: int) -> None:
        if self._bytes + size > TURN_BYTES_MAX:
            raise TooLarge(f"an atomic unit can hold {TURN_BYTES_MAX} bytes of messages and acknowledgements")
        self._bytes += size

    def _check_open(self) -> None:
        if not self.open:
            raise InvalidArgument("this transaction has ended; begin a new one")
