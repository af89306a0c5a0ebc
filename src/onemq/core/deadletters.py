"""Dead letters: messages that were handed out as often as allowed, or rejected.

A dead letter goes to a topic of its own, with key, body, headers and id as they were, and a header
that tells why, whence and after what history. That and the acknowledgement of the original are one set.
"""

from collections.abc import Callable

import msgspec
from crc32c import crc32c

from onemq.core.cursor import Cursor
from onemq.core.delivery import BURYING, Attempt
from onemq.core.group import Group
from onemq.core.groups import Groups
from onemq.core.measure import at_once
from onemq.core.reading import Reading
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.topics import DAY_MS, Topic, TopicConfig, Topics
from onemq.errors import Corrupt
from onemq.limits import MESSAGE_BYTES_CEILING, NAME_BYTES_MAX
from onemq.log.records import encode_headers
from onemq.message import DEAD, ID, STREAM_ID, Record, header, id_of

RETENTION_MS = 3 * DAY_MS


class Death(msgspec.Struct, frozen=True):
    """What the header of a dead letter tells."""

    reason: str
    topic: str
    partition: int
    offset: int
    group: str
    deliveries: int
    at_ms: int
    history: list[Attempt]
    """(handed out at, to whom, failed at, why) of the last attempts."""


def death_of(record: Record) -> Death | None:
    """Why a record is a dead letter, if it is one."""
    told = header(record[4], DEAD)
    try:
        return msgspec.json.decode(told, type=Death) if told is not None else None
    except msgspec.DecodeError:  # a sender wrote it, not the broker
        return None


class DeadLetters:
    """Buries messages, and brings them back."""

    def __init__(self, stage: Stage, topics: Topics, groups: Groups, sending: Sending, reading: Reading) -> None:
        self._stage = stage
        self._topics = topics
        self._groups = groups
        self._sending = sending
        self._reading = reading
        self.on_damage: Callable[[Cursor, Corrupt], None] = lambda cursor, damage: None
        self.delete: Callable[[Topic, int, list[int]], int] = lambda topic, number, offsets: 0
        """Deletes single messages of a partition."""
        groups.bury, groups.bury_all = self.bury, self.bury_all

    def bury(self, cursor: Cursor, offset: int, reason: str) -> None:
        """Makes a message that nobody has a dead letter."""
        self._bury_together(cursor, [offset], reason)

    def bury_all(self, cursor: Cursor, offsets: list[int], reason: str) -> None:
        """The same for many, which are read together."""
        step = at_once(cursor.group.topic.config.message_bytes_max)
        for first in range(0, len(offsets), step):
            self._bury_together(cursor, sorted(offsets[first : first + step]), reason)

    def _bury_together(self, cursor: Cursor, offsets: list[int], reason: str) -> None:
        deliveries = {offset: cursor.unacknowledged[offset] for offset in offsets}
        for delivery in deliveries.values():
            delivery.due_ms = BURYING
        group = cursor.group

        def found(records: list[Record]) -> None:
            if not self._groups.has(group):
                return
            # Those that were acknowledged or forgotten meanwhile are left out.
            left = {offset: each for offset, each in deliveries.items() if cursor.unacknowledged.get(offset) is each}
            for record in records:
                delivery = left.get(record[0])
                if delivery is not None:
                    origin = (group.topic.name, cursor.partition.number, record[0], group.name)
                    death = Death(reason, *origin, delivery.count, self._stage.now_ms, list(delivery.history))
                    self._write(group, cursor, record, death)
            self._groups.dismiss(group, cursor.partition.number, list(left))

        try:
            self._reading.records_at(cursor.partition, offsets, found)
        except Corrupt as damage:
            if len(offsets) > 1:
                for offset in offsets:
                    self._bury_together(cursor, [offset], reason)
                return
            self.on_damage(cursor, damage)
            found([])

    def _write(self, group: Group, cursor: Cursor, record: Record, death: Death) -> None:
        headers = [each for each in record[4] if each[0] not in (DEAD, STREAM_ID)]
        if header(record[4], ID) is None:
            headers.append((ID, id_of(cursor.partition.topic_id, cursor.partition.number, record).encode()))
        headers.append((DEAD, msgspec.json.encode(death)))
        topic = self.topic_of(group)
        partition = topic.choose(record[2], None)
        # Past the checks of sending: the disk watermark must not stop a message from being set aside.
        offset = self._sending.put(partition, record[3], record[2], encode_headers(headers))
        if self._groups.trace is not None:
            self._groups.trace.buried(cursor, record[0], death.reason, (topic.name, partition.number, offset))

    def name_of(self, group: Group) -> str:
        """The name of the topic for the dead letters of a group."""
        return group.config.dead_topic or dead_topic_name(group)

    def topic_of(self, group: Group) -> Topic:
        """Where the dead letters of a group go; made when the first one comes."""
        name = self.name_of(group)
        config = TopicConfig(
            flush=group.topic.config.flush,
            retention_ms=RETENTION_MS,
            message_bytes_max=MESSAGE_BYTES_CEILING,
            dead=True,
        )
        return self._topics.find(name) or self._topics.create(name, 1, config)


    def topics_of(self, origin: Topic) -> list[Topic]:
        """The topics that hold dead letters of a topic's groups, those of groups that are gone included. They may
        hold others, too."""
        named = {group.config.dead_topic or dead_topic_name(group) for group in origin.groups.values()}
        prefix = f"{origin.name}."
        return [each for each in self._topics if each.name in named or _is_of(each, prefix)]

    def replay(self, topic: Topic, number: int, letters: list[Record]) -> int:
        """Sends dead letters of one partition back to where they came from, as new messages with the same ids, and
        deletes them here, in one set. Returns how many; those whose topic is gone stay."""
        self._sending.check()
        revived = [letter[0] for letter in letters if self._revive(letter)]
        return self.delete(topic, number, revived) if revived else 0

    def _revive(self, letter: Record) -> bool:
        death = death_of(letter)
        origin = self._topics.find(death.topic) if death is not None else None
        if death is None or origin is None or origin.internal:
            return False
        headers = [each for each in letter[4] if each[0] not in (DEAD, STREAM_ID)]
        number = death.partition if 0 <= death.partition < len(origin.partitions) else None
        self._sending.put(origin.choose(letter[2], number), letter[3], letter[2], encode_headers(headers))
        return True


def _is_of(topic: Topic, prefix: str) -> bool:
    return topic.config.dead and topic.name.startswith(prefix)


def dead_topic_name(group: Group) -> str:
    """The group's own topic for dead letters."""
    name = f"{group.topic.name}.{group.name}.dead"
    if len(name.encode()) <= NAME_BYTES_MAX:
        return name
    return f"{crc32c(name.encode()):08x}.{group.name}"[: NAME_BYTES_MAX // 4] + ".dead"
