"""What client libraries and redis-cli ask a server beside its data: time, role, memory, slow log, users.

OneMQ has no replicas, no slow log and no latency monitor, and says so in the form that Redis has for it. Its users may
do everything, or nothing before they have logged in; what proves their passwords is not told.
"""

from typing import TYPE_CHECKING

from onemq.limits import SCHEDULE_AHEAD_MS_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.client import timeout_ms
from onemq.protocols.resp.command import Command, Handler, container
from onemq.protocols.resp.errors import CommandError, misused_subcommand, not_an_integer, shown, syntax_error
from onemq.protocols.resp.footprint import footprint_bytes
from onemq.protocols.resp.introspection import categories, in_category
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.usage import arguments

if TYPE_CHECKING:
    from onemq.errors import OneMQError
    from onemq.protocols.resp.session import RespSession

_SAMPLES = 5
_NO_REPLICAS = replies.integer(0)
_ROLE = replies.array([replies.text("master"), replies.integer(0), replies.EMPTY_ARRAY])


def time(session: "RespSession", request: list[bytes]) -> bytes:
    """The time of the turn: seconds, and microseconds of the second."""
    seconds, milliseconds = divmod(session.service.now_ms, 1000)
    return replies.array([replies.text(str(seconds)), replies.text(str(milliseconds * 1000))])


def role(session: "RespSession", request: list[bytes]) -> bytes:
    return _ROLE


def wait(session: "RespSession", request: list[bytes]) -> bytes:
    """WAIT replicas milliseconds: there are none, so it waits in vain for more than none; 0 is for ever."""
    replicas, timeout = parse_integer(request[1]), timeout_ms(request[2])
    if replicas is None:
        raise not_an_integer()
    if replicas <= 0 or session.atomic:
        return _NO_REPLICAS
    core = session.service.core

    def unblock(error: "OneMQError | None") -> None:
        timer.cancel()
        session.on_lost.pop(timer.cancel, None)
        session.go_on(_NO_REPLICAS if error is None else session.refusal(error))

    until_ms = core.stage.now_ms + (timeout or SCHEDULE_AHEAD_MS_MAX)
    timer = core.waiting.wait([], until_ms, lambda: unblock(None))
    session.on_lost[timer.cancel] = None
    session.unblock = unblock
    session.wait()
    return b""


def last_save(session: "RespSession", request: list[bytes]) -> bytes:
    """Everything is saved all the time: now."""
    return replies.integer(session.service.now_ms // 1000)


# MEMORY


def memory_usage(session: "RespSession", request: list[bytes]) -> bytes:
    """MEMORY USAGE key [SAMPLES count]: an estimate."""
    samples = _SAMPLES
    for place in range(3, len(request), 2):
        if request[place].lower() != b"samples" or place + 1 == len(request):
            raise syntax_error()
        samples = integer(request[place + 1])
        if samples < 0:
            raise syntax_error()
    size = footprint_bytes(session.service.core, request[2], samples)
    return session.replies.null if size is None else replies.integer(size)


def memory_purge(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.OK


# SLOWLOG and LATENCY


def slow_log_entries(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) > 3:
        raise misused_subcommand(request)
    if len(request) == 3:
        count = parse_integer(request[2])
        if count is None or count < -1:
            raise CommandError("ERR count should be greater than or equal to -1")
    return replies.EMPTY_ARRAY


def none(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.EMPTY_ARRAY


def zero(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(0)


def done(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.OK


# ACL


def who_am_i(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulk(session.user or b"")


def users(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.array([replies.text(name) for name in session.service.user_names])


def rules(session: "RespSession", request: list[bytes]) -> bytes:
    flags = " ".join(_flags(session))
    return replies.array([replies.text(f"user {name} {flags} ~* &* +@all") for name in session.service.user_names])


def user(session: "RespSession", request: list[bytes]) -> bytes:
    if request[2].decode(errors="surrogateescape") not in session.service.user_names:
        return session.replies.null
    form = session.replies
    return form.map([
        (replies.text("flags"), form.set([replies.text(flag) for flag in _flags(session)])),
        (replies.text("passwords"), replies.EMPTY_ARRAY),
        (replies.text("commands"), replies.text("+@all")),
        (replies.text("keys"), replies.text("~*")),
        (replies.text("channels"), replies.text("&*")),
        (replies.text("selectors"), replies.EMPTY_ARRAY),
    ])  # fmt: skip


def _flags(session: "RespSession") -> tuple[str, ...]:
    return ("on",) if session.service.users else ("on", "nopass")


def category(session: "RespSession", request: list[bytes]) -> bytes:
    """ACL CAT [category]: the categories, or the commands of one."""
    if len(request) > 3:
        raise misused_subcommand(request)
    if len(request) == 2:
        return replies.array([replies.text(each) for each in categories()])
    name = shown(request[2])
    if name.lower() not in categories():
        raise CommandError(f"ERR Unknown category '{name}'")
    return replies.array([replies.text(row.name) for row in in_category(session, name.lower())])


def _help(text: str) -> Handler:
    return lambda session, request: replies.lines(text)


_MEMORY_HELP = """\
MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
PURGE
    Attempt to purge dirty pages for reclamation by the allocator.
USAGE <key> [SAMPLES <count>]
    Return memory in bytes used by <key> and its value. Nested values are
    sampled up to <count> times (default: 5, 0 means sample all).
HELP
    Prints this help.
"""
_SLOWLOG_HELP = """\
SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
GET [<count>]
    Return top <count> entries from the slowlog (default: 10, -1 mean all).
    Entries are made of:
    id, timestamp, time in microseconds, arguments array, client IP and port,
    client name
LEN
    Return the length of the slowlog.
RESET
    Reset the slowlog.
HELP
    Prints this help.
"""
_LATENCY_HELP = """\
LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
HISTORY <event>
    Return time-latency samples for the <event> class.
LATEST
    Return the latest latency samples for all events.
RESET [<event> ...]
    Reset latency data of one or more <event> classes.
    (default: reset all data for all event classes)
HELP
    Prints this help.
"""
_ACL_HELP = """\
ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CAT [<category>]
    List all commands that belong to <category>, or all command categories
    when no category is specified.
GETUSER <username>
    Get the user's details.
LIST
    Show users details in config file format.
USERS
    List all the registered usernames.
WHOAMI
    Return the current connection username.
HELP
    Prints this help.
"""

_ADMIN = ("admin", "noscript", "loading", "stale")
_ANYONE = ("noscript", "loading", "stale")
_HELPING = ("loading", "stale")
_SHOW_HELP = "Show helpful text about the different subcommands"
_EVERYWHERE = ("request_policy:all_nodes", "response_policy:all_succeeded")
_SUMMED = ("request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output")
_SPECIAL = ("nondeterministic_output", "request_policy:all_nodes", "response_policy:special")


def _row(name: str, arity: int, handler: Handler, summary: str, since: str, flags: tuple[str, ...] = _ADMIN,
         usage: str = "", complexity: str = "O(1)", tips: tuple[str, ...] = (), group: str = "server",
         categories: tuple[str, ...] = (), keys: tuple[int, int, int] = (0, 0, 0)) -> Command:  # fmt: skip
    return Command(name, arity, handler, summary, since, group, flags=flags, categories=categories, keys=keys,
                   tips=tips, complexity=complexity, arguments=arguments(usage))  # fmt: skip


_MEMORY = (
    _row("memory|help", 2, _help(_MEMORY_HELP), _SHOW_HELP, "4.0.0", _HELPING),
    _row("memory|purge", 2, memory_purge, "Ask the allocator to release memory", "4.0.0", (),
         complexity="Depends on how much memory is allocated, could be slow",
         tips=("request_policy:all_shards", "response_policy:all_succeeded")),
    _row("memory|usage", -3, memory_usage, "Estimate the memory usage of a key", "4.0.0", ("readonly",),
         "key [SAMPLES count:integer]", "O(N) where N is the number of samples.", keys=(2, 2, 1)),
)  # fmt: skip
_SLOWLOG = (
    _row("slowlog|get", -2, slow_log_entries, "Get the slow log's entries", "2.2.12", ("admin", "loading", "stale"),
         "[count:integer]", "O(N) where N is the number of entries returned",
         ("request_policy:all_nodes", "nondeterministic_output")),
    _row("slowlog|help", 2, _help(_SLOWLOG_HELP), _SHOW_HELP, "6.2.0", _HELPING),
    _row("slowlog|len", 2, zero, "Get the slow log's length", "2.2.12", ("admin", "loading", "stale"), tips=_SUMMED),
    _row("slowlog|reset", 2, done, "Clear all entries from the slow log", "2.2.12", ("admin", "loading", "stale"),
         complexity="O(N) where N is the number of entries in the slowlog", tips=_EVERYWHERE),
)  # fmt: skip
_LATENCY = (
    _row("latency|help", 2, _help(_LATENCY_HELP), _SHOW_HELP + ".", "2.8.13", _HELPING),
    _row("latency|history", 3, none, "Return timestamp-latency samples for the event.", "2.8.13", usage="event",
         tips=_SPECIAL),
    _row("latency|latest", 2, none, "Return the latest latency samples for all events.", "2.8.13", tips=_SPECIAL),
    _row("latency|reset", -2, zero, "Reset latency data for one or more events.", "2.8.13", usage="[event ...]",
         tips=_EVERYWHERE),
)  # fmt: skip
_ACL = (
    _row("acl|cat", -2, category, "List the ACL categories or the commands inside a category", "6.0.0", _ANYONE,
         "[categoryname]", "O(1) since the categories and commands are a fixed set."),
    _row("acl|getuser", 3, user, "Get the rules for a specific ACL user", "6.0.0", usage="username",
         complexity="O(N). Where N is the number of password, command and pattern rules that the user has."),
    _row("acl|help", 2, _help(_ACL_HELP), _SHOW_HELP, "6.0.0", _HELPING),
    _row("acl|list", 2, rules, "List the current ACL rules in ACL config file format", "6.0.0",
         complexity="O(N). Where N is the number of configured users."),
    _row("acl|users", 2, users, "List the username of all the configured ACL rules", "6.0.0",
         complexity="O(N). Where N is the number of configured users."),
    _row("acl|whoami", 2, who_am_i, "Return the name of the user associated to the current connection", "6.0.0",
         _ANYONE),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    container("acl", "A container for Access List Control commands ", "6.0.0", "server", _ACL,
              complexity="Depends on subcommand."),
    _row("lastsave", 1, last_save, "Get the UNIX time stamp of the last successful save to disk", "1.0.0",
         ("loading", "stale", "fast"), tips=("nondeterministic_output",), categories=("admin", "dangerous")),
    container("latency", "A container for latency diagnostics commands", "2.8.13", "server", _LATENCY,
              complexity="Depends on subcommand."),
    container("memory", "A container for memory diagnostics commands", "4.0.0", "server", _MEMORY,
              complexity="Depends on subcommand."),
    _row("role", 1, role, "Return the role of the instance in the context of replication", "2.8.12",
         ("noscript", "loading", "stale", "fast"), categories=("admin", "dangerous")),
    container("slowlog", "A container for slow log commands", "2.2.12", "server", _SLOWLOG,
              complexity="Depends on subcommand."),
    _row("time", 1, time, "Return the current server time", "2.6.0", ("loading", "stale", "fast"),
         tips=("nondeterministic_output",)),
    _row("wait", 3, wait, "Wait for the synchronous replication of all the write commands sent in the context of the "
         "current connection", "3.0.0", ("noscript",), "numreplicas:integer timeout:integer", group="generic",
         categories=("connection",), tips=("request_policy:all_shards", "response_policy:agg_min")),
)  # fmt: skip
