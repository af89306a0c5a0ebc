"""One instance of a service, as a process of its own:

    python service.py points points-1 onemq://127.0.0.1:6379

What it does for an order is a message to the service's own topic. That message and the acknowledgement of the order
become true in one step (`acknowledge="transacted"`), so wherever an instance is killed, each order counts once.
"""

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import onemq
from orders import TOPIC

RESULTS = {"points": "points", "push": "pushes"}
"""The topic into which a service writes what it has done."""
RETRY = onemq.Backoff(first="300ms", factor=2, most="1s", times=4)
BATCH = 200
PREFETCH = 1_000
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


async def serve(service: str, instance: str, url: str, forgotten: int | None) -> None:
    """Runs until SIGTERM. `forgotten` is an order that it acknowledges and does nothing for: a bug, for the books."""
    work, results = WORK[service], RESULTS[service]
    async with onemq.aio.connect(url) as mq:

        @mq.consumer(
            TOPIC, group=service, member=instance, retry=RETRY, batch=BATCH, prefetch=PREFETCH, acknowledge="transacted"
        )
        async def handle(messages: list[onemq.Message], unit: onemq.Unit) -> None:
            for message in messages:
                order = message.json()
                if order["orderno"] == forgotten:
                    continue
                try:
                    result = work(order, message.deliveries == 1)
                except onemq.Reject as refusal:
                    message.reject(refusal.reason)
                except Exception as problem:
                    message.nack(reason=str(problem))
                else:
                    place = f"{message.partition}:{message.offset}"
                    done = {"orderno": order["orderno"], "order": place, "by": instance, "deliveries": message.deliveries}
                    unit.send(results, done | result, key=message.key)

        await mq.run()


if __name__ == "__main__":
    logging.getLogger("onemq").setLevel(logging.CRITICAL)  # failures are the point here
    service, instance, url, *forgotten = sys.argv[1:]
    asyncio.run(serve(service, instance, url, int(forgotten[0]) if forgotten else None))
