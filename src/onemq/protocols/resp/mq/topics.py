"""MQ.TOPIC: making, changing, looking at and deleting topics."""

from typing import TYPE_CHECKING, Any

import msgspec

from onemq.core.keyspace.glob import matcher
from onemq.core.topics import Topic, TopicConfig
from onemq.limits import PARTITIONS_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.messages import map_reply, optional_integer
from onemq.protocols.resp.mq.places import check_name_is_free, existing_topic, find_topic
from onemq.units import format_duration

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def create(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 3, "MQ.TOPIC CREATE")
    partitions, settings, if_absent = _settings(words, may_exist=True)
    core = session.service.core
    core.check_writable()
    if find_topic(core, request[2]) is not None and if_absent:
        return replies.OK
    name = text_of("the name of a topic", request[2])
    core.topics.check_name(name)
    if core.topics.find(name) is None:
        check_name_is_free(core, request[2])
    config = _convert(words, session.service.topic_config, settings)
    core.topics.create(name, partitions or 1, config)
    return replies.OK


def alter(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 3, "MQ.TOPIC ALTER")
    partitions, settings, _ = _settings(words, may_exist=False)
    session.service.core.check_writable()
    topic = existing_topic(session, request[2])
    session.service.core.topics.alter(topic.name, partitions, **settings)
    return replies.OK


def _convert(words: Words, config: TopicConfig, settings: dict[str, Any]) -> TopicConfig:
    try:
        return msgspec.convert(msgspec.to_builtins(config) | settings, TopicConfig)
    except msgspec.ValidationError as problem:
        raise words.problem(str(problem)) from None


def _settings(words: Words, may_exist: bool) -> tuple[int | None, dict[str, Any], bool]:
    """How many partitions, the settings that are given, and whether an existing topic will do."""
    partitions, if_absent = None, False
    settings: dict[str, Any] = {}
    while words:
        match words.option():
            case "PARTITIONS":
                partitions = words.integer("PARTITIONS", 1, PARTITIONS_MAX)
            case "KIND":
                settings["kind"] = words.choice("KIND", "STREAM", "QUEUE").lower()
            case "FLUSH":
                settings["flush"] = words.choice("FLUSH", "SYNC", "ASYNC").lower()
            case "RETENTION":
                settings["retention_ms"] = words.duration_or_none("RETENTION")
            case "RETENTIONBYTES":
                settings["retention_bytes"] = None if _is_none(words) else words.size("RETENTIONBYTES")
            case "COMPACT":
                settings["compact"] = words.choice("COMPACT", "YES", "NO") == "YES"
            case "MAXBYTES":
                settings["message_bytes_max"] = words.size("MAXBYTES")
            case "EXPIRES":
                settings["expires_ms"] = words.duration_or_none("EXPIRES")
            case "EXPIRED":
                settings["expired"] = words.choice("EXPIRED", "DROP", "DEAD").lower()
            case "TRACE":
                settings["trace"] = words.choice("TRACE", "YES", "NO") == "YES"
            case "IFNOTEXISTS" if may_exist:
                if_absent = True
            case other:
                raise words.unknown(other)
    return partitions, settings, if_absent


def _is_none(words: Words) -> bool:
    if words.peek() != "NONE":
        return False
    words.option()
    return True


def info(session: "RespSession", request: list[bytes]) -> bytes:
    topic = existing_topic(session, request[2])
    form, config, log = session.replies, topic.config, session.service.core.log
    stored = sum(log.stored_bytes(topic.id, each.number) for each in topic.partitions)
    return map_reply(form, {
        "name": replies.text(topic.name),
        "id": replies.integer(topic.id),
        "partitions": replies.integer(len(topic.partitions)),
        "kind": replies.text(config.kind),
        "flush": replies.text(config.flush),
        "retention": replies.text("none" if config.retention_ms is None else format_duration(config.retention_ms)),
        "retention_bytes": optional_integer(form, config.retention_bytes),
        "compact": form.boolean(config.compact),
        "max_bytes": replies.integer(config.message_bytes_max),
        "expires": replies.text("none" if config.expires_ms is None else format_duration(config.expires_ms)),
        "expired": replies.text(config.expired),
        "trace": form.boolean(config.trace),
        "dead": form.boolean(config.dead),
        "messages": replies.integer(messages_in(topic)),
        "bytes": replies.integer(stored),
        "groups": replies.array(list(map(replies.text, topic.groups))),
        "offsets": replies.array([
            replies.array([replies.integer(each.start), replies.integer(each.end)]) for each in topic.partitions
        ]),
    })  # fmt: skip


def messages_in(topic: Topic) -> int:
    """How many messages it holds."""
    return sum(
        each.end - each.start - (each.deleted.count_done_above_low if each.deleted is not None else 0)
        for each in topic.partitions
    )


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.TOPIC LIST")
    topics = [topic for topic in session.service.core.topics if not topic.internal]
    while words:
        match words.option():
            case "MATCH":
                matches = matcher(words.value("MATCH"))
                topics = [topic for topic in topics if matches(topic.name.encode())]
            case other:
                raise words.unknown(other)
    form = session.replies
    return replies.array([
        map_reply(form, {
            "name": replies.text(topic.name),
            "partitions": replies.integer(len(topic.partitions)),
            "kind": replies.text(topic.config.kind),
            "messages": replies.integer(messages_in(topic)),
            "groups": replies.integer(len(topic.groups)),
            "dead": form.boolean(topic.config.dead),
        })
        for topic in sorted(topics, key=lambda each: each.name)
    ])  # fmt: skip


def delete(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    found = {topic.name: topic for word in request[2:] if (topic := find_topic(core, word)) is not None}
    for name in found:
        core.topics.delete(name)
    return replies.integer(len(found))
