"""A connection: bytes to its session and back, flow control, limits, ends."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest

from onemq.errors import ReadOnly
from onemq.limits import CLOSE_LINGER_MS, ConnectionLimits
from onemq.net.connection import Connection, Connections, format_address
from onemq.net.turn import Turns
from onemq.protocols import LARGE_BYTES, Arrived
from tests.unit.net.fakes import FakeCore, FakeSession, FakeTransport

LIMITS = ConnectionLimits(output_pause_bytes=100, output_bytes_max=1_000)


class World:
    """Connections over fake transports, a fake core and the real loop."""

    def __init__(self, instant: bool = True, count_max: int = 10) -> None:
        self.core = FakeCore(instant)
        self.turns = Turns(self.core, asyncio.get_running_loop())
        self.connections = Connections(count_max)

    def connect(self) -> tuple[Connection, FakeTransport, FakeSession]:
        sessions: list[FakeSession] = []

        def factory(peer: Connection) -> FakeSession:
            sessions.append(FakeSession(peer))
            return sessions[-1]

        connection = Connection(factory, self.turns, self.connections, LIMITS)  # type: ignore[arg-type]
        transport = FakeTransport()
        connection.connection_made(transport)  # type: ignore[arg-type]
        return connection, transport, sessions[0]

    async def turn(self) -> None:
        """Lets the running turn end, and what follows from it."""
        for _ in range(4):
            await asyncio.sleep(0)

    def durable(self) -> None:
        """All turns so far."""
        flushes, self.core.flushes = self.core.flushes, []
        for done in flushes:
            done(None)


def scenario(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test in a loop of its own."""

    @wraps(test)
    def run(*arguments: object, **named: object) -> None:
        async def whole() -> None:
            await test(*arguments, **named)

        asyncio.run(whole())

    return run


@scenario
async def test_a_session_is_lost_once_when_its_peer_has_ended_however_long_its_output_takes() -> None:
    world = World(instant=False)
    connection, transport, session = world.connect()
    connection.data_received(b"a")
    await world.turn()
    connection.eof_received()
    assert session.lost_count == 1
    assert not transport.closing
    world.durable()
    assert transport.written == [b"a"]
    connection.connection_lost(None)
    assert session.lost_count == 1


@scenario
async def test_output_is_written_once_a_turn() -> None:
    world = World()
    connection, transport, session = world.connect()
    connection.data_received(b"a")
    session.peer.send(b"b")
    session.peer.send(b"")
    assert transport.written == []
    await world.turn()
    assert transport.written == [b"ab"]


@scenario
async def test_large_output_is_not_copied() -> None:
    world = World()
    connection, transport, session = world.connect()
    connection.limits = ConnectionLimits(output_pause_bytes=1 << 20, output_bytes_max=1 << 20)
    large = bytes(LARGE_BYTES)
    for pieces in ([b"a", large, b"b"], [large], [b"c", b"d"]):
        transport.written.clear()
        for piece in pieces:
            session.peer.send(piece)
        await world.turn()
        assert b"".join(transport.written) == b"".join(pieces)
        assert (large in pieces) == any(each is large for each in transport.written)
    assert transport.written == [b"cd"]
    assert not connection.congested


@scenario
async def test_a_session_knows_both_addresses_and_the_limits() -> None:
    _, transport, session = World().connect()
    assert (session.peer.address, session.peer.local_address) == ("10.0.0.1:5000", "[::1]:6379")
    assert session.peer.limits is LIMITS
    assert transport.high == LIMITS.output_pause_bytes


def test_an_address_that_is_gone_or_no_internet_address_is_shown_as_it_is() -> None:
    assert (format_address(None), format_address("/run/x")) == ("", "/run/x")


class TestFlowControl:
    @scenario
    async def test_a_peer_that_does_not_take_output_is_not_read_until_it_does(self) -> None:
        world = World()
        connection, transport, session = world.connect()
        connection.pause_writing()
        assert (connection.congested, transport.reading) == (True, False)
        connection.resume_writing()
        assert (connection.congested, transport.reading) == (False, False)
        await world.turn()
        assert (session.resumed, transport.reading) == (1, True)

    @scenario
    async def test_output_that_waits_for_the_disk_counts_as_well(self) -> None:
        world = World(instant=False)
        connection, transport, session = world.connect()
        connection.data_received(bytes(LIMITS.output_pause_bytes + 1))
        assert (connection.congested, transport.reading) == (True, False)
        await world.turn()
        assert session.resumed == 0
        world.durable()
        assert (connection.congested, transport.reading) == (False, False)
        await world.turn()
        assert (session.resumed, transport.reading) == (1, True)

    @scenario
    async def test_it_goes_on_only_when_both_have_cleared(self) -> None:
        world = World(instant=False)
        connection, _, session = world.connect()
        connection.pause_writing()
        connection.data_received(bytes(LIMITS.output_pause_bytes + 1))
        await world.turn()
        world.durable()
        assert connection.congested
        connection.resume_writing()
        assert not connection.congested
        await world.turn()
        assert session.resumed == 1

    @scenario
    async def test_output_over_the_limit_cuts_the_peer_off(self, caplog: pytest.LogCaptureFixture) -> None:
        world = World()
        connection, transport, session = world.connect()
        connection.pause_writing()
        transport.buffered_bytes = LIMITS.output_bytes_max - 10
        with caplog.at_level(logging.WARNING):
            session.peer.send(b"x" * 10)
            assert not transport.aborted
            session.peer.send(b"x")
        assert transport.aborted
        assert "10.0.0.1:5000 does not read: cut off with 1001 bytes unsent" in caplog.text
        session.peer.send(b"x")
        await world.turn()
        assert transport.written == []

    @scenario
    async def test_a_session_can_hold_its_peer(self) -> None:
        world = World()
        connection, transport, _ = world.connect()
        connection.hold()
        assert not transport.reading
        connection.pause_writing()
        connection.proceed()
        assert not transport.reading
        connection.resume_writing()
        await world.turn()
        assert transport.reading


class TestEnds:
    @scenario
    async def test_close_waits_for_output_that_is_not_durable(self) -> None:
        world = World(instant=False)
        connection, transport, _ = world.connect()
        connection.data_received(b"a")
        await world.turn()
        connection.data_received(b"q")
        assert not transport.reading
        await world.turn()
        assert not transport.closing
        world.durable()
        assert (transport.written, transport.closing) == ([b"a", b"bye"], True)

    @scenario
    async def test_close_without_output_is_immediate_and_nothing_is_received_after_it(self) -> None:
        connection, transport, session = World().connect()
        connection.close()
        connection.close()
        connection.data_received(b"a")
        session.peer.send(b"b")
        assert (transport.closing, session.received, transport.written) == (True, [], [])

    @scenario
    async def test_a_peer_that_says_it_is_done_still_gets_its_replies(self) -> None:
        world = World(instant=False)
        connection, transport, _ = world.connect()
        connection.data_received(b"a")
        assert connection.eof_received()
        await world.turn()
        assert not transport.closing
        world.durable()
        assert (transport.written, transport.closing) == ([b"a"], True)

    @scenario
    async def test_a_lost_connection_is_told_to_its_session_within_a_turn(self) -> None:
        world = World()
        connection, transport, session = world.connect()
        await world.turn()
        world.core.calls.clear()
        connection.data_received(b"a")
        transport.closing = True
        connection.connection_lost(None)
        await world.turn()
        assert session.is_lost
        assert transport.written == []
        assert "flush" in world.core.calls
        assert len(world.connections) == 0

    @scenario
    async def test_a_failed_turn_is_told_instead_of_its_output(self) -> None:
        world = World(instant=False)
        connection, transport, _ = world.connect()
        await world.turn()
        world.durable()
        connection.data_received(b"a")
        await world.turn()
        world.core.flushes[0](ReadOnly("the disk failed"))
        await world.turn()
        assert (transport.written, transport.closing) == ([b"-the disk failed"], True)

    @scenario
    async def test_a_mistake_in_a_handler_ends_its_connection_only(self, caplog: pytest.LogCaptureFixture) -> None:
        world = World()
        connection, transport, _ = world.connect()
        _, other, other_session = world.connect()
        with caplog.at_level(logging.ERROR):
            connection.data_received(b"a")
            connection.data_received(b"!")
            other_session.peer.send(b"fine")
            await world.turn()
        assert transport.written == [b"a-internal error, the server's log has the details"]
        assert (transport.closing, other.closing, other.written) == (True, False, [b"fine"])
        assert "ZeroDivisionError" in caplog.text

    @scenario
    async def test_a_closed_peer_that_does_not_fetch_the_rest_is_cut_off_in_the_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        later: list[tuple[float, Callable[[], None]]] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda delay, callback: later.append((delay, callback)))
        connection, transport, _ = World().connect()
        transport.buffered_bytes = 5
        connection.close()
        ((delay, callback),) = later
        callback()
        assert (delay, transport.aborted) == (CLOSE_LINGER_MS / 1000, True)


@scenario
async def test_one_connection_too_many_is_told_so() -> None:
    world = World(count_max=1)
    first, first_transport, _ = world.connect()
    _, second_transport, _ = world.connect()
    assert second_transport.written == [b"-max number of clients reached"]
    assert (second_transport.closing, first_transport.closing) == (True, False)
    assert len(world.connections) == 1
    first.connection_lost(None)
    _, third_transport, _ = world.connect()
    assert not third_transport.closing


@scenario
async def test_all_connections_can_be_closed_or_aborted_and_waited_for() -> None:
    world = World()
    pairs = [world.connect() for _ in range(3)]
    world.connections.close_all()
    assert all(transport.closing for _, transport, _ in pairs)
    world.connections.abort_all()
    assert all(transport.aborted for _, transport, _ in pairs)
    waiting = asyncio.ensure_future(world.connections.empty())
    await asyncio.sleep(0)
    assert not waiting.done()
    for connection, _, _ in pairs:
        connection.connection_lost(None)
    await waiting


@scenario
async def test_large_output_for_a_connection_that_is_lost_in_the_same_turn_harms_nobody() -> None:
    world = World()
    gone, _, session = world.connect()
    stays, transport, _ = world.connect()
    session.peer.send(bytes(LARGE_BYTES))
    stays.data_received(b"a")
    gone.connection_lost(None)
    await world.turn()
    assert transport.written == [b"a"]
    assert world.core.calls[-1] == "flush"


@scenario
async def test_a_connection_that_fails_closes_when_the_rest_has_left() -> None:
    world = World(instant=False)
    connection, transport, _ = world.connect()
    connection.data_received(b"a")
    await world.turn()
    world.core.flushes[0](ReadOnly("the disk is full"))
    await world.turn()
    assert transport.closing
    assert connection._held_bytes == 0


class TestSendingToEach:
    """`send_each` is as `send` of each."""

    @scenario
    async def test_each_gets_its_own(self) -> None:
        world = World()
        made = [world.connect() for _ in range(3)]
        peers = [connection for connection, _, _ in made]
        peers[0].send_each([*peers], [b"a", b"", b"c"])
        assert [transport.written for _, transport, _ in made] == [[], [], []]
        await world.turn()
        assert [transport.written for _, transport, _ in made] == [[b"a"], [], [b"c"]]
        assert [connection._held_bytes for connection in peers] == [0, 0, 0]

    @scenario
    async def test_what_was_sent_before_and_after_keeps_its_place(self) -> None:
        world = World()
        connection, transport, session = world.connect()
        other, second, _ = world.connect()
        session.peer.send(b"1")
        other.send_each([other, connection], [b"x", b"2"])
        session.peer.send(b"3")
        other.send(b"y")
        other.send_each([other], [b"z"])
        await world.turn()
        assert b"".join(transport.written) == b"123"
        assert b"".join(second.written) == b"xyz"

    @scenario
    async def test_one_that_is_named_twice_gets_both_in_order(self) -> None:
        world = World()
        connection, transport, _ = world.connect()
        connection.send_each([connection, connection], [b"1", b"2"])
        await world.turn()
        assert b"".join(transport.written) == b"12"

    @scenario
    async def test_turns_that_are_not_durable_yet_come_first(self) -> None:
        world = World(instant=False)
        connection, transport, _ = world.connect()
        for data in (b"1", b"2", b"3"):
            connection.send_each([connection], [data])
            await world.turn()
        assert (transport.written, connection._held_bytes) == ([], 3)
        world.durable()
        assert (transport.written, connection._held_bytes) == ([b"1", b"2", b"3"], 0)

    @scenario
    async def test_one_that_closes_gets_no_more_and_one_that_does_not_read_is_congested(self) -> None:
        world = World()
        closed, closed_transport, _ = world.connect()
        paused, _, _ = world.connect()
        flooded, _, _ = world.connect()
        closed.close()
        paused.pause_writing()
        paused.congested = False  # as if it had been told a moment later
        paused.send_each([closed, paused, flooded], [b"a", b"b", bytes(LIMITS.output_pause_bytes + 1)])
        assert (closed.congested, paused.congested, flooded.congested) == (False, True, True)
        await world.turn()
        assert closed_transport.written == []

    @scenario
    async def test_a_turn_that_is_not_stored_ends_them(self) -> None:
        world = World(instant=False)
        made = [world.connect() for _ in range(2)]
        peers = [connection for connection, _, _ in made]
        peers[0].send_each([*peers], [b"a", b"b"])
        await world.turn()
        peers[0].send_each([*peers], [b"c", b"d"])  # in a later turn, which has not ended
        world.core.flushes[0](ReadOnly("the disk is full"))
        await world.turn()
        for connection, transport, _ in made:
            assert transport.closing
            assert not any(each in (b"a", b"b", b"c", b"d") for each in transport.written)
            assert connection._held_bytes == 0


def ask(connections: list[Connection]) -> None:
    """Each sends a request, all of them the same."""
    for connection in connections:
        connection.data_received(b"a")


class TestGathering:
    """Small requests of sessions that can execute them together."""

    def connect(self, world: World, count: int = 3) -> list[tuple[Connection, FakeTransport, FakeSession]]:
        self.served: list[list[bytes]] = []

        self.asked = 0

        def receive_alike(arrived: Arrived, at: int) -> int:
            """Executes all that is equal to the first; `?` it only seems to know how to."""
            self.asked += 1
            alike = [each for each in arrived[at:] if each[1] == arrived[at][1]]
            if len(alike) < 2:
                return 0
            if alike[0][1] == b"!!":
                raise ZeroDivisionError
            if alike[0][1] == b"?":
                return -len(alike)
            self.served.append([data for _, data in alike])
            peers = [peer for peer, _ in alike]
            peers[0].send_each(peers, [b"together:" + data for _, data in alike])
            return len(alike)

        made = [world.connect() for _ in range(count)]
        for connection, _, _ in made:
            connection._receive_alike = receive_alike
        return made

    def crowd(self, world: World, count: int) -> list[Connection]:
        return [connection for connection, _, _ in self.connect(world, count)]

    @scenario
    async def test_they_are_executed_together_at_the_end_of_the_iteration(self) -> None:
        world = World()
        made = self.connect(world)
        for connection, _, _ in made:
            connection.data_received(b"a")
        assert self.served == []
        await world.turn()
        assert self.served == [[b"a"] * 3]
        assert [transport.written for _, transport, _ in made] == [[b"together:a"]] * 3

    @scenario
    async def test_what_is_not_alike_is_received_by_each(self) -> None:
        world = World()
        (first, one, _), (second, other, _) = self.connect(world, 2)
        first.data_received(b"a")
        second.data_received(b"b")
        await world.turn()
        assert (one.written, other.written, self.served) == ([b"a"], [b"b"], [])

    @scenario
    async def test_those_that_only_seem_to_be_alike_are_received_by_each_and_not_compared_again(self) -> None:
        world = World()
        made = self.connect(world, 6)
        for number, (connection, _, _) in enumerate(made):
            connection.data_received(b"?" if number < 4 else b"a")
        await world.turn()
        assert (self.asked, self.served) == (2, [[b"a"] * 2])
        assert [transport.written for _, transport, _ in made] == [[b"?"]] * 4 + [[b"together:a"]] * 2

    @scenario
    async def test_one_that_was_aborted_meanwhile_is_not_served(self) -> None:
        world = World()
        made = self.connect(world, 1)
        made[0][0].data_received(b"a")
        made[0][0].abort()
        assert made[0][0].congested
        await world.turn()
        assert made[0][2].received == []

    @scenario
    async def test_one_whose_turn_failed_meanwhile_is_not_served(self) -> None:
        """What it asks for after what was not stored must not happen by itself, also not together with others."""
        world = World()
        made = self.connect(world, 1)
        made[0][0].data_received(b"a")
        made[0][0].fail(ReadOnly("no"))
        assert made[0][0].congested
        await world.turn()
        assert made[0][2].received == []

    @scenario
    async def test_what_came_before_the_end_of_a_connection_is_answered(self) -> None:
        world = World()
        ((connection, transport, _),) = self.connect(world, 1)
        connection.data_received(b"a")
        connection.eof_received()
        await world.turn()
        assert (transport.written, transport.closing) == ([b"a"], True)

    @scenario
    async def test_who_asks_while_many_are_gathered_comes_along(self) -> None:
        world = World()
        connections = self.crowd(world, 10)
        ask(connections[:8])
        await asyncio.sleep(0)
        assert self.served == []
        ask(connections[8:])
        await world.turn()
        assert self.served == [[b"a"] * 10]

    @scenario
    async def test_nobody_waits_for_others_for_long(self) -> None:
        connections = self.crowd(World(), 9)
        ask(connections[:8])
        iterations = 0
        while not self.served:
            await asyncio.sleep(0)
            iterations += 1
            ask(connections[8:])
        assert iterations == 3

    @scenario
    async def test_few_wait_for_nobody(self) -> None:
        ask(self.crowd(World(), 7))
        await asyncio.sleep(0)
        assert self.served == [[b"a"] * 7]

    @scenario
    async def test_large_pieces_come_after_what_was_gathered_before(self) -> None:
        world = World()
        ((connection, _, session),) = self.connect(world, 1)
        connection.data_received(b"a")
        connection.data_received(b"b" * LARGE_BYTES)
        assert [data[:1] for data in session.received] == [b"a", b"b"]

    @scenario
    async def test_a_mistake_in_executing_them_takes_the_turn_back_and_tells_all(self) -> None:
        world = World()
        made = self.connect(world)
        for connection, _, _ in made:
            connection.data_received(b"!!")
        await world.turn()
        assert "reset" in world.core.calls
        assert "flush" not in world.core.calls
        assert all(transport.closing and transport.written[0].startswith(b"-internal") for _, transport, _ in made)

    @scenario
    async def test_no_more_is_gathered_than_a_turn_may_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("onemq.net.turn.TURN_BYTES_MAX", 3)
        world = World()
        ((connection, _, session),) = self.connect(world, 1)
        connection.data_received(b"ab")
        assert session.received == []
        connection.data_received(b"cd")
        assert session.received == [b"ab", b"cd"]
