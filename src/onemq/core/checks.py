"""Check-backs: when somebody is asked what became of which transaction, who can be asked, and what is shown to them.

Nothing here is durable: it follows from the open transactions and from those who listen now.
"""

from collections.abc import Callable, Sequence
from itertools import islice

from onemq.core.deadlines import Deadlines
from onemq.core.listeners import Listeners
from onemq.core.parking import Parking
from onemq.core.transaction import Transaction, named
from onemq.limits import (
    FIRE_PER_TICK_MAX,
    TRANSACTION_CHECK_MS,
    TRANSACTION_CHECKS_MAX,
    TRANSACTION_UNHEARD_MS_MAX,
)
from onemq.message import TARGET, Record


class Checks:
    """The transactions to be asked about, by time, and those about which nobody can be asked."""

    def __init__(
        self,
        parking: Parking,
        is_unsure: Callable[[Transaction], bool],
        checked: Callable[[Transaction], None],
        give_up: Callable[[Transaction, str], None],
    ) -> None:
        """`is_unsure` says whether a transaction still needs checks; `checked` counts one, before it is made; `give_up`
        is told of each that gets no more, and why: it rolls back."""
        self._parking = parking
        self._is_unsure = is_unsure
        self._checked = checked
        self._give_up = give_up
        self._planned: Deadlines[Transaction] = Deadlines(lambda each: not is_unsure(each))
        self._unheard: dict[str, dict[Transaction, None]] = {}
        """Producer group -> transactions about which nobody could be asked."""
        self._look_ms = 0
        """When to look next whether they have waited long enough."""
        self.listeners = Listeners(self._listener_came)

    def plan(self, transaction: Transaction) -> None:
        """Sees to it that the next check is thought of in time."""
        if transaction.owned:
            return
        if transaction.planned_ms is None or transaction.next_ms < transaction.planned_ms:
            transaction.planned_ms = transaction.next_ms
            self._planned.add(transaction.next_ms, transaction)

    def put_off(self, transaction: Transaction, next_ms: int) -> None:
        """Something was added to it: the next check comes then."""
        transaction.next_ms = next_ms
        self.heard_of(transaction)
        self.plan(transaction)

    def heard_of(self, transaction: Transaction) -> None:
        """It does not wait for somebody who can be asked any more."""
        waiting = self._unheard.get(transaction.group)
        if waiting is not None and transaction in waiting:
            del waiting[transaction]
            if not waiting:
                del self._unheard[transaction.group]

    def tick(self, now_ms: int) -> None:
        """Asks what is to be asked now, and gives up those that had their chances."""
        due = self._pop_due(now_ms)
        if due:
            self._ask(due)

    def _pop_due(self, now_ms: int) -> list[Transaction]:
        due = dict.fromkeys(islice(self._planned.pop_due(now_ms), FIRE_PER_TICK_MAX))
        found = [each for each in due if self._is_to_be_asked(each, now_ms)]
        if self._unheard and not 0 < self._look_ms - now_ms <= TRANSACTION_CHECK_MS:
            self._look_ms = now_ms + TRANSACTION_CHECK_MS
            self._give_up_unheard(now_ms)
        return found

    def next_ms(self) -> int | None:
        """When to come again."""
        planned_ms = self._planned.next_due_ms()
        if self._unheard:
            return self._look_ms if planned_ms is None else min(self._look_ms, planned_ms)
        return planned_ms

    def _is_to_be_asked(self, transaction: Transaction, now_ms: int) -> bool:
        """Of a transaction whose time has come: whether somebody is to be asked now; else it waits or ends."""
        transaction.planned_ms = None
        if transaction.next_ms > now_ms:
            self.plan(transaction)
        elif transaction.checks >= TRANSACTION_CHECKS_MAX:
            self._give_up(transaction, f"was not ended though its producers were asked {transaction.checks} times")
        elif transaction.group in self.listeners:
            return True
        else:
            self._unheard.setdefault(transaction.group, {})[transaction] = None
            # Those who come after a restart shall find it, however long that took.
            until_ms = max(transaction.next_ms + TRANSACTION_UNHEARD_MS_MAX, now_ms + TRANSACTION_CHECK_MS)
            transaction.waits_until_ms = until_ms
        return False

    def _ask(self, transactions: Sequence[Transaction]) -> None:
        def found(records: dict[int, Record]) -> None:
            for each in transactions:
                listener = self.listeners.next(each.group) if self._is_unsure(each) else None
                if listener is not None:
                    record = records.get(each.runs[0][0])
                    self._checked(each)
                    listener(each.name, each.checks, _stand_in(each) if record is None else self._shown(each, record))
                elif self._is_unsure(each):
                    self.plan(each)

        self._parking.take([each.runs[0][0] for each in transactions], found)

    def _shown(self, transaction: Transaction, record: Record) -> Record:
        if transaction.batches:
            target = (TARGET, transaction.targets[transaction.runs[0][3]].encode())
            return *record[:4], (target, *named(transaction.name, transaction.group), *record[4])
        return *record[:4], tuple(self._parking.identified(record, [*record[4]]))

    def _give_up_unheard(self, now_ms: int) -> None:
        waiting = [each for group in self._unheard.values() for each in group]
        for transaction in waiting:
            if transaction.waits_until_ms <= now_ms:
                self._give_up(transaction, "waited for days, and nobody of its producer group came to be asked")

    def _listener_came(self, group: str) -> None:
        for transaction in self._unheard.pop(group, {}):
            self.plan(transaction)


def _stand_in(transaction: Transaction) -> Record:
    """For a message that cannot be read any more."""
    return transaction.runs[0][0], transaction.born_ms, None, b"", named(transaction.name, transaction.group)
