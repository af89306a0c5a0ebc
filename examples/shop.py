"""A shop writes an order into its database and tells the world of it: both happen, or neither.

The shop sends a half message, commits its own SQL transaction, then commits the half message. Here it is killed before
its database commits, and after; then the broker asks another instance of the shop what became of the orders, and that
one looks into the database.

    python examples/shop.py
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from here import broker, own

import onemq
from onemq.client.transaction import Verdict

STORIES = ("all is well", "killed before the database", "killed after the database", "the customer has no money")
GIVE_UP_SECONDS = 30


def open_database(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, timeout=30)
    database.execute("CREATE TABLE IF NOT EXISTS orders (orderno INTEGER PRIMARY KEY, transaction_id TEXT)")
    return database


def buy(url: str, topic: str, path: str, orderno: int, story: str) -> None:
    """One order, in a process of its own, which may be killed at the worst moment."""
    database = open_database(path)
    with onemq.connect(url) as mq:
        producer = mq.producer(group=topic)
        # In real life the broker asks after a minute; here it is impatient.
        with producer.transaction(topic, {"orderno": orderno}, key=str(orderno), check_after="300ms") as tx:
            if story == "killed before the database":
                os.kill(os.getpid(), signal.SIGKILL)
            with database:
                database.execute("INSERT INTO orders VALUES (?, ?)", (orderno, tx.id))
                if story == "the customer has no money":
                    raise SystemExit("the customer has no money")
            if story == "killed after the database":
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    topic = own("orders")
    with broker() as url, tempfile.TemporaryDirectory() as folder, onemq.connect(url) as mq:
        path = str(Path(folder) / "shop.db")
        database = open_database(path)
        for orderno, story in enumerate(STORIES):
            command = [sys.executable, __file__, "--buy", url, topic, path, str(orderno), story]
            ended = subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
            print(f"   order {orderno}: {story} (exit status {ended.returncode})")

        asked: set[str] = set()
        give_up = time.monotonic() + GIVE_UP_SECONDS

        def what_became_of(half: onemq.Message) -> Verdict:
            row = database.execute("SELECT orderno FROM orders WHERE transaction_id = ?", (half.transaction_id,))
            is_there = row.fetchone() is not None
            print(f"   the broker asks about order {half.key}: {'it is there' if is_there else 'not found'}")
            asked.add(half.key or "")
            # This shop knows that no other one is at work any more; else it would be UNKNOWN.
            return onemq.COMMIT if is_there else onemq.ROLLBACK

        mq.producer(group=topic).on_check(what_became_of)
        points = mq.consumer(topic, group="points")
        told: list[int] = []
        while len(asked) < 2 or len(told) < 2:
            told += [message.json()["orderno"] for message in points.receive(10, wait="500ms")]
            if time.monotonic() > give_up:
                raise SystemExit("the broker did not ask in time")
        sold = [orderno for (orderno,) in database.execute("SELECT orderno FROM orders")]
        assert points.receive(10) == []
    assert sorted(told) == sorted(sold) == [0, 2], (told, sold)
    print(f"Orders {sold} are in the database, and the world was told of exactly these.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--buy"]:
        buy(*sys.argv[2:5], int(sys.argv[5]), sys.argv[6])
    else:
        main()
