"""Publish and subscribe: messages to whoever listens now, kept nowhere.

    SUBSCRIBE    channels by name          PUBLISH reaches these two
    PSUBSCRIBE   channels by pattern
    SSUBSCRIBE   shard channels by name    SPUBLISH reaches these

A message is encoded once for each version of RESP, not for each listener. A listener that does not
read is cut off (`RESP_LISTENER_BYTES_MAX`). A RESP2 client that listens may do little else (modes.py).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from onemq.core.keyspace.glob import matcher
from onemq.errors import TooLarge
from onemq.limits import RESP_LISTENER_BYTES_MAX, RESP_NAMES_BYTES_MAX, ConnectionLimits
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command, Handler, container
from onemq.protocols.resp.errors import misused_subcommand
from onemq.protocols.resp.replies import Replies

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Listeners = dict["RespSession", None]

_SUBSCRIPTION_BYTES = 200
"""What each subscription counts beside the bytes of its name."""
_PATTERN_FACTOR = 32
"""So often the bytes of a pattern count: this much it takes when it is ready to be compared with channels."""
_MESSAGE, _PATTERN_MESSAGE, _SHARD_MESSAGE = map(replies.text, ("message", "pmessage", "smessage"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to listen."""

    subscribe: bytes
    unsubscribe: bytes
    """The words of the confirmations, encoded."""
    place: int


_CHANNELS, _PATTERNS, _SHARD_CHANNELS = KINDS = [
    Kind(replies.text(f"{letter}subscribe"), replies.text(f"{letter}unsubscribe"), place)
    for place, letter in enumerate(("", "p", "s"))
]


class PubSub:
    """Who listens to what, over all sessions of a service."""

    def __init__(self) -> None:
        self.listeners: list[dict[bytes, Listeners]] = [{} for _ in KINDS]
        """By kind and name."""
        self._matchers: dict[bytes, Callable[[bytes], object]] = {}

    @property
    def channels(self) -> dict[bytes, Listeners]:
        return self.listeners[_CHANNELS.place]

    @property
    def patterns(self) -> dict[bytes, Listeners]:
        return self.listeners[_PATTERNS.place]

    @property
    def shard_channels(self) -> dict[bytes, Listeners]:
        return self.listeners[_SHARD_CHANNELS.place]

    def add(self, kind: Kind, name: bytes, session: "RespSession") -> None:
        """Raises TooLarge for a pattern that is too long."""
        if kind is _PATTERNS:
            self._matchers[name] = matcher(name)
        self.listeners[kind.place].setdefault(name, {})[session] = None

    def remove(self, kind: Kind, name: bytes, session: "RespSession") -> None:
        listeners = self.listeners[kind.place]
        del listeners[name][session]
        if not listeners[name]:
            del listeners[name]
            if kind is _PATTERNS:
                del self._matchers[name]

    def publish(self, channel: bytes, body: bytes) -> int:
        """Returns how many times the message was delivered."""
        reached = 0
        words = [replies.bulk(channel), replies.bulk(body)]
        if listeners := self.channels.get(channel):
            reached += _deliver(listeners, [_MESSAGE, *words])
        for pattern, matches in self._matchers.items():
            if matches(channel):
                message = [_PATTERN_MESSAGE, replies.bulk(pattern), *words]
                reached += _deliver(self.patterns[pattern], message)
        return reached

    def publish_to_shard(self, channel: bytes, body: bytes) -> int:
        listeners = self.shard_channels.get(channel)
        return _deliver(listeners, [_SHARD_MESSAGE, replies.bulk(channel), replies.bulk(body)]) if listeners else 0


def _deliver(listeners: Listeners, message: Sequence[bytes]) -> int:
    encoded: dict[Replies, bytes] = {}
    for session in listeners:
        form = session.replies
        data = encoded.get(form)
        if data is None:
            data = encoded[form] = form.push(message)
        session.write(data)
    return len(listeners)


class Subscriptions:
    """What one session listens to."""

    def __init__(self, session: "RespSession") -> None:
        self._session = session
        self._pubsub = session.service.pubsub
        self._limits = session.peer.limits
        self._bytes = 0
        self.names: list[dict[bytes, None]] = [{} for _ in KINDS]
        """By kind."""

    def __bool__(self) -> bool:
        return any(self.names)

    def begin(self) -> None:
        session = self._session
        session.subscriptions = self
        session.peer.limits = _listener_limits(self._limits)
        session.on_lost[self.end] = None
        session.choose_table()

    def end(self) -> None:
        """Listens to nothing any more."""
        session = self._session
        for kind in KINDS:
            for name in list(self.names[kind.place]):
                self.remove(kind, name)
        session.subscriptions = None
        session.peer.limits = self._limits
        session.on_lost.pop(self.end, None)
        session.choose_table()

    def add(self, kind: Kind, name: bytes) -> None:
        names = self.names[kind.place]
        if name in names:
            return
        if kind is _PATTERNS:
            matcher(name)  # one that is too long is refused as such
        size = self._bytes + _size_of(kind, name)
        if size > RESP_NAMES_BYTES_MAX:
            raise TooLarge(f"the channels that a connection listens to can take {RESP_NAMES_BYTES_MAX} bytes together")
        self._pubsub.add(kind, name, self._session)
        self._bytes = size
        names[name] = None

    def remove(self, kind: Kind, name: bytes) -> None:
        names = self.names[kind.place]
        if name in names:
            del names[name]
            self._bytes -= _size_of(kind, name)
            self._pubsub.remove(kind, name, self._session)

    def count(self, kind: Kind) -> int:
        """What a confirmation tells: shard channels are counted for themselves."""
        channels, patterns, shard_channels = map(len, self.names)
        return shard_channels if kind is _SHARD_CHANNELS else channels + patterns


def _size_of(kind: Kind, name: bytes) -> int:
    return len(name) * (_PATTERN_FACTOR if kind is _PATTERNS else 1) + _SUBSCRIPTION_BYTES


@lru_cache
def _listener_limits(limits: ConnectionLimits) -> ConnectionLimits:
    return replace(limits, output_bytes_max=min(limits.output_bytes_max, RESP_LISTENER_BYTES_MAX))


def _confirm(session: "RespSession", word: bytes, name: bytes | None, count: int) -> None:
    """Tells a client what it listens to now; a push, so CLIENT REPLY does not silence it."""
    shown = session.replies.null if name is None else replies.bulk(name)
    session.write(session.replies.push([word, shown, replies.integer(count)]))


def _subscribing(kind: Kind) -> Handler:
    def subscribe(session: "RespSession", request: list[bytes]) -> bytes:
        subscriptions = session.subscriptions
        if subscriptions is None:
            subscriptions = Subscriptions(session)
            subscriptions.begin()
        try:
            for name in request[1:]:
                subscriptions.add(kind, name)
                _confirm(session, kind.subscribe, name, subscriptions.count(kind))
        finally:
            if not subscriptions:
                subscriptions.end()
        return b""

    return subscribe


def _unsubscribing(kind: Kind) -> Handler:
    def unsubscribe(session: "RespSession", request: list[bytes]) -> bytes:
        """All of them, if none are named."""
        subscriptions = session.subscriptions
        listened: Iterable[bytes] = subscriptions.names[kind.place] if subscriptions is not None else ()
        names: list[bytes | None] = [*(request[1:] or listened)] or [None]
        for name in names:
            if subscriptions is not None and name is not None:
                subscriptions.remove(kind, name)
            _confirm(session, kind.unsubscribe, name, subscriptions.count(kind) if subscriptions is not None else 0)
        if subscriptions is not None and not subscriptions:
            subscriptions.end()
        return b""

    return unsubscribe


def publish(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.pubsub.publish(request[1], request[2]))


def publish_to_shard(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.pubsub.publish_to_shard(request[1], request[2]))


def channels(session: "RespSession", request: list[bytes]) -> bytes:
    return _names(session.service.pubsub.channels, request)


def shard_channels(session: "RespSession", request: list[bytes]) -> bytes:
    return _names(session.service.pubsub.shard_channels, request)


def _names(listened: Iterable[bytes], request: list[bytes]) -> bytes:
    if len(request) > 3:
        raise misused_subcommand(request)
    if len(request) == 3:
        listened = filter(matcher(request[2]), listened)
    return replies.array(list(map(replies.bulk, listened)))


def number_of_subscribers(session: "RespSession", request: list[bytes]) -> bytes:
    return _numbers(session.service.pubsub.channels, request)


def number_of_shard_subscribers(session: "RespSession", request: list[bytes]) -> bytes:
    return _numbers(session.service.pubsub.shard_channels, request)


def _numbers(listeners: dict[bytes, Listeners], request: list[bytes]) -> bytes:
    pairs = [(replies.bulk(name), replies.integer(len(listeners.get(name, ())))) for name in request[2:]]
    return replies.array([item for pair in pairs for item in pair])


def number_of_patterns(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(len(session.service.pubsub.patterns))


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.lines(_HELP)


_HELP = """\
PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CHANNELS [<pattern>]
    Return the currently active channels matching a <pattern> (default: '*').
NUMPAT
    Return number of subscriptions to patterns.
NUMSUB [<channel> ...]
    Return the number of subscribers for the specified channels, excluding
    pattern subscriptions(default: no channels).
SHARDCHANNELS [<pattern>]
    Return the currently active shard level channels matching a <pattern> (default: '*').
SHARDNUMSUB [<shardchannel> ...]
    Return the number of subscribers for the specified shard level channel(s)
HELP
    Prints this help.
"""


def _row(
    name: str, arity: int, handler: Handler, summary: str, since: str, complexity: str, *arguments: Argument,
    flags: tuple[str, ...] = ("pubsub", "noscript", "loading", "stale"), keys: tuple[int, int, int] = (0, 0, 0),
) -> Command:  # fmt: skip
    return Command(name, arity, handler, summary, since, "pubsub", flags=flags, keys=keys, complexity=complexity,
                   arguments=arguments)  # fmt: skip


_ASKING = ("pubsub", "loading", "stale")
_PUBLISHING = (*_ASKING, "fast")
_EVERY, _SOME = ("multiple",), ("optional", "multiple")
_PATTERN = Argument("pattern", "pattern", flags=("optional",))
_SUBCOMMANDS = (
    _row("pubsub|channels", -2, channels, "List active channels", "2.8.0",
         "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively "
         "short channels and patterns)", _PATTERN, flags=_ASKING),
    _row("pubsub|help", 2, help_, "Show helpful text about the different subcommands", "6.2.0", "O(1)",
         flags=("loading", "stale")),
    _row("pubsub|numpat", 2, number_of_patterns, "Get the count of unique patterns pattern subscriptions", "2.8.0",
         "O(1)", flags=_ASKING),
    _row("pubsub|numsub", -2, number_of_subscribers, "Get the count of subscribers for channels", "2.8.0",
         "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
         Argument("channel", flags=_SOME), flags=_ASKING),
    _row("pubsub|shardchannels", -2, shard_channels, "List active shard channels", "7.0.0",
         "O(N) where N is the number of active shard channels, and assuming constant time pattern matching "
         "(relatively short shard channels).", _PATTERN, flags=_ASKING),
    _row("pubsub|shardnumsub", -2, number_of_shard_subscribers, "Get the count of subscribers for shard channels",
         "7.0.0", "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
         Argument("shardchannel", flags=_SOME), flags=_ASKING),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    _row("psubscribe", -2, _subscribing(_PATTERNS),
         "Listen for messages published to channels matching the given patterns", "2.0.0",
         "O(N) where N is the number of patterns the client is already subscribed to.",
         Argument("pattern", "block", flags=_EVERY, arguments=(Argument("pattern", "pattern"),))),
    _row("publish", 3, publish, "Post a message to a channel", "2.0.0",
         "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of "
         "subscribed patterns (by any client).", Argument("channel"), Argument("message"), flags=_PUBLISHING),
    container("pubsub", "A container for Pub/Sub commands", "2.8.0", "pubsub", _SUBCOMMANDS,
              complexity="Depends on subcommand."),
    _row("punsubscribe", -1, _unsubscribing(_PATTERNS),
         "Stop listening for messages posted to channels matching the given patterns", "2.0.0",
         "O(N+M) where N is the number of patterns the client is already subscribed and M is the number of total "
         "patterns subscribed in the system (by any client).", Argument("pattern", "pattern", flags=_SOME)),
    _row("spublish", 3, publish_to_shard, "Post a message to a shard channel", "7.0.0",
         "O(N) where N is the number of clients subscribed to the receiving shard channel.",
         Argument("shardchannel"), Argument("message"), flags=_PUBLISHING, keys=(1, 1, 1)),
    _row("ssubscribe", -2, _subscribing(_SHARD_CHANNELS),
         "Listen for messages published to the given shard channels", "7.0.0",
         "O(N) where N is the number of shard channels to subscribe to.",
         Argument("shardchannel", flags=_EVERY), keys=(1, -1, 1)),
    _row("subscribe", -2, _subscribing(_CHANNELS), "Listen for messages published to the given channels", "2.0.0",
         "O(N) where N is the number of channels to subscribe to.", Argument("channel", flags=_EVERY)),
    _row("sunsubscribe", -1, _unsubscribing(_SHARD_CHANNELS),
         "Stop listening for messages posted to the given shard channels", "7.0.0",
         "O(N) where N is the number of clients already subscribed to a shard channel.",
         Argument("shardchannel", flags=_SOME), keys=(1, -1, 1)),
    _row("unsubscribe", -1, _unsubscribing(_CHANNELS), "Stop listening for messages posted to the given channels",
         "2.0.0", "O(N) where N is the number of clients already subscribed to a channel.",
         Argument("channel", flags=_SOME)),
)  # fmt: skip
