"""Where a broker is: `onemq://user:password@host:port?name=shop&connect_timeout=5s`."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from onemq.errors import InvalidArgument
from onemq.units import parse_duration_ms

DEFAULT_URL = "onemq://localhost:6379"
DEFAULT_PORT = 6379
CONNECT_TIMEOUT_MS = 5_000
_ACCEPTED = 'accepted is "onemq://user:password@host:port?name=...&connect_timeout=5s"'


@dataclass(frozen=True, slots=True)
class Address:
    """A broker's place, and how to introduce oneself there."""

    host: str = "localhost"
    port: int = DEFAULT_PORT
    user: str | None = None
    password: str | None = None
    name: str | None = None
    """What the connection is called in CLIENT LIST."""
    connect_timeout_ms: int = CONNECT_TIMEOUT_MS
    """How long the first connection may take; later ones are tried again until the client is closed."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"onemq://{host}:{self.port}"


def parse_address(url: str) -> Address:
    """The address that a URL names. Raises `InvalidArgument`."""
    parts = urlsplit(url if "://" in url else f"onemq://{url}")
    if parts.scheme != "onemq":
        raise InvalidArgument(f"{url!r} is no address of a broker: {_ACCEPTED}")
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise InvalidArgument(f"{url!r} has no usable port: {_ACCEPTED}") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    name, timeout = options.pop("name", None), options.pop("connect_timeout", CONNECT_TIMEOUT_MS)
    if options or parts.path.strip("/"):
        unknown = ", ".join(options) or parts.path
        raise InvalidArgument(f"{url!r} has something that is not known here ({unknown}): {_ACCEPTED}")
    try:
        timeout_ms = parse_duration_ms(timeout)
    except ValueError as problem:
        raise InvalidArgument(f"connect_timeout: {problem}") from None
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    return Address(parts.hostname or "localhost", port, user, password, name, timeout_ms)
