"""The groups of the core behind a share group: one for each topic, found, or made."""

import msgspec

from onemq.core.core import Core
from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.core.start import Start
from onemq.core.topics import Topic
from onemq.protocols.kafka.sharing.settings import ShareSettings, default_config

NO_LOCK_MS = (1 << 31) - 1
"""What members of a group without leases are told: they have a message for as long as they are connected."""


def find_topic(core: Core, name: str) -> Topic | None:
    """A topic that clients may use, if it is there."""
    topic = core.topics.find(name)
    return None if topic is None or topic.internal else topic


def group_to_use(core: Core, topic: Topic, name: str, start: Start | None = None) -> Group | None:
    """The group of a topic; made as its settings say, if there is none. It begins at another point if that is given.
    None if finding the point takes a while."""
    group = topic.groups.get(name)
    if group is None:
        settings = ShareSettings(core)
        config = msgspec.to_builtins(default_config(topic, settings.own(name)))
        core.create_group(topic.name, name, start or settings.start(name), **config)
        core.keys.topic_changed(topic.name.encode())
    return topic.groups.get(name)


def groups_of(core: Core, name: str) -> list[Group]:
    """The groups of all topics that are behind a share group."""
    return [topic.groups[name] for topic in core.topics if name in topic.groups and not topic.internal]


def lock_ms(group: Group) -> int:
    """How long an acquired message of a group is its member's."""
    return min(group.config.lease_ms, NO_LOCK_MS) or NO_LOCK_MS


def held(cursor: Cursor, member: str) -> list[int]:
    """What a member has of a partition."""
    found = cursor.group.members.get(member)
    deliveries = () if found is None else tuple(found.held)
    return sorted(
        offset
        for delivery in deliveries
        if delivery.cursor is cursor
        for offset in delivery.offsets
        if cursor.unacknowledged.get(offset) is delivery
    )
