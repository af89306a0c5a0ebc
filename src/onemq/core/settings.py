"""The settings of topics and of groups, as the log keeps them."""

from typing import Literal

import msgspec

from onemq.core.filter import compile_filter
from onemq.core.once import key_of
from onemq.core.redelivery import Ladder, from_entry
from onemq.errors import InvalidArgument
from onemq.limits import (
    MESSAGE_BYTES_CEILING,
    MESSAGE_BYTES_MAX,
    TOPIC_NOTE_CHARACTERS_MAX,
    TOPIC_NOTES_MAX,
)  # fmt: skip
from onemq.message import check_name
from onemq.units import DURATION_MS_MAX

DAY_MS = 24 * 3600 * 1000
SEGMENT_MS_MAX = 7 * DAY_MS


class GroupConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a group."""

    policy: list[object] | None = None
    """Redelivery policy as an entry (core/redelivery.py); none: again at once, for ever."""
    dead_topic: str | None = None
    """Where dead letters go; none: a topic of the group's own."""
    lease_connection: bool = False
    """Give a member's deliveries back at once when its connection ends, where a protocol's own way is to keep them."""
    lease_ms: int = 0
    """Give a delivery back when it is not acknowledged in this time; 0: never while its member lives."""
    filter: str | None = None
    """Which messages the group wants (core/filter); others are passed over."""
    order: Literal["none", "partition", "key"] = "none"
    """What must be done before something after it is handed out: nothing, what comes before it in its partition, or
    what comes before it and has the same key."""
    assign: Literal["none", "average", "circle", "config", "room", "hash"] = "none"
    """How partitions are given to members (core/assignment.py); none: every member gets messages of all."""
    once: str | None = None
    """What makes two messages the same, of which only one may be acknowledged: `key`, `id` or `header:<name>`."""
    once_ms: int = 3 * 24 * 3600 * 1000
    """How long the group remembers what it has acknowledged."""

    def check(self, topic: str) -> None:
        """Raises `InvalidArgument` for settings that make no sense for a group of that topic."""
        try:
            from_entry(self.policy or ["immediate"])
        except (TypeError, ValueError):
            raise InvalidArgument(f"this is not a redelivery policy: {self.policy}") from None
        if not 0 <= self.lease_ms <= DURATION_MS_MAX:
            raise InvalidArgument(f"lease_ms must be 0 to {DURATION_MS_MAX}, not {self.lease_ms}")
        if not 1 <= self.once_ms <= DURATION_MS_MAX:
            raise InvalidArgument(f"once_ms must be 1 to {DURATION_MS_MAX}, not {self.once_ms}")
        if self.once is not None:
            key_of(self.once)
        if self.filter is not None:
            compile_filter(self.filter)
        if self.dead_topic is not None:
            check_name("topic", self.dead_topic)
            if self.dead_topic.startswith("__"):
                raise InvalidArgument(f"topic names that begin with __ are OneMQ's own: {self.dead_topic!r}")
            if self.dead_topic == topic:
                raise InvalidArgument(f"the dead letters of a group cannot go to its own topic {topic!r}")


class TopicConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a topic."""

    kind: Literal["stream", "queue"] = "stream"
    """Streams keep messages until retention; queues drop what every group has acknowledged."""
    flush: Literal["sync", "async"] = "sync"
    """Answer when the message is on disk, or when it is written."""
    retention_ms: int | None = None
    retention_bytes: int | None = None
    """Per partition."""
    compact: bool = False
    """Keep the last message of each key."""
    tombstone_ms: int = DAY_MS
    """How long compaction keeps a last message without value, so that readers learn of it."""
    message_bytes_max: int = MESSAGE_BYTES_MAX
    message_time: Literal["producer", "broker"] = "producer"
    """Which time the messages of ready-made batches have: that of their producer, or that at which they are stored."""
    segment_bytes: int = 128 << 20
    segment_ms_max: int = SEGMENT_MS_MAX
    dead: bool = False
    """Holds dead letters: never matched by patterns, only by its own name."""
    group: GroupConfig = GroupConfig()
    """What groups are like that are made without settings of their own."""
    expires_ms: int | None = None
    """After how long messages are of no use any more, if they do not say so themselves."""
    expired: Literal["drop", "dead"] = "drop"
    """What becomes of those that nobody got in time."""
    trace: bool = False
    """Tell everything that becomes of its messages to the topic of traces."""
    look_inside: bool = False
    """Look for due times and priorities in compressed ready-made batches, too, which takes unpacking each."""
    notes: dict[str, str] = {}
    """Settings of a protocol's own, kept for those who ask for them; nothing is done with them."""

    @property
    def segment_ms(self) -> int:
        """How old a segment may grow, so that retention by time is no coarser than a quarter of itself."""
        return min(self.segment_ms_max, self.retention_ms // 4 or 1) if self.retention_ms else self.segment_ms_max

    @property
    def default_group(self) -> GroupConfig:
        """What groups are like that are made without settings: as the topic has it (XPOLICY), else with the ladder."""
        if self.group != GroupConfig():
            return self.group
        return msgspec.structs.replace(self.group, policy=Ladder().to_entry())

    def check(self) -> None:
        """Raises `InvalidArgument` for settings that make no sense."""
        for name in ("retention_ms", "retention_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidArgument(f"{name} must be at least 1, or none to keep everything")
        if self.expires_ms is not None and not 1 <= self.expires_ms <= DURATION_MS_MAX:
            raise InvalidArgument(f"expires_ms must be 1 to {DURATION_MS_MAX}, or none: messages do not expire")
        if not 1 <= self.message_bytes_max <= MESSAGE_BYTES_CEILING:
            raise InvalidArgument(f"message_bytes_max must be 1 to {MESSAGE_BYTES_CEILING}")
        if not 4 << 10 <= self.segment_bytes <= 2 << 30:
            raise InvalidArgument("segment_bytes must be 4 KiB to 2 GiB")
        if not 1 <= self.segment_ms_max <= SEGMENT_MS_MAX:
            raise InvalidArgument(f"segment_ms_max must be 1 to {SEGMENT_MS_MAX}")
        if not 0 <= self.tombstone_ms <= DURATION_MS_MAX:
            raise InvalidArgument(f"tombstone_ms must be 0 to {DURATION_MS_MAX}")
        if len(self.notes) > TOPIC_NOTES_MAX:
            raise InvalidArgument(f"a topic has {TOPIC_NOTES_MAX} notes at most, not {len(self.notes)}")
        for name, text in self.notes.items():
            if len(text) > TOPIC_NOTE_CHARACTERS_MAX:
                raise InvalidArgument(f"{name} may have {TOPIC_NOTE_CHARACTERS_MAX} characters, not {len(text)}")
