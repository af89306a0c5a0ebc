"""Turns: everything that all connections ask for in one iteration of the loop, as one unit.

    first event ──> begin: read the clock, core.tick
    other events    ... commands run against the core, connections collect their output ...
    end of iteration: what was gathered is executed, core.settle, core.flush(done) ── done ──> the turn's output leaves

Small requests are gathered until the end of the iteration, because those that are alike cost much less together. Where
many have come, one or two more iterations are waited for: who asks meanwhile comes along. Where a flush takes long, a
few wait for each other (regulars.py). Who asks alone again and again is served at once.

Output leaves strictly in the order of turns, also when a turn has written nothing: what a client
reads in a reply is durable, and so is everything the reply may have seen.

When a flush fails, nothing that the turn or a later one promised has happened: their connections
are told so and closed, the core goes back to what the log holds, and goes on without writing.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from onemq.errors import OneMQError
from onemq.limits import TICK_INTERVAL_MAX_MS, TURN_BYTES_MAX
from onemq.net.alarm import LOOK_SECONDS_MAX, Alarm
from onemq.net.lingering import Lingering
from onemq.net.outlet import Inlet, Outlet, Output
from onemq.net.regulars import REGULARS_MAX, Regulars

_logger = logging.getLogger(__name__)
_TICK_REST_MS = 5
"""Turns that follow each other faster do not all look for what is due, unless the last look said so: only what one of
them has scheduled for the very next milliseconds may be so much later."""

_CROWD_MIN = 8
_LOOKS_MAX = 2
"""If so many connections have asked for something, the sockets are looked at again, at most so often, for those that
have asked meanwhile: the more come together, the less each costs, and they have waited less long in the end."""


class TurnCore(Protocol):
    """What a turn needs of the core."""

    def tick(self, now_ms: int) -> int | None:
        """Does what is due; returns when it must be called again at the latest."""

    def set_time(self, now_ms: int) -> None:
        """As `tick`, when nothing is due as far as the last one knew."""

    def next_due_ms(self) -> int | None:
        """When something may be due, after a turn, of which the last tick did not know."""

    def settle(self) -> None:
        """Serves those who wait."""

    def flush(self, done: Callable[[OneMQError | None], None]) -> None:
        """Writes the turn; calls `done` once, at once or later, when it is durable or has failed."""

    def reset(self) -> None:
        """Goes back to what the log holds."""


class Turn:
    """A turn that has ended, until its output has left."""

    __slots__ = ("error", "finished", "outputs")

    def __init__(self, outputs: list[tuple[Outlet, Output]]) -> None:
        self.outputs = outputs
        self.finished = False
        self.error: OneMQError | None = None


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Turns:
    """Begins and ends turns. Everything here runs on the loop's thread."""

    def __init__(
        self,
        core: TurnCore,
        loop: asyncio.AbstractEventLoop,
        *,
        clock_ms: Callable[[], int] = wall_clock_ms,
        on_broken: Callable[[], None] = lambda: None,
        lingers: bool = False,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`on_broken` is called if the core cannot even go back to what the log holds. `lingers`: see lingering.py and
        regulars.py."""
        self._core = core
        self._loop = loop
        self._clock_ms = clock_ms
        self._on_broken = on_broken
        self._now_ms = 0
        self._due_ms: int | None = None
        self._tick_ms = 0  # a turn that begins before this does not tick
        self._begun = False
        self._active = False  # somebody asked for something: more than the timer's look at the clock
        self._end_is_scheduled = False
        self._received_bytes = 0
        self._arrived: list[tuple[Inlet, bytes]] = []
        self._arrived_bytes = 0
        self._last: Inlet | None = None  # whose request was the only one of the last turn that had any
        self._alone: Inlet | None = None  # the same, if that was also so in the turn before
        self._seen = self._looks = 0  # how many had arrived at the last look for more, and how many looks there were
        self._complete: list[tuple[Outlet, Output]] = []
        """Outputs that need not be collected."""
        self._touched: list[Outlet] = []
        self._bug: OneMQError | None = None
        self._unfinished: deque[Turn] = deque()
        self._failing = False
        self._alarm = Alarm(loop, self._wake)
        self._quiet_waiters: list[asyncio.Future[None]] = []
        self._lingering = Lingering(loop, self._has_work, stopwatch) if lingers else None
        self._regulars = Regulars(stopwatch) if lingers else None
        self._stopwatch = stopwatch
        self._flush_began = 0.0
        self._flush_seconds = 0.0  # that the last flush took; 0 while it is not done

    # What connections call.

    def begin(self, received_bytes: int = 0) -> None:
        """Begins a turn unless one runs. To be called before anything that may change the core."""
        if self._arrived:
            self._work_off()
        self._received_bytes += received_bytes
        if self._begun and self._active and self._received_bytes <= TURN_BYTES_MAX:
            return
        if self._received_bytes > TURN_BYTES_MAX:
            self._end()
            self._received_bytes = received_bytes
        self._active = True
        if not self._begun:
            self._begin()

    def gather(self, inlet: Inlet, data: bytes) -> None:
        """Keeps what a connection received, until the end of this iteration or until something else happens."""
        if inlet is self._alone and not self._end_is_scheduled:
            self._serve_alone(inlet, data)
            return
        self._arrived.append((inlet, data))
        self._arrived_bytes += len(data)
        if self._arrived_bytes > TURN_BYTES_MAX:
            self._work_off()
        elif not self._end_is_scheduled:
            self._schedule_end()

    def touch(self, outlet: Outlet) -> None:
        """Notes that a connection has output in this turn."""
        self._active = True
        self._touched.append(outlet)
        if not self._end_is_scheduled:
            self._schedule_end()

    def complete_outputs(self) -> list[tuple[Outlet, Output]]:
        """Of the running turn, for connections to put theirs there at once. What they send after it, they collect."""
        self._active = True
        if not self._end_is_scheduled:
            self._schedule_end()
        return self._complete

    # What the server calls.

    def stop(self) -> None:
        """Stops looking at the clock. A turn that somebody begins still runs."""
        self._alarm.stop()

    async def quiet(self) -> None:
        """Waits until no turn runs and the output of all has left."""
        if self._is_busy():
            waiter = self._loop.create_future()
            self._quiet_waiters.append(waiter)
            await waiter

    async def catch_up(self) -> None:
        """The clock has jumped: does everything that is due by now, and waits until all of it has left."""
        while True:
            if self._arrived:
                self._work_off()
            if self._begun:
                self._end()
            self._tick_ms = 0
            self._begin()
            await self.quiet()
            if self._due_ms is None or self._due_ms > self._clock_ms():
                return

    def _has_work(self) -> bool:
        return self._end_is_scheduled

    def _is_busy(self) -> bool:
        return bool(self._arrived or self._begun or self._complete or self._touched or self._unfinished)

    # A turn runs.

    def _begin(self) -> None:
        self._begun = True
        if not self._end_is_scheduled:
            self._schedule_end()
        now_ms = self._clock_ms()
        if not self._now_ms <= now_ms < self._tick_ms:
            self._tick(now_ms)
        elif now_ms != self._now_ms:
            self._core.set_time(now_ms)
        self._now_ms = now_ms

    def _tick(self, now_ms: int) -> None:
        try:
            due_ms = self._core.tick(now_ms)
        except Exception:
            due_ms = now_ms + TICK_INTERVAL_MAX_MS
            self._note_bug("tick")
        self._due_ms = due_ms
        rest_ms = _TICK_REST_MS if due_ms is None else min(due_ms - now_ms, _TICK_REST_MS)
        self._tick_ms = now_ms + max(rest_ms, 1)
        if due_ms is not None:
            self._alarm.ring_in(max(0, min(due_ms - now_ms, TICK_INTERVAL_MAX_MS)) / 1000)

    def _work_off(self) -> None:
        """Executes what was gathered."""
        arrived, received_bytes = self._arrived, self._arrived_bytes
        self._arrived, self._arrived_bytes = [], 0
        self.begin(received_bytes)
        at = single_to = 0
        try:
            while at < len(arrived):
                inlet, data = arrived[at]
                count = inlet.take_alike(arrived, at) if single_to <= at < len(arrived) - 1 else 0
                if count > 0:
                    at += count
                    continue
                if count < 0:
                    single_to = at - count
                inlet.take(data)
                at += 1
        except Exception:
            self._note_bug("requests that are alike")
            self._touched += [inlet for inlet, _ in arrived[at:]]

    def _schedule_end(self) -> None:
        self._end_is_scheduled = True
        self._loop.call_soon(self._end_of_iteration)

    def _end_of_iteration(self) -> None:
        arrived = self._arrived
        count = len(arrived)
        if count >= _CROWD_MIN and count > self._seen and self._looks < _LOOKS_MAX:
            self._seen = count
            self._looks += 1
            self._loop.call_soon(self._end_of_iteration)
            return
        if count and self._regulars is not None and self._regulars.are_missing(count):
            self._loop.call_soon(self._end_of_iteration)
            return
        self._seen = self._looks = 0
        try:
            if count:
                self._work_off()
        finally:
            self._end_is_scheduled = False
        if self._begun or self._complete or self._touched:
            self._end()
        if count:
            self._served(arrived)
        if self._active:
            self._look_later()

    def _served(self, arrived: list[tuple[Inlet, bytes]]) -> None:
        """A turn has ended that executed these."""
        only = arrived[0][0] if len(arrived) == 1 else None
        self._alone = only if only is self._last else None
        self._last = only
        if self._regulars is None or self._lingering is None:
            return
        self._regulars.served(arrived, self._flush_seconds)
        if len(arrived) <= REGULARS_MAX:
            self._lingering.answered(self._flush_seconds)

    def _serve_alone(self, inlet: Inlet, data: bytes) -> None:
        """A turn for one request, at once."""
        self._end_is_scheduled = True
        try:
            self.begin(len(data))
            inlet.take(data)
        finally:
            self._end_is_scheduled = False
        self._end()
        if self._lingering is not None:
            self._lingering.answered(self._flush_seconds)
        self._look_later()

    def _look_later(self) -> None:
        """What was asked for may be due before the tick knew."""
        self._active = False
        due_ms = self._core.next_due_ms()
        self._alarm.look_in(LOOK_SECONDS_MAX if due_ms is None else (due_ms - self._now_ms) / 1000)

    def _end(self) -> None:
        try:
            self._core.settle()
        except Exception:
            self._note_bug("settle")
        self._begun = False
        self._received_bytes = 0
        turn = Turn(self._take_outputs())
        self._unfinished.append(turn)
        self._flush(turn)
        if self._unfinished:
            self._release()

    def _take_outputs(self) -> list[tuple[Outlet, Output]]:
        """Those of the turn that ends."""
        outputs, self._complete = self._complete, []
        touched, self._touched = self._touched, []
        try:
            for outlet in touched:
                outputs.append((outlet, outlet.collect()))
        except Exception:
            self._note_bug("collecting output")
            outputs += [(outlet, b"") for outlet in touched]
        return outputs

    def _flush(self, turn: Turn) -> None:
        self._flush_began, self._flush_seconds = self._stopwatch(), 0.0
        if self._bug is None:
            try:
                self._core.flush(partial(self._flushed, turn))
            except Exception:
                self._note_bug("flush")
        if self._bug is not None:
            turn.finished, turn.error = True, self._bug
            self._bug = None

    def _note_bug(self, step: str) -> None:
        _logger.exception("the core failed in %s; this turn is taken back", step)
        self._bug = OneMQError("internal error, the server's log has the details; nothing was stored")

    # A turn has ended.

    def _flushed(self, turn: Turn, error: OneMQError | None) -> None:
        turn.finished, turn.error = True, turn.error or error
        self._flush_seconds = self._stopwatch() - self._flush_began
        self._release()

    def _release(self) -> None:
        """Lets the output of finished turns go, in order."""
        while self._unfinished and self._unfinished[0].finished and not self._failing:
            if self._unfinished[0].error is not None:
                # Later: whoever reports the failure must be done with its own work before the core resets.
                self._failing = True
                self._loop.call_soon(self._fail)
                return
            for outlet, data in self._unfinished.popleft().outputs:
                outlet.release(data)
        if self._quiet_waiters and not self._is_busy():
            for waiter in self._quiet_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._quiet_waiters.clear()

    def _fail(self) -> None:
        """The oldest unfinished turn was not stored: nothing from it on may be told to anybody."""
        error = self._unfinished[0].error
        assert error is not None
        _logger.critical("a turn was not stored: %s", error.text)
        outputs = [output for turn in self._unfinished for output in turn.outputs] + self._complete
        outlets = [outlet for outlet, _ in outputs] + self._touched
        self._unfinished.clear()
        self._complete.clear()
        self._touched.clear()
        self._failing = False
        for outlet in dict.fromkeys(outlets):
            outlet.fail(error)
        try:
            self._core.reset()
        except Exception:
            _logger.critical("the core cannot go back to what the log holds", exc_info=True)
            self._on_broken()
        self._release()

    def _wake(self) -> None:
        """The alarm rings."""
        if self._begun or self._arrived:
            return
        if self._alarm.is_early() and (self._due_ms is None or self._due_ms > self._clock_ms()):
            self._alarm.put_off()  # turns went on meanwhile and looked themselves
            return
        self._tick_ms = 0  # in any case: the last tick may not have known of everything
        self._begin()
