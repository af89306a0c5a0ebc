"""Topics: named sets of partitions with their settings."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from crc32c import crc32c

from onemq.core.entries import TOPIC_ALTER, TOPIC_CREATE, TOPIC_DELETE, TOPIC_RENAME, TRIM
from onemq.core.group import Group
from onemq.core.partition import Partition
from onemq.core.settings import DAY_MS as DAY_MS
from onemq.core.settings import TopicConfig as TopicConfig
from onemq.core.stage import Stage
from onemq.errors import AlreadyExists, InvalidArgument, NotFound
from onemq.limits import PARTITIONS_MAX
from onemq.log.engine import Log, TopicPlace
from onemq.message import check_name

SCHEDULE_NAME = "__schedule"
HALF_NAME = "__half"
TRACE_NAME = "__trace"
TRACE_PARTITIONS = 16
TRACE_RETENTION_MS = 3 * DAY_MS


class Topic:
    """A name with its partitions and groups."""

    __slots__ = ("_turn", "config", "groups", "home", "id", "internal", "name", "partitions")

    def __init__(self, id: int, name: str, config: TopicConfig) -> None:
        self.id = id
        self.name = self.home = name
        """Its name, and the one that it had first, under which the log keeps it."""
        self.internal = name.startswith("__")
        """Whether only the broker itself uses it."""
        self.config = config
        self.partitions: list[Partition] = []
        self.groups: dict[str, Group] = {}
        self._turn = -1

    @property
    def sync(self) -> bool:
        """Whether replies wait for the disk."""
        return self.config.flush == "sync"

    def choose(self, key: bytes | None, number: int | None) -> Partition:
        """The partition for a message: as asked, by its key, or the next one in turn."""
        partitions = self.partitions
        if number is not None:
            if not 0 <= number < len(partitions):
                raise InvalidArgument(f"topic {self.name!r} has partitions 0 to {len(partitions) - 1}, not {number}")
            return partitions[number]
        if len(partitions) == 1:
            return partitions[0]
        if key is not None:
            return partitions[crc32c(key) % len(partitions)]
        self._turn = (self._turn + 1) % len(partitions)
        return partitions[self._turn]

    def place(self) -> TopicPlace:
        """What the log needs to know."""
        config = self.config
        return TopicPlace(self.id, self.home, len(self.partitions), config.segment_bytes, config.segment_ms)


class Topics:
    """All topics."""

    def __init__(self, stage: Stage, log: Log) -> None:
        self._stage = stage
        self._log = log
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[int, Topic] = {}
        self._next_id = 1
        self.on_change: list[Callable[[Topic], None]] = []
        """Told of every topic that comes or changes."""
        self.on_name_free: list[Callable[[Topic], None]] = []
        """Told of every topic whose name is given up, because it goes or gets another."""
        self.on_delete: list[Callable[[Topic], None]] = []
        """Told of every topic that goes, so that what others know of it goes too."""
        self.on_trim: list[Callable[[Topic, Partition, int], None]] = []
        """Told before the messages before an offset go, while they can still be read."""

    def __iter__(self) -> Iterator[Topic]:
        return iter(list(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Topic:
        """The topic, for its users. Raises `NotFound`, and `InvalidArgument` for one that is the broker's own."""
        topic = self._by_name.get(name)
        if topic is None:
            raise NotFound(f"there is no topic {name!r}: create it first")
        if topic.internal:
            raise InvalidArgument(f"topics whose names begin with __ are OneMQ's own: {name!r}")
        return topic

    def find(self, name: str) -> Topic | None:
        """The topic, if there is one."""
        return self._by_name.get(name)

    def by_id(self, id: int) -> Topic | None:
        """The topic of an id, if it still exists."""
        return self._by_id.get(id)

    def create(self, name: str, partitions: int = 1, config: TopicConfig | None = None) -> Topic:
        """Makes a topic. Raises `AlreadyExists`, `InvalidArgument`."""
        self.check_name(name)
        if name in self._by_name:
            raise AlreadyExists(f"topic {name!r} exists already")
        return self._create(name, partitions, config or TopicConfig())

    def ensure_internal(self, name: str) -> Topic:
        """A topic of the broker's own, in which messages wait; made if it is not there."""
        return self._by_name.get(name) or self._create(name, 1, TopicConfig(kind="queue"))

    def ensure_trace(self) -> Topic:
        """The topic that is told what becomes of the messages of traced topics."""
        config = TopicConfig(flush="async", retention_ms=TRACE_RETENTION_MS)
        return self._by_name.get(TRACE_NAME) or self._create(TRACE_NAME, TRACE_PARTITIONS, config)

    def _create(self, name: str, partitions: int, config: TopicConfig) -> Topic:
        self._stage.check()
        config.check()
        if not 1 <= partitions <= PARTITIONS_MAX:
            raise InvalidArgument(f"a topic has 1 to {PARTITIONS_MAX} partitions, not {partitions}")
        entry = (TOPIC_CREATE, self._next_id, name, partitions, msgspec.to_builtins(config))
        self._apply_create(entry)
        topic = self._by_name[name]
        self._stage.create(topic.place())
        self._stage.entry(entry, sync=True)
        return topic

    def alter(self, name: str, partitions: int | None = None, **settings: Any) -> Topic:
        """Changes settings, or adds partitions."""
        topic = self.get(name)
        count = len(topic.partitions) if partitions is None else partitions
        if not len(topic.partitions) <= count <= PARTITIONS_MAX:
            raise InvalidArgument(f"topic {name!r} has {len(topic.partitions)} partitions; it can only grow")
        try:
            config = msgspec.convert(msgspec.to_builtins(topic.config) | settings, TopicConfig)
        except msgspec.ValidationError as problem:
            raise InvalidArgument(f"topic {name!r}: {problem}") from None
        config.check()
        self._stage.check()
        entry = (TOPIC_ALTER, topic.id, count, msgspec.to_builtins(config))
        self._apply_alter(entry)
        self._stage.create(topic.place())
        self._stage.entry(entry, sync=True)
        return topic

    def delete(self, name: str) -> None:
        """Removes a topic with its messages and groups."""
        topic = self.get(name)
        self._stage.check()
        entry = (TOPIC_DELETE, topic.id)
        self._apply_delete(entry)
        self._stage.delete(topic.id, topic.partitions)
        self._stage.entry(entry, sync=True)

    def check_name(self, name: str) -> None:
        """Raises `InvalidArgument` for a name that no topic of a user can have."""
        check_name("topic", name)
        if name.startswith("__"):
            raise InvalidArgument(f"topic names that begin with __ are OneMQ's own: {name!r}")

    def rename(self, topic: Topic, name: str) -> None:
        """Gives a topic another name, which must be free. Its messages and groups stay."""
        self.check_name(name)
        if name in self._by_name:
            raise AlreadyExists(f"topic {name!r} exists already")
        self._stage.check()
        entry = (TOPIC_RENAME, topic.id, name)
        self._apply_rename(entry)
        self._stage.entry(entry, sync=True)

    def trim(self, topic: Topic, partition: Partition, start: int) -> None:
        """Drops the messages before an offset."""
        if not partition.start < start <= partition.end:
            return
        for told in self.on_trim:
            told(topic, partition, start)
        entry = (TRIM, topic.id, partition.number, start)
        self._apply_trim(entry)
        self._stage.trim(topic.id, partition.number, start)
        self._stage.entry(entry, topic.sync)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            TOPIC_CREATE: self._apply_create,
            TOPIC_ALTER: self._apply_alter,
            TOPIC_DELETE: self._apply_delete,
            TOPIC_RENAME: self._apply_rename,
            TRIM: self._apply_trim,
        }

    def dump(self) -> object:
        """For the snapshot."""
        rows = [
            [topic.id, topic.name, len(topic.partitions), msgspec.to_builtins(topic.config), topic.home]
            for topic in self._by_name.values()
        ]
        return [self._next_id, rows]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        next_id, rows = state
        for id, name, partitions, config, *home in rows:
            self._apply_create((TOPIC_CREATE, id, name, partitions, config))
            self._by_id[id].home = home[0] if home else name
        self._next_id = next_id

    def place_all(self) -> None:
        """After recovery: takes the bounds of all partitions from the log."""
        for topic in self._by_name.values():
            for partition in topic.partitions:
                partition.start, partition.end = self._log.bounds(topic.id, partition.number)
                partition.boot = partition.expiring_end = partition.end

    def boots(self) -> dict[tuple[int, int], int]:
        """Where each partition ended when the broker started."""
        return {(topic.id, each.number): each.boot for topic in self for each in topic.partitions}

    def set_boots(self, boots: dict[tuple[int, int], int]) -> None:
        """The broker did not start again, it only took its state from the log again."""
        for topic in self:
            for partition in topic.partitions:
                partition.boot = boots.get((topic.id, partition.number), 0)

    def _apply_create(self, entry: Any) -> None:
        _, id, name, partitions, settings = entry
        topic = Topic(id, name, msgspec.convert(settings, TopicConfig))
        self._by_name[name] = self._by_id[id] = topic
        self._next_id = max(self._next_id, id + 1)
        self._grow(topic, partitions)
        for told in self.on_change:
            told(topic)

    def _apply_alter(self, entry: Any) -> None:
        _, id, partitions, settings = entry
        topic = self._by_id[id]
        topic.config = msgspec.convert(settings, TopicConfig)
        self._grow(topic, partitions)
        for partition in topic.partitions:
            partition.sync = topic.sync
        for group in topic.groups.values():
            group.look_anew()
        for told in self.on_change:
            told(topic)

    def _grow(self, topic: Topic, partitions: int) -> None:
        for number in range(len(topic.partitions), partitions):
            partition = Partition(topic.id, number, topic.sync)
            topic.partitions.append(partition)
            for group in topic.groups.values():
                group.add_cursor(partition, 0)

    def _apply_delete(self, entry: Any) -> None:
        topic = self._by_id.pop(entry[1])
        del self._by_name[topic.name]
        for told in (*self.on_name_free, *self.on_delete):
            told(topic)

    def _apply_rename(self, entry: Any) -> None:
        _, id, name = entry
        topic = self._by_id[id]
        del self._by_name[topic.name]
        for told in self.on_name_free:
            told(topic)
        topic.name = name
        self._by_name[name] = topic
        for told in self.on_change:
            told(topic)

    def _apply_trim(self, entry: Any) -> None:
        _, id, number, start = entry
        topic = self._by_id[id]
        partition = topic.partitions[number]
        partition.start = start
        if partition.deleted is not None:
            partition.deleted.mark_below(start)
            if not partition.deleted.count_done_above_low:
                partition.deleted = None
        partition.trim_lanes(start)
        for group in topic.groups.values():
            group.cursors[number].trim(start)
