"""The programs of the chaos test: a shop that sends orders, and three services that handle them.

    python -m tests.crash.chaos_roles shop URL FOLDER NAME
    python -m tests.crash.chaos_roles points|push|ledger URL FOLDER NAME

A shop sends until its standard input is closed, then waits until everything is stored and writes down what it sent.
Services run until they are killed.
"""

import json
import os
import select
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onemq

TOPIC = "orders"
KEYS = 10
PACE_SECONDS = 0.004


def connected(url: str) -> onemq.Client:
    """The broker may just have been killed."""
    while True:
        try:
            return onemq.connect(url)
        except onemq.errors.Disconnected:
            time.sleep(0.05)


def shop(url: str, folder: Path, name: str) -> None:
    """Orders with a number that counts up for each customer."""
    counts: dict[str, int] = {}
    with connected(url) as mq:
        producer = mq.producer(retries=1_000_000, timeout=1)
        number = 0
        while not select.select([sys.stdin], [], [], PACE_SECONDS)[0]:
            key = f"{name}-{number % KEYS}"
            producer.send_async(TOPIC, {"n": counts.get(key, 0)}, key)
            counts[key] = counts.get(key, 0) + 1
            number += 1
        producer.flush()
    (folder / f"sent-{name}.json").write_text(json.dumps(counts))


def points(mq: onemq.Client, folder: Path) -> None:
    """Adds up in a database, each order exactly once."""

    @mq.consumer(TOPIC, group="points", retry=onemq.Immediate())
    def add(message: onemq.Message) -> None:
        bank = sqlite3.connect(folder / "points.db", timeout=60)
        bank.execute("PRAGMA synchronous = OFF")
        with onemq.once(bank, message, group="points") as first:
            if first:
                bank.execute(
                    "INSERT INTO points VALUES (?, ?, 1) ON CONFLICT (customer) DO UPDATE SET total = total + ?, "
                    "orders = orders + 1",
                    (message.key, message.json()["n"], message.json()["n"]),
                )
        bank.close()


def push(mq: onemq.Client, folder: Path) -> None:
    """Tells everybody, once or more often, eight at a time."""
    notes = os.open(folder / "push.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @mq.consumer(TOPIC, group="push", retry=onemq.Immediate(), concurrency=8)
    def tell(message: onemq.Message) -> None:
        os.write(notes, f"{message.key} {message.json()['n']}\n".encode())


def ledger(mq: onemq.Client, folder: Path) -> None:
    """Writes down what happened to each customer, in order."""
    notes = os.open(folder / "ledger.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @mq.consumer(TOPIC, group="ledger", order="key", concurrency=4)
    def write(message: onemq.Message) -> None:
        os.write(notes, f"{message.key} {message.json()['n']}\n".encode())


SERVICES: dict[str, Callable[[onemq.Client, Path], None]] = {"points": points, "push": push, "ledger": ledger}


def main() -> None:
    role, url, folder, name = sys.argv[1:]
    if role == "shop":
        shop(url, Path(folder), name)
        return
    with connected(url) as mq:
        SERVICES[role](mq, Path(folder))
        mq.run()


if __name__ == "__main__":
    main()
