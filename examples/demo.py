"""OneMQ at work, in a few seconds: `make demo`.

A broker is started, and a Redis client uses its streams: a group, a dead letter, a delayed order. Then the core
without a server: many orders are stored, handled, retried, delayed and dead-lettered. Last, a process is killed in
the middle of writing, and nothing that it acknowledged is lost.
"""

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import redis

from onemq.core.core import Core
from onemq.core.deadletters import death_of
from onemq.core.redelivery import Backoff
from onemq.core.start import FIRST
from onemq.errors import OneMQError
from onemq.log.disk import OsDisk
from onemq.log.local import LocalLog
from onemq.message import Record

ORDERS = 20_000
POISON = range(0, ORDERS, 5_000)


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] == "--write-until-killed":
        write_until_killed(Path(sys.argv[2]))
    with tempfile.TemporaryDirectory(prefix="onemq-demo-") as folder:
        serve(Path(folder) / "served")
        orders(Path(folder) / "orders")
        crash(Path(folder) / "crash")
    print("\nEvery order is accounted for. Read on in README.md.")
    return 0


def say(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}")


def serve(folder: Path) -> None:
    say("1. A broker starts with one command, and a Redis client talks to it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["onemq", "serve", "--data", str(folder), "--resp", f"127.0.0.1:{port}"]
    print("   $", " ".join(command[:2]), "...")
    started = time.perf_counter()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", *command], **silent) as broker:
        client = connect(port, broker)
        print(f"   PING -> {client.ping()}   ({time.perf_counter() - started:.1f} s after the start)")
        streams(client)
        client.close()
        broker.terminate()
        assert broker.wait(30) == 0, "the broker did not stop cleanly"
    print("   SIGTERM -> stopped cleanly")


def connect(port: int, broker: "subprocess.Popen[bytes]") -> redis.Redis:
    client = redis.Redis(port=port, decode_responses=True)
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up and broker.poll() is None:
        try:
            client.ping()
        except redis.ConnectionError:
            continue
        return client
    raise SystemExit("the broker did not start; run `onemq serve` to see why")


def streams(client: redis.Redis) -> None:
    say("2. The Redis client uses a stream, with what Redis lacks")
    for number in (1, 2, 3):
        client.xadd("orders", {"order": number})
    client.xgroup_create("orders", "billing", id="0")
    client.execute_command("XPOLICY", "orders", "MAXDELIVERIES", 2)
    due = client.execute_command("XADD", "orders", "*", "_delay", "500ms", "order", "later")
    print("   XADD orders * order 1 (2, 3), XADD orders * _delay 500ms order later, XPOLICY orders MAXDELIVERIES 2")
    done: list[str] = []
    while "later" not in done or not client.exists("orders.billing.dead"):
        for _, entries in client.xreadgroup("billing", "alice", {"orders": ">"}, block=30_000):
            for id, fields in entries:
                if fields["order"] == "2":
                    client.execute_command("XNACK", "orders", "billing", "FAIL", "IDS", 1, id)
                else:
                    client.xack("orders", "billing", id)
                    done.append(fields["order"])
                    assert fields["order"] != "later" or milliseconds(id) >= milliseconds(due), "too early"
    assert done == ["1", "3", "later"], done
    ((_, dead),) = client.xrange("orders.billing.dead")
    death = json.loads(dead["_dead"])
    print(f"   handled: {', '.join(done)}; the delayed one not before its time")
    print(f"   a dead letter: order {dead['order']}, {death['reason']}, {death['deliveries']} deliveries")
    assert client.xpending("orders", "billing")["pending"] == 0


def milliseconds(id: str) -> int:
    return int(id.partition("-")[0])


def open_core(folder: Path) -> Core:
    disk = OsDisk(folder)
    disk.make_folder("")
    log = LocalLog(disk)
    log.open()
    core = Core(log)
    core.recover(now_ms())
    return core


def now_ms() -> int:
    return int(time.time() * 1000)


def end_turn(core: Core) -> None:
    def done(error: OneMQError | None) -> None:
        if error is not None:
            raise error

    core.settle()
    core.flush(done)


def orders(folder: Path) -> None:
    say(f"3. The core by itself: {ORDERS:,} orders, two services, and a few orders that nobody can handle")
    core = open_core(folder)
    core.tick(now_ms())
    core.topics.create("orders", partitions=2)
    policy = Backoff(initial_delay_ms=20, redelivery_delay_ms=20, max_redeliveries=2).to_entry()
    for group in ("points", "push"):
        core.create_group("orders", group, FIRST, policy=policy)
    end_turn(core)
    started = time.perf_counter()
    for first in range(0, ORDERS, 200):
        core.tick(now_ms())
        for number in range(first, first + 200):
            core.send("orders", b"order %d" % number, key=b"%d" % number)
        end_turn(core)
    print(f"   stored and synced to disk in {time.perf_counter() - started:.2f} s")
    core.send("orders", b"order later", key=b"later", deliver_at_ms=now_ms() + 300)
    print("   one more order is to be delivered in 0.3 s")
    handled = {group: work(core, group) for group in ("points", "push")}
    for group, count in handled.items():
        dead = dead_letters(core, f"orders.{group}.dead")
        print(f"   {group}: {count:,} handled, {len(dead)} dead letters, e.g. {dead[0]}")
        assert count + len(dead) == ORDERS + 1
    core.log.checkpoint(core.dump())
    core.log.close()


def work(core: Core, group_name: str) -> int:
    """Handles everything, failing on poison orders, until nothing is left."""
    group = core.groups.get("orders", group_name)
    handled = 0

    def handle(got: list[tuple[int, Record, int]]) -> None:
        nonlocal handled
        good: dict[int, list[int]] = {}
        for number, record, _ in got:
            if record[3] in {b"order %d" % poison for poison in POISON}:
                core.groups.fail(group, number, [record[0]], "the order has no customer")
            else:
                good.setdefault(number, []).append(record[0])
        for number, offsets in good.items():
            handled += core.groups.acknowledge(group, number, offsets)

    while group.lag or len(core.schedule):
        core.tick(now_ms())
        core.receiving.receive(group, f"{group_name}-1", 500, handle)
        end_turn(core)
    return handled


def dead_letters(core: Core, topic: str) -> list[str]:
    found: list[str] = []

    def show(records: list[Record], _: int) -> None:
        for record in records:
            death = death_of(record)
            assert death is not None
            found.append(f"{record[3]!r}: {death.reason}, {death.deliveries} deliveries, offset {death.offset}")

    core.reading.records(core.topics.get(topic).partitions[0], 0, 1 << 20, show)
    return found


def crash(folder: Path) -> None:
    say("4. A process is killed with -9 while it writes")
    command = [sys.executable, __file__, "--write-until-killed", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = 0
        while acknowledged < 5_000:
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().split("\n")[:-1])])
    started = time.perf_counter()
    core = open_core(folder)
    stored = core.topics.get("orders").partitions[0].end
    took = (time.perf_counter() - started) * 1000
    print(f"   acknowledged before the kill: {acknowledged:,}; found after recovery ({took:.0f} ms): {stored:,}")
    assert stored >= acknowledged, "acknowledged orders were lost"
    core.log.close()


def write_until_killed(folder: Path) -> None:
    core = open_core(folder)
    core.tick(now_ms())
    core.topics.create("orders")
    number = 0
    while True:
        core.tick(now_ms())
        for _ in range(50):
            core.send("orders", b"order %d" % number)
            number += 1
        end_turn(core)
        print(number, flush=True)


if __name__ == "__main__":
    sys.exit(main())
