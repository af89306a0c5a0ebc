"""One instance of a service, as a process of its own:

    python service.py points points-1 --url onemq://127.0.0.1:6379

What it does for an order is a message to the service's own topic. That message and the acknowledgement of the order
become true in one step (`acknowledge="transacted"`), so wherever an instance is killed, each order counts once.
"""

import asyncio
import logging
import os
import signal
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from orders import TOPIC

import onemq

RESULTS = {"points": "points", "push": "pushes"}
"""The topic into which a service writes what it has done."""
RETRY = onemq.Backoff(first="300ms", factor=2, most="1s", times=6)
BATCH = 200
PREFETCH = 2 * BATCH
Result = dict[str, object]


def add_points(order: dict[str, Any], is_first_time: bool) -> Result:
    """A point for each euro. Its database is locked for a moment now and then."""
    if order["amount"] is None:
        raise onemq.Reject("the order has no amount")
    if order["customer"] is None:
        raise ValueError("the order has no customer")
    if is_first_time and order["orderno"] % 50 == 7:
        raise TimeoutError("the database is locked")
    return {"customer": order["customer"], "points": order["amount"]}


def push(order: dict[str, Any], is_first_time: bool) -> Result:
    """A note on the customer's phone. Its provider is busy now and then."""
    if order["device"] is None:
        raise LookupError("the customer has no device")
    if is_first_time and order["orderno"] % 40 == 3:
        raise ConnectionError("the provider is busy")
    return {"device": order["device"], "text": f"Your order {order['orderno']} is on its way."}


WORK: dict[str, Callable[[dict[str, Any], bool], Result]] = {"points": add_points, "push": push}


class Mishaps:
    """What goes wrong in this instance on purpose."""

    def __init__(self, hangs_after: int | None, forgets: int | None) -> None:
        self._hangs_after = hangs_after
        self.forgets = forgets
        """An order that is acknowledged, and nothing is done for it: a bug for the books to find."""
        self._count = 0

    def strike(self, count: int) -> None:
        """Another so many orders are done, but not committed yet: the moment to hang."""
        self._count += count
        if self._hangs_after is not None and self._count >= self._hangs_after:
            os.kill(os.getpid(), signal.SIGSTOP)


async def serve(service: str, instance: str, url: str, mishaps: Mishaps) -> None:
    """Runs until SIGTERM."""
    async with onemq.aio.connect(url) as mq:

        @mq.consumer(
            TOPIC, group=service, member=instance, retry=RETRY, batch=BATCH, prefetch=PREFETCH, acknowledge="transacted"
        )
        async def handle(messages: list[onemq.Message], unit: onemq.Unit) -> None:
            for message in messages:
                order = message.json()
                if order["orderno"] != mishaps.forgets:
                    handle_one(service, instance, order, message, unit)
            mishaps.strike(len(messages))

        await mq.run()


def handle_one(
    service: str, instance: str, order: dict[str, Any], message: onemq.Message, unit: onemq.Unit
) -> None:
    """The result goes into the unit; what fails is tried again later, or is a dead letter."""
    try:
        result = WORK[service](order, message.deliveries == 1)
    except onemq.Reject as refusal:
        message.reject(refusal.reason)
    except Exception as problem:
        message.nack(reason=str(problem))
    else:
        place = f"{message.partition}:{message.offset}"
        done = {"orderno": order["orderno"], "order": place, "by": instance, "deliveries": message.deliveries}
        unit.send(RESULTS[service], done | result, key=message.key)


def main() -> None:
    arguments = ArgumentParser()
    arguments.add_argument("service", choices=sorted(RESULTS))
    arguments.add_argument("instance")
    arguments.add_argument("--url", required=True)
    arguments.add_argument("--hangs-after", type=int)
    arguments.add_argument("--forgets", type=int)
    given = arguments.parse_args()
    logging.getLogger("onemq").setLevel(logging.CRITICAL)  # failures are the point here
    asyncio.run(serve(given.service, given.instance, given.url, Mishaps(given.hangs_after, given.forgets)))


if __name__ == "__main__":
    main()
