"""A peer that only remembers, and a way to talk to a session as a client would."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import hiredis

from onemq.core.core import Core
from onemq.limits import ConnectionLimits
from onemq.log.memory import MemoryLog
from onemq.protocols import Peer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.service import RespService, ServerFacts

NOW_MS = 1_000_000


@dataclass
class FakePeer:
    address: str = "10.0.0.1:5000"
    local_address: str = "10.0.0.9:6379"
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    congested: bool = False
    sent: list[bytes] = field(default_factory=list)
    closed: bool = False
    held: bool = False
    session: Any = None

    def send(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def send_each(self, peers: Sequence[Peer], outputs: Sequence[bytes]) -> None:
        for peer, data in zip(peers, outputs, strict=True):
            peer.send(data)

    def close(self) -> None:
        self.closed = True

    def hold(self) -> None:
        self.held = True

    def proceed(self) -> None:
        self.held = False


def make_core() -> Core:
    """A broker that keeps nothing."""
    core = Core(MemoryLog())
    core.recover(NOW_MS)
    return core


def make_service(*more: Command) -> RespService:
    """A service with more commands, or others of the same names."""
    facts = ServerFacts(
        run_id="r" * 40,
        process_id=77,
        started_ms=NOW_MS - 90_000,
        port=6379,
        config_file="/etc/onemq.toml",
        connections_max=50,
        connections=lambda: 4,
        memory_peak_bytes=lambda: 3 << 20,
    )
    names = {row.name for row in more}
    return RespService(make_core(), facts, by_name([*(row for row in COMMANDS if row.name not in names), *more]))


def encode(*words: str | bytes) -> bytes:
    arguments = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%b\r\n" % (len(each), each) for each in arguments)


class Client:
    """One connection to a service."""

    def __init__(self, service: RespService | None = None, address: str = "10.0.0.1:5000") -> None:
        self.service = service or make_service()
        self.peer = FakePeer(address)
        self.session = self.peer.session = self.service.connect(self.peer)

    def raw(self, data: bytes) -> bytes:
        """What comes back for these bytes."""
        self.peer.sent.clear()
        self.session.receive(data)
        return b"".join(self.peer.sent)

    def call(self, *words: str | bytes) -> bytes:
        """The raw reply to one command."""
        return self.raw(encode(*words))

    def ask(self, *words: str | bytes) -> Any:
        """The reply to one command as a client library would have it."""
        reader = hiredis.Reader()
        reader.feed(self.call(*words))
        reply = reader.gets()
        assert not reader.has_data()
        return reply
