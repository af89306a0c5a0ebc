"""Stretches of files on their way to a peer: in order, piece by piece, and never more than one piece in memory."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from onemq.limits import ConnectionLimits
from onemq.log.disk import OsDisk
from onemq.log.stretch import Stretch
from onemq.net.connection import Connection
from onemq.net.outgoing import EDGE_BYTES, PIECE_BYTES, SOCKET_BYTES, Outgoing
from tests.unit.net.fakes import FakeSession, FakeTransport
from tests.unit.net.test_connection import World, scenario

CONTENT = os.urandom(PIECE_BYTES // 2) * 6
Hold = Callable[[int, int], Stretch]


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    """Gives stretches of a file that is closed and gone by then."""

    def stretch(position: int, size: int) -> Stretch:
        disk = OsDisk(tmp_path)
        file = disk.open("data", create=True)
        file.append([CONTENT])
        found = file.stretch(position, size)
        file.close()
        disk.remove("data")
        assert found is not None
        return found

    return stretch


class SlowTransport(FakeTransport):
    """Its peer takes nothing until told, then everything."""

    def __init__(self, connection: Connection | None = None) -> None:
        super().__init__()
        self.connection = connection

    def writelines(self, pieces: list[bytes]) -> None:
        super().writelines(pieces)
        self.buffered_bytes += sum(map(len, pieces))
        if self.connection is not None:
            self.connection.pause_writing()

    def take(self) -> None:
        self.buffered_bytes = 0
        if self.connection is not None:
            self.connection.resume_writing()


def test_what_lies_between_stretches_keeps_its_place(hold: Hold) -> None:
    transport = FakeTransport()
    sending = Outgoing(transport)  # type: ignore[arg-type]
    sending.add([b"head", hold(5, 1000), b"between", b"more", hold(0, 3 * PIECE_BYTES), b"tail"])
    sending.go_on()
    assert sending.is_empty
    assert b"".join(transport.written) == b"head" + CONTENT[5:1005] + b"betweenmore" + CONTENT + b"tail"
    assert transport.high == 0


def test_the_next_piece_is_read_when_the_last_one_is_gone(hold: Hold) -> None:
    transport = SlowTransport()
    sending = Outgoing(transport)  # type: ignore[arg-type]
    large = hold(0, 3 * PIECE_BYTES)
    sending.add([b"head", large, b"tail"])
    left = []
    while not sending.is_empty:
        sending.go_on()
        left.append(len(large))
        sending.go_on()
        assert len(large) == left[-1]
        transport.take()
    assert left == [2 * PIECE_BYTES, PIECE_BYTES, 0]
    assert b"".join(transport.written) == b"head" + CONTENT + b"tail"


def test_a_file_that_became_shorter_is_told(tmp_path: Path) -> None:
    file = OsDisk(tmp_path).open("data", create=True)
    file.append([b"12345"])
    sending = Outgoing(FakeTransport())  # type: ignore[arg-type]
    stretch = file.stretch(3, 10)
    assert stretch is not None
    sending.add([stretch])
    with pytest.raises(OSError, match="shorter"):
        sending.go_on()
        sending.go_on()


def slow(world: World) -> tuple[Connection, SlowTransport, FakeSession]:
    connection, _, session = world.connect()
    connection.limits = ConnectionLimits()
    slow_transport = SlowTransport(connection)
    connection._transport = slow_transport  # type: ignore[assignment]
    return connection, slow_transport, session


@scenario
async def test_a_stretch_takes_no_memory_and_leaves_with_its_turn(hold: Hold) -> None:
    world = World(instant=False)
    connection, transport, session = slow(world)
    for part in (b"head", hold(0, 3 * PIECE_BYTES), b"tail"):
        session.peer.send(part)
    assert not connection.congested
    await world.turn()
    assert transport.written == []
    world.durable()
    assert connection.congested
    transport.take()
    transport.take()
    assert connection.congested
    transport.take()
    await world.turn()
    assert not connection.congested
    assert session.resumed == 1
    assert b"".join(transport.written) == b"head" + CONTENT + b"tail"


@scenario
async def test_later_output_stays_behind_a_stretch(hold: Hold) -> None:
    world = World()
    connection, transport, session = slow(world)
    session.peer.send(b"head")
    session.peer.send(hold(0, 2 * PIECE_BYTES))
    await world.turn()
    connection.data_received(b"next")
    await world.turn()
    transport.take()
    assert b"".join(transport.written) == b"head" + CONTENT[: 2 * PIECE_BYTES] + b"next"


@scenario
async def test_a_connection_that_ends_sends_its_stretches_first(hold: Hold) -> None:
    world = World()
    _, transport, session = slow(world)
    session.peer.send(b"head")
    session.peer.send(hold(0, 2 * PIECE_BYTES))
    session.peer.close()
    await world.turn()
    assert not transport.closing
    transport.take()
    assert transport.closing
    assert b"".join(transport.written) == b"head" + CONTENT[: 2 * PIECE_BYTES]


@scenario
async def test_a_lost_connection_lets_go_of_the_file(tmp_path: Path) -> None:
    world = World()
    connection, _, session = slow(world)
    file = OsDisk(tmp_path).open("data", create=True)
    file.append([CONTENT])
    session.peer.send(b"head")
    stretch = file.stretch(0, len(CONTENT))
    assert stretch is not None
    descriptor = stretch._file.descriptor
    session.peer.send(stretch)
    del stretch
    await world.turn()
    file.close()
    os.fstat(descriptor)
    connection.connection_lost(None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@scenario
async def test_a_connection_whose_file_cannot_be_read_is_cut_off(tmp_path: Path) -> None:
    world = World()
    _, transport, session = slow(world)
    file = OsDisk(tmp_path).open("data", create=True)
    file.append([CONTENT])
    session.peer.send(b"head")
    stretch = file.stretch(0, len(CONTENT))
    assert stretch is not None
    session.peer.send(stretch)
    await world.turn()
    file.truncate(0)
    transport.take()
    assert transport.aborted


@scenario
async def test_over_a_real_socket_a_slow_peer_gets_everything(hold: Hold) -> None:
    """The transports of asyncio are those that say when they have room again."""
    world = World()
    connections: list[Connection] = []

    def factory() -> asyncio.Protocol:
        connections.append(Connection(FakeSession, world.turns, world.connections, ConnectionLimits()))
        return connections[-1]  # type: ignore[return-value]

    server = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1 << 16)
    while not connections or not connections[0].address:
        await asyncio.sleep(0)
    stretches = [(number, len(CONTENT) - number) for number in range(8)]
    for position, size in stretches:
        connections[0].send(b"head")
        connections[0].send(hold(position, size))
    expected = b"".join(b"head" + CONTENT[position:] for position, _ in stretches)
    assert await reader.readexactly(len(expected)) == expected
    writer.close()
    server.close()


class SocketTransport(FakeTransport):
    """Sends through a real socket what that takes, and holds the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.socket, self.peer = socket.socketpair()
        self.socket.setblocking(False)
        self.peer.setblocking(False)
        self.rest = b""
        self.most_held = 0
        self.received = bytearray()
        self.is_encrypted = False

    def get_extra_info(self, name: str) -> Any:
        return {"socket": self.socket, "sslcontext": self if self.is_encrypted else None}.get(name)

    def writelines(self, pieces: list[bytes]) -> None:
        super().writelines(pieces)
        self.rest += b"".join(pieces)
        self.flush()
        self.most_held = max(self.most_held, self.buffered_bytes)

    def flush(self) -> None:
        with suppress(BlockingIOError):
            self.rest = self.rest[self.socket.send(self.rest) :]
        self.buffered_bytes = len(self.rest)

    def receive(self) -> None:
        """The peer takes some, and so there is room for what is held."""
        self.received += self.peer.recv(300_000)
        self.flush()

    def close_both(self) -> None:
        self.socket.close()
        self.peer.close()


@pytest.fixture
def real() -> Iterator[SocketTransport]:
    transport = SocketTransport()
    yield transport
    transport.close_both()


def send_all(transport: SocketTransport, parts: list[bytes | Stretch]) -> bytes:
    """What the peer has when everything was sent."""
    sending = Outgoing(transport)  # type: ignore[arg-type]
    size = sum(map(len, parts))
    sending.add(parts)
    while len(transport.received) < size:
        sending.go_on()
        transport.receive()
    assert sending.is_empty
    return bytes(transport.received)


class TestBySystem:
    """Where the system sends from the file to the socket."""

    def test_all_arrives_in_order_and_hardly_anything_is_read(self, hold: Hold, real: SocketTransport) -> None:
        parts = [b"head", hold(7, PIECE_BYTES), b"between", hold(0, 3 * PIECE_BYTES), hold(9, 100), b"tail"]
        whole = b"head" + CONTENT[7 : PIECE_BYTES + 7] + b"between" + CONTENT + CONTENT[9:109] + b"tail"
        assert send_all(real, parts) == whole
        assert len(b"".join(real.written)) < len(whole) / 2
        assert real.most_held <= EDGE_BYTES + len(b"between")

    def test_of_a_large_answer_the_socket_holds_no_more_than_is_good(self, hold: Hold, real: SocketTransport) -> None:
        def held() -> int:
            return real.socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

        sending = Outgoing(real)  # type: ignore[arg-type]
        at_first = held()
        sending.add([b"head", hold(0, PIECE_BYTES)])
        assert held() == at_first, "the system knows best"
        sending.clear()
        sending.add([b"head", hold(0, 3 * PIECE_BYTES)])
        assert held() <= 2 * SOCKET_BYTES
        of_large = held()
        sending.clear()
        sending.add([b"head", hold(0, PIECE_BYTES)])
        assert held() >= of_large

    @pytest.mark.parametrize("reason", [errno.EINVAL, errno.ENOSYS])
    def test_a_system_that_cannot_is_not_asked_again(
        self, hold: Hold, real: SocketTransport, monkeypatch: pytest.MonkeyPatch, reason: int
    ) -> None:
        asked = []

        def sendfile(*arguments: object) -> int:
            asked.append(arguments)
            raise OSError(reason, "it cannot")

        monkeypatch.setattr(os, "sendfile", sendfile)
        assert send_all(real, [b"head", hold(0, 3 * PIECE_BYTES), b"tail"]) == b"head" + CONTENT + b"tail"
        assert len(asked) == 1

    def test_a_transport_that_encrypts_gets_everything(self, hold: Hold, real: SocketTransport) -> None:
        real.is_encrypted = True
        assert send_all(real, [hold(0, PIECE_BYTES)]) == CONTENT[:PIECE_BYTES]
        assert b"".join(real.written) == CONTENT[:PIECE_BYTES]

    def test_a_peer_that_is_gone_is_left_to_the_transport(self, hold: Hold, real: SocketTransport) -> None:
        real.peer.close()
        sending = Outgoing(real)  # type: ignore[arg-type]
        sending.add([hold(0, PIECE_BYTES)])
        with pytest.raises(BrokenPipeError):  # this one's own
            sending.go_on()

    def test_a_file_that_became_shorter_is_told(self, tmp_path: Path, real: SocketTransport) -> None:
        file = OsDisk(tmp_path).open("data", create=True)
        file.append([b"12345"])
        stretch = file.stretch(5, PIECE_BYTES)
        assert stretch is not None
        sending = Outgoing(real)  # type: ignore[arg-type]
        sending.add([stretch])
        with pytest.raises(OSError, match="shorter"):
            sending.go_on()
