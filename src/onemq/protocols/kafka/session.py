"""One connection of a Kafka client: requests in, responses out in the same order, one at a time.

    receive -> frames -> header, body -> handler -> response
                   -> token -> login -> token               after a SaslHandshake of version 0, until it is done

A session stops between two requests while one waits for its answer (a long poll, a join) or the peer does not take
our responses (`peer.congested`), and goes on from there. A client that breaks the wire, or asks for what was not
offered, is disconnected, as Kafka does: there is no response that it would understand.
"""

import logging
from collections.abc import Callable, Iterator
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any

from onemq.errors import AccessDenied, OneMQError, ProtocolError
from onemq.limits import (
    BACKLOG_UNCOUNTED_BYTES,
    KAFKA_FIRST_FETCH_BYTES_MAX,
    KAFKA_LOGIN_BYTES_MAX,
    KAFKA_PARKED_BYTES_MAX,
)
from onemq.log.stretch import Stretch
from onemq.protocols import LARGE_BYTES, Peer
from onemq.protocols.backlog import Share
from onemq.protocols.kafka.api import Api
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.codec import Piece, decode, encode
from onemq.protocols.kafka.framing import Frames
from onemq.protocols.kafka.login import Plain, Scram
from onemq.protocols.kafka.primitives import read_nullable_string, skip_tags
from onemq.protocols.kafka.schema import Message

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

_logger = logging.getLogger(__name__)

_API_VERSIONS = 18
_BEFORE_LOGIN = (17, _API_VERSIONS, 36)
"""SaslHandshake, ApiVersions and SaslAuthenticate."""
_unpack_header = Struct(">hhi").unpack_from
_pack_size = Struct(">i").pack
_HEADER_BYTES = 8
_pack_response_header = Struct(">ii").pack
_pack_flexible_response_header = Struct(">iix").pack  # no tagged fields


class KafkaSession:
    """The state of one connection."""

    __slots__ = (
        "_admitted", "_call", "_frames", "_holding", "_reads_tokens", "_running", "_share", "ended", "fetch_bytes_max",
        "fetched_partitions", "id", "login", "on_lost", "peer", "service", "software_name", "software_version", "user",
    )  # fmt: skip

    receive_alike = None

    def __init__(self, service: "KafkaService", peer: Peer, session_id: int) -> None:
        self.service = service
        self.peer = peer
        self.id = session_id
        self.ended = False
        self.software_name = self.software_version = ""
        self.on_lost: dict[Callable[[], None], None] = {}
        """What gives back the things that belong to this connection, when it is gone."""
        self.user: str | None = None
        """Who logged in; nobody needs to where there are no users."""
        self.login: Plain | Scram | None = None
        """What has begun with SaslHandshake."""
        self.fetch_bytes_max = KAFKA_FIRST_FETCH_BYTES_MAX
        """What its next fetch may bring. Twice as much each time: a client that has begun to work on something does not
        mind how long more takes."""
        self.fetched_partitions = 0
        """How often it was given something of a partition outside of a fetch session. Its next fetch begins so much
        further on in the list: else the last partitions would wait for the first ones to end."""
        self._admitted = not service.users
        self._frames = Frames(None if self._admitted else KAFKA_LOGIN_BYTES_MAX)
        self._call: Call[Any] | None = None  # waits for its answer
        self._running = False
        self._holding = False
        self._reads_tokens = False
        self._share: Share | None = None  # of the backlog, once it has had much input that was no whole request

    # What the connection calls.

    def receive(self, data: bytes) -> None:
        if not self.ended:
            self._frames.feed(data)
            self._run()

    def resume(self) -> None:
        self._run()

    def lost(self) -> None:
        self.ended = True
        self.service.sessions.pop(self.id, None)
        call, self._call = self._call, None
        if call is not None and call.on_lost is not None:
            call.on_lost()
        for give_back in list(self.on_lost):
            give_back()
        self._frames = Frames()  # what it holds may be much
        if self._share is not None:
            self._share.resize(0)

    def refusal(self, error: OneMQError) -> bytes:
        return b""  # a client of Kafka expects answers to what it asked, and nothing else

    # What calls use.

    def answered(self, call: Call[Any], response: Message | None) -> None:
        """The call that waits has its answer: further requests are executed."""
        if self.ended or self._call is not call:
            return
        self._call = None
        if response is not None:
            for part in _response(call, response):
                self.peer.send(part)
        if not self._running:
            self._run()

    def begin_login(self, login: Plain | Scram, by_tokens: bool) -> None:
        """The client has chosen how to log in. What it sends for that comes in requests, or `by_tokens` without."""
        self.login, self._reads_tokens = login, by_tokens

    def step(self, token: bytes) -> bytes:
        """One step of logging in; returns what the client is told. Raises `AccessDenied`."""
        assert self.login is not None
        answer = self.login.step(token)
        if self.login.user is not None:
            self._admit(self.login.user)
        return answer

    def _admit(self, user: str) -> None:
        """The client has logged in."""
        if self.user not in (None, user):
            raise AccessDenied(f"this connection is {self.user!r}'s; another user needs another one")
        self.user, self.login = user, None
        self._admitted, self._reads_tokens = True, False
        self._frames.bytes_max = None

    def end(self) -> None:
        """Closes the connection after what was answered so far."""
        self.ended = True
        self.peer.close()

    # Executing.

    def _run(self) -> None:
        """Executes requests until there are none, one waits, or the peer does not keep up."""
        if self._running or self.ended:
            return
        self._running = True
        try:
            while self._call is None and not (self.ended or self.peer.congested):
                if self._reads_tokens:
                    if not self._take_token():
                        break
                    continue
                frame = self._frames.next()
                if frame is None:
                    break
                data, at, end = frame
                self._execute(data, at, end)
            if self._frames.buffered_bytes > BACKLOG_UNCOUNTED_BYTES or self._share is not None:
                self._count_input(self._frames.buffered_bytes)
        except OneMQError as error:
            _logger.warning("%s is disconnected: %s", self.peer.address, error.text)
            self.end()
        finally:
            self._running = False
        self._hold_or_proceed()

    def _take_token(self) -> bool:
        """Whether there was one. The answer is a token, too; who fails is told nothing and disconnected."""
        token = self._frames.next_token()
        if token is None:
            return False
        answer = self.step(token)
        self.peer.send(_pack_size(len(answer)) + answer)
        return True

    def _count_input(self, size: int) -> None:
        """Counts what is no whole request yet, if it is much. Raises Busy."""
        if self._share is None:
            self._share = Share(self.service.backlog)
        self._share.resize(size if size > BACKLOG_UNCOUNTED_BYTES else 0)

    def _hold_or_proceed(self) -> None:
        """Reads no more from a client that sends far ahead of a request that waits."""
        too_much = self._call is not None and self._frames.buffered_bytes > KAFKA_PARKED_BYTES_MAX
        if too_much != self._holding and not self.ended:
            self._holding = too_much
            if too_much:
                self.peer.hold()
            else:
                self.peer.proceed()

    def _execute(self, data: bytes, at: int, end: int) -> None:
        key, version, correlation_id = _unpack_header(data, at)
        api = self.service.apis.get(key)
        if api is None:
            raise ProtocolError(f"there is no API {key} here; ApiVersions tells which there are")
        if not self._admitted and key not in _BEFORE_LOGIN:
            raise ProtocolError(f"{api.name} before logging in: the client needs a user and SASL")
        if not api.first <= version <= api.last:
            if key != _API_VERSIONS:
                raise ProtocolError(f"{api.name} has versions {api.first} to {api.last} here, not {version}")
            version = -1
        call = self._call = _read_call(self, api, version, correlation_id, (data, at + _HEADER_BYTES, end))
        try:
            response = api.handler(call)
        except OneMQError as error:
            response = api.refusal(call, error)
        if response is not None:
            self.answered(call, response)


def _read_call(
    session: KafkaSession, api: Api, version: int, correlation_id: int, rest: tuple[bytes, int, int]
) -> Call[Any]:
    data, at, end = rest
    if version < 0:  # an ApiVersions of the future: nothing of it is looked at (KIP-511)
        return Call(session, api, version, correlation_id, None, api.request())
    try:
        client_id, at = read_nullable_string(data, at)
        if version >= api.request.flexible_since:
            at = skip_tags(data, at)
    except (StructError, IndexError, UnicodeDecodeError):
        raise ProtocolError(f"{api.name} of version {version}: its header is no header") from None
    return Call(session, api, version, correlation_id, client_id, decode(api.request, version, data, at, end))


def _response(call: Call[Any], response: Message) -> Iterator[bytes | Stretch]:
    """The response in parts: large records are one of their own, and so are not copied, and so are unread ones."""
    version = max(call.version, 0)
    is_flexible = version >= response.flexible_since and response.api_key != _API_VERSIONS
    pack_header = _pack_flexible_response_header if is_flexible else _pack_response_header
    pieces: list[Piece] = [b""]
    encode(response, version, pieces)
    size = sum(map(len, pieces)) + 4 + is_flexible
    pieces[0] = pack_header(size, call.correlation_id)
    first = 0
    for place, piece in enumerate(pieces):
        if isinstance(piece, Stretch) or (len(piece) >= LARGE_BYTES and isinstance(piece, bytes)):
            yield _joined(pieces[first:place])
            yield piece
            first = place + 1
    yield _joined(pieces[first:])


def _joined(pieces: list[Piece]) -> bytes:
    return b"".join(pieces)  # type: ignore[arg-type]  # stretches are parts of their own
