"""CONFIG: the settings under the names that Redis gives them, for programs that look.

OneMQ takes its settings from its file and its command line (docs/operations.md). What has a name in
Redis is shown here with the value that describes OneMQ; nothing can be set but to what it is.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onemq.core.keyspace.glob import matcher
from onemq.limits import (
    CONNECTION_LIMITS,
    LISTEN_BACKLOG,
    RESP_BULK_BYTES_MAX,
    RESP_LISTENER_BYTES_MAX,
    RESP_REQUEST_BYTES_MAX,
)
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command, Handler, container
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.usage import arguments

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession

_LOG_LEVELS = {"debug": "debug", "info": "notice", "warning": "warning", "error": "warning"}
_OUTPUT_LIMITS = (
    f"normal {CONNECTION_LIMITS.output_bytes_max} 0 0 slave 0 0 0 pubsub {RESP_LISTENER_BYTES_MAX} 0 0"
)
_ALWAYS = {
    "activedefrag": "no",
    "always-show-logo": "no",
    "aof-use-rdb-preamble": "no",
    "appendonly": "yes",
    "client-output-buffer-limit": _OUTPUT_LIMITS,
    "client-query-buffer-limit": str(RESP_REQUEST_BYTES_MAX),
    "cluster-enabled": "no",
    "daemonize": "no",
    "databases": "1",
    "io-threads": "1",
    "latency-monitor-threshold": "0",
    "latency-tracking": "no",
    "logfile": "",
    "maxmemory": "0",
    "maxmemory-clients": "0",
    "maxmemory-policy": "noeviction",
    "maxmemory-samples": "5",
    "min-replicas-to-write": "0",
    "notify-keyspace-events": "",
    "pidfile": "",
    "proto-max-bulk-len": str(RESP_BULK_BYTES_MAX),
    "protected-mode": "no",
    "replica-read-only": "yes",
    "replicaof": "",
    "requirepass": "",
    "save": "",
    "slaveof": "",
    "slowlog-log-slower-than": "-1",
    "slowlog-max-len": "0",
    "stop-writes-on-bgsave-error": "yes",
    "supervised": "no",
    "tcp-backlog": str(LISTEN_BACKLOG),
    "timeout": "0",
    "tls-port": "0",
    "unixsocket": "",
    "unixsocketperm": "0",
}
"""What no setting of ours moves. An empty `save` and `appendonly yes` say best how OneMQ stores."""


def settings(service: "RespService") -> Mapping[str, str]:
    """All settings by name, in order."""
    facts = service.facts
    from_file = {
        "appendfsync": "always" if facts.keys_sync else "no",
        "bind": facts.bind,
        "dir": facts.folder,
        "loglevel": _LOG_LEVELS.get(facts.log_level, "notice"),
        "maxclients": str(facts.connections_max),
        "port": str(facts.port),
        "tcp-keepalive": str(facts.keepalive_s),
    }
    return dict(sorted((_ALWAYS | from_file).items()))


def get(session: "RespSession", request: list[bytes]) -> bytes:
    """CONFIG GET pattern ...: a name without glob characters comes back as it was written."""
    known = settings(session.service)
    found: dict[bytes, str] = {}
    shown: set[str] = set()
    for pattern in request[2:]:
        is_glob = any(character in pattern for character in b"[*?")
        matches = matcher(pattern.lower()) if is_glob else pattern.lower().__eq__
        for name, value in known.items():
            if name not in shown and matches(name.encode()):
                shown.add(name)
                found[name.encode() if is_glob else pattern] = value
    return session.replies.map((replies.bulk(name), replies.text(value)) for name, value in found.items())


def set_(session: "RespSession", request: list[bytes]) -> bytes:
    """CONFIG SET name value ...: succeeds if that is what they are."""
    if len(request) % 2:
        raise syntax_error()
    known = settings(session.service)
    pairs = [(_text(name), _text(value)) for name, value in zip(request[2::2], request[3::2], strict=True)]
    seen: set[str] = set()
    for name, _ in pairs:
        if name.lower() not in known:
            raise CommandError(f"ERR Unknown option or number of arguments for CONFIG SET - '{name}'")
        if name.lower() in seen:
            raise _refused(name, "duplicate parameter")
        seen.add(name.lower())
    for name, value in pairs:
        if known[name.lower()].lower() != value.lower():
            raise _refused(name, "can't set immutable config: OneMQ takes its settings from its file when it starts")
    return replies.OK


def _text(word: bytes) -> str:
    return word.decode(errors="surrogateescape")


def _refused(name: str, reason: str) -> CommandError:
    return CommandError(f"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}")


def reset_statistics(session: "RespSession", request: list[bytes]) -> bytes:
    session.service.reset_statistics()
    return replies.OK


def rewrite(session: "RespSession", request: list[bytes]) -> bytes:
    """Nothing was changed since the file was read, so there is nothing to write."""
    if not session.service.facts.config_file:
        raise CommandError("ERR The server is running without a config file")
    return replies.OK


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.lines(_HELP)


_HELP = """\
CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
GET <pattern>
    Return parameters matching the glob-like <pattern> and their values.
SET <directive> <value>
    Set the configuration <directive> to <value>.
RESETSTAT
    Reset statistics reported by the INFO command.
REWRITE
    Rewrite the configuration file.
HELP
    Prints this help.
"""


def _row(name: str, arity: int, handler: Handler, summary: str, since: str, usage: str = "", complexity: str = "O(1)",
         flags: tuple[str, ...] = ("admin", "noscript", "loading", "stale"), tips: tuple[str, ...] = ()) -> Command:  # fmt: skip  # noqa: E501
    words: tuple[Argument, ...] = arguments(usage)
    return Command(f"config|{name}", arity, handler, summary, since, "server", flags=flags, tips=tips,
                   complexity=complexity, arguments=words)  # fmt: skip


_EACH = "O(N) when N is the number of configuration parameters provided"
_SUBCOMMANDS = (
    _row("get", -3, get, "Get the values of configuration parameters", "2.0.0", "parameter={parameter} ...", _EACH),
    _row("help", 2, help_, "Show helpful text about the different subcommands", "5.0.0", flags=("loading", "stale")),
    _row("resetstat", 2, reset_statistics, "Reset the stats returned by INFO", "2.0.0"),
    _row("rewrite", 2, rewrite, "Rewrite the configuration file with the in memory configuration", "2.8.0"),
    _row("set", -4, set_, "Set configuration parameters to the given values", "2.0.0",
         "parameter_value={parameter value} ...", _EACH,
         tips=("request_policy:all_nodes", "response_policy:all_succeeded")),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    container("config", "A container for server configuration commands", "2.0.0", "server", _SUBCOMMANDS,
              complexity="Depends on subcommand."),
)  # fmt: skip
