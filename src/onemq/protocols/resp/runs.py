"""Runs: a pipeline of the same simple command, executed at once. It comes to the same as one by one.

Each function does it and returns the replies, or does nothing and returns None when the requests are not
alike enough, when somebody must be told of each change, or when one of them will fail.
"""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from onemq.errors import InvalidArgument, WrongType
from onemq.limits import KIB
from onemq.protocols.resp import replies

if TYPE_CHECKING:
    from onemq.protocols.resp.command import AlikeHandler, RunHandler
    from onemq.protocols.resp.session import RespSession

_STRING_OR_NOTHING = {bytes, type(None)}
_TOGETHER_BYTES_MAX = 256 * KIB
"""Values that are more are given out one by one, with a look at each peer whether it takes them."""


def _push(
    left: bool, session: "RespSession", words: list[bytes], values: list[bytes], counts: list[int]
) -> list[bytes] | None:
    core = session.service.core
    if len(words) != 2 or core.stage.refusal is not None or core.keys.on_push is not None:
        return None
    count = len(values)
    try:
        length = core.keys.lists.push(words[1], values, left)
    except WrongType:
        return None
    return replies.shares(b":", length - count + 1, counts)


def _pop(
    left: bool, session: "RespSession", words: list[bytes], keys: list[bytes], counts: list[int]
) -> list[bytes] | None:
    core, count = session.service.core, len(keys)
    if len(words) != 1 or core.stage.refusal is not None or keys.count(keys[0]) != count:
        return None
    try:
        if core.keys.lists.bytes_at_end(keys[0], left, count) > _TOGETHER_BYTES_MAX:
            return None
        values = core.keys.lists.pop(keys[0], left, count)
    except WrongType:
        return None
    if len(values) == count == len(counts):  # one for each client, as a rule
        return replies.bulk_each(values)
    null, found, at = session.replies.null, [], 0
    for count in counts:
        own = values[at : at + count]
        at += count
        if len(own) == count:
            found.append(replies.bulk_run(own))
        else:
            found.append(b"".join([*map(replies.bulk, own), *[null] * (count - len(own))]))
    return found


def _get(
    session: "RespSession", words: list[bytes], wanted: list[bytes], counts: list[int]
) -> list[bytes] | None:
    keys = session.service.core.keys
    if len(words) != 1 or keys.deadlines.any_due(keys.now_ms):
        return None
    values: list[Any] = list(map(keys.values.get, wanted))
    if not set(map(type, values)) <= _STRING_OR_NOTHING:
        return None
    if sum(map(len, filter(None, values))) > _TOGETHER_BYTES_MAX:
        return None
    null = session.replies.null
    answers = iter([null if value is None else replies.bulk(value) for value in values])
    return [b"".join(islice(answers, count)) for count in counts]


def _set(session: "RespSession", requests: list[list[bytes]]) -> bytes | None:
    core = session.service.core
    columns = alike_columns(requests, words=3, alike=1)
    if columns is None or core.stage.refusal is not None:
        return None
    core.keys.strings.set_many(columns[1], columns[2])
    return replies.OK * len(requests)


def _increment(
    by: int, session: "RespSession", words: list[bytes], keys: list[bytes], counts: list[int]
) -> list[bytes] | None:
    core, count = session.service.core, len(keys)
    if len(words) != 1 or core.stage.refusal is not None or keys.count(keys[0]) != count:
        return None
    try:
        last = core.keys.strings.increment(keys[0], by * count)
    except (InvalidArgument, WrongType):
        return None
    answers = iter([b":%d\r\n" % each for each in range(last - by * (count - 1), last + by, by)])
    return [b"".join(islice(answers, each)) for each in counts]


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


def last_words(requests: list[list[bytes]]) -> list[bytes] | None:
    """The last words of all requests, if those before are the same in all."""
    words = len(requests[0])
    columns = alike_columns(requests, words, words - 1)
    return None if columns is None else list(columns[-1])


LISTS: dict[str, "AlikeHandler"] = {
    "lpush": partial(_push, True),
    "rpush": partial(_push, False),
    "lpop": partial(_pop, True),
    "rpop": partial(_pop, False),
}
STRINGS: dict[str, "AlikeHandler"] = {
    "get": _get,
    "incr": partial(_increment, 1),
    "decr": partial(_increment, -1),
}
SETTING: dict[str, "RunHandler"] = {"set": _set}
