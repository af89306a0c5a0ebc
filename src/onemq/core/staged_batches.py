"""Whole batches of transactions: checked when they come, they lie and go on as a producer sealed them.

Nothing is done for each of their messages after that.
"""

from collections.abc import Callable
from typing import Any

from onemq.core.checks import Checks
from onemq.core.entries import HALF_STAGE
from onemq.core.parking import Parking
from onemq.core.sending import Sending, has_priorities
from onemq.core.stage import Stage
from onemq.core.topics import Topic
from onemq.core.transaction import StagedBatch, Transaction
from onemq.core.transactions import Transactions
from onemq.errors import OutOfOrderSequence, TransactionTooLarge
from onemq.limits import STAGED_RUNS_MAX, TRANSACTION_CHECK_MS
from onemq.log.batch import BatchHeader, Buffer


class StagedBatches:
    """Adds batches to transactions."""

    def __init__(
        self, stage: Stage, sending: Sending, parking: Parking, register: Transactions, checks: Checks
    ) -> None:
        self._stage = stage
        self._sending = sending
        self._parking = parking
        self._register = register
        self._checks = checks
        self.runs = 0
        """Of batches, in all open transactions."""

    def stage(
        self,
        name: str,
        group: str,
        topic: Topic,
        number: int,
        batch: bytes,
        place: int | None = None,
        check_after_ms: int = TRANSACTION_CHECK_MS,
    ) -> StagedBatch:
        """Adds a whole batch to a transaction. `place` is how many batches of the transaction came before this one:
        with it a batch that comes again is known, and none can be missing. Raises what `Sending.append` raises, and
        `OutOfOrderSequence`."""
        known = self._register.for_producer(name, group, check_after_ms)
        header, records = self._sending.checked_batch(topic, batch)
        if _is_repeated(name, known, place):
            return StagedBatch(name, len(records), True)
        ranked = has_priorities(batch, header, records)
        self._check_batch(known, len(batch))
        topic.choose(None, number)
        offset, next_ms = self._parking.put_batch(batch), self._stage.now_ms + check_after_ms
        self._staged(name, group, offset, len(records), len(batch), topic, number, ranked, next_ms)
        return StagedBatch(name, len(records), False)

    def stage_owned(self, name: str, owner: str, topic: Topic, number: int, batch: Buffer, header: BatchHeader) -> None:
        """Adds a batch to a transaction of an owner, about which nobody is asked. It was checked
        (`Sending.check_foreign`), and is kept as its producer sealed it."""
        self._check_batch(self._register.for_more(name, owner), len(batch))
        offset = self._parking.put_foreign(batch, header)
        self._staged(name, owner, offset, header.last_offset_delta + 1, len(batch), topic, number, False, 0)

    def _check_batch(self, known: Transaction | None, size: int) -> None:
        if known is not None:
            known.check_batch_more(size)
        if self.runs >= STAGED_RUNS_MAX:
            raise TransactionTooLarge(f"open transactions hold batches at {STAGED_RUNS_MAX} places, no more can be")

    def _staged(
        self,
        name: str,
        group: str,
        offset: int,
        messages: int,
        size: int,
        topic: Topic,
        number: int,
        ranked: bool,
        next_ms: int,
    ) -> None:
        entry = (HALF_STAGE, name, group, offset, messages, size, topic.id, topic.name, number, ranked, next_ms,
                 self._stage.now_ms)  # fmt: skip
        self._apply_stage(entry)
        self._stage.entry(entry, sync=True)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {HALF_STAGE: self._apply_stage}

    def _apply_stage(self, entry: Any) -> None:
        _, name, group, offset, messages, size, topic, topic_name, number, ranked, next_ms, now_ms = entry
        transaction = self._register.begun(name, group, now_ms)
        self._parking.parked(offset, messages)
        self.runs -= len(transaction.runs)
        transaction.targets[topic] = topic_name
        transaction.add_batch(offset, messages, size, topic, number, ranked)
        self.runs += len(transaction.runs)
        self._checks.put_off(transaction, next_ms)


def _is_repeated(name: str, transaction: Transaction | None, place: int | None) -> bool:
    """Whether the transaction has the batch of that place already."""
    batches = 0 if transaction is None else transaction.batches
    if place is not None and place > batches:
        raise OutOfOrderSequence(f"batch {place} of transaction {name!r} came where batch {batches} comes next")
    return place is not None and place < batches
