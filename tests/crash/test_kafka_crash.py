"""A broker killed with -9 while idempotent producers of Kafka send to it (A2, D3).

Each producer goes on with the broker that is started in its place, on the same folder and port. In the end every
message that was confirmed is there, none is there twice, and each partition has them in the order in which they were
sent.
"""

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.interop.kafka.clients import confluent_messages, confluent_producer
from tests.process import Serve, free_port

KILLS = 3
SECONDS = 60
AHEAD_MAX = 2_000


class Sending:
    """A producer that sends the numbers 0, 1, 2, ... to a topic until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, compression: str) -> None:
        self._bootstrap = bootstrap
        self.topic = topic
        self._compression = compression
        self.sent = 0
        self.confirmed: list[int] = []
        self.failures: list[Any] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        producer = confluent_producer(
            self._bootstrap,
            **{"enable.idempotence": True, "compression.type": self._compression, "linger.ms": 1,
               "message.timeout.ms": SECONDS * 1000, "log_level": 0},
        )  # fmt: skip
        while not self._stopping.is_set():
            for _ in range(20 if self.sent - len(self.confirmed) < AHEAD_MAX else 0):
                producer.produce(self.topic, b"%d" % self.sent, partition=0, on_delivery=self._told)
                self.sent += 1
            producer.poll(0.002)
        assert producer.flush(SECONDS) == 0

    def _told(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures.append(error)
        else:
            self.confirmed.append(int(message.value()))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def wait_for_more(sendings: list[Sending], count: int = 200) -> None:
    """Until each has so many more confirmed: the next kill then hits it in the middle."""
    before = [len(each.confirmed) for each in sendings]
    waiting = threading.Event()
    for _ in range(SECONDS * 100):
        if all(len(each.confirmed) >= old + count for each, old in zip(sendings, before, strict=True)):
            return
        waiting.wait(0.01)
    raise AssertionError(f"nothing is confirmed any more: {before}")


@pytest.mark.parametrize("flush", ["sync", pytest.param("async", marks=pytest.mark.long)])
def test_what_was_confirmed_is_there_once_and_in_order(tmp_path: Path, flush: str) -> None:
    port, resp_port = free_port(), free_port()
    bootstrap = f"127.0.0.1:{port}"
    settings = tmp_path / "onemq.toml"
    settings.write_text(f'[log]\nflush = "{flush}"\n')

    def serve() -> Serve:
        return Serve(tmp_path / "data", "--config", str(settings), port=resp_port, kafka_port=port)

    sendings: list[Sending] = []
    try:
        for life in range(KILLS + 1):
            with serve() as serving:
                serving.wait_until_serving()
                if not sendings:
                    sendings = [Sending(bootstrap, f"t-{each}", each) for each in ("none", "lz4")]
                wait_for_more(sendings)
                if life < KILLS:
                    serving.kill()
                    continue
                for each in sendings:
                    each.stop()
                for each in sendings:
                    check(bootstrap, each)
    finally:
        for each in sendings:
            each._stopping.set()


def check(bootstrap: str, sending: Sending) -> None:
    assert sending.failures == []
    assert sending.confirmed == list(range(sending.sent))
    found = [int(each.value()) for each in confluent_messages(bootstrap, sending.topic, sending.sent)]
    assert found == list(range(sending.sent))
    assert len(confluent_messages(bootstrap, sending.topic, 1, sending.sent - 1)) == 1
