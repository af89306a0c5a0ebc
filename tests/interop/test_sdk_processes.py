"""Consumers as processes of their own: told to stop, and killed."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import onemq
from tests.interop.sdk import Seen, eventually


@pytest.fixture
def url(onemq_port: int) -> str:
    return f"onemq://127.0.0.1:{onemq_port}"


@pytest.fixture
def mq(url: str) -> Iterator[onemq.Client]:
    with onemq.connect(url) as client:
        yield client


class Program:
    """A program of sdk_programs.py at work, and what it says."""

    def __init__(self, said: Seen, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.interop.sdk_programs", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reading = threading.Thread(target=self._read, args=(said,))
        self._reading.start()

    def _read(self, said: Seen) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                said.add(line.rstrip("\n"))

    def end(self, number: int) -> int:
        """Sends a signal and waits."""
        self.process.send_signal(number)
        status = self.process.wait(30)
        self._reading.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_is_told_to_stop_finishes_what_it_has_in_hand(
    url: str, mq: onemq.Client, number: signal.Signals, request: pytest.FixtureRequest
) -> None:
    topic, said = str(request.node.name), Seen()
    mq.producer().send_batch(topic, [b"x"] * 100)
    program = Program(said, "stop", url, topic)
    said.wait_for(1)
    assert program.end(number) == 0
    assert said.items[0] == "begun"
    finished = int(said.items[1].removeprefix("finished "))
    info = mq.groups.info(topic, "g")
    assert (info["lag"], info["in_flight"]) == (100 - finished, 0)
    assert 1 <= finished < 100


@pytest.mark.parametrize("order", ["key", "partition"])
def test_c7_order_is_kept_while_members_join_leave_and_die(url: str, mq: onemq.Client, order: str) -> None:
    """Never two of a key at a time, and never an earlier one after a later one has ended."""
    topic, said, random_numbers = f"ordered by {order}", Seen(), random.Random(7)
    mq.topics.create(topic, 4)
    producer = mq.producer()
    for number in range(2_000):
        producer.send_oneway(topic, str(number), key=f"k{number % 16}")
    producer.flush()
    programs = [Program(said, "consume", url, topic, order) for _ in range(3)]
    try:
        for _ in range(4):
            count = len(said.items)
            said.wait_until(lambda items: len(items) > count + 200 or len(items) >= 4_000)
            programs.pop(0).end(random_numbers.choice((signal.SIGKILL, signal.SIGTERM)))
            programs.append(Program(said, "consume", url, topic, order))
        eventually(lambda: mq.groups.info(topic, "g")["lag"] == 0)
    finally:
        for program in programs:
            program.end(signal.SIGTERM)
    check_order(said.items)


def check_order(lines: list[str]) -> None:
    """The clock of the machine says what was when: lines of several processes may come mixed up."""
    events = sorted((int(time), what, key, int(number)) for what, key, number, time in map(str.split, lines))
    handled: dict[str, list[int]] = {}
    busy: dict[str, int] = {}
    for _, what, key, number in events:
        if what == "begin":
            # What a killed process had begun never ends: it comes again, and first.
            assert key not in busy or busy[key] == number, f"{number} began while {busy[key]} was handled"
            assert number >= max(handled.get(key, [0])), f"{number} after {max(handled[key])}"
            busy[key] = number
        else:
            del busy[key]
            handled.setdefault(key, []).append(number)
    assert {number for numbers in handled.values() for number in numbers} == set(range(2_000))
