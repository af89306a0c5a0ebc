"""The books: every order is looked for, with each service, in what was handled and in the dead letters.

They know nothing of what the services say about themselves: all of it is read from the topics. They balance if every
order was sent once, and each service has either handled it once, or has it as a dead letter once and for a good reason.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from orders import TOPIC, Evening
from service import RESULTS

import onemq

READ_COUNT = 5_000
EXAMPLES_MAX = 5
_MINUTE = len("2025-11-11T20:00")


@dataclass(slots=True)
class Account:
    """Of one service."""

    service: str
    handled: int = 0
    dead: dict[str, int] = field(default_factory=dict)
    """Dead letters by reason."""
    by_instance: dict[str, int] = field(default_factory=dict)
    retried: int = 0
    """Handled at the second delivery or later."""
    claimed: int = 0
    """Handled by another instance than the one that was killed with them."""
    lost: list[int] = field(default_factory=list)
    twice: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    """Dead letters that should have been handled, or the other way round."""

    @property
    def is_balanced(self) -> bool:
        return not (self.lost or self.twice or self.wrong)


@dataclass(slots=True)
class Books:
    """Of the whole evening."""

    orders: int
    sent: int
    sent_once: bool
    points: int
    points_due: int
    accounts: list[Account]
    minutes: dict[datetime, int]
    """Orders per minute, by the time in the order."""

    @property
    def are_balanced(self) -> bool:
        return (
            self.sent_once
            and self.sent == self.orders
            and self.points == self.points_due
            and all(account.is_balanced for account in self.accounts)
        )


def open_books(mq: onemq.Client, evening: Evening, held: set[str]) -> Books:
    """Reads everything. `held` are the places of the orders that the killed instance had in hand."""
    topics = [TOPIC, *RESULTS.values()]
    with ThreadPoolExecutor() as pool:  # so that the broker reads one while another is looked at
        orders, *results = pool.map(lambda topic: [message.json() for message in all_of(mq, topic)], topics)
    sent = Counter(int(order["orderno"]) for order in orders)
    minutes = Counter(str(order["placed"])[:_MINUTE] for order in orders)
    accounts, points = [], 0
    for service, done in zip(RESULTS, results, strict=True):
        accounts.append(_account(mq, evening, service, done, held if service == "points" else set()))
        points += sum(result.get("points", 0) for result in done)
    return Books(
        orders=evening.count,
        sent=sent.total(),
        sent_once=sent == Counter(range(evening.count)),
        points=points,
        points_due=evening.points(),
        accounts=accounts,
        minutes={datetime.fromisoformat(f"{minute}:00Z"): count for minute, count in sorted(minutes.items())},
    )


def all_of(mq: onemq.Client, topic: str) -> Iterator[onemq.Message]:
    """All messages of a topic, read without disturbing anyone."""
    for partition, first, end in mq.offsets(topic):
        while first < end:
            some = mq.read(topic, partition=partition, start=first, count=READ_COUNT)
            yield from some
            first = some[-1].offset + 1 if some else end


def _account(
    mq: onemq.Client, evening: Evening, service: str, done: list[dict[str, Any]], held: set[str]
) -> Account:
    letters = mq.dead.list(TOPIC, group=service, count=evening.count)
    handled = Counter(int(result["orderno"]) for result in done)
    dead = Counter(int(letter.key or -1) for letter in letters)
    both = handled + dead
    return Account(
        service,
        handled=len(handled),
        dead=dict(Counter(str((letter.dead or {})["reason"]) for letter in letters)),
        by_instance=dict(sorted(Counter(str(result["by"]) for result in done).items())),
        retried=sum(result["deliveries"] > 1 for result in done),
        claimed=sum(result["order"] in held for result in done),
        lost=sorted(set(range(evening.count)) - both.keys())[:EXAMPLES_MAX],
        twice=sorted(number for number, count in both.items() if count > 1)[:EXAMPLES_MAX],
        wrong=sorted(evening.dead(service) ^ dead.keys())[:EXAMPLES_MAX],
    )
