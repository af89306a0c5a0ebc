"""Orders come in; a points service and a push service work on them, each with two instances.

Every service is a group, so both see every order. Some orders fail at first and are tried again. A third instance of
the points service takes orders and is killed with -9: the others get them. A few orders can never be handled and become
dead letters. At the end the books balance.

    python examples/orders.py
"""

import logging
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack

from here import broker, own

import onemq

ORDERS = 500
AMOUNT = 10
POISON = {100, 200, 300}
"""Orders without a customer: the points service cannot handle them, ever."""
RETRY = onemq.Backoff(first="20ms", factor=2, most="1s", times=3)
GIVE_UP_SECONDS = 30


class Books:
    """What the services have done; used by all their threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.points: dict[int, int] = {}
        self.pushed: set[int] = set()
        self.failures: Counter[str] = Counter()
        self.by_instance: Counter[str] = Counter()

    def add_points(self, instance: str, orderno: int, amount: int) -> None:
        with self._lock:
            self.points[orderno] = amount
            self.by_instance[instance] += 1

    def push(self, instance: str, orderno: int) -> None:
        with self._lock:
            self.pushed.add(orderno)
            self.by_instance[instance] += 1

    def fail(self, service: str) -> None:
        with self._lock:
            self.failures[service] += 1


def start_points(mq: onemq.Client, topic: str, instance: str, books: Books) -> None:
    """One instance of the points service."""

    @mq.consumer(topic, group="points", retry=RETRY, concurrency=4, prefetch=20)
    def add_points(message: onemq.Message) -> None:
        order = message.json()
        if order["customer"] is None:
            books.fail("points")
            raise ValueError(f"order {order['orderno']} has no customer")
        books.add_points(instance, order["orderno"], order["amount"])

    mq.run_in_background()


def start_push(mq: onemq.Client, topic: str, instance: str, books: Books) -> None:
    """One instance of the push service. Its provider fails on every tenth order, the first time."""

    @mq.consumer(topic, group="push", retry=RETRY, concurrency=4, prefetch=20)
    async def push(message: onemq.Message) -> None:
        orderno = message.json()["orderno"]
        if orderno % 10 == 0 and message.deliveries == 1:
            books.fail("push")
            raise onemq.Retry(after="50ms", reason="the provider is busy")
        books.push(instance, orderno)

    mq.run_in_background()


def take_and_hang(url: str, topic: str) -> None:
    """An instance that takes orders and then does nothing."""
    with onemq.connect(url) as mq:
        taken = mq.consumer(topic, group="points", retry=RETRY).receive(25, wait="10s")
        print(len(taken), flush=True)
        time.sleep(600)


def kill_an_instance(url: str, topic: str) -> int:
    """Lets an instance take orders and kills it; how many it had."""
    command = [sys.executable, __file__, "--take-and-hang", url, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as instance:
        assert instance.stdout is not None
        taken = int(instance.stdout.readline())
        instance.kill()
    return taken


def wait_until_done(mq: onemq.Client, topic: str) -> None:
    """Returns when both groups have nothing left to do."""
    give_up = time.monotonic() + GIVE_UP_SECONDS
    while any(mq.groups.info(topic, group)["lag"] for group in ("points", "push")):
        if time.monotonic() > give_up:
            raise SystemExit("the services did not finish in time")
        time.sleep(0.05)


def run(url: str, topic: str) -> None:
    """The whole story, on a broker and a topic of your choice."""
    logging.getLogger("onemq.consumer").setLevel(logging.CRITICAL)  # failures are the point here
    books = Books()
    with onemq.connect(url) as mq:
        mq.topics.create(topic, partitions=4)
        send_orders(mq.producer(), topic)
        print(f"   {ORDERS} orders are in")
        print(f"   an instance of points took {kill_an_instance(url, topic)} orders and was killed")
        with ExitStack() as instances:
            for start, service in ((start_points, "points"), (start_push, "push")):
                for number in (1, 2):
                    start(instances.enter_context(onemq.connect(url)), topic, f"{service} {number}", books)
            wait_until_done(mq, topic)
        show(mq, topic, books)
        check(mq, topic, books)


def send_orders(producer: onemq.Producer, topic: str) -> None:
    for number in range(ORDERS):
        customer = None if number in POISON else f"customer-{number % 7}"
        order = {"orderno": number, "customer": customer, "amount": AMOUNT}
        producer.send_async(topic, order, key=str(number))
    producer.flush()


def show(mq: onemq.Client, topic: str, books: Books) -> None:
    for instance, count in sorted(books.by_instance.items()):
        print(f"   {instance} handled {count}")
    print(f"   failed attempts: {books.failures['points']} of points, {books.failures['push']} of push")
    for letter in sorted(mq.dead.list(topic), key=lambda letter: int(letter.key or "")):
        assert letter.dead is not None
        print(f"   dead letter {letter.key}: {letter.dead['reason']}, {letter.dead['deliveries']} deliveries")


def check(mq: onemq.Client, topic: str, books: Books) -> None:
    dead = {int(letter.key or "") for letter in mq.dead.list(topic, group="points")}
    assert dead == POISON, dead
    assert books.points.keys() == set(range(ORDERS)) - dead
    assert sum(books.points.values()) == AMOUNT * (ORDERS - len(dead))
    assert books.pushed == set(range(ORDERS))
    assert not mq.dead.list(topic, group="push")
    print(f"   {len(books.points)} with points and {len(dead)} dead letters are {ORDERS} orders; all were pushed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take-and-hang"]:
        take_and_hang(sys.argv[2], sys.argv[3])
    else:
        with broker() as address:
            run(address, own("orders"))
        print("The books balance.")
