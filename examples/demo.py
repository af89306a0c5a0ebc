"""OneMQ at work, in a few seconds: `make demo`.

A broker is started as its users start it. A Redis client uses its streams, with what Redis lacks. Then Python programs
use topics and groups: orders, a points service and a push service, with failures, a killed instance and dead letters.
Last, the broker itself is killed with -9 while orders come in, and nothing is lost or doubled.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import orders
import redis

import onemq

ORDERS = 20_000
KILL_AT = ORDERS // 2
START_SECONDS_MAX = 30


def main() -> int:
    logging.getLogger("onemq").setLevel(logging.CRITICAL)  # the broker is killed on purpose
    with tempfile.TemporaryDirectory(prefix="onemq-demo-") as folder:
        broker = Broker(Path(folder))
        try:
            start(broker)
            streams(redis.Redis(port=broker.port, decode_responses=True))
            services(broker.url)
            crash(broker)
            assert broker.stop() == 0, "the broker did not stop cleanly"
        finally:
            broker.kill()
    print("\nEvery order is accounted for. Read on in README.md.")
    return 0


def say(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}")


class Broker:
    """`onemq serve` on a folder and a free port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"onemq://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Returns when it serves, with the seconds that took."""
        command = [sys.executable, "-m", "onemq", "serve", "--data", str(self._folder), "--resp"]
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [*command, f"127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while time.perf_counter() - begun < START_SECONDS_MAX and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port)):
                    return time.perf_counter() - begun
            except OSError:
                time.sleep(0.01)
        raise SystemExit("the broker did not start; run `onemq serve` to see why")

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(START_SECONDS_MAX)


def start(broker: Broker) -> None:
    say("1. A broker starts with one command")
    print("   $ onemq serve")
    took = broker.start()
    print(f"   PING -> {redis.Redis(port=broker.port).ping()}   ({took:.1f} s after the start)")


def streams(client: redis.Redis) -> None:
    say("2. A Redis client uses a stream, with what Redis lacks: a delay, and dead letters")
    for number in (1, 2, 3):
        client.xadd("tickets", {"ticket": number})
    client.xgroup_create("tickets", "desk", id="0")
    client.execute_command("XPOLICY", "tickets", "MAXDELIVERIES", 2)
    due = client.execute_command("XADD", "tickets", "*", "_delay", "500ms", "ticket", 4)
    print("   XADD tickets * ticket 1 (2, 3), XADD tickets * _delay 500ms ticket 4, XPOLICY tickets MAXDELIVERIES 2")
    done: list[str] = []
    while "4" not in done or not client.exists("tickets.desk.dead"):
        for _, entries in client.xreadgroup("desk", "alice", {"tickets": ">"}, block=30_000):
            for id, fields in entries:
                if fields["ticket"] == "2":
                    client.execute_command("XNACK", "tickets", "desk", "FAIL", "IDS", 1, id)
                else:
                    client.xack("tickets", "desk", id)
                    done.append(fields["ticket"])
                    assert fields["ticket"] != "4" or milliseconds(id) >= milliseconds(due), "too early"
    assert done == ["1", "3", "4"], done
    ((_, dead),) = client.xrange("tickets.desk.dead")
    death = json.loads(dead["_dead"])
    print(f"   handled: {', '.join(done)}; the delayed one not before its time")
    print(f"   a dead letter: ticket {dead['ticket']}, {death['reason']}, {death['deliveries']} deliveries")
    assert client.xpending("tickets", "desk")["pending"] == 0
    client.close()


def milliseconds(id: str) -> int:
    return int(id.partition("-")[0])


def services(url: str) -> None:
    say("3. Python programs: orders for a points service and a push service, two instances each (examples/orders.py)")
    orders.run(url, "orders")
    for words in (("group", "list", "orders"), ("dead", "list", "orders")):
        print("   $ onemq", *words)
        command = [sys.executable, "-m", "onemq", *words]
        shown = subprocess.run(
            command, env={**os.environ, "ONEMQ_URL": url}, capture_output=True, text=True, check=True
        )
        print("     ", shown.stdout.rstrip().replace("\n", "\n      "))


def crash(broker: Broker) -> None:
    say(f"4. The broker is killed with -9 while {ORDERS:,} orders come in, and started again")
    stored = threading.Semaphore(0)
    with onemq.connect(broker.url) as mq:
        producer = mq.producer(retries=20)
        begun = time.perf_counter()
        sender = threading.Thread(target=send_many, args=(producer, stored))
        sender.start()
        for _ in range(KILL_AT):
            stored.acquire()
        broker.kill()
        took = broker.start()
        sender.join()
        producer.flush()
        seconds = time.perf_counter() - begun
        keys = [message.key for message in read_all(mq)]
    print(f"   killed after {KILL_AT:,} confirmations; it served again {took:.1f} s later, and the sender went on")
    print(f"   sent {ORDERS:,} in {seconds:.1f} s in all; stored {len(keys):,}, of which different {len(set(keys)):,}")
    assert len(keys) == len(set(keys)) == ORDERS, "orders were lost or doubled"


def send_many(producer: onemq.Producer, stored: threading.Semaphore) -> None:
    for number in range(ORDERS):
        producer.send_async("night", {"orderno": number}, key=str(number), on_done=lambda done: stored.release())


def read_all(mq: onemq.Client) -> list[onemq.Message]:
    found: list[onemq.Message] = []
    while some := mq.read("night", start=len(found), count=5_000):
        found += some
    return found


if __name__ == "__main__":
    sys.exit(main())
