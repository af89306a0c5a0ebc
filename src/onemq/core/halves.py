"""Half messages: sent, stored, and invisible until their transaction is committed.

A transaction is a name and the half messages that a producer group sent under it. They are parked like those
of the schedule. Committed, they go to their topics in one set; rolled back, they are dropped. Commits of more than
TURN_BYTES_MAX are moved over several sets, and a crash between them does no harm: every message arrives, once; but
readers may see the first of them a little earlier than the last (commits.py).

A transaction has single messages, or whole batches that a producer sealed (staged_batches.py).

A transaction that is neither committed nor rolled back is checked: one of those who listen for the producer
group is asked, again and again, what became of it. If nobody knows, it is rolled back. While nobody listens it
waits, for days; somebody who comes is asked soon.
"""

from collections.abc import Callable, Sequence
from typing import Any

from onemq.core.checks import Checks
from onemq.core.commit_units import CommitUnit, CommitUnits
from onemq.core.commits import Commit, Commits
from onemq.core.entries import (
    COMMIT_UNIT,
    HALF_ADD,
    HALF_CHECK,
    HALF_COMMIT,
    HALF_COMMIT_ALL,
    HALF_END,
    HALF_MOVED,
)
from onemq.core.listeners import Ask, Listeners
from onemq.core.parking import Parking
from onemq.core.reading import Reading
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.staged_batches import StagedBatches
from onemq.core.topics import HALF_NAME, Topic, Topics
from onemq.core.transaction import Ended, Half, OpenTransaction, Transaction, named
from onemq.core.transactions import Transactions
from onemq.errors import InvalidArgument, NotFound
from onemq.limits import (
    TRANSACTION_CHECK_MS,
)
from onemq.message import PRODUCER_GROUP, TRANSACTION, Headers, check_name

_MESSAGE_BYTES = 100
"""What each message counts beside its own bytes."""
_RETRY_MS = 1_000


class Halves:
    """All transactions."""

    def __init__(self, stage: Stage, topics: Topics, sending: Sending, reading: Reading) -> None:
        self._stage = stage
        self._sending = sending
        self.parking = Parking(HALF_NAME, topics, sending, reading)
        """Where half messages lie. It tells of those that are committed and cannot be delivered."""
        self.register = Transactions(stage)
        """Which there are."""
        self.commits = Commits(self.parking, self._moved)
        """Those that are on their way."""
        self._units = CommitUnits()
        self._checks = Checks(self.parking, self._is_unsure, self._checked, self._give_up)
        self.batches = StagedBatches(stage, sending, self.parking, self.register, self._checks)
        """The whole batches of transactions."""
        self.on_given_up: Callable[[str, str], None] = lambda name, reason: None
        """Told of transactions that are rolled back because nobody ended them."""

    def __len__(self) -> int:
        return len(self.register)

    @property
    def listeners(self) -> Listeners:
        """Who can be asked."""
        return self._checks.listeners

    # What producers do

    def add(
        self,
        name: str | None,
        group: str,
        topic: Topic,
        body: bytes,
        key: bytes | None = None,
        headers: Headers = (),
        number: int | None = None,
        check_after_ms: int = TRANSACTION_CHECK_MS,
    ) -> Half:
        """Adds a half message to a transaction; one without a name begins a transaction, which is named after
        its first message. Until `check_after_ms` after the last message was added nobody is asked about it."""
        known = self.register.for_producer(name, group, check_after_ms)
        if known is not None:
            known.check_one_more()
        size = self.parking.check(topic, body, key, headers, number) + _MESSAGE_BYTES
        partition = self.parking.partition
        name = self.register.fresh_name(self.parking.message_id(partition.end)) if name is None else name
        others = tuple(each for each in headers if each[0] not in (TRANSACTION, PRODUCER_GROUP))
        offset = self.parking.put(topic, body, key, (*others, *named(name, group)), number)
        now_ms = self._stage.now_ms
        entry = (HALF_ADD, name, group, offset, size, now_ms + check_after_ms, now_ms)
        self._apply_add(entry)
        self._stage.entry(entry, sync=True)
        return Half(name, offset)

    def commit(self, name: str) -> Ended:
        """Its messages go where they were sent to. Raises `NotFound`, and `TransactionEnded` if it was rolled
        back."""
        self.register.check_free([name])
        ended = self.register.again(name, committed=True)
        if ended is not None:
            return ended
        self._decide([self.register[name]], None)
        return Ended(True, self.messages_of(name), self._stage.now_ms)

    def commit_all(self, names: Sequence[str], unit: CommitUnit | None = None) -> Commit:
        """Commits transactions together, as one decision: after a crash all are, or none is. Their messages move in
        the order of the names. If the number of the unit was committed before, those that are open are rolled back
        instead, and the commit has no messages. Raises what `commit` raises; then nothing has happened."""
        self.register.check_free(names)
        if unit is not None and self._units.is_committed(unit, self._stage.now_ms):
            return self._commit_again(names, unit)
        register = self.register
        fresh = [register[name] for name in dict.fromkeys(names) if register.again(name, committed=True) is None]
        if fresh or unit is not None:
            self._decide(fresh, unit)
        return self.commits.commit(sum(map(self.messages_of, dict.fromkeys(names))), names)

    def commit_owned(self, name: str) -> Commit:
        """The owner of a transaction commits it. What goes to a topic that does not exist any more is dropped. One that
        has no messages, or ended before, is not known: then there is only to wait for it, if it moves."""
        transaction = self.register.get(name)
        if transaction is not None and not transaction.committing:
            self._decide([transaction], None)
        return self.commits.commit(0, [name])

    def rollback_owned(self, name: str) -> None:
        """The owner of a transaction rolls it back, or its time is up."""
        transaction = self.register.get(name)
        if transaction is not None:
            self._end(transaction, committed=False)

    def rollback_all(self, names: Sequence[str]) -> int:
        """Drops the messages of transactions. Returns how many. Raises what `rollback` raises; then nothing has
        happened."""
        self.register.check_free(names)
        for name in names:
            self.register.again(name, committed=False)
        return sum(self.rollback(name).messages for name in dict.fromkeys(names))

    def rollback_prefix(self, prefix: str) -> int:
        """Drops the messages of all open transactions whose names begin so. Returns how many."""
        if not prefix:
            raise InvalidArgument("the beginning of the names must not be empty: it would be that of all transactions")
        self._stage.check()
        found = [each for each in self.register if each.name.startswith(prefix) and not each.committing]
        found = [each for each in found if not each.owned]
        return sum(self._end(each, committed=False).messages for each in found)

    def unit(self, name: str) -> int | None:
        """The highest number of a unit that is committed."""
        return self._units.number(name, self._stage.now_ms)

    def messages_of(self, name: str) -> int:
        """How many messages a transaction has or had that is open or remembered."""
        return self.register.messages_of(name)

    def rollback(self, name: str) -> Ended:
        """Its messages are dropped. Raises `NotFound`, and `TransactionEnded` if it was committed."""
        self.register.check_free([name])
        ended = self.register.again(name, committed=False)
        if ended is not None:
            return ended
        self._stage.check()
        return self._end(self.register[name], committed=False)

    def unknown(self, name: str) -> None:
        """The answer of somebody who was asked and does not know yet: the next check comes in its time.
        Raises `NotFound`, and `TransactionEnded` if it has ended."""
        self.register.check_unsure(name)

    def listen(self, group: str, ask: Ask) -> Callable[[], None]:
        """Somebody can be asked about the transactions of a producer group, until what this returns is called."""
        check_name("producer group", group)
        return self.listeners.add(group, ask)

    # Ends

    def _decide(self, transactions: list[Transaction], unit: CommitUnit | None) -> None:
        """Commits transactions, and notes how far their unit is: one entry, whatever there is to move."""
        self._sending.check()
        self._check_targets(transactions)
        if unit is None and len(transactions) == 1:
            entry: tuple[object, ...] = (HALF_COMMIT, transactions[0].name)
            self._apply_commit(entry)
        else:
            name, number = unit if unit is not None else (None, 0)
            entry = (HALF_COMMIT_ALL, [each.name for each in transactions], name, number, self._stage.now_ms)
            self._apply_commit_all(entry)
        self._stage.entry(entry, sync=True)
        self.commits.move_on()

    def _check_targets(self, transactions: list[Transaction]) -> None:
        for each in transactions:
            for id, name in each.targets.items() if not each.owned else ():
                if self.parking.topic_of(id, name) is None:
                    raise NotFound(
                        f"transaction {each.name!r} cannot be committed, because topic {name!r} does not exist any "
                        "more: make it again, or roll back"
                    )

    def _commit_again(self, names: Sequence[str], unit: CommitUnit) -> Commit:
        """The number of a unit was committed before: nothing is now, and what was staged for it again goes. Whoever
        asked waits until the first commit has moved, which may have had other names."""
        self._stage.check()
        for name in names:
            known = self.register.get(name)
            if known is not None and not known.committing:
                self._end(known, committed=False)
        entry = (COMMIT_UNIT, unit.name, self._stage.now_ms)
        self._apply_unit(entry)
        self._stage.entry(entry, sync=False)
        return self.commits.commit(0, self.commits.names())

    def _end(self, transaction: Transaction, committed: bool) -> Ended:
        entry = (HALF_END, transaction.name, committed, self._stage.now_ms)
        self._apply_end(entry)
        self._stage.entry(entry, sync=True)
        return Ended(committed, transaction.messages, self._stage.now_ms)

    def _moved(self, transaction: Transaction, count: int) -> None:
        """The first runs of a transaction are where they go."""
        if count == len(transaction.runs):
            self._end(transaction, committed=True)
        else:
            entry = (HALF_MOVED, transaction.name, count)
            self._apply_moved(entry)
            self._stage.entry(entry, sync=True)

    # Checks

    def tick(self, now_ms: int) -> int | None:
        """Goes on with commits and asks what is to be asked. Returns when to come again."""
        if self._sending.refusal is not None:
            return now_ms + _RETRY_MS  # nobody could commit
        self.commits.tick()
        self._checks.tick(now_ms)
        return now_ms if self.commits.busy else self._checks.next_ms()

    def _is_unsure(self, transaction: Transaction) -> bool:
        return self.register.is_open(transaction) and not transaction.committing

    def _give_up(self, transaction: Transaction, reason: str) -> None:
        self._end(transaction, committed=False)
        self.on_given_up(transaction.name, reason)

    def _checked(self, transaction: Transaction) -> None:
        entry = (HALF_CHECK, transaction.name, transaction.checks + 1, self._stage.now_ms + TRANSACTION_CHECK_MS)
        self._apply_check(entry)
        self._stage.entry(entry, sync=False)

    # What is durable

    def _apply_add(self, entry: Any) -> None:
        _, name, group, offset, size, next_ms, now_ms = entry
        transaction = self.register.begun(name, group, now_ms)
        self.parking.parked(offset, 1)
        transaction.add(offset, size)
        self._checks.put_off(transaction, next_ms)

    def _apply_check(self, entry: Any) -> None:
        _, name, checks, next_ms = entry
        transaction = self.register[name]
        transaction.checks, transaction.next_ms = checks, next_ms
        self._checks.plan(transaction)

    def _apply_commit(self, entry: Any) -> None:
        self._begin_commit([entry[1]])

    def _apply_commit_all(self, entry: Any) -> None:
        _, names, unit, number, now_ms = entry
        self._begin_commit(names)
        if unit is not None:
            self._units.used(unit, number, now_ms)

    def _begin_commit(self, names: Sequence[str]) -> None:
        transactions = [self.register[name] for name in names]
        self.commits.begin(transactions)
        for each in transactions:
            self._checks.heard_of(each)

    def _apply_unit(self, entry: Any) -> None:
        _, name, now_ms = entry
        self._units.used(name, None, now_ms)

    def _apply_moved(self, entry: Any) -> None:
        _, name, count = entry
        self._done(self.register[name], count)

    def _done(self, transaction: Transaction, count: int) -> None:
        if transaction.batches:
            self.batches.runs -= count
        for first, last, *_ in transaction.moved(count):
            self.parking.done_between(first, last)

    def _apply_end(self, entry: Any) -> None:
        _, name, committed, now_ms = entry
        transaction = self.register[name]
        self._checks.heard_of(transaction)
        self._done(transaction, len(transaction.runs))
        self.register.ended(name, committed, now_ms)
        self.commits.ended(name)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            HALF_ADD: self._apply_add,
            HALF_CHECK: self._apply_check,
            HALF_COMMIT: self._apply_commit,
            HALF_COMMIT_ALL: self._apply_commit_all,
            COMMIT_UNIT: self._apply_unit,
            HALF_MOVED: self._apply_moved,
            HALF_END: self._apply_end,
            **self.batches.appliers(),
        }

    def dump(self) -> object:
        """For the snapshot."""
        done = self.parking.dump_done()
        return [self.parking.end, done, *self.register.dump(), self.commits.dump(), self._units.dump()]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        end, done, rows, ended, *later = state
        self.parking.load(end, done)
        self.register.load(rows, ended)
        for transaction in self.register:
            self.batches.runs += len(transaction.runs) if transaction.batches else 0
            self._checks.plan(transaction)
        committing = [each.name for each in self.register if each.committing]
        lanes, units = later or ([committing, []], [])  # older snapshots know neither
        self.commits.load(lanes, self.register)
        self._units.load(units)

    def list(self, group: str | None = None) -> Sequence[OpenTransaction]:
        """The open transactions, of a producer group or all, in the order in which they began."""
        return self.register.list(group)
