"""XDEL, XDELEX, XACKDEL: single entries go; and what becomes of those that groups still refer to."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.streams.arguments import group_of, stream_to_write
from onemq.protocols.resp.streams.ids import parse_id

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_NONE, _GONE, _KEPT = -1, 1, 2


class Removal(Enum):
    """What happens to the references that groups hold to a removed entry."""

    KEEPREF = b"keepref"
    """They stay: the entry is pending, but cannot be read."""
    DELREF = b"delref"
    """They go, too."""
    ACKED = b"acked"
    """An entry that some group has not acknowledged stays."""


def removal_of(word: bytes) -> Removal | None:
    """The strategy of that name, if it is one."""
    try:
        return Removal(word.lower())
    except ValueError:
        return None


def is_referenced(stream: Stream, offset: int) -> bool:
    """Whether some group has not read the entry yet, or has it pending."""
    cursors = (stream.cursor(group) for group in stream.topic.groups.values())
    return any(cursor.is_fresh(offset) or offset in cursor.unacknowledged for cursor in cursors)


def drop_references(core: Core, stream: Stream, offsets: list[int]) -> None:
    """Takes entries from the pending lists of all groups."""
    for group in list(stream.topic.groups.values()):
        core.groups.acknowledge(group, 0, offsets)


def xdel(session: "RespSession", request: list[bytes]) -> bytes:
    stream = stream_to_write(session, request[1])
    if stream is None:
        return replies.integer(0)
    offsets = [stream.offset_of(id) for id in [parse_id(word) for word in request[2:]]]
    found = [offset for offset in offsets if offset is not None]
    return replies.integer(session.service.core.removing.delete(stream, found))


def _options(words: list[bytes]) -> tuple[Removal, list[bytes]]:
    """[KEEPREF|DELREF|ACKED] IDS n id ..."""
    removal: Removal | None = None
    ids: list[bytes] | None = None
    place = 0
    while place < len(words):
        named = removal_of(words[place])
        if named is not None and removal is None:
            removal = named
            place += 1
        elif words[place].lower() == b"ids" and ids is None and place + 1 < len(words):
            count = parse_integer(words[place + 1])
            if count is None or count < 1:
                raise CommandError("ERR Number of IDs must be a positive integer")
            ids = words[place + 2 : place + 2 + count]
            if len(ids) < count:
                raise CommandError("ERR The `numids` parameter must match the number of arguments")
            place += 2 + count
        else:
            raise syntax_error()
    if ids is None:
        raise CommandError("ERR IDS option is required")
    return removal or Removal.KEEPREF, ids


@dataclass(frozen=True, slots=True)
class _Named:
    """An entry that a command names, and where it is. All of them are looked up before the first one is removed: after
    that, what is gone and still referred to must be looked for anew."""

    id: int
    offset: int | None
    references: dict[Group, int]
    """The groups that have it pending, and where."""


def _look_up(core: Core, stream: Stream, words: list[bytes]) -> list[_Named]:
    named = []
    for id in [parse_id(word) for word in words]:
        places = {each: core.stream_groups.pending_offset(stream, each, id) for each in stream.topic.groups.values()}
        references = {group: place for group, place in places.items() if place is not None}
        named.append(_Named(id, stream.offset_of(id), references))
    return named


def xdelex(session: "RespSession", request: list[bytes]) -> bytes:
    stream = stream_to_write(session, request[1])
    removal, words = _options(request[2:])
    if stream is None:
        return _answers([_NONE] * len(words))
    core = session.service.core
    return _answers([_delete(core, stream, named, removal) for named in _look_up(core, stream, words)])


def _delete(core: Core, stream: Stream, named: _Named, removal: Removal) -> int:
    if removal is Removal.ACKED:
        groups = stream.topic.groups.values()
        unread = any(core.stream_groups.last_delivered(stream, group) < named.id for group in groups)
        if unread or (named.offset is not None and is_referenced(stream, named.offset)):
            return _KEPT
    if removal is Removal.DELREF:
        for group, offset in named.references.items():
            core.groups.acknowledge(group, 0, [offset])
    deleted = core.removing.delete(stream, [named.offset]) if named.offset is not None else 0
    return _GONE if deleted else _NONE


def xackdel(session: "RespSession", request: list[bytes]) -> bytes:
    stream = stream_to_write(session, request[1])
    removal, words = _options(request[3:])
    group = group_of(stream, request[2])
    if stream is None or group is None:
        return _answers([_NONE] * len(words))
    core = session.service.core
    answers = []
    for named in _look_up(core, stream, words):
        offset = named.references.get(group)
        if offset is None or not core.groups.acknowledge(group, 0, [offset]):
            answers.append(_NONE)
        else:
            answers.append(_KEPT if _delete(core, stream, named, removal) == _KEPT else _GONE)
    return _answers(answers)


def _answers(numbers: list[int]) -> bytes:
    return replies.array([replies.integer(number) for number in numbers])
