"""A way to talk to a session as a client of Kafka would, without a network."""

from struct import pack, unpack_from
from typing import Any

from onemq.core.core import Core
from onemq.log.memory import MemoryLog
from onemq.protocols.kafka.codec import decode, encode
from onemq.protocols.kafka.primitives import packed_nullable_string
from onemq.protocols.kafka.schema import Message
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from tests.unit.protocols.resp.fakes import FakePeer

NOW_MS = 1_000_000


def make_core() -> Core:
    """A broker that keeps nothing."""
    core = Core(MemoryLog())
    core.recover(NOW_MS)
    return core


def make_service(**settings: Any) -> KafkaService:
    return KafkaService(make_core(), KafkaFacts(b"test" * 4, folder="/data", **settings))


def framed(request: Message, version: int, correlation_id: int = 1, client_id: str | None = "tests") -> bytes:
    """A request as it is on the wire."""
    tags = b"\0" if version >= request.flexible_since else b""
    header = pack(">hhi", request.api_key, version, correlation_id) + packed_nullable_string(client_id) + tags
    pieces: list[bytes | memoryview] = [header]
    encode(request, version, pieces)
    data = b"".join(pieces)
    return pack(">i", len(data)) + data


class Client:
    """One connection to a service."""

    def __init__(self, service: KafkaService | None = None, address: str = "10.0.0.1:5000") -> None:
        self.service = service or make_service()
        self.peer = FakePeer(address, "10.0.0.9:9092")
        self.session = self.service.connect(self.peer)
        self._correlation_id = 0
        self._asked: list[tuple[int, type[Message], int]] = []

    @property
    def core(self) -> Core:
        return self.service.core

    def send(self, request: Message, version: int | None = None) -> None:
        """Asks in the newest version that is served, or another; the answer may come later (`take`)."""
        api = self.service.apis[request.api_key]
        version = api.last if version is None else version
        self._correlation_id += 1
        self._asked.append((self._correlation_id, api.response, version))
        self.session.receive(framed(request, version, self._correlation_id))

    def ask(self, request: Message, version: int | None = None) -> Any:
        """The answer, which must come at once."""
        self.send(request, version)
        (answer,) = self.take()
        return answer

    def take(self) -> list[Any]:
        """The answers that came since the last time."""
        data, answers = b"".join(self.peer.sent), []
        self.peer.sent.clear()
        while data:
            size, correlation_id = unpack_from(">ii", data)
            asked_id, response, version = self._asked.pop(0)
            assert correlation_id == asked_id, "answers come in the order of requests"
            has_tags = version >= response.flexible_since and response.api_key != 18
            answers.append(decode(response, version, data[: 4 + size], 8 + has_tags))
            data = data[4 + size :]
        return answers

    def turn(self, now_ms: int | None = None) -> None:
        """Ends the turn and begins the next one, at a time."""
        self.core.settle()
        self.core.flush(lambda error: None)
        self.core.tick(self.service.now_ms if now_ms is None else now_ms)
