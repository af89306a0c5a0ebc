"""Many delayed messages due within a minute: how late they come, and what they cost while they wait.

A million messages are scheduled for any of the milliseconds of one minute; a consumer of the SDK notes for each how
long after its time the handler was called, by the clock of the same machine.
"""

import socket
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import BinaryIO

import onemq
from bench.report import Result
from tests.process import Serve

MESSAGES = 1_000_000
WINDOW_MS = 60_000
SEND_SECONDS = 75.0
"""How long scheduling all of them may take, before the first one is due."""
PIPELINE = 500
PATIENCE_SECONDS = 60.0


def delayed(parent: str | None, quick: bool) -> Iterator[Result]:
    """Lateness of the handlers' calls, and the broker's memory."""
    messages, window_ms, lead = (10_000, 2_000, 3.0) if quick else (MESSAGES, WINDOW_MS, SEND_SECONDS)
    with tempfile.TemporaryDirectory(prefix="onemq-bench-", dir=parent) as folder, Serve(Path(folder)) as broker:
        broker.wait_until_serving()
        before_mb = _memory_mb(broker)
        first_ms = int((time.time() + lead) * 1000)
        _schedule(broker.port, messages, first_ms, window_ms)
        left = first_ms / 1000 - time.time()
        print(f"  scheduled, {left:.0f} s before the first is due", file=sys.stderr, flush=True)
        assert left > 0, "scheduling took too long; the first ones are late already"
        waiting_mb = _memory_mb(broker)
        late_ms = sorted(_lateness_ms(broker.port, messages, first_ms + window_ms))
        after_mb = _memory_mb(broker)
    yield Result("delayed, earliest", late_ms[0], "ms after its time", 0.0)
    yield Result("delayed, p50 lateness", late_ms[len(late_ms) // 2], "ms", None, more_is_better=False)
    yield Result("delayed, p99 lateness", late_ms[len(late_ms) * 99 // 100], "ms", 50.0, more_is_better=False)
    yield Result("delayed, memory while they wait", waiting_mb - before_mb, "MB more", None, more_is_better=False)
    yield Result("delayed, memory at the end", after_mb - before_mb, "MB more", None, more_is_better=False)


def _schedule(port: int, messages: int, first_ms: int, window_ms: int) -> None:
    """By pipelines of MQ.SEND, in no order of time."""
    dice, body = Random(4), b"x" * 100
    with socket.create_connection(("127.0.0.1", port)) as connection:
        replies = connection.makefile("rb")
        for _ in range(messages // PIPELINE):
            dues = [first_ms + dice.randrange(window_ms) for _ in range(PIPELINE)]
            connection.sendall(
                b"".join(
                    b"*5\r\n$7\r\nMQ.SEND\r\n$3\r\nday\r\n$100\r\n%b\r\n$2\r\nAT\r\n$13\r\n%d\r\n" % (body, due)
                    for due in dues
                )
            )
            for _ in range(PIPELINE):
                _skip(replies.readline(), replies)


def _skip(head: bytes, replies: BinaryIO) -> None:
    """Reads the rest of a map that was answered."""
    assert head[:1] == b"*", head
    for _ in range(int(head[1:])):
        line = replies.readline()
        if line[:1] == b"$":
            replies.readline()


def _lateness_ms(port: int, messages: int, last_ms: int) -> "array[float]":
    late_ms = array("d")
    done = threading.Event()
    with onemq.connect(f"onemq://127.0.0.1:{port}") as mq:
        consumer = mq.consumer("day", group="handlers", prefetch=1000)

        @consumer
        def handle(message: onemq.Message) -> None:
            late_ms.append(time.time() * 1000 - (message.due or 0))
            if len(late_ms) == messages:
                done.set()

        consumer.start()
        assert done.wait(last_ms / 1000 - time.time() + PATIENCE_SECONDS), f"only {len(late_ms):,} came"
    return late_ms


def _memory_mb(broker: Serve) -> float:
    status = Path(f"/proc/{broker.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
