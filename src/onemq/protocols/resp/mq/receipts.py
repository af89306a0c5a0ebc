"""Receipts: what a message is acknowledged by. `partition:offset`, or `partition:first-last` for many in a row."""

import re

from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import shown

_RECEIPT = re.compile(rb"([0-9]{1,9}):([0-9]{1,18})(?:-([0-9]{1,18}))?")
Offsets = range | list[int]


def delivered(group: Group, words: list[bytes]) -> dict[Cursor, Offsets]:
    """The messages that the receipts name and that are not done yet, ascending, by partition."""
    found = {cursor: _known(cursor, ranges) for cursor, ranges in _named(group, words).items()}
    if group.locks is not None:
        found = {cursor: _handed_out(cursor, offsets) for cursor, offsets in found.items()}
    return {cursor: offsets for cursor, offsets in found.items() if offsets}


def all_wait(group: Group, words: list[bytes]) -> bool:
    """Whether none of the messages that the receipts name is done already, or was not handed out yet."""
    found = delivered(group, words)
    for cursor, ranges in _named(group, words).items():
        offsets = frozenset(found.get(cursor, ()))
        if any(len(span) > len(offsets) or not offsets.issuperset(span) for span in ranges):
            return False
    return True


def _named(group: Group, words: list[bytes]) -> dict[Cursor, list[range]]:
    named: dict[Cursor, list[range]] = {}
    for word in words:
        match = _RECEIPT.fullmatch(word)
        if match is None:
            raise CommandError(
                f"ERR {shown(word)} is not a receipt: partition:offset, as in 0:42, or for many 0:42-99"
            )
        number, first = int(match[1]), int(match[2])
        if number >= len(group.cursors):
            raise CommandError(f"ERR topic {group.topic.name!r} has no partition {number}")
        last = first if match[3] is None else int(match[3])
        named.setdefault(group.cursors[number], []).append(range(first, last + 1))
    return named


def _handed_out(cursor: Cursor, offsets: Offsets) -> Offsets:
    """Those that somebody has or had: messages that stand in line for the first time cannot be done yet."""
    pending = cursor.unacknowledged
    return [each for each in offsets if pending[each].member is not None or pending[each].count]


def _known(cursor: Cursor, ranges: list[range]) -> Offsets:
    pending = cursor.unacknowledged
    if len(ranges) == 1 and len(ranges[0]) <= len(pending) and all(map(pending.__contains__, ranges[0])):
        return ranges[0]
    found: set[int] = set()
    for span in ranges:
        if len(span) <= len(pending):
            found.update(offset for offset in span if offset in pending)
        else:  # however long the range is, no more is looked at than there is
            found.update(offset for offset in pending if offset in span)
    return sorted(found)
