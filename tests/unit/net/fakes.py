"""A loop that runs when told, a core that does what it is told, and transports that only remember."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onemq.errors import OneMQError
from onemq.protocols import Peer

Done = Callable[[OneMQError | None], None]


class FakeTimer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when_time = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeLoop:
    """As much of an event loop as turns need. One `iterate` is one iteration."""

    def __init__(self) -> None:
        self.now = 100.0
        self._soon: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self.timers: list[FakeTimer] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[..., object], *arguments: object) -> None:
        self._soon.append((callback, arguments))

    def call_at(self, when: float, callback: Callable[[], object]) -> FakeTimer:
        timer = FakeTimer(when, callback)
        self.timers.append(timer)
        return timer

    def iterate(self) -> None:
        ready, self._soon = self._soon, []
        for callback, arguments in ready:
            callback(*arguments)

    def settle_down(self) -> None:
        """Iterates until nothing is left to do at once."""
        while self._soon:
            self.iterate()

    @property
    def next_timer(self) -> float | None:
        """Seconds until a timer fires."""
        waiting = [timer.when_time for timer in self.timers if not timer.cancelled]
        return round(min(waiting) - self.now, 6) if waiting else None

    def advance(self, seconds: float) -> None:
        """Lets time pass, and what is due happen."""
        self.now += seconds
        due = [timer for timer in self.timers if not timer.cancelled and timer.when_time <= self.now + 1e-9]
        self.timers = [timer for timer in self.timers if timer not in due and not timer.cancelled]
        for timer in due:
            timer.callback()
        self.settle_down()


@dataclass
class FakeCore:
    """Notes what is called; flushes wait in `flushes` unless `instant`."""

    instant: bool = True
    calls: list[str] = field(default_factory=list)
    ticks: list[int] = field(default_factory=list)
    due_ms: int | None = None
    soon_ms: int | None = 0
    flushes: list[Done] = field(default_factory=list)
    at_settle: Callable[[], None] = lambda: None
    at_tick: Callable[[], None] = lambda: None
    at_flush: Callable[[], None] = lambda: None
    at_reset: Callable[[], None] = lambda: None

    def tick(self, now_ms: int) -> int | None:
        self.calls.append("tick")
        self.ticks.append(now_ms)
        self.at_tick()
        return self.due_ms

    def set_time(self, now_ms: int) -> None:
        self.calls.append("set_time")

    def next_due_ms(self) -> int | None:
        return self.soon_ms

    def settle(self) -> None:
        self.calls.append("settle")
        self.at_settle()

    def flush(self, done: Done) -> None:
        self.calls.append("flush")
        self.at_flush()
        if self.instant:
            done(None)
        else:
            self.flushes.append(done)

    def reset(self) -> None:
        self.calls.append("reset")
        self.at_reset()


class FakeTransport:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closing = False
        self.aborted = False
        self.reading = True
        self.buffered_bytes = 0
        self.high = 0

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("10.0.0.1", 5000), "sockname": ("::1", 6379, 0, 0)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def write(self, data: bytes) -> None:
        assert not self.closing
        self.written.append(data)

    def writelines(self, pieces: list[bytes]) -> None:
        assert not self.closing
        self.written += pieces

    def get_write_buffer_size(self) -> int:
        return self.buffered_bytes

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True


class FakeSession:
    """Answers with what it got; `!` fails, `q` closes."""

    receive_alike = None

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.received: list[bytes] = []
        self.resumed = 0
        self.lost_count = 0

    @property
    def is_lost(self) -> bool:
        return self.lost_count > 0

    def receive(self, data: bytes) -> None:
        self.received.append(data)
        if data == b"!":
            raise ZeroDivisionError
        if data == b"q":
            self.peer.send(b"bye")
            self.peer.close()
        else:
            self.peer.send(data)

    def resume(self) -> None:
        self.resumed += 1

    def lost(self) -> None:
        self.lost_count += 1

    def refusal(self, error: OneMQError) -> bytes:
        return b"-" + error.text.encode()
