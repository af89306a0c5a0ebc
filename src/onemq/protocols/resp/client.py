"""CLIENT: who is connected, under what name, how to hold them up and how to part with them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command, container
from onemq.protocols.resp.connection import checked_name
from onemq.protocols.resp.errors import CommandError, misused_subcommand, not_an_integer, shown, syntax_error
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.usage import arguments

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Filter = Callable[["RespSession"], bool]

_TYPES = (b"normal", b"master", b"replica", b"slave", b"pubsub")


def get_id(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.id)


def get_name(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulk(session.name) if session.name else session.replies.null


def set_name(session: "RespSession", request: list[bytes]) -> bytes:
    session.name = checked_name(request[2])
    return replies.OK


def set_info(session: "RespSession", request: list[bytes]) -> bytes:
    """Client libraries tell their name and version here when they connect."""
    option = request[2].lower()
    if option == b"lib-name":
        session.library_name = checked_name(request[3], "lib-name")
    elif option == b"lib-ver":
        session.library_version = checked_name(request[3], "lib-ver")
    else:
        raise CommandError(f"ERR Unrecognized option '{shown(request[2])}'")
    return replies.OK


def info(session: "RespSession", request: list[bytes]) -> bytes:
    return session.replies.verbatim(_description(session))


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    """CLIENT LIST [TYPE type | ID id ...]"""
    chosen = _matching(session, [])
    option = request[2].lower() if len(request) > 2 else b""
    if option == b"type" and len(request) == 4:
        of_type = _type_filter(request[3])
        chosen = [other for other in chosen if of_type(other)]
    elif option == b"id" and len(request) > 3:
        ids = {_integer(word, "ERR Invalid client ID") for word in request[3:]}
        chosen = [other for other in chosen if other.id in ids]
    elif option:
        raise syntax_error()
    return session.replies.verbatim("".join(map(_description, chosen)))


def _description(session: "RespSession") -> str:
    """One line of CLIENT LIST. What we do not keep stands there as zero, for programs that expect it."""
    now_ms = session.service.now_ms
    subscriptions, transaction = session.subscriptions, session.transaction
    channels, patterns, shard_channels = map(len, subscriptions.names if subscriptions is not None else ((), (), ()))
    facts = {
        "id": session.id,
        "addr": session.peer.address,
        "laddr": session.peer.local_address,
        "fd": -1,
        "name": session.name.decode(),
        "age": max(0, now_ms - session.born_ms) // 1000,
        "idle": max(0, now_ms - session.last_ms) // 1000,
        "flags": _flags(session),
        "db": 0, "sub": channels, "psub": patterns, "ssub": shard_channels,
        "multi": -1 if transaction is None else len(transaction), "qbuf": 0, "qbuf-free": 0, "argv-mem": 0,
        "multi-mem": 0, "rbs": 0, "rbp": 0, "obl": 0, "oll": 0, "omem": 0, "tot-mem": 0, "events": "r",
        "cmd": session.last_command.name if session.last_command else "NULL",
        "user": (session.user or b"").decode(),
        "redir": -1,
        "resp": session.replies.version,
        "lib-name": session.library_name.decode(),
        "lib-ver": session.library_version.decode(),
    }  # fmt: skip
    return " ".join(f"{key}={value}" for key, value in facts.items()) + "\n"


def _flags(session: "RespSession") -> str:
    facts = {
        "P": session.subscriptions is not None,
        "x": session.transaction is not None,
        "b": session.blocked,
        "e": session.no_evict,
        "T": session.no_touch,
    }
    return "".join(flag for flag, holds in facts.items() if holds) or "N"


def kill(session: "RespSession", request: list[bytes]) -> bytes:
    """CLIENT KILL address, or CLIENT KILL filter value ... with a count as its reply."""
    if len(request) == 3:
        doomed = _matching(session, [_address_filter(request[2])])
        if not doomed:
            raise CommandError("ERR No such client")
        _end(doomed)
        return replies.OK
    doomed = _matching(session, _kill_filters(session, request))
    _end(doomed)
    return replies.integer(len(doomed))


def _kill_filters(session: "RespSession", request: list[bytes]) -> list[Filter]:
    if len(request) % 2:
        raise syntax_error()
    filters = []
    skip_me = True
    for option, value in zip(request[2::2], request[3::2], strict=True):
        if option.lower() == b"skipme":
            skip_me = _yes_or_no(value)
        else:
            filters.append(_kill_filter(session, option.lower(), value))
    if skip_me:
        filters.append(lambda other: other is not session)
    return filters


def _kill_filter(session: "RespSession", option: bytes, value: bytes) -> Filter:
    if option == b"id":
        problem = "ERR client-id should be greater than 0"
        wanted = _integer(value, problem)
        if wanted < 1:
            raise CommandError(problem)
        return lambda other: other.id == wanted
    if option == b"type":
        return _type_filter(value)
    if option == b"addr":
        return _address_filter(value)
    if option == b"laddr":
        return lambda other: other.peer.local_address.encode() == value
    if option == b"user":
        return _user_filter(session, value)
    raise syntax_error()


def _address_filter(address: bytes) -> Filter:
    return lambda other: other.peer.address.encode() == address


def _type_filter(kind: bytes) -> Filter:
    if kind.lower() not in _TYPES:
        raise CommandError(f"ERR Unknown client type '{shown(kind)}'")
    wanted = kind.lower()
    return lambda other: wanted == (b"normal" if other.subscriptions is None else b"pubsub")


def _user_filter(session: "RespSession", user: bytes) -> Filter:
    if user.decode(errors="surrogateescape") not in session.service.user_names:
        raise CommandError(f"ERR No such user '{shown(user)}'")
    return lambda other: other.user == user


def _integer(word: bytes, problem: str) -> int:
    number = parse_integer(word)
    if number is None:
        raise CommandError(problem)
    return number


def _yes_or_no(word: bytes) -> bool:
    if word.lower() not in (b"yes", b"no"):
        raise syntax_error()
    return word.lower() == b"yes"


def _matching(session: "RespSession", filters: list[Filter]) -> list["RespSession"]:
    sessions = session.service.sessions.values()
    return [other for other in sessions if not other.ended and all(fits(other) for fits in filters)]


def _end(doomed: list["RespSession"]) -> None:
    for other in doomed:
        other.end()


def reply(session: "RespSession", request: list[bytes]) -> bytes:
    mode = request[2].lower()
    if mode == b"on":
        session.skipped_replies = 0
        return replies.OK
    if mode == b"off":
        session.skipped_replies = -1
    elif mode == b"skip":
        if session.skipped_replies >= 0:
            session.skipped_replies = 2  # this one and the next
    else:
        raise syntax_error()
    return b""


def no_evict(session: "RespSession", request: list[bytes]) -> bytes:
    session.no_evict = _on_or_off(request[2])
    return replies.OK


def no_touch(session: "RespSession", request: list[bytes]) -> bytes:
    session.no_touch = _on_or_off(request[2])
    return replies.OK


def _on_or_off(word: bytes) -> bool:
    if word.lower() not in (b"on", b"off"):
        raise syntax_error()
    return word.lower() == b"on"


def pause(session: "RespSession", request: list[bytes]) -> bytes:
    """CLIENT PAUSE milliseconds [WRITE | ALL]"""
    mode = request[3].lower() if len(request) > 3 else b"all"
    if len(request) > 4:
        raise misused_subcommand(request)
    if mode not in (b"write", b"all"):
        raise CommandError("ERR CLIENT PAUSE mode must be WRITE or ALL")
    service = session.service
    service.pause.begin(service.now_ms + timeout_ms(request[2]), mode == b"all")
    return replies.OK


def timeout_ms(word: bytes) -> int:
    """A time to wait, in milliseconds."""
    timeout = _integer(word, "ERR timeout is not an integer or out of range")
    if timeout < 0:
        raise CommandError("ERR timeout is negative")
    return timeout


def unpause(session: "RespSession", request: list[bytes]) -> bytes:
    service = session.service
    service.afterwards[service.pause.end] = None  # what waited runs then, and not amid a transaction
    return replies.OK


def unblock(session: "RespSession", request: list[bytes]) -> bytes:
    """CLIENT UNBLOCK id [TIMEOUT | ERROR]: whether that client waited."""
    reason = request[3].lower() if len(request) > 3 else b"timeout"
    if len(request) > 4:
        raise misused_subcommand(request)
    if reason not in (b"timeout", b"error"):
        raise CommandError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
    number = parse_integer(request[2])
    if number is None:
        raise not_an_integer()
    other = session.service.sessions.get(number)
    if other is None or other.unblock is None:
        return replies.integer(0)
    error = CommandError("UNBLOCKED client unblocked via CLIENT UNBLOCK") if reason == b"error" else None
    session.service.wake_afterwards(_waker(other, error))  # it goes on with commands of its own then
    return replies.integer(1)


def _waker(other: "RespSession", error: CommandError | None) -> Callable[[], None]:
    unblock = other.unblock

    def wake() -> None:
        if unblock is not None and other.unblock is unblock:  # else it got meanwhile what it waited for
            unblock(error)

    return wake


def tracking(session: "RespSession", request: list[bytes]) -> bytes:
    if _on_or_off(request[2]):
        raise CommandError("ERR CLIENT TRACKING is not supported by OneMQ: switch client-side caching off")
    return replies.OK


def tracking_info(session: "RespSession", request: list[bytes]) -> bytes:
    return session.replies.map([
        (replies.text("flags"), session.replies.set([replies.text("off")])),
        (replies.text("redirect"), replies.integer(-1)),
        (replies.text("prefixes"), replies.EMPTY_ARRAY),
    ])  # fmt: skip


def get_redirection(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(-1)


def caching(session: "RespSession", request: list[bytes]) -> bytes:
    raise CommandError(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
    )


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.lines(_HELP)


_HELP = """\
CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CACHING (YES|NO)
    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.
GETREDIR
    Return the client ID we are redirecting to when tracking is enabled.
GETNAME
    Return the name of the current connection.
ID
    Return the ID of the current connection.
INFO
    Return information about the current client connection.
KILL <ip:port>
    Kill connection made from <ip:port>.
KILL <option> <value> [<option> <value> [...]]
    Kill connections. Options are:
    * ADDR (<ip:port>|<unixsocket>:0)
      Kill connections made from the specified address
    * LADDR (<ip:port>|<unixsocket>:0)
      Kill connections made to specified local address
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Kill connections by type.
    * USER <username>
      Kill connections authenticated by <username>.
    * SKIPME (YES|NO)
      Skip killing current connection (default: yes).
LIST [options ...]
    Return information about client connections. Options:
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Return clients of specified type.
UNPAUSE
    Stop the current client pause, resuming traffic.
PAUSE <timeout> [WRITE|ALL]
    Suspend all, or just write, clients for <timeout> milliseconds.
REPLY (ON|OFF|SKIP)
    Control the replies sent to the current connection.
SETNAME <name>
    Assign the name <name> to the current connection.
UNBLOCK <clientid> [TIMEOUT|ERROR]
    Unblock the specified blocked client.
TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]
         [OPTIN] [OPTOUT] [NOLOOP]
    Control server assisted client side caching.
TRACKINGINFO
    Report tracking status for the current connection.
NO-EVICT (ON|OFF)
    Protect current client connection from eviction.
HELP
    Prints this help.
"""

_ANYONE = ("noscript", "loading", "stale")
_ADMIN = ("admin", "noscript", "loading", "stale")


def _row(name: str, arity: int, handler: Callable[["RespSession", list[bytes]], bytes], summary: str,
         since: str, flags: tuple[str, ...] = _ANYONE, *words: Argument) -> Command:  # fmt: skip
    tips = ("nondeterministic_output",) if name in ("list", "info") else ()
    return Command(
        f"client|{name}", arity, handler, summary, since, "connection",
        flags=flags, categories=("connection",), arguments=words, tips=tips,
    )  # fmt: skip


_ENABLED, _STATUS = arguments("enabled=(ON | OFF) status=(ON | OFF)")
_MODE, _REASON = arguments("[mode=(WRITE | ALL)] [timeout_error=(TIMEOUT | ERROR)]")
_SUBCOMMANDS = (
    _row("caching", 3, caching, "Instruct the server about tracking or not keys in the next request", "6.0.0"),
    _row("getname", 2, get_name, "Get the current connection name", "2.6.9"),
    _row("getredir", 2, get_redirection, "Get tracking notifications redirection client ID if any", "6.0.0"),
    _row("help", 2, help_, "Show helpful text about the different subcommands", "5.0.0", ("loading", "stale")),
    _row("id", 2, get_id, "Returns the client ID for the current connection", "5.0.0"),
    _row("info", 2, info, "Returns information about the current client connection.", "6.2.0"),
    _row("kill", -3, kill, "Kill the connection of a client", "2.4.0", _ADMIN),
    _row("list", -2, list_, "Get the list of client connections", "2.4.0", _ADMIN),
    _row("no-evict", 3, no_evict, "Set client eviction mode for the current connection", "7.0.0", _ADMIN, _ENABLED),
    _row("no-touch", 3, no_touch, "Controls whether commands sent by the client will alter the LRU/LFU of keys", "7.2.0", _ANYONE, _ENABLED),  # noqa: E501
    _row("pause", -3, pause, "Stop processing commands from clients for some time", "3.0.0", _ADMIN,
         Argument("timeout", "integer"), _MODE),
    _row("reply", 3, reply, "Instruct the server whether to reply to commands", "3.2.0"),
    _row("setinfo", 4, set_info, "Set client or connection specific info", "7.2.0"),
    _row("setname", 3, set_name, "Set the current connection name", "2.6.9", _ANYONE,
         Argument("connection-name")),
    _row("tracking", -3, tracking, "Enable or disable server assisted client side caching support", "6.0.0",
         _ANYONE, _STATUS),
    _row("trackinginfo", 2, tracking_info, "Return information about server assisted client side caching for the current connection", "6.2.0"),  # noqa: E501
    _row("unblock", -3, unblock, "Unblock a client blocked in a blocking command from a different connection",
         "5.0.0", _ADMIN, Argument("client-id", "integer"), _REASON),
    _row("unpause", 2, unpause, "Resume processing of clients that were paused", "6.2.0", _ADMIN),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    container("client", "A container for client connection commands", "2.4.0", "connection", _SUBCOMMANDS,
              complexity="Depends on subcommand."),
)  # fmt: skip
