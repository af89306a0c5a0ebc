"""Commands about the connection itself."""

from typing import TYPE_CHECKING

from onemq.limits import RESP_LOGIN_REST_MS, RESP_NAME_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import small_integer
from onemq.protocols.resp.command import Argument, Command
from onemq.protocols.resp.errors import CommandError, shown, syntax_error, wrong_arity
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.session import DEFAULT_USER
from onemq.protocols.resp.transactions import leave
from onemq.protocols.resp.version import REDIS_VERSION

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_PONG = replies.simple("PONG")
_pong = replies.text("pong")
_RESET = replies.simple("RESET")


def ping(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) > 2:
        raise wrong_arity("ping")
    if session.subscriptions is not None and session.replies.version == 2:
        return replies.array([_pong, replies.bulk(request[1] if len(request) == 2 else b"")])
    return replies.bulk(request[1]) if len(request) == 2 else _PONG


def echo(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.bulk(request[1])


def hello(session: "RespSession", request: list[bytes]) -> bytes:
    """HELLO [2|3 [AUTH user password] [SETNAME name]]. Changes nothing if any part is wrong."""
    chosen, name, login = session.replies, session.name, None
    if len(request) > 1:
        version = parse_integer(request[1])
        if version is None:
            raise CommandError("ERR Protocol version is not an integer or out of range")
        if version not in (2, 3):
            raise CommandError("NOPROTO unsupported protocol version")
        chosen = replies.RESP2 if version == 2 else replies.RESP3
        name, login = _hello_options(request, name)
    if login is not None and not _log_in(session, *login):
        return _refuse_login(session, login[0])
    if session.user is None:
        raise CommandError(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> "
            "option can be used to authenticate the client and select the RESP protocol version at the same time"
        )
    session.replies, session.name = chosen, name
    session.choose_table()
    return _greeting(session)


def _hello_options(request: list[bytes], name: bytes) -> tuple[bytes, tuple[bytes, bytes] | None]:
    """The name that SETNAME asks for, or else `name`; and the user and the password of AUTH."""
    position, login = 2, None
    while position < len(request):
        option, left = request[position].lower(), len(request) - position - 1
        if option == b"auth" and left >= 2:
            login = (request[position + 1], request[position + 2])
            position += 3
        elif option == b"setname" and left >= 1:
            name = checked_name(request[position + 1])
            position += 2
        else:
            raise CommandError(f"ERR Syntax error in HELLO option '{shown(request[position])}'")
    return name, login


def _greeting(session: "RespSession") -> bytes:
    facts = {
        "server": replies.text("redis"),
        "version": replies.text(REDIS_VERSION),
        "proto": replies.integer(session.replies.version),
        "id": replies.integer(session.id),
        "mode": replies.text("standalone"),
        "role": replies.text("master"),
        "modules": replies.EMPTY_ARRAY,
    }
    return session.replies.map((replies.text(key), value) for key, value in facts.items())


def auth(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) > 3:
        raise syntax_error()
    if len(request) == 2 and not session.service.users:
        raise CommandError(
            "ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?"
        )
    user = request[1] if len(request) == 3 else DEFAULT_USER
    return replies.OK if _log_in(session, user, request[-1]) else _refuse_login(session, user)


def _log_in(session: "RespSession", user: bytes, password: bytes) -> bool:
    """Whether that is the user's password. Where there are no users there is the default one, who needs none and so
    may give any."""
    users = session.service.users
    if session.atomic and _is_slow(session, user):
        raise CommandError("ERR a user whose password is kept as its verifier cannot log in inside a transaction")
    try:
        is_known = users.check(user.decode(), password.decode()) if users else user == DEFAULT_USER
    except UnicodeDecodeError:
        is_known = False
    if is_known:
        session.become(user)
    return is_known


def _refuse_login(session: "RespSession", user: bytes) -> bytes:
    """Refuses a wrong password: after a rest if to find out took long, so that one connection cannot take all time."""
    error = CommandError("WRONGPASS invalid username-password pair or user is disabled.")
    if not _is_slow(session, user):
        raise error

    def refuse() -> None:
        session.on_lost.pop(timer.cancel, None)
        session.go_on(session.refusal(error))

    timer = session.service.core.waiting.wait([], session.service.now_ms + RESP_LOGIN_REST_MS, refuse)
    session.on_lost[timer.cancel] = None
    session.wait()
    return b""


def _is_slow(session: "RespSession", user: bytes) -> bool:
    return session.service.users.is_slow(user.decode(errors="replace"))


def checked_name(name: bytes, what: str = "Client names") -> bytes:
    """The name if it can stand in CLIENT LIST, which separates by blanks and lines."""
    if len(name) > RESP_NAME_BYTES_MAX:
        raise CommandError(f"ERR {what} cannot be longer than {RESP_NAME_BYTES_MAX} bytes.")
    if not all(b"!"[0] <= byte <= b"~"[0] for byte in name):
        raise CommandError(f"ERR {what} cannot contain spaces, newlines or special characters.")
    return name


def quit_(session: "RespSession", request: list[bytes]) -> bytes:
    session.end()
    return replies.OK


def reset(session: "RespSession", request: list[bytes]) -> bytes:
    """Makes the session as good as new."""
    leave(session)
    if session.subscriptions is not None:
        session.subscriptions.end()
    if session.mq is not None:
        session.mq.end()
    session.replies = replies.RESP2
    session.name = b""
    session.skipped_replies = max(0, session.skipped_replies)  # CLIENT REPLY SKIP before it still holds
    session.no_evict = session.no_touch = False
    session.become(None if session.service.users else DEFAULT_USER)
    return _RESET


def select(session: "RespSession", request: list[bytes]) -> bytes:
    """There is one database, number 0."""
    if small_integer(request[1]) != 0:
        raise CommandError("ERR DB index is out of range")
    return replies.OK


_CONNECTION = ("connection",)
_ALWAYS = ("noscript", "loading", "stale", "fast")

COMMANDS: tuple[Command, ...] = (
    Command(
        "auth", -2, auth, "Authenticate to the server", "1.0.0", "connection",
        flags=(*_ALWAYS, "no_auth", "allow_busy"), categories=_CONNECTION,
        arguments=(Argument("username", flags=("optional",)), Argument("password")),
    ),
    Command(
        "echo", 2, echo, "Echo the given string", "1.0.0", "connection",
        flags=("loading", "stale", "fast"), categories=_CONNECTION, arguments=(Argument("message"),),
    ),
    Command(
        "hello", -1, hello, "Handshake with Redis", "6.0.0", "connection",
        flags=(*_ALWAYS, "no_auth", "allow_busy"), categories=_CONNECTION,
        arguments=(
            Argument("arguments", "block", flags=("optional",), arguments=(
                Argument("protover", "integer"),
                Argument("username_password", "block", "AUTH", ("optional",), (
                    Argument("username"), Argument("password"),
                )),
                Argument("clientname", token="SETNAME", flags=("optional",)),
            )),
        ),
    ),
    Command(
        "ping", -1, ping, "Ping the server", "1.0.0", "connection",
        flags=("fast",), categories=_CONNECTION,
        tips=("request_policy:all_shards", "response_policy:all_succeeded"),
        arguments=(Argument("message", flags=("optional",)),),
    ),
    Command(
        "quit", -1, quit_, "Close the connection", "1.0.0", "connection",
        flags=("noscript", "loading", "stale", "fast", "no_auth", "allow_busy"), categories=_CONNECTION,
    ),
    Command(
        "reset", 1, reset, "Reset the connection", "6.2.0", "connection",
        flags=("noscript", "loading", "stale", "fast", "no_auth", "allow_busy"), categories=_CONNECTION,
    ),
    Command(
        "select", 2, select, "Change the selected database for the current connection", "1.0.0",
        "connection", flags=("loading", "stale", "fast"), categories=_CONNECTION,
        arguments=(Argument("index", "integer"),),
    ),
)  # fmt: skip
