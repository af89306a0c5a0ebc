"""OBJECT: how Redis would keep a value, for programs that ask. We keep no times or counts of access."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from onemq.core.keyspace import integers
from onemq.core.keyspace.ranking import Ranking
from onemq.core.keyspace.values import Members
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command, Handler, container
from onemq.protocols.resp.errors import CommandError

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_EMBEDDED_BYTES_MAX = 44
_ENTRIES_MAX = {dict: 512, Members: 512, Ranking: 128}
_ENTRY_BYTES_MAX = 64

_HELP = """\
OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
ENCODING <key>
    Return the kind of internal representation used in order to store the value
    associated with a <key>.
FREQ <key>
    Return the access frequency index of the <key>. The returned integer is
    proportional to the logarithm of the recent access frequency of the key.
IDLETIME <key>
    Return the idle time of the <key>, that is the approximated number of
    seconds elapsed since the last access to the key.
REFCOUNT <key>
    Return the number of references of the value associated with the specified
    <key>.
HELP
    Prints this help.
"""


def encoding(session: "RespSession", request: list[bytes]) -> bytes:
    keys = session.service.core.keys
    if not keys.holds(request[2]):
        return session.replies.null
    return replies.text(_encoding(keys.values[request[2]]) or keys.type_of(request[2]) or "")


def _encoding(value: Any) -> str | None:
    """As Redis 7.0 would keep it if it had been stored in one go; None for what has only one way."""
    kind = type(value)
    if kind is bytes:
        return _string_encoding(value)
    if kind is deque:
        return "quicklist"
    if kind is Members:
        return "intset" if _is_small(value) and all(map(_is_integer, value)) else "hashtable"
    if kind is dict:
        return "listpack" if _is_small(value) and _are_short((*value, *value.values())) else "hashtable"
    if kind is Ranking:
        return "listpack" if _is_small(value) and _are_short(value.scores) else "skiplist"
    return None


def _string_encoding(value: bytes) -> str:
    if _is_integer(value):
        return "int"
    return "embstr" if len(value) <= _EMBEDDED_BYTES_MAX else "raw"


def _is_integer(value: bytes) -> bool:
    return integers.parse(value) is not None


def _is_small(value: Any) -> bool:
    return len(value) <= _ENTRIES_MAX[type(value)]


def _are_short(values: Iterable[bytes]) -> bool:
    return all(len(value) <= _ENTRY_BYTES_MAX for value in values)


def refcount(session: "RespSession", request: list[bytes]) -> bytes:
    """Redis shares small integers between all keys that hold one, and tells so."""
    keys = session.service.core.keys
    if not keys.holds(request[2]):
        return session.replies.null
    value = keys.values[request[2]]
    number = integers.parse(value) if type(value) is bytes else None
    return replies.integer(2**31 - 1 if number is not None and 0 <= number < 10_000 else 1)


def idletime(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.ZERO if session.service.core.keys.holds(request[2]) else session.replies.null


def freq(session: "RespSession", request: list[bytes]) -> bytes:
    if not session.service.core.keys.holds(request[2]):
        return session.replies.null
    raise CommandError(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
        "between policies at runtime LRU and LFU data will take some time to adjust."
    )


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.lines(_HELP)


def _row(name: str, handler: Handler, summary: str, since: str) -> Command:
    return Command(
        f"object|{name}", 3, handler, summary, since, "generic", flags=("readonly",), categories=("keyspace",),
        keys=(2, 2, 1), tips=("nondeterministic_output",), arguments=(Argument("key", "key"),),
    )  # fmt: skip


_SUBCOMMANDS = (
    _row("encoding", encoding, "Inspect the internal encoding of a Redis object", "2.2.3"),
    _row("freq", freq, "Get the logarithmic access frequency counter of a Redis object", "4.0.0"),
    _row("idletime", idletime, "Get the time since a Redis object was last accessed", "2.2.3"),
    _row("refcount", refcount, "Get the number of references to the value of the key", "2.2.3"),
    Command("object|help", 2, help_, "Show helpful text about the different subcommands", "6.2.0", "generic",
            flags=("loading", "stale"), categories=("keyspace",)),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    container("object", "A container for object introspection commands", "2.2.3", "generic", _SUBCOMMANDS,
              complexity="Depends on subcommand."),
)  # fmt: skip
