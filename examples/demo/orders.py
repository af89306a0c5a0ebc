"""The orders of one evening: which there are, which fail at first, and which can never be handled.

All of it follows from an order's number, so that the books can be checked against what must have happened.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

TOPIC = "orders"
PARTITIONS = 4
OPENING = datetime(2025, 11, 11, 20, 0, tzinfo=UTC)
EVENING_SECONDS = 30 * 60
RUSH = 1.7
"""Above 1 more orders are placed at the beginning of the evening than at its end."""
LATE_SECONDS_MAX = 90
"""Orders of phones with a poor network come up to this much later than they were placed."""
POISON_MAX = 25
SHOPS = ("web", "app")
"""The web shop sends by a Redis client, the app by OneMQ's SDK."""
FLAWS = ("customer", "amount", "device", "customer", "customer")
"""What is missing in a poison order, in turn."""


@dataclass(slots=True)
class Order:
    """As it is sent, in JSON."""

    orderno: int
    shop: str
    customer: str | None
    amount: int | None
    device: str | None
    placed: str


class Evening:
    """All orders of an evening, numbered from 0."""

    def __init__(self, count: int) -> None:
        self.count = count
        poison_count = min(POISON_MAX, max(1, count // 20))
        step = count // poison_count
        self.flaws = {step * turn + step // 2: FLAWS[turn % len(FLAWS)] for turn in range(poison_count)}
        """The poison orders, and what is missing in each."""

    def order(self, number: int) -> Order:
        flaw = self.flaws.get(number)
        return Order(
            orderno=number,
            shop=SHOPS[number % 2],
            customer=None if flaw == "customer" else f"customer-{number * 7919 % 997}",
            amount=None if flaw == "amount" else 5 + number * 31 % 95,
            device=None if flaw == "device" else f"phone-{number * 7919 % 997}",
            placed=self.placed(number).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )

    def of_shop(self, shop: str) -> Iterator[tuple[str, dict[str, object]]]:
        """Key and body of each order of a shop, in the order of sending."""
        for number in range(SHOPS.index(shop), self.count, len(SHOPS)):
            yield str(number), asdict(self.order(number))

    def placed(self, number: int) -> datetime:
        """The time in the order: earlier than that of sending, by as much as the network was slow."""
        sent_seconds = EVENING_SECONDS * (number / self.count) ** RUSH
        late_seconds = number * 37 % LATE_SECONDS_MAX if number % 11 == 0 else 0
        return OPENING + timedelta(seconds=max(0.0, sent_seconds - late_seconds))

    def dead(self, service: str) -> set[int]:
        """Orders that a service can never handle."""
        needed = NEEDED[service]
        return {number for number, flaw in self.flaws.items() if flaw in needed}

    def points(self) -> int:
        """The points of all orders that can have points."""
        without = self.dead("points")
        return sum(self.order(number).amount or 0 for number in range(self.count) if number not in without)


NEEDED = {"points": {"customer", "amount"}, "push": {"device"}}
"""What each service cannot do without."""
