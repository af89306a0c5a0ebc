"""A message that is sent by itself: delayed, repeated, with a priority, half, or too large for a batch."""

from typing import Any

from onemq.client.connection import Word
from onemq.client.receipt import Outcome, Receipt
from onemq.client.replies import plain


class Single(Outcome):
    """One MQ.SEND. It carries an idempotency key, so it can be sent again."""

    __slots__ = ("begun", "reply", "sent", "size", "topic", "words")

    def __init__(self, topic: str, words: tuple[Word, ...], size: int, now: float) -> None:
        super().__init__()
        self.topic = topic
        self.words = words
        self.size = size
        self.begun = now
        self.sent = 0.0
        self.reply: dict[str, Any] = {}

    def receipt(self, index: int) -> Receipt:
        return receipt_of(self.topic, self.reply)


def receipt_of(topic: str, reply: dict[str, Any]) -> Receipt:
    """The receipt that an answer to MQ.SEND stands for."""
    fields = {name: plain(value) for name, value in reply.items()}
    schedule, transaction = fields.get("schedule"), fields.get("transaction")
    return Receipt(
        topic,
        str(fields.get("id", "")),
        fields.get("partition"),
        fields.get("offset"),
        None if schedule is None else str(schedule),
        fields.get("due"),
        None if transaction is None else str(transaction),
        bool(fields.get("duplicate", False)),
    )
