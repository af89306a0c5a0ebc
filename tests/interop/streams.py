"""What the tests of streams share.

`same` and `script` compare a command's replies in the form that suits it: times, and facts about
Redis's own data structures, are left out. `Blocking` is for commands that wait.

    script(pair, '''
        XADD s 1-1 f v
        XGROUP CREATE s g 0
        XREADGROUP GROUP g alice STREAMS s >
        XPENDING s g - + 10
    ''')
"""

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redis.exceptions import ResponseError

from tests.interop.forms import Node
from tests.interop.pair import Pair, connection, reply

START_SECONDS_MAX = 30
_ID = re.compile(rb"\d+-\d+")
_NEWER = {  # than Redis 7.0, which we compare with
    b"idmp-duration", b"idmp-maxsize", b"pids-tracked", b"iids-tracked", b"iids-added", b"iids-duplicates",
    b"nacked-count", b"active-time", b"inactive",
}  # fmt: skip
_VARIES = {b"radix-tree-keys", b"radix-tree-nodes", b"seen-time", b"idle"}
_ESTIMATES = {b"entries-read", b"lag"}
"""Redis answers nil where it cannot know them; OneMQ may know them."""

Form = Callable[[Any], Any]


def same(pair: Pair, *words: Any) -> Any:
    """As `pair.same`, in the form that suits the command. Returns OneMQ's reply."""
    form = form_of(*words)
    expected, answer = reply(pair.theirs, *words), reply(pair.ours, *words)
    assert known(form(answer), form(expected)) == form(expected), f"{words}: OneMQ {answer!r}, Redis {expected!r}"
    pair.same_form(*words, form=known_form)
    return answer


def script(pair: Pair, lines: str) -> None:
    """Compares the replies to many commands, one on a line, with words as in a shell."""
    for line in lines.splitlines():
        if line.strip():
            same(pair, *shlex.split(line, comments=True))


def each(pair: Pair, *words: Any) -> tuple[Any, Any]:
    """The replies of OneMQ and Redis, not compared."""
    return reply(pair.ours, *words), reply(pair.theirs, *words)


# Forms.


def form_of(*words: Any) -> Form:
    """The form in which two replies to a command are alike."""
    name = str(words[0]).upper()
    if name == "XINFO" and len(words) > 1:
        return _INFO_FORMS.get(str(words[1]).upper(), texts)
    return _FORMS.get(name, texts)


def texts(answer: Any) -> Any:
    """Errors within a reply as their texts."""
    if isinstance(answer, ResponseError):
        return ("error", str(answer))
    if isinstance(answer, list):
        return [texts(item) for item in answer]
    return answer


def by_order(answer: Any) -> Any:
    """Ids as their rank among all the ids of the reply."""
    found = sorted({item for item in _leaves(answer) if _is_id(item)}, key=_id_key)
    ranks = {item: rank for rank, item in enumerate(found)}

    def ranked(item: Any) -> Any:
        if isinstance(item, list):
            return [ranked(inner) for inner in item]
        if isinstance(item, dict):
            return {key: ranked(inner) for key, inner in item.items()}
        return ranks.get(item, item) if isinstance(item, bytes) else item

    return ranked(answer)


def facts(answer: Any) -> list[tuple[bytes, Any]]:
    """A map (in RESP2: a flat array) as pairs in their order, without what newer versions add."""
    pairs = list(answer.items()) if isinstance(answer, dict) else list(zip(answer[::2], answer[1::2], strict=True))
    return [(name, "varies" if name in _VARIES else value) for name, value in pairs if name not in _NEWER]


def known(answer: Any, expected: Any) -> Any:
    """The reply with nil for those estimates that Redis did not know."""
    if isinstance(expected, list) and isinstance(answer, list) and len(answer) == len(expected):
        return [known(mine, theirs) for mine, theirs in zip(answer, expected, strict=True)]
    if isinstance(expected, tuple) and isinstance(answer, tuple) and expected[0] == answer[0] != "error":
        unknown = expected[0] in _ESTIMATES and expected[1] is None
        return expected if unknown else (answer[0], known(answer[1], expected[1]))
    return answer


def known_form(node: Node) -> str:
    """The form of a reply without what newer versions add; an estimate may be a number or nil."""
    shown, items = [], iter(node.items)
    for item in items:
        if item.text in _NEWER:
            next(items)
            continue
        shown.append(known_form(item))
        if item.text in _ESTIMATES and (value := next(items, None)):
            shown.append("estimate" if value.kind in (":", "$-1", "_") else str(value))
    return f"{node.kind}[{' '.join(shown)}]" if node.items else str(node)


def _pending(answer: Any) -> Any:
    """XPENDING: the rows of a range without their idle times."""
    if isinstance(answer, list) and all(isinstance(row, list) for row in answer):
        return [[entry, consumer, "varies", count] for entry, consumer, _, count in answer]
    return answer


def _stream(answer: Any) -> Any:
    """XINFO STREAM, also FULL."""
    if _is_error(answer):
        return answer
    return [
        (name, [_full_group(group) for group in value] if name == b"groups" and isinstance(value, list) else value)
        for name, value in facts(answer)
    ]


def _full_group(answer: Any) -> Any:
    forms: dict[bytes, Form] = {b"pending": _untimed, b"consumers": lambda all_: [_full_consumer(one) for one in all_]}
    return [(name, forms.get(name, texts)(value)) for name, value in facts(answer)]


def _full_consumer(answer: Any) -> Any:
    return [(name, _untimed(value) if name == b"pending" else value) for name, value in facts(answer)]


def _untimed(rows: list[list[Any]]) -> list[list[Any]]:
    """Pending entries: id, perhaps consumer, time, count."""
    return [[*row[:-2], "varies", row[-1]] for row in rows]


def _rows(answer: Any) -> Any:
    return answer if _is_error(answer) else [facts(row) for row in answer]


def _is_error(answer: Any) -> bool:
    return isinstance(answer, tuple)


def _is_id(item: Any) -> bool:
    return isinstance(item, bytes) and _ID.fullmatch(item) is not None


def _id_key(item: bytes) -> tuple[int, int]:
    milliseconds, _, number = item.partition(b"-")
    return int(milliseconds), int(number)


def _leaves(answer: Any) -> Iterator[Any]:
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, list):
        for item in answer:
            yield from _leaves(item)
    else:
        yield answer


_INFO_FORMS: dict[str, Form] = {"STREAM": _stream, "GROUPS": _rows, "CONSUMERS": _rows}
_FORMS: dict[str, Form] = {"XPENDING": _pending}


# Commands that wait.


class Blocking:
    """A second connection to each server, which waits in a command."""

    def __init__(self, pair: Pair, second: Pair) -> None:
        self._pair = pair
        self._second = second
        self._numbers: tuple[Any, Any] = (0, 0)
        self._words: tuple[Any, ...] = ()

    def send(self, *words: Any) -> None:
        """Sends a command to both; returns when both servers have begun with it."""
        self._numbers = each(self._second, "CLIENT", "ID")
        self.send_behind(*words)
        for client, number in zip((self._pair.ours, self._pair.theirs), self._numbers, strict=True):
            give_up = time.monotonic() + START_SECONDS_MAX
            while b" cmd=%b " % str(words[0]).lower().encode() not in reply(client, "CLIENT", "LIST", "ID", number):
                assert time.monotonic() < give_up, f"{words} does not begin"

    def send_behind(self, *words: Any) -> None:
        """Sends a command behind the one that waits."""
        self._words += (words,)
        for client in (self._second.ours, self._second.theirs):
            client.connection.send_command(*words)

    def unblock(self, *words: Any) -> None:
        """CLIENT UNBLOCK, from the other connection."""
        for client, number in zip((self._pair.ours, self._pair.theirs), self._numbers, strict=True):
            assert reply(client, "CLIENT", "UNBLOCK", number, *words) == 1

    def close(self) -> None:
        """Closes both connections; returns when the servers have noticed."""
        for client in (self._second.ours, self._second.theirs):
            client.close()
        for client, number in zip((self._pair.ours, self._pair.theirs), self._numbers, strict=True):
            give_up = time.monotonic() + START_SECONDS_MAX
            while reply(client, "CLIENT", "LIST", "ID", number):
                assert time.monotonic() < give_up, "the connection is still there"

    def same(self, alike: Form = texts, form: Callable[[Node], str] = str) -> Any:
        """Compares the replies and their forms when they come; returns OneMQ's."""
        answer, expected = _read(self._second.ours), _read(self._second.theirs)
        assert alike(answer) == alike(expected), f"OneMQ {answer!r}, Redis {expected!r}"
        self._second.same_form(*self._words, form=form)
        return answer

    def still_waits(self) -> None:
        """Checks that neither server has answered: each has executed a command that came after."""
        for main, client in ((self._pair.ours, self._second.ours), (self._pair.theirs, self._second.theirs)):
            reply(main, "PING")
            assert not client.connection.can_read(timeout=0), "it has been answered"


@contextmanager
def blocking(pair: Pair) -> Iterator[Blocking]:
    """Two connections beside those of `pair`, in the same version of RESP."""
    with another(pair.ours) as ours, another(pair.theirs) as theirs:
        yield Blocking(pair, Pair(ours, theirs))


def another(client: Any) -> Any:
    """A connection to the same server."""
    options = client.connection_pool.connection_kwargs
    return connection(options["port"], options["protocol"])


def _read(client: Any) -> Any:
    try:
        return client.connection.read_response()
    except ResponseError as error:
        return ("error", str(error))
