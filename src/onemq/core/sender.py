"""The sender: one call for every way in which a message can be sent.

Now or later, once or again and again, for everybody or as a half message; with a priority, an order key, and an
idempotency key in any of these ways.
"""

from typing import NamedTuple

from onemq.core.cron import DEFAULT_ZONE
from onemq.core.expiry import EXPIRES_MARK
from onemq.core.halves import Halves
from onemq.core.placed import HALF, TIMER, Placed
from onemq.core.ranking import with_priority
from onemq.core.schedule import Schedule
from onemq.core.sending import ProducerSequence, Sending
from onemq.core.sent_once import SentOnce
from onemq.core.series import Repeat
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.errors import InvalidArgument
from onemq.limits import SENT_ONCE_MS, TRANSACTION_CHECK_MS
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import ORDER_KEY, PRIORITY_DEFAULT, Headers


class InTransaction(NamedTuple):
    """What makes a message a half message: the transaction that it belongs to."""

    group: str
    """The producer group that can say what becomes of it."""
    name: str | None = None
    """None begins a transaction that is named after this message."""
    check_after_ms: int = TRANSACTION_CHECK_MS


class Sender:
    """Sends messages by the names of their topics."""

    def __init__(
        self, stage: Stage, topics: Topics, sending: Sending, schedule: Schedule, halves: Halves, once: SentOnce
    ) -> None:
        self._stage = stage
        self._topics = topics
        self._sending = sending
        self._schedule = schedule
        self._halves = halves
        self._once = once

    def send(
        self,
        topic: str,
        body: bytes,
        key: bytes | None = None,
        headers: Headers = (),
        number: int | None = None,
        deliver_at_ms: int | None = None,
        persistent: bool = True,
        producer: ProducerSequence | None = None,
        *,
        priority: int = PRIORITY_DEFAULT,
        order_key: bytes | None = None,
        every_ms: int | None = None,
        cron: str | None = None,
        zone: str = DEFAULT_ZONE,
        times: int | None = None,
        transaction: InTransaction | None = None,
        once_key: bytes | None = None,
        once_ms: int = SENT_ONCE_MS,
    ) -> Placed:
        """Sends a message. Returns (partition, offset), or (`TIMER`, timer id) if it is due later, or (`HALF`, its
        offset until then) if it belongs to a transaction; marked as a duplicate if it had been sent before, by its
        idempotency key or the producer's sequence."""
        found = self._topics.get(topic)
        if once_key is not None:
            self._once.check(once_ms)
            known = self._once.find(found, once_key)
            if known is not None:
                return known
        if priority != PRIORITY_DEFAULT:
            headers = with_priority(headers, priority)
        if order_key is not None and order_key != key:
            headers = (*headers, (ORDER_KEY, order_key))
        repeat = None
        if every_ms is not None or cron is not None or times is not None:
            repeat = Repeat(every_ms, cron, zone, times)
        is_due_later = repeat is not None or (deliver_at_ms is not None and deliver_at_ms > self._stage.now_ms)
        if is_due_later or transaction is not None:
            _check_together(is_due_later, transaction is not None, producer)
        if transaction is not None:
            placed = self._send_half(found, body, key, headers, number, transaction)
        elif is_due_later:
            placed = Placed(TIMER, self._schedule.add(found, deliver_at_ms, body, key, headers, number, repeat))
        else:
            if order_key is not None:
                number = found.choose(order_key, number).number
            encoded = encode_headers(headers) if headers else NO_HEADERS
            place = self._sending.send(found, body, key, encoded, number, persistent, producer)
            if headers and EXPIRES_MARK in encoded:
                found.partitions[place[0]].expiring_end = found.partitions[place[0]].end
            placed = place if isinstance(place, Placed) else Placed(*place)
        if once_key is not None and not placed.duplicate:
            partition = found.partitions[placed.partition] if placed.partition >= 0 else None
            self._once.remember(found, once_key, once_ms, placed, partition)
        return placed

    def _send_half(
        self,
        topic: Topic,
        body: bytes,
        key: bytes | None,
        headers: Headers,
        number: int | None,
        transaction: InTransaction,
    ) -> Placed:
        group, name, check_after_ms = transaction
        half = self._halves.add(name, group, topic, body, key, headers, number, check_after_ms)
        return Placed(HALF, half.offset)


def _check_together(is_due_later: bool, is_half: bool, producer: ProducerSequence | None) -> None:
    if is_due_later and is_half:
        raise InvalidArgument("a half message goes to its topic when it is committed: it cannot be due later or repeat")
    if producer is not None:
        raise InvalidArgument(
            "an idempotent producer cannot schedule, nor send half messages: a repetition would not be recognised; "
            "use an idempotency key"
        )
