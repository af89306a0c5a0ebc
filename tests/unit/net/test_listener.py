"""Listeners: real sockets on the loopback address."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing

import pytest
import uvloop

from onemq.config import Address
from onemq.errors import ListenError
from onemq.limits import ConnectionLimits
from onemq.net.connection import Connections
from onemq.net.listener import Listener, drain
from onemq.net.turn import Turns
from tests.unit.net.fakes import FakeCore, FakeSession

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
ANY_PORT = Address("127.0.0.1:0")


class World:
    def __init__(self) -> None:
        self.core = FakeCore()
        self.turns = Turns(self.core, asyncio.get_running_loop())
        self.connections = Connections(2)
        self.listener = Listener("resp", ANY_PORT)
        self.sessions: list[FakeSession] = []

    async def accept(self, limits: ConnectionLimits | None = None) -> None:
        await self.listener.accept(self._session, self.turns, self.connections, limits or ConnectionLimits())

    def _session(self, peer: object) -> FakeSession:
        self.sessions.append(FakeSession(peer))  # type: ignore[arg-type]
        return self.sessions[-1]

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.listener.port)

    async def stop(self, timeout_ms: int = 5_000) -> None:
        await drain([self.listener], self.connections, self.turns, timeout_ms)


def run(make_loop: Callable[[], asyncio.AbstractEventLoop], test: Callable[[World], Awaitable[None]]) -> None:
    async def whole() -> None:
        await test(World())

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(whole())


def test_an_address_in_use_is_refused_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError) as caught:
            Listener("resp", Address(f"127.0.0.1:{port}"))
    assert caught.value.text == (
        f"cannot listen on 127.0.0.1:{port} for resp: the port is in use; stop the program that listens there "
        "or choose another port, with --resp HOST:PORT or off"
    )


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("192.0.2.1:6379", "192.0.2.1 is not an address of this machine; choose one of its own, with --resp"),
        ("no.such.host.invalid:6379", "the host 'no.such.host.invalid' is unknown; write an address, with --resp"),
    ],
)
def test_an_address_that_cannot_be_is_refused_with_what_to_do(address: str, reason: str) -> None:
    with pytest.raises(ListenError) as caught:
        Listener("resp", Address(address))
    assert reason in caught.value.text


def test_a_bound_address_is_taken_before_anybody_is_accepted() -> None:
    listener = Listener("resp", ANY_PORT)
    with pytest.raises(ListenError, match="in use"):
        Listener("resp", Address(f"127.0.0.1:{listener.port}"))
    listener.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a program choose")
@pytest.mark.parametrize(("host", "is_local"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)])
def test_only_what_stays_on_the_machine_is_sent_unpaced(host: str, is_local: bool) -> None:
    def congestion(which: socket.socket) -> bytes:
        return which.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")

    with closing(Listener("resp", Address(f"{host}:0"))) as listener, socket.socket() as other:
        for each in listener._sockets:
            assert congestion(each) == (b"reno" if is_local else congestion(other))


def test_all_addresses_of_a_name_get_the_same_port() -> None:
    listener = Listener("resp", Address("localhost:0"))
    assert len({address.rpartition(":")[2] for address in listener.addresses}) == 1
    listener.close()


@pytest.mark.parametrize("make_loop", LOOPS)
class TestServing:
    def test_what_is_sent_is_answered(self, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        async def test(world: World) -> None:
            await world.accept()
            reader, writer = await world.connect()
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
            writer.write(b"q")
            assert await reader.read() == b"bye"
            writer.close()
            await world.stop()

        run(make_loop, test)

    def test_a_peer_that_ends_its_sending_gets_its_replies(
        self, make_loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        async def test(world: World) -> None:
            await world.accept()
            reader, writer = await world.connect()
            writer.write(b"hello")
            writer.write_eof()
            assert await reader.read() == b"hello"
            writer.close()
            await world.stop()

        run(make_loop, test)

    def test_one_too_many_is_told_so(self, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        async def test(world: World) -> None:
            await world.accept()
            streams = [await world.connect() for _ in range(2)]
            for reader, writer in streams:
                writer.write(b"x")
                await reader.readexactly(1)
            reader, third = await world.connect()
            assert await reader.read() == b"-max number of clients reached"
            for _, writer in [*streams, (reader, third)]:
                writer.close()
            await world.stop()

        run(make_loop, test)

    def test_drain_closes_idle_connections_and_refuses_new_ones(
        self, make_loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        async def test(world: World) -> None:
            await world.accept()
            reader, writer = await world.connect()
            writer.write(b"x")
            await reader.readexactly(1)
            port = world.listener.port
            await world.stop()
            assert await reader.read() == b""
            assert world.sessions[0].is_lost
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            writer.close()

        run(make_loop, test)

    def test_drain_lets_what_was_asked_finish(self, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        async def test(world: World) -> None:
            world.core.instant = False
            await world.accept()
            reader, writer = await world.connect()
            writer.write(b"write")
            while not world.sessions or not world.sessions[0].received:
                await asyncio.sleep(0)
            stopping = asyncio.ensure_future(world.stop())
            while not stopping.done():
                await asyncio.sleep(0)
                flushes, world.core.flushes = world.core.flushes, []
                for done in flushes:
                    done(None)
            assert await reader.read() == b"write"
            writer.close()

        run(make_loop, test)

    def test_drain_cuts_off_who_does_not_fetch_its_replies(
        self, make_loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        async def test(world: World) -> None:
            await world.accept()
            with socket.create_connection(("127.0.0.1", world.listener.port)) as lazy:
                while not world.sessions:
                    await asyncio.sleep(0)
                world.sessions[0].peer.send(bytes(32 << 20))
                await world.turns.quiet()
                await world.stop(timeout_ms=10)
                assert len(world.connections) == 0
                assert lazy.fileno() >= 0

        run(make_loop, test)

    def test_a_peer_that_does_not_read_is_cut_off_at_the_limit(
        self, make_loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        async def test(world: World) -> None:
            await world.accept(ConnectionLimits(output_pause_bytes=1 << 16, output_bytes_max=8 << 20))
            with socket.create_connection(("127.0.0.1", world.listener.port)):
                while not world.sessions:
                    await asyncio.sleep(0)
                sent = 0
                while not world.sessions[0].is_lost:
                    world.sessions[0].peer.send(bytes(1 << 20))
                    sent += 1
                    await asyncio.sleep(0)
                    assert sent < 100
            await world.stop()

        run(make_loop, test)
