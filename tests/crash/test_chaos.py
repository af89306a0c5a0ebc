"""Chaos: shops send and services handle while the broker and the services are killed again and again.

CHAOS_SECONDS says for how long; a minute unless told otherwise.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import onemq
from tests.crash.chaos_roles import TOPIC
from tests.process import Serve, free_port

SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
DRAIN_SECONDS_MAX = 180
SHOPS = [f"shop{number}" for number in range(4)]
SERVICES = ["points"] * 3 + ["push"] * 3 + ["ledger"] * 2
PARTITIONS = 4


class Role:
    """A program of the test, started again when it was killed."""

    def __init__(self, folder: Path, port: int, role: str, name: str) -> None:
        url = f"onemq://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "tests.crash.chaos_roles", role, url, str(folder), name]
        self._log = (folder / f"{name}.log").open("ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log)

    def kill_and_start(self) -> None:
        self.end()
        self.start()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        self.end()
        self._log.close()


def test_the_books_balance_after_a_minute_of_kills(tmp_path: Path) -> None:
    port, dice = free_port(), random.Random(2026)
    broker = serve(tmp_path, port)
    with onemq.connect(f"onemq://127.0.0.1:{port}") as mq:
        mq.topics.create(TOPIC, partitions=PARTITIONS)
    make_bank(tmp_path)
    with ExitStack() as stack:
        shops = [Role(tmp_path, port, "shop", name) for name in SHOPS]
        services = [Role(tmp_path, port, role, f"{role}{number}") for number, role in enumerate(SERVICES)]
        for role in (*shops, *services):
            stack.callback(role.close)
        end = time.monotonic() + SECONDS
        kills = 0
        while time.monotonic() < end:
            time.sleep(1)
            end_broker(broker)
            broker = serve(tmp_path, port)
            dice.choice(services).kill_and_start()
            kills += 1
        stack.callback(end_broker, broker)
        sent = sent_by(tmp_path, shops)
        wait_until_handled(port)
    assert kills
    check(tmp_path, sent)


def serve(folder: Path, port: int) -> Serve:
    broker = Serve(folder / "data", port=port)
    broker.wait_until_serving()
    return broker


def end_broker(broker: Serve) -> None:
    with broker:
        broker.kill()


def make_bank(folder: Path) -> None:
    bank = sqlite3.connect(folder / "points.db")
    bank.execute("PRAGMA journal_mode = WAL")
    bank.execute("CREATE TABLE points (customer TEXT PRIMARY KEY, total INTEGER, orders INTEGER)")
    bank.close()


def sent_by(folder: Path, shops: list[Role]) -> dict[str, int]:
    """How many orders each customer made, when the shops have closed."""
    sent: dict[str, int] = {}
    for name, shop in zip(SHOPS, shops, strict=True):
        assert shop.process.stdin is not None
        shop.process.stdin.close()
        assert shop.process.wait(60) == 0, (folder / f"{name}.log").read_text()
        sent |= json.loads((folder / f"sent-{name}.json").read_text())
    return sent


def wait_until_handled(port: int) -> None:
    give_up = time.monotonic() + DRAIN_SECONDS_MAX
    with onemq.connect(f"onemq://127.0.0.1:{port}") as mq:
        while any(lags := {name: mq.groups.info(TOPIC, name)["lag"] for name in set(SERVICES)}.values()):
            assert time.monotonic() < give_up, f"not everything is handled: {lags}"
            time.sleep(0.1)


def check(folder: Path, sent: dict[str, int]) -> None:
    every_order = {(key, n) for key, count in sent.items() for n in range(count)}
    assert every_order
    bank = sqlite3.connect(folder / "points.db")
    booked = {key: (total, orders) for key, total, orders in bank.execute("SELECT * FROM points")}
    bank.close()
    assert booked == {key: (sum(range(count)), count) for key, count in sent.items()}, "points: each order once"
    assert set(lines(folder / "push.txt")) == every_order, "push: every order"
    written: Counter[str] = Counter()
    for key, n in lines(folder / "ledger.txt"):
        assert n in (written[key] - 1, written[key]), f"ledger: {key} has {n} after {written[key] - 1}"
        written[key] = n + 1
    assert dict(written) == sent, "ledger: every order, in order"


def lines(file: Path) -> list[tuple[str, int]]:
    return [(key, int(n)) for key, n in (line.split() for line in file.read_text().splitlines())]
