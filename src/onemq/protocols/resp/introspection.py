"""COMMAND: what commands there are, what they look like, and which of their words are keys."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onemq.core.keyspace.glob import matcher
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command, Handler, container
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.key_specs import encode as encode_key_specs
from onemq.protocols.resp.key_specs import find_keys, has_keys
from onemq.protocols.resp.replies import Replies

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def all_commands(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.array([_details(row, session.replies) for row in _rows(session)])


def count(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(len(_rows(session)))


def info(session: "RespSession", request: list[bytes]) -> bytes:
    """COMMAND INFO [name ...]: null for a name that is none."""
    if len(request) == 2:
        return all_commands(session, request)
    found = [_find(session, name) for name in request[2:]]
    details = {row.name: _details(row, session.replies) for row in _each_once(found)}
    items = [details[row.name] if row else session.replies.null for row in found]
    replies.check_sizes(items)
    return replies.array(items)


def docs(session: "RespSession", request: list[bytes]) -> bytes:
    """COMMAND DOCS [name ...]: nothing for a name that is none."""
    found = [_find(session, name) for name in request[2:]] if len(request) > 2 else _rows(session)
    documents = {row.name: _document(row, session.replies) for row in _each_once(found)}
    names = [row.name for row in found if row]
    replies.check_sizes(documents[name] for name in names)
    return session.replies.map((replies.text(name), documents[name]) for name in names)


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    """COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]"""
    rows = _with_subcommands(_rows(session))
    if len(request) == 2:
        return replies.array([replies.text(row.name) for row in _rows(session)])
    if len(request) != 5 or request[2].lower() != b"filterby":
        raise syntax_error()
    kind, value = request[3].lower(), request[4].decode(errors="surrogateescape").lower()
    if kind == b"module":
        rows = []
    elif kind == b"aclcat":
        rows = in_category(session, value)
    elif kind == b"pattern":
        matches = matcher(request[4].lower())
        rows = [row for row in rows if matches(row.name.encode())]
    else:
        raise syntax_error()
    return replies.array([replies.text(row.name) for row in rows])


def get_keys(session: "RespSession", request: list[bytes]) -> bytes:
    """COMMAND GETKEYS name argument ..."""
    return replies.array([replies.bulk(key) for key, _ in _keys(session, request[2:])])


def get_keys_and_flags(session: "RespSession", request: list[bytes]) -> bytes:
    """COMMAND GETKEYSANDFLAGS name argument ..."""
    form = session.replies
    return replies.array([
        replies.array([replies.bulk(key), form.set([replies.simple(flag) for flag in flags])])
        for key, flags in _keys(session, request[2:])
    ])  # fmt: skip


def _keys(session: "RespSession", words: list[bytes]) -> list[tuple[bytes, tuple[str, ...]]]:
    row = _find(session, words[0])
    if row is not None and row.subcommands and len(words) > 1:
        row = row.subcommands.get(words[1].lower())
    if row is None:
        raise CommandError("ERR Invalid command specified")
    if not has_keys(row):
        raise CommandError("ERR The command has no key arguments")
    if not row.accepts(len(words)):
        raise CommandError("ERR Invalid number of arguments specified for command")
    keys = find_keys(row, words)
    if keys is None and "no_mandatory_keys" not in row.flags:
        raise CommandError("ERR Invalid arguments specified for command")
    return keys or []


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.lines(_HELP)


_HELP = """\
COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
(no subcommand)
    Return details about all Redis commands.
COUNT
    Return the total number of commands in this Redis server.
LIST
    Return a list of all commands in this Redis server.
INFO [<command-name> ...]
    Return details about multiple Redis commands.
    If no command names are given, documentation details for all
    commands are returned.
DOCS [<command-name> ...]
    Return documentation details about multiple Redis commands.
    If no command names are given, documentation details for all
    commands are returned.
GETKEYS <full-command>
    Return the keys from a full Redis command.
GETKEYSANDFLAGS <full-command>
    Return the keys and the access flags from a full Redis command.
HELP
    Prints this help.
"""


def _rows(session: "RespSession") -> list[Command]:
    return list({row.name: row for row in session.service.commands.values()}.values())


def _each_once(rows: Iterable[Command | None]) -> Iterable[Command]:
    """Rows that a request may name again and again."""
    return {row.name: row for row in rows if row}.values()


def _with_subcommands(rows: Iterable[Command]) -> list[Command]:
    return [each for row in rows for each in (row, *row.subcommands.values())]


def _find(session: "RespSession", name: bytes) -> Command | None:
    """The row of a command, or of a subcommand given as `container|name`."""
    outer, bar, inner = name.lower().partition(b"|")
    row = session.service.commands.get(outer)
    return row.subcommands.get(inner) if row and bar else row


def _details(row: Command, form: Replies) -> bytes:
    """One entry of COMMAND and COMMAND INFO."""
    first, last, step = row.keys
    return replies.array([
        replies.text(row.name),
        replies.integer(row.arity),
        form.set([replies.simple(flag) for flag in row.flags]),
        replies.integer(first),
        replies.integer(last),
        replies.integer(step),
        form.set([replies.simple(category) for category in _categories(row)]),
        form.set([replies.text(tip) for tip in row.tips]),
        encode_key_specs(row, form),
        replies.array([_details(inner, form) for inner in row.subcommands.values()])
        if row.subcommands else form.set([]),
    ])  # fmt: skip


def categories() -> tuple[str, ...]:
    """All ACL categories that Redis has."""
    return _ALL_CATEGORIES


def in_category(session: "RespSession", name: str) -> list[Command]:
    """The commands and subcommands of an ACL category."""
    return [row for row in _with_subcommands(_rows(session)) if f"@{name}" in _categories(row)]


_ALL_CATEGORIES = (
    "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
    "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
)  # fmt: skip


def _categories(row: Command) -> list[str]:
    """ACL categories, those that follow from the flags first."""
    flags = row.flags
    implied = {
        "@keyspace": row.group == "generic" and ("readonly" in flags or "write" in flags),
        "@read": "readonly" in flags,
        "@write": "write" in flags,
        "@pubsub": "pubsub" in flags,
        "@admin": "admin" in flags,
        "@fast": "fast" in flags,
        "@slow": "fast" not in flags,
        "@blocking": "blocking" in flags,
        "@dangerous": "admin" in flags,
    }
    named = [name for name, holds in implied.items() if holds] + [f"@{name}" for name in row.categories]
    return list(dict.fromkeys(named))


def _documentation(rows: Iterable[Command], form: Replies) -> bytes:
    return form.map((replies.text(row.name), _document(row, form)) for row in rows)


def _document(row: Command, form: Replies) -> bytes:
    facts = [
        (replies.text("summary"), replies.text(row.summary)),
        (replies.text("since"), replies.text(row.since)),
        (replies.text("group"), replies.text(row.group)),
        (replies.text("complexity"), replies.text(row.complexity)),
    ]
    if row.arguments:
        facts.append((replies.text("arguments"), _arguments(row.arguments, form)))
    if row.subcommands:
        facts.append((replies.text("subcommands"), _documentation(row.subcommands.values(), form)))
    return form.map(facts)


def _arguments(arguments: Iterable[Argument], form: Replies) -> bytes:
    return replies.array([_argument(argument, form) for argument in arguments])


def _argument(argument: Argument, form: Replies) -> bytes:
    facts = [
        (replies.text("name"), replies.text(argument.name)),
        (replies.text("type"), replies.text(argument.type)),
    ]
    if argument.token:
        facts.append((replies.text("token"), replies.text(argument.token)))
    if argument.flags:
        flags = form.set([replies.simple(flag) for flag in argument.flags])
        facts.append((replies.text("flags"), flags))
    if argument.arguments:
        facts.append((replies.text("arguments"), _arguments(argument.arguments, form)))
    return form.map(facts)


def _row(name: str, arity: int, handler: Handler, summary: str, since: str) -> Command:
    tips = ("nondeterministic_output_order",) if name in ("docs", "info", "list") else ()
    return Command(
        f"command|{name}", arity, handler, summary, since, "server",
        flags=("loading", "stale"), categories=("connection",), tips=tips,
    )  # fmt: skip


_SUBCOMMANDS = (
    _row("count", 2, count, "Get total number of Redis commands", "2.8.13"),
    _row("docs", -2, docs, "Get array of specific Redis command documentation", "7.0.0"),
    _row("getkeys", -4, get_keys, "Extract keys given a full Redis command", "2.8.13"),
    _row("getkeysandflags", -4, get_keys_and_flags, "Extract keys and access flags given a full Redis command",
         "7.0.0"),
    _row("help", 2, help_, "Show helpful text about the different subcommands", "5.0.0"),
    _row("info", -2, info, "Get array of specific Redis command details, or all when no argument is given.",
         "2.8.13"),
    _row("list", -2, list_, "Get an array of Redis command names", "7.0.0"),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    container("command", "Get array of Redis command details", "2.8.13", "server", _SUBCOMMANDS,
              bare=all_commands, flags=("loading", "stale"), categories=("connection",),
              tips=("nondeterministic_output_order",),
              complexity="O(N) where N is the total number of Redis commands"),
)  # fmt: skip
