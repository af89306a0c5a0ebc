"""The register of transactions: the open ones by their names, and for a while how those that ended did."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from onemq.core.stage import Stage
from onemq.core.transaction import OWNED, Ended, OpenTransaction, Transaction
from onemq.errors import InvalidArgument, NotFound, TransactionEnded, TransactionTooLarge
from onemq.limits import (
    TRANSACTION_UNHEARD_MS_MAX,
    TRANSACTIONS_ENDED_MAX,
    TRANSACTIONS_ENDED_MS,
    TRANSACTIONS_OPEN_MAX,
)
from onemq.message import check_name


class Transactions:
    """All transactions that are open or remembered."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._open: dict[str, Transaction] = {}
        self._ended: dict[str, Ended] = {}
        """Oldest first."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Transaction]:
        """The open ones, in the order in which they began."""
        return iter(self._open.values())

    def __getitem__(self, name: str) -> Transaction:
        return self._open[name]

    def get(self, name: str) -> Transaction | None:
        """The transaction of that name that is open, if there is one."""
        return self._open.get(name)

    def is_open(self, transaction: Transaction) -> bool:
        """Whether it has not ended."""
        return self._open.get(transaction.name) is transaction

    def messages_of(self, name: str) -> int:
        """How many messages a transaction has or had that is open or remembered."""
        return (self._open.get(name) or self._ended[name]).messages

    def for_more(self, name: str | None, group: str) -> Transaction | None:
        """The open transaction to which a producer group may add something; None if it is to begin. Raises
        `TransactionEnded`, `InvalidArgument`, and `TransactionTooLarge` if no more can begin."""
        known = None
        if name is not None:
            if OWNED not in name:
                check_name("transaction", name)
            known = self._open.get(name)
            ended = self.remembered(name)
            if ended is not None:
                raise TransactionEnded(f"{_told(name, ended)}: begin another one")
        if known is None:
            if len(self._open) >= TRANSACTIONS_OPEN_MAX:
                raise TransactionTooLarge(f"{TRANSACTIONS_OPEN_MAX} transactions are open, no more can begin: end some")
            return None
        if known.group != group:
            raise InvalidArgument(f"transaction {known.name!r} is of producer group {known.group!r}, not {group!r}")
        return known

    def for_producer(self, name: str | None, group: str, check_after_ms: int) -> Transaction | None:
        """The same for producers that have no transactions of their own."""
        check_name("producer group", group)
        if not 0 <= check_after_ms <= TRANSACTION_UNHEARD_MS_MAX:
            raise InvalidArgument(f"check_after_ms must be 0 to {TRANSACTION_UNHEARD_MS_MAX}, not {check_after_ms}")
        if name is not None:
            self.check_free([name])
        return self.for_more(name, group)

    def fresh_name(self, wish: str) -> str:
        """A name that nobody chose."""
        while wish in self._open or wish in self._ended:
            wish += "+"
        return wish

    def check_free(self, names: Iterable[str]) -> None:
        """Raises `InvalidArgument` if one of these transactions has an owner."""
        for name in names:
            if OWNED in name:
                raise InvalidArgument(f"transaction {name!r} is ended by its transactional producer only")

    # Ends

    def remembered(self, name: str) -> Ended | None:
        """How a transaction has ended, or surely will, if that is known."""
        known = self._open.get(name)
        if known is not None:
            return Ended(True, known.messages, self._stage.now_ms, again=True) if known.committing else None
        ended = self._ended.get(name)
        return None if ended is None or _is_old(ended, self._stage.now_ms) else ended

    def check_unsure(self, name: str) -> None:
        """Raises `NotFound`, and `TransactionEnded` if it has ended."""
        ended = self._find(name)
        if ended is not None:
            raise TransactionEnded(_told(name, ended))

    def again(self, name: str, committed: bool) -> Ended | None:
        """How a transaction ended, if it did so in the way that is wanted now. Raises `NotFound`, and
        `TransactionEnded` if it did otherwise."""
        ended = self._find(name)
        if ended is not None and ended.committed != committed:
            raise TransactionEnded(_told(name, ended))
        return None if ended is None else ended._replace(again=True)

    def _find(self, name: str) -> Ended | None:
        ended = self.remembered(name)
        if ended is None and name not in self._open:
            raise NotFound(f"there is no transaction {name!r}: it ended long ago, or nothing was sent under that name")
        return ended

    # What entries say

    def begun(self, name: str, group: str, now_ms: int) -> Transaction:
        """The transaction, which begins if it is not open."""
        transaction = self._open.get(name)
        if transaction is None:
            transaction = self._open[name] = Transaction(name, group, now_ms)
        return transaction

    def ended(self, name: str, committed: bool, now_ms: int) -> None:
        """It is not open any more; how it ended is remembered."""
        transaction = self._open.pop(name)
        self._ended.pop(name, None)
        self._ended[name] = Ended(committed, transaction.messages, now_ms)
        while len(self._ended) > TRANSACTIONS_ENDED_MAX or _is_old(next(iter(self._ended.values())), now_ms):
            del self._ended[next(iter(self._ended))]

    def dump(self) -> tuple[list[object], list[object]]:
        """For the snapshot: the open ones, and the ends."""
        return [each.row() for each in self], [[name, *each[:3]] for name, each in self._ended.items()]

    def load(self, rows: Iterable[Any], ended: Iterable[Any]) -> None:
        """The reverse of `dump`."""
        self._open = {each.name: each for each in map(Transaction.from_row, rows)}
        self._ended = {name: Ended(*each) for name, *each in ended}

    def list(self, group: str | None = None) -> Sequence[OpenTransaction]:
        """The open transactions, of a producer group or all, in the order in which they began."""
        return [
            OpenTransaction(*(getattr(each, name) for name in OpenTransaction._fields))
            for each in self
            if group is None or each.group == group
        ]


def _is_old(ended: Ended, now_ms: int) -> bool:
    return ended.at_ms + TRANSACTIONS_ENDED_MS <= now_ms


def _told(name: str, ended: Ended) -> str:
    return f"transaction {name!r} was {'committed' if ended.committed else 'rolled back'}"
