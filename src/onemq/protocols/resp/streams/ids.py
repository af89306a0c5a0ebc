"""Stream ids as requests carry them: `ms-number`, `ms`, `-`, `+`, `(ms-number`."""

import re
from collections.abc import Sequence

import msgspec

from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError

_ID = re.compile(rb"(\+?[0-9]+)(?:-(\+?[0-9]+))?")
_PARTIAL = re.compile(rb"(\+?[0-9]+)-\*")
_ID_TEXT_MAX = 127
DIGITS_MAX = 20
"""Of a number in an id."""
_numbers = msgspec.json.Decoder(list[int]).decode


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


def numbers_of_one_time(ids: Sequence[bytes]) -> tuple[bytes, Sequence[int]] | None:
    """The time that all of the ids have, and their numbers, as a range if they count up by one. None if they have
    several, or are not all `ms-number` without any signs."""
    ms, dash, number = ids[0].partition(b"-")
    if not number.isdigit() or len(number) > DIGITS_MAX:
        return None
    head, first, count = ms + dash, int(number), len(ids)
    row, middle = range(first, first + count), count // 2
    if (
        ids[-1] == b"%b%d" % (head, row[-1])
        and ids[middle] == b"%b%d" % (head, row[middle])
        and b"\r\n".join(ids) + b"\r\n" == replies.numbered(head, first, count)
    ):
        return ms, row  # none was taken apart: what they must be was put together and compared
    together = b"," + b",".join(ids)
    text = together.replace(b"," + head, b",")
    is_one_time = len(together) - len(text) == count * len(head)
    if not is_one_time or not text.replace(b",", b"").isdigit():
        return None
    try:
        numbers = _numbers(b"[%b]" % text[1:])
    except msgspec.DecodeError:  # one has no number, or zeros before it
        return None
    return (ms, numbers) if len(numbers) == count else None
