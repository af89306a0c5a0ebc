"""Half messages: sent, stored, and invisible until their transaction is committed.

A transaction is a name and the half messages that a producer group sent under it. They are parked like those
of the schedule. Committed, they go to their topics in one set; rolled back, they are dropped. A transaction
of more than TURN_BYTES_MAX is moved over several sets, and a crash between them does no harm: every message
arrives, once; but readers may see the first of them a little earlier than the last.

A transaction that is neither committed nor rolled back is checked: one of those who listen for the producer
group is asked, again and again, what became of it. If nobody knows, it is rolled back. While nobody listens it
waits, for days; somebody who comes is asked soon.
"""

from collections.abc import Callable, Sequence
from typing import Any

from onemq.core.checks import Checks
from onemq.core.entries import HALF_ADD, HALF_CHECK, HALF_COMMIT, HALF_END, HALF_MOVED
from onemq.core.listeners import Ask, Listeners
from onemq.core.parking import Parking
from onemq.core.reading import Reading
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.topics import HALF_NAME, Topic, Topics
from onemq.core.transaction import Ended, Half, OpenTransaction, Transaction
from onemq.errors import InvalidArgument, NotFound, TooLarge, TransactionEnded
from onemq.limits import (
    TRANSACTION_CHECK_MS,
    TRANSACTION_MESSAGES_MAX,
    TRANSACTION_UNHEARD_MS_MAX,
    TRANSACTIONS_ENDED_MAX,
    TRANSACTIONS_ENDED_MS,
    TRANSACTIONS_OPEN_MAX,
    TURN_BYTES_MAX,
)
from onemq.message import PRODUCER_GROUP, TRANSACTION, Headers, Record, check_name

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
        self._open: dict[str, Transaction] = {}
        self._committing: dict[str, Transaction] = {}
        self._ended: dict[str, Ended] = {}
        """Oldest first."""
        self._moved_bytes = 0
        """What was moved since the last tick."""
        self._checks = Checks(self._is_unsure, self._give_up)
        self.on_given_up: Callable[[str, str], None] = lambda name, reason: None
        """Told of transactions that are rolled back because nobody ended them."""

    def __len__(self) -> int:
        return len(self._open)

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
        self._check_new(name, group, check_after_ms)
        size = self.parking.check(topic, body, key, headers, number) + _MESSAGE_BYTES
        partition = self.parking.partition
        name = self._fresh_name(partition.end) if name is None else name
        others = tuple(each for each in headers if each[0] not in (TRANSACTION, PRODUCER_GROUP))
        offset = self.parking.put(topic, body, key, (*others, *_headers(name, group)), number)
        now_ms = self._stage.now_ms
        entry = (HALF_ADD, name, group, offset, size, now_ms + check_after_ms, now_ms)
        self._apply_add(entry)
        self._stage.entry(entry, sync=True)
        return Half(name, offset)

    def commit(self, name: str) -> Ended:
        """Its messages go where they were sent to. Raises `NotFound`, and `TransactionEnded` if it was rolled
        back."""
        return self._again(name, committed=True) or self._commit(self._open[name])

    def rollback(self, name: str) -> Ended:
        """Its messages are dropped. Raises `NotFound`, and `TransactionEnded` if it was committed."""
        ended = self._again(name, committed=False)
        if ended is not None:
            return ended
        self._stage.check()
        return self._end(self._open[name], committed=False)

    def unknown(self, name: str) -> None:
        """The answer of somebody who was asked and does not know yet: the next check comes in its time.
        Raises `NotFound`, and `TransactionEnded` if it has ended."""
        ended = self._find(name)
        if ended is not None:
            raise TransactionEnded(_told(name, ended))

    def listen(self, group: str, ask: Ask) -> Callable[[], None]:
        """Somebody can be asked about the transactions of a producer group, until what this returns is called."""
        check_name("producer group", group)
        return self.listeners.add(group, ask)

    def _check_new(self, name: str | None, group: str, check_after_ms: int) -> None:
        check_name("producer group", group)
        if not 0 <= check_after_ms <= TRANSACTION_UNHEARD_MS_MAX:
            raise InvalidArgument(f"check_after_ms must be 0 to {TRANSACTION_UNHEARD_MS_MAX}, not {check_after_ms}")
        known = None
        if name is not None:
            check_name("transaction", name)
            known = self._open.get(name)
            ended = self._remembered(name)
            if ended is not None:
                raise TransactionEnded(f"{_told(name, ended)}: begin another one")
        if known is None:
            if len(self._open) >= TRANSACTIONS_OPEN_MAX:
                raise TooLarge(f"{TRANSACTIONS_OPEN_MAX} transactions are open, no more can begin: end some")
            return
        if known.group != group:
            raise InvalidArgument(f"transaction {known.name!r} is of producer group {known.group!r}, not {group!r}")
        if known.messages >= TRANSACTION_MESSAGES_MAX:
            raise TooLarge(f"transaction {known.name!r} has {known.messages} messages, as many as it can have")

    def _fresh_name(self, offset: int) -> str:
        name = self.parking.message_id(offset)
        while name in self._open or name in self._ended:  # somebody chose it
            name += "+"
        return name

    # Ends

    def _remembered(self, name: str) -> Ended | None:
        """How a transaction has ended, or surely will, if that is known."""
        known = self._open.get(name)
        if known is not None:
            return Ended(True, known.messages, self._stage.now_ms, again=True) if known.committing else None
        ended = self._ended.get(name)
        return None if ended is None or _is_old(ended, self._stage.now_ms) else ended

    def _find(self, name: str) -> Ended | None:
        ended = self._remembered(name)
        if ended is None and name not in self._open:
            raise NotFound(f"there is no transaction {name!r}: it ended long ago, or nothing was sent under that name")
        return ended

    def _again(self, name: str, committed: bool) -> Ended | None:
        """How a transaction ended, if it did so in the way that is wanted now."""
        ended = self._find(name)
        if ended is not None and ended.committed != committed:
            raise TransactionEnded(_told(name, ended))
        return None if ended is None else ended._replace(again=True)

    def _commit(self, transaction: Transaction) -> Ended:
        self._sending.check()
        entry = (HALF_COMMIT, transaction.name)
        self._apply_commit(entry)
        self._stage.entry(entry, sync=True)
        self._move_on()
        return Ended(True, transaction.messages, self._stage.now_ms)

    def _end(self, transaction: Transaction, committed: bool) -> Ended:
        entry = (HALF_END, transaction.name, committed, self._stage.now_ms)
        self._apply_end(entry)
        self._stage.entry(entry, sync=True)
        return Ended(committed, transaction.messages, self._stage.now_ms)

    def _move_on(self) -> None:
        """Moves messages of committed transactions, in order, as far as one set may grow."""
        for transaction in list(self._committing.values()):
            if self._moved_bytes and self._moved_bytes + transaction.bytes > TURN_BYTES_MAX:
                break
            if not transaction.moving:
                self._move(transaction)

    def _move(self, transaction: Transaction) -> None:
        count = transaction.portion(TURN_BYTES_MAX)
        offsets = transaction.offsets(count)
        self._moved_bytes += sum(size for _, _, size in transaction.runs[:count])

        def found(records: dict[int, Record]) -> None:
            transaction.moving = False
            for offset in offsets:
                if offset in records:
                    record = records[offset]
                    self.parking.forward(record, self.parking.identified(record, self.parking.headers_of(record)))
            if count == len(transaction.runs):
                self._end(transaction, committed=True)
            else:
                entry = (HALF_MOVED, transaction.name, count)
                self._apply_moved(entry)
                self._stage.entry(entry, sync=True)

        transaction.moving = True
        self.parking.take(offsets, found)

    # Checks

    def tick(self, now_ms: int) -> int | None:
        """Goes on with commits and asks what is to be asked. Returns when to come again."""
        if self._sending.refusal is not None:
            return now_ms + _RETRY_MS  # nobody could commit
        self._moved_bytes = 0
        self._move_on()
        ask = self._checks.pop_due(now_ms)
        if ask:
            self._ask(ask)
        return now_ms if self._committing else self._checks.next_ms()

    def _is_unsure(self, transaction: Transaction) -> bool:
        return self._open.get(transaction.name) is transaction and not transaction.committing

    def _give_up(self, transaction: Transaction, reason: str) -> None:
        self._end(transaction, committed=False)
        self.on_given_up(transaction.name, reason)

    def _ask(self, transactions: Sequence[Transaction]) -> None:
        def found(records: dict[int, Record]) -> None:
            for each in transactions:
                listener = self.listeners.next(each.group) if self._is_unsure(each) else None
                if listener is not None:
                    record = records.get(each.runs[0][0])
                    self._checked(each)
                    listener(each.name, each.checks, _stand_in(each) if record is None else self._shown(record))
                elif self._is_unsure(each):
                    self._checks.plan(each)

        self.parking.take([each.runs[0][0] for each in transactions], found)

    def _shown(self, record: Record) -> Record:
        return *record[:4], tuple(self.parking.identified(record, [*record[4]]))

    def _checked(self, transaction: Transaction) -> None:
        entry = (HALF_CHECK, transaction.name, transaction.checks + 1, self._stage.now_ms + TRANSACTION_CHECK_MS)
        self._apply_check(entry)
        self._stage.entry(entry, sync=False)

    # What is durable

    def _apply_add(self, entry: Any) -> None:
        _, name, group, offset, size, next_ms, now_ms = entry
        transaction = self._open.get(name)
        if transaction is None:
            transaction = self._open[name] = Transaction(name, group, now_ms)
        self.parking.parked(offset, 1)
        transaction.add(offset, size)
        transaction.next_ms = next_ms
        self._checks.heard_of(transaction)
        self._checks.plan(transaction)

    def _apply_check(self, entry: Any) -> None:
        _, name, checks, next_ms = entry
        transaction = self._open[name]
        transaction.checks, transaction.next_ms = checks, next_ms
        self._checks.plan(transaction)

    def _apply_commit(self, entry: Any) -> None:
        transaction = self._committing[entry[1]] = self._open[entry[1]]
        transaction.committing = True
        self._checks.heard_of(transaction)

    def _apply_moved(self, entry: Any) -> None:
        _, name, count = entry
        for offset in self._open[name].moved(count):
            self.parking.done(offset)

    def _apply_end(self, entry: Any) -> None:
        _, name, committed, now_ms = entry
        transaction = self._open.pop(name)
        self._committing.pop(name, None)
        self._checks.heard_of(transaction)
        for offset in transaction.moved(len(transaction.runs)):
            self.parking.done(offset)
        self._ended.pop(name, None)
        self._ended[name] = Ended(committed, transaction.messages, now_ms)
        self._forget_ended(now_ms)

    def _forget_ended(self, now_ms: int) -> None:
        while len(self._ended) > TRANSACTIONS_ENDED_MAX or _is_old(next(iter(self._ended.values())), now_ms):
            del self._ended[next(iter(self._ended))]

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            HALF_ADD: self._apply_add,
            HALF_CHECK: self._apply_check,
            HALF_COMMIT: self._apply_commit,
            HALF_MOVED: self._apply_moved,
            HALF_END: self._apply_end,
        }

    def dump(self) -> object:
        """For the snapshot."""
        ended = [[name, *each[:3]] for name, each in self._ended.items()]
        return [self.parking.end, self.parking.dump_done(), [each.row() for each in self._open.values()], ended]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        end, done, rows, ended = state
        self.parking.load(end, done)
        for row in rows:
            transaction = Transaction.from_row(row)
            self._open[transaction.name] = transaction
            if transaction.committing:
                self._committing[transaction.name] = transaction
            self._checks.plan(transaction)
        self._ended = {name: Ended(*each) for name, *each in ended}

    def list(self, group: str | None = None) -> Sequence[OpenTransaction]:
        """The open transactions, of a producer group or all, in the order in which they began."""
        return [
            OpenTransaction(*(getattr(each, name) for name in OpenTransaction._fields))
            for each in self._open.values()
            if group is None or each.group == group
        ]


def _is_old(ended: Ended, now_ms: int) -> bool:
    return ended.at_ms + TRANSACTIONS_ENDED_MS <= now_ms


def _told(name: str, ended: Ended) -> str:
    return f"transaction {name!r} was {'committed' if ended.committed else 'rolled back'}"


def _stand_in(transaction: Transaction) -> Record:
    """For a message that cannot be read any more."""
    headers = _headers(transaction.name, transaction.group)
    return transaction.runs[0][0], transaction.born_ms, None, b"", headers


def _headers(name: str, group: str) -> Headers:
    return (TRANSACTION, name.encode()), (PRODUCER_GROUP, group.encode())
