"""Points are booked in a database exactly once, though orders are sent twice and the worker is killed again and again.

`onemq.once` notes each order in the same SQL transaction as its points. Wherever the worker dies, before its commit, or
between its commit and the acknowledgement, the next one goes on, and no order counts twice or not at all.

    python examples/exactly_once.py
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from here import broker, own

import onemq

ORDERS = 30
KILLS = 5


def open_database(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30)
    database.execute("CREATE TABLE IF NOT EXISTS points (customer TEXT PRIMARY KEY, points INTEGER)")
    return database


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def work(url: str, topic: str, path: str, dies_after: int) -> None:
    """Books points until nothing is left, or until it is killed at some step of one order (0: never)."""
    database, handled = open_database(path), 0
    with onemq.connect(url) as mq:
        orders = mq.consumer(topic, group="points", retry=onemq.Immediate())
        while messages := orders.receive(1, wait="300ms"):
            (message,) = messages
            handled += 1
            order, fatal = message.json(), handled == dies_after
            with onemq.once(database, message, group="points", by="key") as first:
                if first:
                    database.execute(
                        "INSERT INTO points VALUES (?, 10) ON CONFLICT DO UPDATE SET points = points + 10",
                        (order["customer"],),
                    )
                if fatal and dies_after % 2:
                    die()  # before the commit: the points are gone, the order comes again
            if fatal:
                die()  # after the commit, before the acknowledgement: the order comes again, and is passed over
            message.ack()


def main() -> None:
    topic = own("orders")
    with broker() as url, tempfile.TemporaryDirectory() as folder, onemq.connect(url) as mq:
        producer = mq.producer()
        for number in range(ORDERS):
            for _ in range(1 + number % 2):  # every other shop is not sure, and sends its order again
                producer.send(topic, {"customer": f"customer-{number % 3}"}, key=f"order-{number}")
        path = str(Path(folder) / "points.db")
        for dies_after in [*random.sample(range(1, 8), KILLS), 0]:
            command = [sys.executable, __file__, "--work", url, topic, path, str(dies_after)]
            ended = subprocess.run(command, check=False)
            print(f"   a worker {'was killed at its order number ' + str(dies_after) if dies_after else 'finished'}")
            assert ended.returncode == (-signal.SIGKILL if dies_after else 0)
        rows = open_database(path).execute("SELECT customer, points FROM points ORDER BY customer").fetchall()
        assert mq.groups.info(topic, "points")["lag"] == 0
    for customer, points in rows:
        print(f"   {customer}: {points} points")
    assert sum(points for _, points in rows) == 10 * ORDERS, rows
    print(f"{ORDERS} orders, {KILLS} killed workers, and every order has its points exactly once.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main()
