"""Each message of a traced topic that was acknowledged has a trace that tells so."""

from random import Random

from onemq.core.core import Core
from onemq.core.group import Group
from onemq.core.topics import TRACE_RETENTION_MS
from onemq.core.trace import Trace
from onemq.message import message_id

Place = tuple[int, int, int]
"""(topic, partition, offset)"""


class Acknowledged:
    """What was acknowledged in traced topics and must be told."""

    def __init__(self) -> None:
        self._done: dict[tuple[Place, str], tuple[int, int]] = {}
        """(message, group) -> (turn, time)"""
        self._latest_ms = 0

    def note(self, group: Group, number: int, offsets: list[int], turn: int, now_ms: int) -> None:
        """Those messages were acknowledged in a turn."""
        if group.topic.config.trace:
            self._done.update((((group.topic.id, number, each), group.name), (turn, now_ms)) for each in offsets)

    def forget_after(self, turn: int) -> None:
        """What happened in later turns never happened."""
        self._done = {what: when for what, when in self._done.items() if when[0] <= turn}

    def forget_all(self) -> None:
        """A power cut may have taken any part of the trace."""
        self._done.clear()

    def check(self, core: Core, random: Random, turn: int) -> None:
        """One of them is traced, of those up to a turn that is over."""
        now_ms = self._latest_ms = max(self._latest_ms, core.stage.now_ms)
        self._done = {what: when for what, when in self._done.items() if now_ms - when[1] < TRACE_RETENTION_MS}
        over = [what for what, when in self._done.items() if when[0] <= turn]
        known = [what for what in over if core.topics.by_id(what[0][0]) is not None]
        if known:
            _check(core, *random.choice(known))


def _check(core: Core, place: Place, group: str) -> None:
    topic = core.topics.by_id(place[0])
    assert topic is not None
    found: list[Trace] = []
    records: list[object] = []
    core.reading.records_at(topic.partitions[place[1]], [place[2]], records.extend)
    core.traces.trace(topic.name, message_id(*place), found.append)
    while not found:
        core.scans.tick(core.stage.now_ms)
    trace = found[0]
    if not records or trace.error is not None:
        return  # dropped, or it came from elsewhere and has another id
    if (trace.partition, trace.offset) != place[1:]:
        return
    told = [event.event for event in trace.events if event.group == group]
    assert "acknowledged" in told, f"{topic.name} {place} was acknowledged by {group}, but its trace tells {told}"
