"""Consumers whose deliveries go back at once when their connection is gone.

Giving back is a change. Where none can be written, or the turn that was to write it failed, it is done when there is
room again; or before, if another connection uses the name by then and can write.
"""

from dataclasses import dataclass, field
from functools import partial

from onemq.core.core import Core
from onemq.core.groups import Groups

_RETRY_MS = 1_000


@dataclass(frozen=True, slots=True)
class Lease:
    """A consumer that is bound to a connection; called when that ends."""

    leases: "Leases" = field(compare=False)
    topic_id: int
    group: str
    consumer: str

    def __call__(self) -> None:
        self.leases.end(self)


class Leases:
    """Ends those of all connections."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._ending: dict[Lease, Groups | None] = {}
        """Leases that ended, and the groups as they were that have written it: a turn that fails makes them anew."""

    def end(self, lease: Lease) -> None:
        """What the consumer has goes to others, and counts."""
        self._ending[lease] = self._core.groups if self._give_back(lease) else None
        self._core.waiting.wait([], self._core.stage.now_ms + _RETRY_MS, partial(self._look_again, lease))

    def begin(self, lease: Lease) -> None:
        """A connection is bound: what is still to be given back of the one before must not be taken from it later."""
        if lease in self._ending and self._ending.pop(lease) is not self._core.groups:
            self._core.check_writable()
            self._give_back(lease)

    def _look_again(self, lease: Lease) -> None:
        if lease in self._ending and self._ending.pop(lease) is not self._core.groups:
            self.end(lease)

    def _give_back(self, lease: Lease) -> bool:
        """Returns whether that could be written."""
        if self._core.stage.refusal is not None:
            return False
        topic = self._core.topics.by_id(lease.topic_id)
        group = topic.groups.get(lease.group) if topic is not None else None
        if group is not None and group.config.lease_connection:
            self._core.groups.leave(group, lease.consumer, "the connection ended")
        return True
