"""Stream ids as requests carry them: `ms-number`, `ms`, `-`, `+`, `(ms-number`."""

import re

from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX
from onemq.protocols.resp.errors import CommandError

_ID = re.compile(rb"(\+?[0-9]+)(?:-(\+?[0-9]+))?")
_PARTIAL = re.compile(rb"(\+?[0-9]+)-\*")
_ID_TEXT_MAX = 127


def invalid_id() -> CommandError:
    return CommandError("ERR Invalid stream ID specified as stream command argument")


def parse_id(text: bytes, number: int = 0) -> int:
    """An id; `number` stands for its second part if that is left out."""
    match = _ID.fullmatch(text) if len(text) <= _ID_TEXT_MAX else None
    if match is None:
        raise invalid_id()
    ms, given = match.groups()
    ms, number = int(ms), number if given is None else int(given)
    if ms > NUMBER_MAX or number > NUMBER_MAX:
        raise invalid_id()
    return ms << NUMBER_BITS | number


def parse_partial_id(text: bytes) -> int | None:
    """The time of an id whose number is left to the stream (`ms-*`), or None."""
    match = _PARTIAL.fullmatch(text) if len(text) <= _ID_TEXT_MAX else None
    if match is None:
        return None
    ms = int(match[1])
    if ms > NUMBER_MAX:
        raise invalid_id()
    return ms


def parse_any_id(text: bytes) -> int:
    """An id, or `-` for the lowest and `+` for the highest."""
    return 0 if text == b"-" else ID_MAX if text == b"+" else parse_id(text)


def parse_start(text: bytes) -> int:
    """The first id of an interval."""
    if text[:1] == b"(" and len(text) > 1:
        id = parse_id(text[1:])
        if id == ID_MAX:
            raise CommandError("ERR invalid start ID for the interval")
        return id + 1
    return parse_any_id(text)


def parse_end(text: bytes) -> int:
    """The last id of an interval."""
    if text[:1] == b"(" and len(text) > 1:
        id = parse_id(text[1:], NUMBER_MAX)
        if id == 0:
            raise CommandError("ERR invalid end ID for the interval")
        return id - 1
    return 0 if text == b"-" else ID_MAX if text == b"+" else parse_id(text, NUMBER_MAX)
