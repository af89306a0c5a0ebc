"""XGROUP: making, moving and removing groups and consumers."""

from typing import TYPE_CHECKING

from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.message import check_name
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, misused_subcommand, shown
from onemq.protocols.resp.streams.arguments import stream_to_write, text_of
from onemq.protocols.resp.streams.consuming import known_consumer
from onemq.protocols.resp.streams.ids import parse_any_id, parse_id
from onemq.protocols.resp.streams.pending import pending_of

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CREATE_WORDS_MAX, _SETID_WORDS_MAX = 8, 7
"""With each option once. It may be given more often, but no more words than these."""


def _options(request: list[bytes], may_make: bool) -> tuple[bool, int | None]:
    """[MKSTREAM] [ENTRIESREAD n]"""
    make, read = False, None
    place = 5
    while place < len(request):
        name = request[place].lower()
        if may_make and name == b"mkstream":
            make = True
            place += 1
        elif name == b"entriesread" and place + 1 < len(request):
            read = integer(request[place + 1])
            if read < -1:
                raise CommandError("ERR value for ENTRIESREAD must be positive or -1")
            place += 2
        else:
            raise misused_subcommand(request)
    return make, None if read == -1 else read


def _stream(session: "RespSession", key: bytes) -> Stream:
    stream = stream_to_write(session, key)
    if stream is None:
        raise CommandError(
            "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the "
            "MKSTREAM option to create an empty stream automatically."
        )
    return stream


def named_group(stream: Stream, key: bytes, name: bytes) -> Group:
    """The group, or NOGROUP in the words of those commands that know that there is such a stream."""
    group = stream.topic.groups.get(text_of(name))
    if group is None:
        raise CommandError(f"NOGROUP No such consumer group '{shown(name)}' for key name '{shown(key)}'")
    return group


def create(session: "RespSession", request: list[bytes]) -> bytes:
    make, read = _options(request, may_make=True)
    key = request[2]
    stream = stream_to_write(session, key) if make else _stream(session, key)
    if len(request) > _CREATE_WORDS_MAX:
        raise misused_subcommand(request)
    id = None if request[4] == b"$" else parse_id(request[4])
    name = text_of(request[3])
    core = session.service.core
    if stream is None:
        check_name("group", name)  # before the stream is there: what is refused leaves none behind
        stream = core.streams.create(key, session.service.topic_config)
    if name in stream.topic.groups:
        raise CommandError("BUSYGROUP Consumer Group name already exists")
    last_id = stream.last_id if id is None else id
    group = core.groups.create(stream.topic.name, name, [stream.find(last_id + 1)], stream.topic.config.group)
    core.stream_groups.place(stream, group, last_id, read)
    return replies.OK


def set_id(session: "RespSession", request: list[bytes]) -> bytes:
    _, read = _options(request, may_make=False)
    stream = _stream(session, request[2])
    group = named_group(stream, request[2], request[3])
    if len(request) > _SETID_WORDS_MAX:
        raise misused_subcommand(request)
    last_id = stream.last_id if request[4] == b"$" else parse_any_id(request[4])
    session.service.core.stream_groups.place(stream, group, last_id, read)
    return replies.OK


def destroy(session: "RespSession", request: list[bytes]) -> bytes:
    stream = _stream(session, request[2])
    group = stream.topic.groups.get(text_of(request[3]))
    if group is None:
        return replies.integer(0)
    core = session.service.core
    core.groups.delete(group)
    core.waiting.stir([stream.partition])
    return replies.integer(1)


def create_consumer(session: "RespSession", request: list[bytes]) -> bytes:
    stream = _stream(session, request[2])
    group = named_group(stream, request[2], request[3])
    name = text_of(request[4])
    known = name in group.members
    if not known:
        known_consumer(session, group, name)
    return replies.integer(not known)


def delete_consumer(session: "RespSession", request: list[bytes]) -> bytes:
    """Its pending entries are forgotten with it, as in Redis."""
    stream = _stream(session, request[2])
    group = named_group(stream, request[2], request[3])
    member = group.members.get(text_of(request[4]))
    if member is None:
        return replies.integer(0)
    pending = pending_of(member)
    deliveries = stream.cursor(group).unacknowledged
    groups = session.service.core.groups
    groups.acknowledge(group, 0, [offset for offset, each in deliveries.items() if each.member is member])
    groups.leave(group, member.name)
    return replies.integer(pending)
