"""A bounded rate, without waiting."""

import pytest

from onemq.pipelines.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_so_many_a_second_and_no_burst_after_a_slow_time() -> None:
    clock = Clock()
    pace = Pace(10, clock.read, clock.sleep)
    pace.wait(5)
    assert clock.now == pytest.approx(100.5)
    clock.now += 0.2
    pace.wait(5)
    assert clock.now == pytest.approx(101.0)
    clock.now += 60
    pace.wait(5)
    assert clock.now == pytest.approx(161.0)
    pace.wait(10)
    assert clock.now == pytest.approx(162.0)


def test_without_a_rate_nobody_waits() -> None:
    clock = Clock()
    Pace(None, clock.read, clock.sleep).wait(1_000_000)
    assert clock.now == 100.0
