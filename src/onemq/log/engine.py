"""The seam between the core and whatever keeps the log.

An engine appends atomic sets, reads record batches back, and replays the state entries. It knows
no topic settings beyond what placing bytes needs, and nothing of what entries mean. Appending and
reading may take long on some engines, so both answer through completions: a callback that is
called once, at once or later, always on the core's thread.

Who places messages: the core puts each batch at the engine's `bounds(...)[1]`. An engine puts it
exactly there or fails the whole set. Offsets may have gaps (compaction, lost unsynced batches,
another engine's own markers): readers go by the offsets in the batches and never count.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from onemq.errors import OneMQError
from onemq.log.stretch import Stretch

Entry = tuple[object, ...]
Done = Callable[[OneMQError | None], None]
Keep = Callable[[int], bool]
"""Called with an offset; says whether cleaning keeps the record."""


class Batch(NamedTuple):
    """One sealed record batch on its way to a partition."""

    topic: int
    partition: int
    base_offset: int
    data: bytes
    journaled: bool
    """Whether the bytes must survive a power cut together with the set's entries."""


class TopicPlace(NamedTuple):
    """What an engine needs to know to keep a topic."""

    id: int
    name: str
    partitions: int
    segment_bytes: int
    segment_ms: int = 0
    """Start a new segment when the first message of the last one is this old; 0: never."""


@dataclass(slots=True)
class WriteSet:
    """Everything one turn changes: all of it is there after a crash, or nothing."""

    creates: list[TopicPlace] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)
    trims: list[tuple[int, int, int]] = field(default_factory=list)
    """(topic, partition, new first offset)"""
    batches: list[Batch] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    sync: bool = False
    """Whether `done` waits until the set survives a power cut; else until it survives a killed process."""


class Replay(NamedTuple):
    """The state as the log has it: a snapshot, and the entries of each later set in order."""

    state: bytes | None
    sets: Iterator[list[list[object]]]


class Log(Protocol):
    """What an engine offers. One thread calls it."""

    @property
    def failure(self) -> OneMQError | None:
        """Why nothing more can be appended, if so. Reads go on."""

    def replay(self) -> Replay:
        """The state from the beginning; possible at any time, sees all sets that were acknowledged."""

    def append(self, writes: WriteSet, done: Done) -> None:
        """Appends the set; then it can be read. Calls `done(None)` when it is as durable as it asks,
        or `done(error)`: then nothing of it is there, and `failure` is set."""

    def read(self, topic: int, partition: int, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        """Whole batches, the first of which holds `offset` or starts after it, up to `bytes_max` but at
        least one if there is any. Raises `OffsetOutOfRange` outside `bounds`, `Corrupt` for damage."""

    def stretch(
        self, topic: int, partition: int, offset: int, bytes_max: int, boot: int
    ) -> tuple[Stretch, int] | None:
        """As `read`, at once, without reading them, and the offset behind them. None if an engine cannot, or wants to
        look at them first; never with messages before `boot` that are not persistent."""

    def bounds(self, topic: int, partition: int) -> tuple[int, int]:
        """(first kept offset, offset that the next message gets)"""

    def offset_at(self, topic: int, partition: int, timestamp_ms: int, then: Callable[[int], None]) -> None:
        """The first offset whose message was stored at or after the time; the end if there is none."""

    def latest_before(self, topic: int, partition: int, offset: int) -> int:
        """The highest time of the batches that are kept and end at or before an offset; -1 without any."""

    def expired(
        self, topic: int, partition: int, before_ms: int | None, bytes_max: int | None, below: int | None
    ) -> int:
        """The first offset to keep when these may go: what is older than a time, what is over a size, and
        what lies below an offset. An engine removes in pieces of its own size, so less may go, never more."""

    def clean(self, topic: int, partition: int, keep: Keep, then: Callable[[int], None]) -> None:
        """Rewrites what is no longer appended to, without the records that `keep` refuses; `keep` may be
        called on another thread. Offsets stay. Answers with the bytes freed."""

    def compact(self, topic: int, partition: int, tombstones_before_ms: int, then: Callable[[int], None]) -> None:
        """As `clean`, keeping the last record of each key, and those without key. A last record without
        value goes too if it is older than the time. Answers at once where too little has changed."""

    def stored_bytes(self, topic: int, partition: int) -> int:
        """Bytes that the partition takes."""

    def free_ratio(self) -> float:
        """The part of the space that is free, 0 to 1."""

    def try_again(self) -> bool:
        """Whether appending works, after trying to recover from a full disk."""

    def checkpoint_due(self) -> bool:
        """Whether `checkpoint` should be called soon to keep the next start quick."""

    def checkpoint(self, state: Iterable[bytes]) -> None:
        """Keeps `state`, bytes in pieces, as the sum of all sets so far, so that replay starts there. The pieces may be
        taken later and on another thread."""

    def close(self) -> None:
        """Releases everything. Call `checkpoint` before, and the next start replays nothing."""
