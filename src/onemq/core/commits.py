"""Commits: committed transactions on the way to their topics, and those who wait until everything is there.

A commit of up to TURN_BYTES_MAX is moved in one set, so that its messages are seen together. A larger one goes on over
many turns, COMMIT_TURN_BYTES in each, in a lane of its own: the small ones do not wait for it. In a lane commits are
moved one after the other, and the transactions of one commit in the order in which they were named.
"""

from collections.abc import Callable, Iterable
from typing import Any

from onemq.core.parking import Parking
from onemq.core.transaction import Transaction
from onemq.core.transactions import Transactions
from onemq.errors import Busy, OneMQError
from onemq.limits import COMMIT_TURN_BYTES, TURN_BYTES_MAX
from onemq.message import Record

Moved = Callable[[OneMQError | None], None]


class Commit:
    """What somebody has committed, until all of it has moved."""

    __slots__ = ("left", "messages", "then")

    def __init__(self, messages: int, left: set[str]) -> None:
        self.messages = messages
        """How many messages the transactions have; 0 if their unit was committed before."""
        self.left = left
        """The transactions that are still to be moved."""
        self.then: Moved = lambda error: None
        """Called at the end of the turn in which the last one has moved, unless all had when the commit was made."""


class _Lane:
    """Transactions that are moved one after the other."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.moved_bytes = 0
        """Since the last tick."""


class Commits:
    """All committed transactions that have not moved to their end."""

    def __init__(self, parking: Parking, moved: Callable[[Transaction, int], None]) -> None:
        """`moved` is told that so many of a transaction's runs are where they go; it makes the entry."""
        self._parking = parking
        self._moved = moved
        self._quick, self._bulk = _Lane(), _Lane()
        self._waiting: dict[str, dict[Commit, None]] = {}
        """Transaction -> those who wait for it."""
        self._finished: list[Commit] = []

    @property
    def busy(self) -> bool:
        """Whether there is something to move, or somebody to tell."""
        return bool(self._quick.transactions or self._bulk.transactions or self._finished)

    # Moving

    def tick(self) -> None:
        """A turn begins: moves as much as one turn may."""
        self._quick.moved_bytes = self._bulk.moved_bytes = 0
        self.move_on()

    def move_on(self) -> None:
        """Moves messages, as far as this turn may."""
        self._move_lane(self._quick, TURN_BYTES_MAX)
        self._move_lane(self._bulk, COMMIT_TURN_BYTES)

    def _move_lane(self, lane: _Lane, bytes_max: int) -> None:
        for transaction in list(lane.transactions.values()):
            is_enough = lane.moved_bytes and lane.moved_bytes + transaction.bytes > bytes_max
            if transaction.moving or is_enough:
                return
            count = transaction.portion(bytes_max)
            lane.moved_bytes += sum(run[2] for run in transaction.runs[:count])
            transaction.moving = True
            if transaction.batches:
                self._move_batches(transaction, count)
            else:
                self._move_messages(transaction, count)
            if transaction.name in lane.transactions:
                return  # the others come after it

    def _move_messages(self, transaction: Transaction, count: int) -> None:
        parking = self._parking
        offsets = [offset for first, last, _ in transaction.runs[:count] for offset in range(first, last + 1)]

        def found(records: dict[int, Record]) -> None:
            transaction.moving = False
            for offset in offsets:
                if offset in records:
                    record = records[offset]
                    own, headers = parking.opened(record)
                    parking.forward(record, own, parking.identified(record, headers))
            self._moved(transaction, count)

        parking.take(offsets, found)

    def _move_batches(self, transaction: Transaction, count: int) -> None:
        runs = transaction.runs[:count]

        def found(batches: list[list[bytes]]) -> None:
            transaction.moving = False
            for (_, _, _, topic_id, number, ranked), some in zip(runs, batches, strict=True):
                name = transaction.targets[topic_id]
                topic = self._parking.topic_of(topic_id, name)
                for batch in some:
                    if transaction.owned:
                        self._parking.forward_foreign(batch, topic, name, number)
                    else:
                        self._parking.forward_batch(batch, topic, name, number, bool(ranked))
            self._moved(transaction, count)

        self._parking.take_batches(runs, found)

    # Who waits

    def commit(self, messages: int, names: Iterable[str]) -> Commit:
        """A commit, which waits for those of the transactions that have not moved."""
        found = Commit(messages, {name for name in names if self.is_moving(name)})
        for name in found.left:
            self._waiting.setdefault(name, {})[found] = None
        return found

    def names(self) -> list[str]:
        """The transactions that are still to be moved."""
        return [*self._quick.transactions, *self._bulk.transactions]

    def forget(self, commit: Commit) -> None:
        """Nobody waits for it any more."""
        for name in commit.left:
            waiting = self._waiting.get(name, {})
            waiting.pop(commit, None)
            if not waiting:
                self._waiting.pop(name, None)
        commit.then = lambda error: None

    def settle(self) -> None:
        """A turn ends: tells those whose commits have moved."""
        if self._finished:
            finished, self._finished = self._finished, []
            for commit in finished:
                commit.then(None)

    def release_all(self) -> None:
        """The broker took its state from the log again: those who wait are told to ask again."""
        waiting = {commit: None for commits in self._waiting.values() for commit in commits}
        error = Busy("the commit was interrupted, because the log could not be written: commit once more")
        for commit in [*self._finished, *waiting]:
            commit.then(error)

    def is_moving(self, name: str) -> bool:
        """Whether a transaction is committed and not all of it where it goes."""
        return name in self._quick.transactions or name in self._bulk.transactions

    # What entries say

    def begin(self, transactions: list[Transaction]) -> None:
        """Transactions are committed, together."""
        size = sum(each.bytes for each in transactions)
        lane = self._quick if size <= TURN_BYTES_MAX else self._bulk
        for each in transactions:
            each.committing = True
            lane.transactions[each.name] = each

    def ended(self, name: str) -> None:
        """A transaction has ended."""
        self._quick.transactions.pop(name, None)
        self._bulk.transactions.pop(name, None)
        for commit in self._waiting.pop(name, ()):
            commit.left.discard(name)
            if not commit.left:
                self._finished.append(commit)

    def dump(self) -> list[list[str]]:
        """For the snapshot: the names in each lane, in order."""
        return [list(self._quick.transactions), list(self._bulk.transactions)]

    def load(self, lanes: Any, transactions: Transactions) -> None:
        """The reverse of `dump`; `transactions` are the open ones."""
        for lane, names in zip((self._quick, self._bulk), lanes, strict=True):
            lane.transactions = {name: transactions[name] for name in names}
