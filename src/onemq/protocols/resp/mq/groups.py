"""MQ.GROUP: making, changing, moving, looking at and deleting groups."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onemq.core import marking
from onemq.core.backlog import backlog as backlog_of
from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.core.start import FIRST, Start, positions
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument, OneMQError
from onemq.limits import MQ_COUNT_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.group_settings import facts_of, settings_of, start_of
from onemq.protocols.resp.mq.messages import map_reply, optional_integer, optional_text
from onemq.protocols.resp.mq.places import (
    default_group_config,
    existing_group,
    existing_topic,
    find_topic,
    topic_to_use,
)
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def create(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 4, "MQ.GROUP CREATE")
    core = session.service.core
    core.check_writable()
    name = text_of("the name of a group", request[3])
    topic = find_topic(core, request[2])
    settings = settings_of(words, default_group_config(topic) if topic is not None else None, creating=True)
    if settings.if_absent and topic is not None and name in topic.groups:
        return replies.OK
    settings.config.check(request[2].decode())
    topic = topic_to_use(session, request[2])
    answer = Answer(session, session.replies.null)

    def found(places: list[int]) -> None:
        try:
            core.groups.create(topic.name, name, places, settings.config)
        except OneMQError as error:
            answer.fail(error)
        else:
            core.keys.topic_changed(request[2])
            answer.give(replies.OK)

    positions(core.log, topic, settings.start, found)
    return answer.reply()


def alter(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    group = existing_group(session, request[2], request[3])
    settings = settings_of(Words(request, 4, "MQ.GROUP ALTER"), group.config, creating=False)
    core.groups.alter(group, settings.config)
    return replies.OK


def seek(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 4, "MQ.GROUP SEEK")
    start, number = start_of(words, "the place to go to"), None
    while words:
        match words.option():
            case "PARTITION":
                number = words.integer("PARTITION")
            case other:
                raise words.unknown(other)
    return _seek(session, request, start, number)


def mark(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 4, "MQ.GROUP MARK")
    places: dict[int, int] = {}
    while words:
        number = words.integer("a partition")
        if number in places:
            raise words.problem(f"partition {number} is given twice")
        places[number] = words.integer(f"the offset of partition {number}")
    core = session.service.core
    core.check_writable()
    topic, name = existing_topic(session, request[2]), text_of("the name of a group", request[3])
    is_new = name not in topic.groups
    marking.mark(core.groups, topic, name, places, default_group_config(topic))
    if is_new:
        core.keys.topic_changed(request[2])
    return replies.OK


def reset(session: "RespSession", request: list[bytes]) -> bytes:
    return _seek(session, request, FIRST, None)


def _seek(session: "RespSession", request: list[bytes], start: Start, number: int | None) -> bytes:
    core = session.service.core
    core.check_writable()
    group = existing_group(session, request[2], request[3])
    if number is not None:
        core.groups.cursor(group, number)
    answer = Answer(session, session.replies.null)

    def found(places: list[int]) -> None:
        try:
            for place, offset in enumerate(places):
                if number is None or place == number:
                    core.groups.seek(group, place, offset)
        except OneMQError as error:
            answer.fail(error)
        else:
            answer.give(replies.OK)

    positions(core.log, group.topic, start, found)
    return answer.reply()


def delete(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    topic = existing_topic(session, request[2])
    group = topic.groups.get(text_of("the name of a group", request[3]))
    if group is None:
        return replies.ZERO
    core.groups.delete(group)
    core.keys.topic_changed(request[2])
    core.waiting.stir(topic.partitions)
    return replies.ONE


def info(session: "RespSession", request: list[bytes]) -> bytes:
    group = existing_group(session, request[2], request[3])
    form, core = session.replies, session.service.core
    readers = core.readers.of(group.topic.name, group.name)
    return map_reply(form, {
        "name": replies.text(group.name),
        "topic": replies.text(group.topic.name),
        **facts_of(form, group),
        **_numbers(group),
        "members": replies.array([
            map_reply(form, {
                "name": replies.text(member.name),
                "in_flight": replies.integer(member.in_flight),
                "partitions": replies.array(_partitions_of(group, member.name)),
                "seen": replies.integer(member.seen_ms),
            })
            for member in group.members.values()
        ] + [
            map_reply(form, {
                "name": replies.text(name),
                "in_flight": replies.integer(0),
                "partitions": replies.array([replies.integer(each) for each in partitions]),
                "seen": replies.integer(core.stage.now_ms),
            })
            for name, partitions in readers.items()
        ]),
        "partitions": replies.array([
            map_reply(form, _cursor_facts(cursor) | {"member": optional_text(form, _owner(group, cursor, readers))})
            for cursor in group.cursors
        ]),
    })  # fmt: skip


def backlog(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 4, "MQ.GROUP BACKLOG")
    number, first = words.integer("the partition"), 0
    while words:
        match words.option():
            case "FROM":
                first = words.integer("FROM")
            case other:
                raise words.unknown(other)
    group = existing_group(session, request[2], request[3])
    if not 0 <= number < len(group.cursors):
        raise InvalidArgument(f"topic {group.topic.name!r} has no partition {number}")
    cursor = group.cursors[number]
    runs, further = backlog_of(cursor, first, MQ_COUNT_MAX)
    return map_reply(session.replies, {
        "partition": replies.integer(number),
        "end": replies.integer(cursor.partition.end),
        "ranges": replies.array([replies.integer(offset) for run in runs for offset in run]),
        "next": optional_integer(session.replies, further),
    })  # fmt: skip


def _owner(group: Group, cursor: Cursor, readers: Mapping[str, Sequence[int]]) -> str | None:
    """The member that a partition is assigned to, or the reader that keeps its own place in it."""
    number = cursor.partition.number
    if group.config.assign != "none":
        return group.assignment[number]
    return next((name for name, partitions in readers.items() if number in partitions), None)


def _partitions_of(group: Group, member: str) -> list[bytes]:
    """The partitions of a member; all of them where none are assigned."""
    return [
        replies.integer(each.partition.number)
        for each in group.cursors
        if group.config.assign == "none" or group.assignment[each.partition.number] == member
    ]


def _numbers(group: Group) -> dict[str, bytes]:
    in_flight = sum(member.in_flight for member in group.members.values())
    pending = sum(len(cursor.unacknowledged) for cursor in group.cursors)
    return {
        "lag": replies.integer(group.lag),
        "in_flight": replies.integer(in_flight),
        "waiting": replies.integer(pending - in_flight),
    }


def _cursor_facts(cursor: Cursor) -> dict[str, bytes]:
    return {
        "partition": replies.integer(cursor.partition.number),
        "next": replies.integer(cursor.next),
        "low": replies.integer(cursor.low),
        "end": replies.integer(cursor.partition.end),
        "lag": replies.integer(cursor.lag),
    }


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    topic: Topic = existing_topic(session, request[2])
    readers = session.service.core.readers
    return replies.array([
        map_reply(session.replies, {
            "name": replies.text(group.name),
            **_numbers(group),
            "members": replies.integer(len(group.members) + len(readers.of(topic.name, group.name))),
        })
        for group in topic.groups.values()
    ])  # fmt: skip
