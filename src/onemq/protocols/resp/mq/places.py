"""Topics and groups by name: found, or made with defaults where a command sends or receives."""

from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.group import Group, GroupConfig
from onemq.core.topics import Topic
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import text_of

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def find_topic(core: Core, word: bytes) -> Topic | None:
    """The topic, if it is there. One that belongs to the broker itself is refused."""
    if word in core.keys.expires_at_ms:
        core.keys.evict(word)
    topic = core.topics.find(text_of("the name of a topic", word))
    if topic is not None and topic.internal:
        raise CommandError(f"ERR topics whose names begin with __ are OneMQ's own: {topic.name!r}")
    return topic


def existing_topic(session: "RespSession", word: bytes) -> Topic:
    """The topic, or NOTOPIC."""
    topic = find_topic(session.service.core, word)
    if topic is None:
        raise no_topic(word)
    return topic


def no_topic(word: bytes) -> CommandError:
    name = word.decode(errors="replace")
    return CommandError(f"NOTOPIC there is no topic {name!r}: MQ.TOPIC CREATE makes one, MQ.TOPIC LIST shows all")


def check_name_is_free(core: Core, word: bytes) -> None:
    """Raises if a key of another type has the name already: a topic would be hidden behind it."""
    if core.keys.holds(word):
        raise CommandError(
            f"WRONGTYPE the key {word.decode(errors='replace')!r} holds a {core.keys.type_of(word)}: a topic needs "
            "another name"
        )


def topic_to_use(session: "RespSession", word: bytes) -> Topic:
    """The topic; made with defaults if there is none."""
    topic = find_topic(session.service.core, word)
    if topic is not None:
        return topic
    core = session.service.core
    core.sending.check()
    check_name_is_free(core, word)
    return core.topics.create(word.decode(), 1, session.service.topic_config)


def existing_group(session: "RespSession", topic_word: bytes, group_word: bytes) -> Group:
    """The group, or NOTOPIC, NOGROUP."""
    topic = existing_topic(session, topic_word)
    group = topic.groups.get(text_of("the name of a group", group_word))
    if group is None:
        raise CommandError(
            f"NOGROUP topic {topic.name!r} has no group {group_word.decode(errors='replace')!r}: MQ.GROUP CREATE "
            f"makes one, MQ.GROUP LIST {topic.name} shows all"
        )
    return group


def group_to_use(session: "RespSession", topic_word: bytes, group_word: bytes) -> Group:
    """The group; made with defaults, from the first message on, if there is none."""
    name = text_of("the name of a group", group_word)
    topic = topic_to_use(session, topic_word)
    group = topic.groups.get(name)
    if group is not None:
        return group
    core = session.service.core
    starts = [partition.start for partition in topic.partitions]
    group = core.groups.create(topic.name, name, starts, default_group_config(topic))
    core.keys.topic_changed(topic_word)
    return group


def default_group_config(topic: Topic) -> GroupConfig:
    """What groups are like that are made without settings."""
    return topic.config.default_group
