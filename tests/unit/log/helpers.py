"""What the tests of the log share: batches to append, sets to write, everything to read back."""

from collections.abc import Callable, Iterable

from onemq.errors import OneMQError
from onemq.log.batch import walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.disk import Disk
from onemq.log.engine import Batch, Log, TopicPlace, WriteSet
from onemq.log.records import NO_HEADERS, decode
from onemq.message import Record

TOPIC = 1
READ_BYTES = 1 << 20


class Outcome:
    """Stands for `done`: remembers how a set ended."""

    def __init__(self) -> None:
        self.called = 0
        self.error: OneMQError | None = None

    def __call__(self, error: OneMQError | None) -> None:
        self.called += 1
        self.error = error

    @property
    def good(self) -> bool:
        return self.called == 1 and self.error is None


class HeldBackground:
    """A `Background` whose work is done when the test says so."""

    def __init__(self) -> None:
        self.held: list[tuple[Callable[[], None], Callable[[BaseException | None], None]]] = []
        self.rests = 0

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        self.held.append((work, then))

    def rest(self) -> None:
        self.rests += 1

    def go(self) -> None:
        """Does the work that has waited longest."""
        work, then = self.held.pop(0)
        try:
            work()
        except Exception as problem:
            then(problem)
        else:
            then(None)

    def go_all(self) -> None:
        while self.held:
            self.go()


def sealed(
    base_offset: int, values: Iterable[bytes | None], timestamp_ms: int = 1000, key: bytes | None = None
) -> bytes:
    """A batch of values, all of one time and key."""
    builder = BatchBuilder(base_offset, timestamp_ms)
    for value in values:
        builder.add(timestamp_ms, key, value, NO_HEADERS)
    return builder.seal()


def place(topic: int = TOPIC, partitions: int = 1, segment_bytes: int = 1 << 20) -> TopicPlace:
    return TopicPlace(topic, f"topic-{topic}", partitions, segment_bytes)


def create(log: Log, topic: int = TOPIC, partitions: int = 1, segment_bytes: int = 1 << 20) -> None:
    append(log, WriteSet(creates=[place(topic, partitions, segment_bytes)], sync=True))


def append(log: Log, writes: WriteSet) -> None:
    """Appends a set that must succeed at once."""
    outcome = try_append(log, writes)
    assert outcome.good, outcome.error


def try_append(log: Log, writes: WriteSet) -> Outcome:
    outcome = Outcome()
    log.append(writes, outcome)
    return outcome


def batch(
    log: Log,
    *values: bytes | None,
    topic: int = TOPIC,
    partition: int = 0,
    journaled: bool = True,
    timestamp_ms: int = 1000,
    key: bytes | None = None,
) -> Batch:
    """Values as a batch for the end of a partition."""
    base_offset = log.bounds(topic, partition)[1]
    return Batch(topic, partition, base_offset, sealed(base_offset, values, timestamp_ms, key), journaled)


def put(
    log: Log,
    *values: bytes | None,
    topic: int = TOPIC,
    partition: int = 0,
    journaled: bool = True,
    sync: bool = True,
    timestamp_ms: int = 1000,
    key: bytes | None = None,
) -> None:
    """Appends values as one batch, acknowledged when this returns."""
    made = batch(
        log, *values, topic=topic, partition=partition, journaled=journaled, timestamp_ms=timestamp_ms, key=key
    )
    append(log, WriteSet(batches=[made], entries=[("put", made.base_offset)], sync=sync))


def read(log: Log, offset: int, bytes_max: int = READ_BYTES, topic: int = TOPIC, partition: int = 0) -> bytes:
    """One read."""
    answers: list[bytes] = []
    log.read(topic, partition, offset, bytes_max, answers.append)
    assert len(answers) == 1
    return answers[0]


def records(log: Log, topic: int = TOPIC, partition: int = 0, bytes_max: int = READ_BYTES) -> list[Record]:
    """Every record of a partition, read from the first kept offset to the end."""
    offset, end = log.bounds(topic, partition)
    start = offset
    found: list[Record] = []
    while offset < end:
        data = read(log, offset, bytes_max, topic, partition)
        if not data:
            break
        for position, header in walk(data):
            found += [record for record in decode(data, position, header) if record[0] >= start]
            assert header.next_offset > offset, "reading must get on"
            offset = header.next_offset
    offsets = [record[0] for record in found]
    assert offsets == sorted(set(offsets)), "offsets must grow"
    return found


def values(log: Log, topic: int = TOPIC, partition: int = 0) -> list[bytes | None]:
    return [record[3] for record in records(log, topic, partition)]


def offset_at(log: Log, timestamp_ms: int, topic: int = TOPIC, partition: int = 0) -> int:
    answers: list[int] = []
    log.offset_at(topic, partition, timestamp_ms, answers.append)
    return answers[0]


def entries(log: Log) -> list[list[object]]:
    """The entries of all sets that are replayed, without the snapshot's state."""
    return [entry for one_set in log.replay().sets for entry in one_set]


def content(disk: Disk, path: str) -> bytes:
    file = disk.open(path, read_only=True)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def overwrite(disk: Disk, path: str, data: bytes) -> None:
    """Gives a file another content, durably."""
    file = disk.open(path, create=True)
    file.truncate(0)
    file.append([data])
    file.sync()
    file.close()


def flip(disk: Disk, path: str, position: int, mask: int = 0x40) -> None:
    """Changes bits of one byte."""
    changed = bytearray(content(disk, path))
    changed[position] ^= mask
    overwrite(disk, path, bytes(changed))


def segment_files(disk: Disk, topic: int = TOPIC, suffix: str = ".log") -> list[str]:
    """The paths of a topic's segments, in order."""
    folder = f"topics/topic-{topic}~{topic}"
    return [f"{folder}/{name}" for name in disk.list(folder) if name.endswith(suffix)]
