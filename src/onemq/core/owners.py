"""Owners of transactions: they open under a name, and whoever opens under it again takes over.

An owner says which partitions it will send to and whose offsets it will commit, and then its batches and offsets wait:
the batches as half messages, the offsets here. When it commits, the decision, the messages as far as they fit into a
turn, and the offsets are one set: after a crash all of it is there or nothing. An owner that does not end its
transaction in time loses it: it is rolled back and its epoch is raised, so that whatever it still sends is fenced off.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from onemq.core.commits import Commit
from onemq.core.deadlines import Deadlines
from onemq.core.entries import OWNER, OWNER_BEGIN, OWNER_END, OWNER_OFFSETS
from onemq.core.groups import Groups
from onemq.core.halves import Halves
from onemq.core.marking import Place, commit, forget
from onemq.core.owner import Owner
from onemq.core.producers import Producer, Producers
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.core.transaction import OWNED
from onemq.errors import Busy, Fenced, InvalidArgument, NotFound, TransactionEnded, TransactionTooLarge
from onemq.limits import FIRE_PER_TICK_MAX, OWNER_PLACES_MAX, OWNER_TIMEOUT_MS_MAX, OWNERS_MAX
from onemq.log.batch import BatchHeader, Buffer
from onemq.message import check_name

STAGED = -1
"""The offset of a message that waits for the end of its transaction."""
Identity = tuple[int, int]
"""(producer id, epoch)"""


class Owners:
    """All owners."""

    def __init__(
        self, stage: Stage, topics: Topics, groups: Groups, producers: Producers, sending: Sending, halves: Halves
    ) -> None:
        self._stage = stage
        self._topics = topics
        self._groups = groups
        self._producers = producers
        self._sending = sending
        self._halves = halves
        self._by_name: dict[str, Owner] = {}
        self._pending: Counter[tuple[str, int, int]] = Counter()
        """(group, topic, partition) -> in how many open transactions it has an offset."""
        self._timeouts: Deadlines[tuple[Owner, str]] = Deadlines(self._is_over)
        """Owners and the transactions that they had then."""
        producers.is_busy = self._is_busy
        producers.on_forget = self._forgotten
        self.on_timeout: Callable[[str], None] = lambda name: None
        """Told of owners whose transaction is rolled back because its time is up."""
        self.on_new_group: Callable[[Topic], None] = lambda topic: None
        """Told of topics for which a commit made a group."""

    def __iter__(self) -> Iterator[Owner]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Owner:
        """The owner, or `NotFound`."""
        owner = self._by_name.get(name)
        if owner is None:
            raise NotFound(f"there is no transactional producer {name!r} (any more): it has to open first")
        return owner

    def producer(self, owner: Owner) -> Producer:
        """Its id and epoch."""
        producer = self._producers.owned(owner.name)
        assert producer is not None
        return producer

    def is_committing(self, owner: Owner) -> bool:
        """Whether messages of its last transaction are still on their way."""
        return self._halves.commits.is_moving(owner.transaction)

    def is_pending(self, group: str, topic_id: int, number: int) -> bool:
        """Whether an open transaction has an offset of the group there."""
        return (group, topic_id, number) in self._pending

    # What owners do

    def open(self, name: str, timeout_ms: int, former: Identity | None = None) -> Producer:
        """Takes over under a name: an open transaction is rolled back, older ones of that name are fenced off. With
        `former`, only if that is who it was until now; if the answer of that was lost, it is given again. Raises
        `Fenced`, and `Busy` while the last commit moves."""
        check_name("transactional producer", name)
        if not 0 < timeout_ms <= OWNER_TIMEOUT_MS_MAX:
            raise InvalidArgument(f"the time of a transaction must be 1 to {OWNER_TIMEOUT_MS_MAX} ms, not {timeout_ms}")
        self._stage.check()
        owner = self._by_name.get(name)
        if owner is None:
            if len(self._by_name) >= OWNERS_MAX:
                self._producers.forget_oldest(owned=True)
            if len(self._by_name) >= OWNERS_MAX:
                raise TransactionTooLarge(f"{OWNERS_MAX} transactional producers have transactions, no more can open")
        else:
            self._check_still(owner)
            if former is not None:
                producer = self.producer(owner)
                if former == owner.former and not owner.is_open and owner.committed is None:
                    return producer
                if former != (producer.id, producer.epoch):
                    raise _fenced(name, producer, former)
        return self._renew(name, timeout_ms, former)

    def begin(
        self, name: str, identity: Identity, targets: Iterable[tuple[Topic, int]] = (), groups: Iterable[str] = ()
    ) -> None:
        """The transaction will send to those partitions and commit offsets of those groups; the first call begins it.
        Raises `NotFound`, `Fenced`, `TransactionTooLarge`, and `Busy` while the last commit moves."""
        owner = self._valid(name, identity)
        self._check_still(owner)
        wanted = dict.fromkeys((topic.id, number) for topic, number in targets)
        places = [number for target in wanted if target not in owner.targets for number in target]
        more = [check_name("group", group) for group in groups if group not in owner.groups]
        if owner.is_open and not places and not more:
            return
        self._check_room(owner, len(places) // 2 + len(more))
        self._stage.check()
        transaction = owner.transaction
        if not owner.is_open:
            transaction = f"{name}{OWNED}{identity[0]}-{identity[1]}-{owner.count + 1}"
        entry = (OWNER_BEGIN, name, transaction, places, more, self._stage.now_ms)
        self._apply_begin(entry)
        self._stage.entry(entry, sync=False)

    def produce(self, name: str, topic: Topic, number: int, batch: Buffer, header: BatchHeader) -> int:
        """A batch of the transaction, which says itself whose it is; its protocol has checked it (`check_ready_made`).
        Returns the offset that it has for now. Raises what `Sending.send_batch` and `begin` raise, and
        `TransactionEnded` if it is not for a partition that the transaction named."""
        self._sending.check_foreign(topic, batch, header)
        id, epoch, first = header[9:12]
        owner = self._valid(name, (id, epoch))
        if first < 0:
            raise InvalidArgument("a batch of a transaction must have a sequence")
        last = first + header.last_offset_delta & 0x7FFFFFFF
        if self._producers.repeated(id, epoch, topic.id, number, first, last) is not None:
            return STAGED
        self._check_still(owner)
        if (topic.id, number) not in owner.targets:
            raise TransactionEnded(
                f"transactional producer {name!r} has no open transaction with partition {number} of {topic.name!r}"
            )
        self._halves.batches.stage_owned(owner.transaction, name, topic, number, batch, header)
        self._producers.produced(id, epoch, topic.id, number, first, last, STAGED, sync=True)
        return STAGED

    def commit_offsets(
        self, name: str, identity: Identity, group: str, topic: Topic, places: Mapping[int, Place]
    ) -> None:
        """The group will be there when the transaction is committed. Raises what `begin` raises, and
        `TransactionEnded` if the transaction did not name the group."""
        owner = self._valid(name, identity)
        self._check_still(owner)
        if group not in owner.groups:
            raise TransactionEnded(f"transactional producer {name!r} has no open transaction with group {group!r}")
        self._check_room(owner, len(places))
        self._stage.check()
        for number in places:
            topic.choose(None, number)
        entry = (OWNER_OFFSETS, name, group, topic.id, [[number, *place] for number, place in places.items()])
        self._apply_offsets(entry)
        self._stage.entry(entry, sync=True)

    def end(self, name: str, identity: Identity, committed: bool) -> Commit:
        """Ends the transaction; once more in the same way changes nothing. Raises `NotFound`, `Fenced`, and
        `TransactionEnded` if there is none or it ended otherwise."""
        owner = self._valid(name, identity)
        if not owner.is_open:
            if owner.committed != committed:
                raise TransactionEnded(f"transactional producer {name!r} has no open transaction")
            return self._halves.commit_owned(owner.transaction)
        self._stage.check()
        if committed:
            self._sending.check()
            made = self._halves.commit_owned(owner.transaction)
            self._commit_pending(owner)
        else:
            self._halves.rollback_owned(owner.transaction)
            made = Commit(0, set())
        entry = (OWNER_END, name, committed)
        self._apply_end(entry)
        self._stage.entry(entry, sync=True)
        return made

    def _commit_pending(self, owner: Owner) -> None:
        """Groups are where they will be, except on topics that are gone."""
        for group, topic_id, places in owner.pending():
            topic = self._topics.by_id(topic_id)
            if topic is not None and self._move(topic, group, places):
                self.on_new_group(topic)

    def _move(self, topic: Topic, name: str, places: Mapping[int, Place]) -> bool:
        """A negative offset takes the group's place away. Returns whether the group is new."""
        kept = {number: place for number, place in places.items() if place.offset >= 0}
        is_new = bool(kept) and commit(self._groups, topic, name, kept, topic.config.default_group)
        group = topic.groups.get(name)
        if group is not None and len(kept) < len(places):
            forget(self._groups, group, places.keys() - kept.keys())
        return is_new

    def _valid(self, name: str, identity: Identity) -> Owner:
        owner = self.get(name)
        producer = self.producer(owner)
        id, epoch = identity
        if id != producer.id:
            raise NotFound(f"the id of transactional producer {name!r} is {producer.id}, not {id}")
        if epoch != producer.epoch:
            raise _fenced(name, producer, identity)
        return owner

    def _check_still(self, owner: Owner) -> None:
        if self.is_committing(owner):
            raise Busy(f"the last transaction of {owner.name!r} is committed and still moves: ask again")

    def _check_room(self, owner: Owner, more: int) -> None:
        if owner.size + more > OWNER_PLACES_MAX:
            raise TransactionTooLarge(f"a transaction can have {OWNER_PLACES_MAX} partitions, groups and offsets")

    def _renew(self, name: str, timeout_ms: int, former: Identity | None) -> Producer:
        """The next epoch, with no transaction."""
        owner = self._by_name.get(name)
        if owner is not None and owner.is_open:
            self._halves.rollback_owned(owner.transaction)
        producer = self._producers.open_owned(name)
        entry = (OWNER, name, timeout_ms, former)
        self._apply_owner(entry)
        self._stage.entry(entry, sync=True)
        return producer

    # Time

    def tick(self, now_ms: int) -> int | None:
        """Rolls back what has no more time. Returns when to come again."""
        for owner, _ in list(islice(self._timeouts.pop_due(now_ms), FIRE_PER_TICK_MAX)):
            producer = self.producer(owner)
            self._renew(owner.name, owner.timeout_ms, (producer.id, producer.epoch))
            self.on_timeout(owner.name)
        return self._timeouts.next_due_ms()

    def _is_over(self, waiter: tuple[Owner, str]) -> bool:
        owner, transaction = waiter
        return not owner.is_open or owner.transaction != transaction or self._by_name.get(owner.name) is not owner

    def _is_busy(self, producer: Producer) -> bool:
        owner = self._by_name.get(producer.owner)
        return owner is not None and (owner.is_open or self.is_committing(owner))

    # What is durable

    def _apply_owner(self, entry: Any) -> None:
        _, name, timeout_ms, former = entry
        owner = self._by_name.get(name)
        if owner is None:
            owner = self._by_name[name] = Owner(name)
        self._settle(owner)
        owner.timeout_ms, owner.committed = timeout_ms, None
        owner.former = None if former is None else (former[0], former[1])

    def _apply_begin(self, entry: Any) -> None:
        _, name, transaction, places, groups, now_ms = entry
        owner = self._by_name[name]
        if not owner.is_open:
            owner.count += 1
            owner.transaction, owner.begun_ms = transaction, now_ms
            self._timeouts.add(owner.until_ms, (owner, transaction))
        self.producer(owner).seen_ms = now_ms
        owner.targets.update(dict.fromkeys(zip(places[::2], places[1::2], strict=True)))
        owner.groups.update(dict.fromkeys(groups))

    def _apply_offsets(self, entry: Any) -> None:
        _, name, group, topic, rows = entry
        known = self._by_name[name].offsets.setdefault((group, topic), {})
        for number, offset, remark in rows:
            if number not in known:
                self._pending[group, topic, number] += 1
            known[number] = Place(offset, remark)

    def _apply_end(self, entry: Any) -> None:
        _, name, committed = entry
        owner = self._by_name[name]
        self._settle(owner)
        owner.committed = committed

    def _settle(self, owner: Owner) -> None:
        for group, topic, places in owner.pending():
            for number in places:
                self._pending[group, topic, number] -= 1
                if not self._pending[group, topic, number]:
                    del self._pending[group, topic, number]
        owner.end()

    def _forgotten(self, name: str) -> None:
        self._by_name.pop(name, None)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            OWNER: self._apply_owner,
            OWNER_BEGIN: self._apply_begin,
            OWNER_OFFSETS: self._apply_offsets,
            OWNER_END: self._apply_end,
        }

    def dump(self) -> object:
        """For the snapshot."""
        return [owner.row() for owner in self]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        for owner in map(Owner.from_row, state):
            self._by_name[owner.name] = owner
            self._pending.update(
                (group, topic, number) for group, topic, places in owner.pending() for number in places
            )
            if owner.is_open:
                self._timeouts.add(owner.until_ms, (owner, owner.transaction))


def _fenced(name: str, producer: Producer, identity: Identity) -> Fenced:
    return Fenced(
        f"transactional producer {name!r} has id and epoch {producer.id}, {producer.epoch} now, "
        f"not {identity[0]}, {identity[1]}"
    )
