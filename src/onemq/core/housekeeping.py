"""Housekeeping: what keeps the disk from filling, done a little at a time.

Retention by time and size, dropping what queue topics no longer need, compaction, cleaning where
messages are parked, and refusing messages above the disk watermark. Acknowledgements and deliveries go on there:
they are what makes room.
"""

from collections.abc import Callable

from onemq.core.cursor import Cursor
from onemq.core.parking import Parking
from onemq.core.partition import Partition
from onemq.core.producers import Producers
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.errors import DiskFull
from onemq.log.engine import Keep, Log

ROUND_MS = 5_000
DISK_CHECK_MS = 1_000
CLEAN_ROUND_MS = 60_000
HOUR_MS = 3_600_000
CLEAN_MESSAGES_MIN = 1_000
"""Fewer messages than this are not worth rewriting a segment."""


class Housekeeping:
    """Runs from the tick."""

    def __init__(
        self,
        stage: Stage,
        log: Log,
        topics: Topics,
        parkings: list[Parking],
        producers: Producers,
        sending: Sending,
        disk_watermark: float,
        purge_hour: int | None,
    ) -> None:
        self._stage = stage
        self._log = log
        self._topics = topics
        self._parkings = {parking.name: parking for parking in parkings}
        self._producers = producers
        self._sending = sending
        self._disk_watermark = disk_watermark
        self._purge_hour = purge_hour
        self._next_ms: dict[Callable[[int], None], int] = {}
        self._last_ms = self._due_ms = 0
        """When it last looked at everything, and when it must again."""
        self._cleaning = 0
        self.on_cleaned: Callable[[], None] = lambda: None
        """Told when messages may have gone from the middle of a partition."""
        self._kept: dict[tuple[int, int], tuple[int, int]] = {}
        """(topic, partition) -> how many messages the last cleaning kept, and where the partition ended then."""
        self._rounds: list[tuple[int, Callable[[int], None]]] = [
            (DISK_CHECK_MS, self._check_disk),
            # Before all that stages something: what is cleaned away is gone at once, and a crash may undo this turn.
            (CLEAN_ROUND_MS, self._clean),
            (ROUND_MS, self._make_room),
            (HOUR_MS, self._producers.forget_idle),
        ]

    def every(self, every_ms: int, work: Callable[[int], None]) -> None:
        """Has some more work done in rounds."""
        self._rounds.append((every_ms, work))
        self._due_ms = 0

    def tick(self, now_ms: int) -> int:
        """Does what is due. Returns when to come again."""
        may_write = self._stage.refusal is None
        if may_write and self._last_ms <= now_ms < self._due_ms:
            return self._due_ms
        self._last_ms = now_ms
        rounds = self._rounds if may_write else self._rounds[:1]
        for every_ms, work in rounds:
            due_ms = self._next_ms.get(work, 0)
            # A clock that went back must not stop housekeeping until it has caught up.
            if now_ms >= due_ms or due_ms - now_ms > every_ms:
                self._next_ms[work] = now_ms + every_ms
                work(now_ms)
        due_ms = min([self._next_ms[work] for _, work in rounds])
        self._due_ms = due_ms if may_write else 0
        return due_ms

    def _check_disk(self, now_ms: int) -> None:
        if self._log.failure is not None:
            self._log.try_again()
        self._stage.refusal = self._log.failure
        if self._stage.refusal is not None:
            return
        used = 1 - self._log.free_ratio()
        if used < self._disk_watermark:
            self._sending.refusal = None
        elif self._sending.refusal is None:
            self._sending.refusal = DiskFull(
                f"the disk is {used:.0%} full, over the watermark of {self._disk_watermark:.0%}: messages are refused "
                "until there is room; delete topics, shorten their retention or add space"
            )
            self._next_ms.pop(self._make_room, None)  # it is due now, in its place

    def _make_room(self, now_ms: int) -> None:
        purge_now = self._purge_hour is None or now_ms // HOUR_MS % 24 == self._purge_hour
        purge_now = purge_now or self._sending.refusal is not None
        for topic in self._topics:
            if topic.partitions and (topic.config.kind == "queue" or purge_now):
                self._trim(topic, now_ms, purge_now)

    def _trim(self, topic: Topic, now_ms: int, purge_now: bool) -> None:
        config = topic.config
        before_ms = now_ms - config.retention_ms if purge_now and config.retention_ms is not None else None
        bytes_max = config.retention_bytes if purge_now else None
        for partition in topic.partitions:
            if partition.all_staged:
                continue
            below = self._unneeded_below(topic, partition.number)
            if (before_ms, bytes_max, below) != (None, None, None):
                start = self._log.expired(topic.id, partition.number, before_ms, bytes_max, below)
                self._topics.trim(topic, partition, start)

    def _unneeded_below(self, topic: Topic, number: int) -> int | None:
        """The offset below which nobody needs the messages of a queue topic."""
        if topic.name in self._parkings:
            return self._parkings[topic.name].low
        if topic.config.kind != "queue" or not topic.groups:
            return None
        return min(group.cursors[number].low for group in topic.groups.values())

    def _clean(self, now_ms: int) -> None:
        if self._cleaning:
            return
        self._kept = {place: kept for place, kept in self._kept.items() if self._topics.by_id(place[0]) is not None}
        for topic in self._topics:
            for partition in topic.partitions:
                if partition.all_staged:
                    continue
                if topic.config.compact:
                    self._cleaning += 1
                    self._log.compact(topic.id, partition.number, now_ms - topic.config.tombstone_ms, self._cleaned)
                elif topic.name in self._parkings:
                    parking = self._parkings[topic.name]
                    self._clean_unneeded(partition, len(parking), parking.live_copy())
                elif topic.config.kind == "queue" and topic.groups:
                    cursors = [group.cursors[partition.number] for group in topic.groups.values()]
                    needed = sum(cursor.lag for cursor in cursors)
                    self._clean_unneeded(partition, needed, needed_by(cursors))

    def _clean_unneeded(self, partition: Partition, needed: int, keep: Keep) -> None:
        """Rewrites a partition when most of what it stores is done, but something old is not."""
        place = (partition.topic_id, partition.number)
        needed_then, end_then = self._kept.get(place, (0, partition.start))
        stored = needed_then + partition.end - max(end_then, partition.start)
        if stored > 2 * needed + CLEAN_MESSAGES_MIN:
            self._kept[place] = (needed, partition.end)
            self._cleaning += 1
            self._log.clean(*place, keep, self._cleaned)

    def _cleaned(self, freed_bytes: int) -> None:
        self._cleaning -= 1
        self.on_cleaned()


def needed_by(cursors: list[Cursor]) -> Keep:
    """Says of each offset whether some group still needs it, as of now; can be asked on another thread."""
    frozen = [(cursor.next, frozenset(cursor.unacknowledged), cursor.overtaken_copy()) for cursor in cursors]
    return lambda offset: any(
        offset >= following or offset in pending or is_overtaken(offset) for following, pending, is_overtaken in frozen
    )
