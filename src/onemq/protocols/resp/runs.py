"""Runs: a pipeline of the same simple command, executed at once. It comes to the same as one by one.

Each function does it and returns the replies in one, or does nothing and returns None when the requests are not
alike enough, when somebody must be told of each change, or when one of them will fail.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from onemq.errors import InvalidArgument, WrongType
from onemq.protocols.resp import replies

if TYPE_CHECKING:
    from onemq.protocols.resp.command import RunHandler
    from onemq.protocols.resp.session import RespSession

_STRING, _STRING_OR_NOTHING = {bytes}, {bytes, type(None)}


def _push(left: bool, session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    core = session.service.core
    if core.stage.refusal is not None or core.keys.on_push is not None:
        return None
    columns = alike_columns(requests, words=3, alike=2)
    if columns is None:
        return None
    try:
        length = core.keys.lists.push(requests[0][1], list(columns[2]), left)
    except WrongType:
        return None
    return _integers(range(length - len(requests) + 1, length + 1))


def _pop(left: bool, session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    core = session.service.core
    if core.stage.refusal is not None or alike_columns(requests, words=2, alike=2) is None:
        return None
    try:
        values = core.keys.lists.pop(requests[0][1], left, len(requests))
    except WrongType:
        return None
    return _bulks(values) + session.replies.null * (len(requests) - len(values))


def _get(session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    keys = session.service.core.keys
    columns = alike_columns(requests, words=2, alike=1)
    if columns is None or keys.deadlines.any_due(keys.now_ms):
        return None
    values: list[Any] = list(map(keys.values.get, columns[1]))
    kinds = set(map(type, values))
    if kinds == _STRING:
        return _bulks(values)
    if not kinds <= _STRING_OR_NOTHING:
        return None
    null = session.replies.null
    return b"".join([null if value is None else replies.bulk(value) for value in values])


def _set(session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    core = session.service.core
    columns = alike_columns(requests, words=3, alike=1)
    if columns is None or core.stage.refusal is not None:
        return None
    core.keys.strings.set_many(columns[1], columns[2])
    return replies.OK * len(requests)


def _increment(by: int, session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    core = session.service.core
    count = len(requests)
    if core.stage.refusal is not None or alike_columns(requests, words=2, alike=2) is None:
        return None
    try:
        last = core.keys.strings.increment(requests[0][1], by * count)
    except (InvalidArgument, WrongType):
        return None
    return _integers(range(last - by * (count - 1), last + by, by))


def alike_columns(requests: list[list[bytes]], words: int, alike: int) -> list[tuple[bytes, ...]] | None:
    """All first words, all second ones, and so on, if there are so many and the first `alike` are the same in all."""
    first = requests[0]
    if len(first) != words or first[:alike] != requests[-1][:alike]:
        return None
    try:
        columns = list(zip(*requests, strict=True))
    except ValueError:
        return None
    count = len(requests)
    return columns if all(columns[at].count(first[at]) == count for at in range(alike)) else None


def _integers(values: range) -> bytes:
    return b":%b\r\n" % "\r\n:".join(map(str, values)).encode()


def _bulks(values: Sequence[bytes]) -> bytes:
    """Bulk strings one after the other, which are mostly of one length."""
    lengths = set(map(len, values))
    if len(lengths) != 1:
        return b"".join(map(replies.bulk, values))
    header = b"$%d\r\n" % lengths.pop()
    return b"%b%b\r\n" % (header, (b"\r\n" + header).join(values))


LISTS: dict[str, "RunHandler"] = {
    "lpush": partial(_push, True),
    "rpush": partial(_push, False),
    "lpop": partial(_pop, True),
    "rpop": partial(_pop, False),
}
STRINGS: dict[str, "RunHandler"] = {
    "get": _get,
    "set": _set,
    "incr": partial(_increment, 1),
    "decr": partial(_increment, -1),
}
