"""A real broker inside a test, started in milliseconds, with the clock in the test's hands.

    def test_reminder() -> None:
        with onemq.testing.broker() as broker, onemq.connect(broker.url) as mq:
            mq.producer().send("reminders", "pay", delay="1h")
            broker.advance("1h")
            ...

pytest finds the fixture `onemq_broker` by itself: a fresh broker in memory for each test.
"""

import threading
from datetime import UTC, datetime
from os import PathLike
from typing import Self

from onemq import embedded
from onemq.client.times import Duration, milliseconds
from onemq.config import MEMORY, OFF
from onemq.embedded import LOOPBACK_ANY_PORT
from onemq.errors import OneMQError
from onemq.net.turn import wall_clock_ms

__all__ = ["Broker", "Clock", "broker"]


class Clock:
    """The time that one or more brokers go by. It goes on like the wall clock, or stands still; it jumps when told.

    Where it stands still, a request that waits for a time waits until the clock is moved on."""

    def __init__(self, start: datetime | int | None = None, *, frozen: bool = False) -> None:
        """Begins now, or at `start`: a datetime (without a zone: UTC), or milliseconds since 1970."""
        self._start_ms = _start_ms(start)
        self._born_ms = wall_clock_ms()
        self._frozen = frozen
        self._jumped_ms = 0
        self._brokers: list[Broker] = []
        self._lock = threading.Lock()

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        gone_ms = 0 if self._frozen else wall_clock_ms() - self._born_ms
        return self._start_ms + gone_ms + self._jumped_ms

    @property
    def now(self) -> datetime:
        """The same, in UTC."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    def advance(self, duration: Duration, *, step: Duration | None = None) -> None:
        """Moves on by a duration ("1h30m", a `timedelta`, or seconds). When this returns, the brokers have done what is
        due by then. They see one jump; with `step`, a jump every so much, as if time had passed in such steps."""
        left_ms, step_ms = milliseconds(duration), None if step is None else max(1, milliseconds(step))
        with self._lock:
            while left_ms > 0:
                jump_ms = left_ms if step_ms is None else min(step_ms, left_ms)
                left_ms -= jump_ms
                self._jumped_ms += jump_ms
                for broker in self._brokers:
                    broker.catch_up()

    def _attach(self, broker: "Broker") -> None:
        with self._lock:
            self._brokers.append(broker)

    def _detach(self, broker: "Broker") -> None:
        with self._lock:
            if broker in self._brokers:
                self._brokers.remove(broker)


class Broker(embedded.Broker):
    """A broker on a thread of its own, with a clock that can be moved."""

    def __init__(
        self,
        data: str | PathLike[str] | None = None,
        *,
        port: int = 0,
        kafka: bool = False,
        config: str | PathLike[str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        listen, kafka_listen = f"127.0.0.1:{port}", LOOPBACK_ANY_PORT if kafka else OFF
        super().__init__(MEMORY if data is None else data, listen=listen, kafka=kafka_listen, config=config)
        self.clock = clock or Clock()

    def start(self) -> Self:
        super().start()
        self.clock._attach(self)
        return self

    def stop(self) -> None:
        self.clock._detach(self)
        super().stop()

    def restart(self) -> None:
        """Stops it and starts it again on the same port. Of a broker in memory nothing is left then."""
        self.stop()
        self.start()

    def advance(self, duration: Duration, *, step: Duration | None = None) -> None:
        """Moves the clock on; see `Clock.advance`."""
        if not self.is_running:
            raise OneMQError("the broker does not run; start it before its time goes on")
        self.clock.advance(duration, step=step)

    def catch_up(self) -> None:
        """Returns when everything that is due by now has been done. `advance` does this by itself."""
        self._on_loop(self._server.catch_up())

    def _clock_ms(self) -> int:
        return self.clock.now_ms


def broker(
    data: str | PathLike[str] | None = None,
    *,
    port: int = 0,
    kafka: bool = False,
    config: str | PathLike[str] | None = None,
    clock: Clock | None = None,
) -> Broker:
    """A broker for a test or a notebook, to be used with `with`, or with `start()` and `stop()`.

    It listens on a free port of the loopback interface, or on `port`, and keeps its messages in memory, or in the
    folder `data`. With `kafka`, clients of Kafka find it on `kafka_port`. `config` is a file of settings as `onemq
    serve` takes it. Several brokers may share a `clock`.
    """
    return Broker(data, port=port, kafka=kafka, config=config, clock=clock)


def _start_ms(start: datetime | int | None) -> int:
    if isinstance(start, datetime):
        in_a_zone = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
        return round(in_a_zone.timestamp() * 1000)
    return wall_clock_ms() if start is None else start
