"""Batching: gathers what producers send, and sees that it arrives once.

`add` may be called from any thread; all the rest happens on the loop. Whatever was gathered until the loop comes
round is sent as one batch per partition, so a busy sender makes large batches and a lone message does not wait.
What is gathered and not yet answered is bounded: above that, senders wait.
"""

import asyncio
import logging
import threading
from typing import Any

from onemq.client.connection import Connection, Word, packed
from onemq.client.lane import Batch, Identity, Lane
from onemq.client.link import Link
from onemq.client.receipt import Outcome, Part, Pending
from onemq.client.replies import error_of, is_code, mapping, raised
from onemq.client.route import Route
from onemq.client.single import Single
from onemq.errors import Disconnected, NotFound, OneMQError, TimedOut
from onemq.limits import KIB, MIB

BATCH_BYTES_MAX = 1 * MIB
"""Where a batch ends and the next one begins; also what a topic takes at most, if that is less."""
BATCH_ROOM_BYTES = 1 * KIB
"""What a batch's own header may take of it."""
RECORD_BYTES = 24
"""About what a record takes beyond key, body and headers."""
REFRESH_SECONDS = 60.0
"""How often a producer looks whether its topics have got more partitions."""
log = logging.getLogger("onemq.client")


class Batching:
    """All that one client has under way to its broker."""

    def __init__(self, link: Link, timeout: float, retries: int, buffer_bytes: int) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.timeout = timeout
        """How long an answer may take before the connection counts as dead, seconds."""
        self.patience = timeout * (retries + 1)
        """How long a message is tried in all."""
        self._buffer_bytes = buffer_bytes
        self._held_bytes = 0
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._waiting_for_room: list[asyncio.Future[None]] = []
        self._routes: dict[str, Route] = {}
        self._dirty: dict[Lane, None] = {}
        self._singles: dict[Single, None] = {}
        self._unsent: list[Single] = []
        self._scheduled = False
        self._identity: Identity | None = None
        self._identifying: asyncio.Task[None] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._idle: list[asyncio.Future[None]] = []
        self._refreshing: asyncio.Task[None] | None = None

    # Routes.

    def route(self, topic: str) -> Route | None:
        """What is known of a topic, if anything."""
        return self._routes.get(topic)

    async def find_route(self, topic: str) -> Route:
        """What is known of a topic, asked of the broker the first time; a topic that does not exist is made."""
        found = self._routes.get(topic)
        if found is not None:
            return found
        info = await self._topic_info(topic)
        if self._identity is None:
            await self._identify()
        found = self._routes.get(topic)
        if found is None:
            found = self._routes[topic] = self._new_route(topic, info)
        if self._refreshing is None:
            self._refreshing = self._loop.create_task(self._refresh())
        return found

    async def _refresh(self) -> None:
        """Looks now and then whether topics have grown."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            for topic, route in list(self._routes.items()):
                try:
                    info = mapping(await self._link.request("MQ.TOPIC", "INFO", topic))
                except OneMQError:
                    continue
                for number in range(len(route.lanes), int(info["partitions"])):
                    route.lanes.append(Lane(topic, route.topic_id, number, self._identity))

    def forget_route(self, topic: str) -> None:
        """Asks the broker again next time, if nothing is under way there."""
        route = self._routes.get(topic)
        if route is not None and not any(lane.waiting or lane.flying for lane in route.lanes):
            del self._routes[topic]

    def _new_route(self, topic: str, info: dict[str, Any]) -> Route:
        topic_id = int(info["id"])
        limit = int(info["max_bytes"])
        lanes = [Lane(topic, topic_id, number, self._identity) for number in range(int(info["partitions"]))]
        return Route(topic, topic_id, min(limit, BATCH_BYTES_MAX) - BATCH_ROOM_BYTES, lanes)

    async def _topic_info(self, topic: str) -> dict[str, Any]:
        try:
            return mapping(await self._link.insist("MQ.TOPIC", "INFO", topic, timeout=self.patience))
        except NotFound:
            await self._link.insist("MQ.TOPIC", "CREATE", topic, "IFNOTEXISTS", timeout=self.patience)
            return mapping(await self._link.insist("MQ.TOPIC", "INFO", topic, timeout=self.patience))

    # Gathering, on any thread.

    def add(self, route: Route, number: int, key: bytes | None, value: bytes, headers: bytes) -> Pending:
        """One message for a partition."""
        size = len(value) + len(headers) + RECORD_BYTES + (0 if key is None else len(key))
        lane = route.lanes[number]
        with self._lock:
            batch = self._batch(lane, route, size)
            index = batch.builder.add(0, key, value, headers)
            batch.size += size
            self._held_bytes += size
            if not self._scheduled:
                self._schedule()
        return Pending(batch, index)

    def add_alike(self, route: Route, number: int, values: list[bytes], headers: bytes) -> list[Part]:
        """Messages for one partition that differ in their values only."""
        parts: list[Part] = []
        lane, position, extra = route.lanes[number], 0, len(headers) + RECORD_BYTES
        with self._lock:
            while position < len(values):
                batch = self._batch(lane, route, len(values[position]) + extra)
                end, size = position, 0
                while end < len(values):
                    more = len(values[end]) + extra
                    if end > position and batch.size + size + more > route.batch_bytes_max:
                        break
                    size += more
                    end += 1
                parts.append((batch, batch.builder.add_alike(0, values[position:end], headers), end - position))
                batch.size += size
                self._held_bytes += size
                position = end
            if not self._scheduled:
                self._schedule()
        return parts

    def add_single(self, single: Single) -> Pending:
        """One message by itself."""
        with self._lock:
            self._held_bytes += single.size
            self._unsent.append(single)
            if not self._scheduled:
                self._schedule()
        return Pending(single, 0)

    def single(self, topic: str, words: tuple[Word, ...], size: int) -> Single:
        """A message to be given to `add_single`."""
        return Single(topic, words, size, self._loop.time())

    def _batch(self, lane: Lane, route: Route, size: int) -> Batch:
        waiting = lane.waiting
        if waiting:
            batch = waiting[-1]
            if batch.sequence < 0 and batch.size + size <= route.batch_bytes_max:
                return batch
        batch = Batch(lane, self._loop.time())
        waiting.append(batch)
        self._dirty[lane] = None
        return batch

    def _schedule(self) -> None:
        self._scheduled = True
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._flush)
        else:
            self._loop.call_soon_threadsafe(self._flush)

    # Bounds.

    @property
    def is_full(self) -> bool:
        return self._held_bytes > self._buffer_bytes

    async def room(self) -> None:
        """Waits, on the loop, until there is room for more."""
        while self.is_full:
            future = self._loop.create_future()
            self._waiting_for_room.append(future)
            await future

    def block_for_room(self) -> None:
        """Waits, on another thread, until there is room for more. On the loop's own thread it cannot wait."""
        if threading.get_ident() != self._thread:
            with self._lock:
                self._room.wait_for(lambda: not self.is_full)

    async def flushed(self) -> None:
        """Waits until everything that was added is stored or has failed."""
        while self._held_bytes:
            future = self._loop.create_future()
            self._idle.append(future)
            await future

    async def close(self) -> None:
        """Waits until everything is stored or has failed, and ends."""
        await self.flushed()
        if self._refreshing is not None:
            self._refreshing.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def _finish(self, outcome: Outcome, size: int, error: OneMQError | None) -> None:
        was_full = self.is_full
        with self._lock:
            self._held_bytes -= size
            if was_full and not self.is_full:
                self._room.notify_all()
        outcome.finish(error)
        if self._waiting_for_room and not self.is_full:
            _wake(self._waiting_for_room)
        if not self._held_bytes:
            _wake(self._idle)

    # Sending, on the loop.

    def _flush(self) -> None:
        with self._lock:
            self._scheduled = False
            lanes, self._dirty = self._dirty, {}
            unsent, self._unsent = self._unsent, []
        for lane in lanes:
            self._send(lane)
        for single in unsent:
            self._singles[single] = None
            if self._link.connection is not None:
                self._transmit_single(self._link.connection, single)
        if self._watch is None and self._held_bytes:
            self._watch = self._loop.call_later(min(self.timeout / 4, 1.0), self._look)

    def _send(self, lane: Lane) -> None:
        connection = self._link.connection
        if lane.identity is None and lane.waiting and self._identifying is None:
            self._identifying = self._loop.create_task(self._reidentify())
        while connection is not None and lane.may_send:
            with self._lock:
                batch = lane.next_data()
            self._transmit(connection, batch)

    def _transmit(self, connection: Connection, batch: Batch) -> None:
        lane = batch.lane
        assert batch.data is not None
        batch.sent = self._loop.time()
        data = packed((b"MQ.APPEND", lane.topic, lane.number, batch.data))
        connection.ask_packed(data, lambda reply: self._answered(batch, reply))

    def _transmit_single(self, connection: Connection, single: Single) -> None:
        single.sent = self._loop.time()
        connection.ask(single.words, lambda reply: self._answered_single(single, reply))

    def _answered(self, batch: Batch, reply: Any) -> None:
        if batch.is_done or isinstance(reply, Disconnected):
            return  # given up already, or sent again on the next connection
        lane = batch.lane
        if isinstance(reply, Exception):
            self._refused(batch, reply)
        else:
            lane.stored(batch, reply[b"offset"])
            self._learn(batch, reply)
            self._finish(batch, batch.size, None)
        self._send(lane)

    def _learn(self, batch: Batch, reply: dict[bytes, int]) -> None:
        """The topic may have got more partitions, or may be another one of the same name."""
        lane, topic_id, count = batch.lane, reply[b"topic_id"], reply[b"partitions"]
        batch.topic_id = lane.topic_id = topic_id
        route = self._routes.get(lane.topic)
        if route is not None and len(route.lanes) < count:
            more = range(len(route.lanes), count)
            route.lanes += [Lane(lane.topic, topic_id, number, self._identity) for number in more]

    def _refused(self, batch: Batch, reply: Exception) -> None:
        with self._lock:
            if is_code(reply, "OUTOFORDER") or is_code(reply, "NOTFOUND"):
                batch.lane.put_back(batch)
                return
            batch.lane.refused(batch)
        self._finish(batch, batch.size, error_of(reply))
        self.forget_route(batch.lane.topic)

    def _answered_single(self, single: Single, reply: Any) -> None:
        if single.is_done or isinstance(reply, Disconnected):
            return
        self._singles.pop(single, None)
        if isinstance(reply, Exception):
            self._finish(single, single.size, error_of(reply))
        else:
            single.reply = mapping(reply)
            self._finish(single, single.size, None)

    # Again.

    async def resume(self, connection: Connection) -> None:
        """A new connection: what was not answered is sent again, in its order."""
        for route in self._routes.values():
            for lane in route.lanes:
                for batch in lane.flying:
                    self._transmit(connection, batch)
        for single in self._singles:
            self._transmit_single(connection, single)
        self._loop.call_soon(self._send_all)

    def _send_all(self) -> None:
        for route in self._routes.values():
            for lane in route.lanes:
                self._send(lane)

    def _look(self) -> None:
        """Now and then, while anything is under way: whether an answer is late, and what is given up."""
        self._watch = None
        now, late = self._loop.time(), False
        for route in list(self._routes.values()):
            for lane in route.lanes:
                late |= self._look_at(lane, now)
        for single in list(self._singles):
            if now - single.begun > self.patience:
                del self._singles[single]
                self._finish(single, single.size, self._too_late())
            late |= single.sent > 0 and now - single.sent > self.timeout
        if late:
            self._link.renew()
        if self._held_bytes:
            self._watch = self._loop.call_later(min(self.timeout / 4, 1.0), self._look)

    def _look_at(self, lane: Lane, now: float) -> bool:
        late = any(now - batch.sent > self.timeout for batch in lane.flying)
        given_up = [batch for batch in (*lane.flying, *lane.waiting) if now - batch.begun > self.patience]
        for batch in given_up:
            with self._lock:
                if batch in lane.flying:
                    lane.given_up(batch)
                else:
                    lane.waiting.remove(batch)
            self._finish(batch, batch.size, self._too_late())
        if given_up:
            self._send(lane)
        return late

    def _too_late(self) -> TimedOut:
        return TimedOut(f"the broker did not confirm the message within {self.patience:g} s, with all retries")

    # Identity.

    async def _identify(self) -> None:
        reply = mapping(raised(await self._link.insist("MQ.PRODUCER", timeout=self.patience)))
        self._identity = Identity(int(reply["id"]), int(reply["epoch"]))

    async def _reidentify(self) -> None:
        """A new identity for the lanes that have none any more."""
        try:
            await self._identify()
        except OneMQError as problem:
            log.warning("no producer id from the broker: %s", problem.text)
            self._loop.call_later(self.timeout, self._send_all)
            return
        finally:
            self._identifying = None
        assert self._identity is not None
        for route in self._routes.values():
            for lane in route.lanes:
                if lane.identity is None:
                    lane.adopt(self._identity)
        self._send_all()


def _wake(futures: list[asyncio.Future[None]]) -> None:
    waiting = futures[:]
    futures.clear()
    for future in waiting:
        if not future.done():
            future.set_result(None)


