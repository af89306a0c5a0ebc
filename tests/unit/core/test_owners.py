"""Owners of transactions: batches and offsets that are there together when they commit, or not at all."""

from collections.abc import Mapping

import pytest

from onemq.core import commits, owners
from onemq.core.commits import Commit
from onemq.core.marking import Place
from onemq.core.owners import STAGED, Identity
from onemq.core.transaction import OWNED
from onemq.errors import (
    Busy,
    DiskFull,
    Fenced,
    InvalidArgument,
    NotFound,
    OneMQError,
    OutOfOrderSequence,
    TransactionEnded,
    TransactionTooLarge,
)
from onemq.limits import OWNER_TIMEOUT_MS_MAX, PRODUCER_IDLE_MS_MAX
from onemq.log.batch import HEADER_BYTES, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import encode_headers
from onemq.message import DUE, PRIORITY, Headers
from tests.unit.core.broker import HOUR_MS, NOW_MS, Broker, sealed
from tests.unit.core.test_marked import gzipped
from tests.unit.core.test_producers import of_producer

NAME = "copier"
TIMEOUT_MS = 60_000


class Owning:
    """What a transactional producer does, each call a turn."""

    def __init__(self, broker: Broker, name: str = NAME, former: Identity | None = None) -> None:
        self.broker = broker
        self.name = name
        with broker.turn() as core:
            producer = core.owners.open(name, TIMEOUT_MS, former)
            self.identity = producer.id, producer.epoch
        self.sequences: dict[tuple[str, int], int] = {}

    def begin(self, *numbers: int, topic: str = "t", groups: tuple[str, ...] = ()) -> None:
        with self.broker.turn() as core:
            targets = [(core.topics.get(topic), number) for number in numbers]
            core.owners.begin(self.name, self.identity, targets, groups)

    def send(self, *bodies: bytes, topic: str = "t", number: int = 0, sequence: int | None = None) -> int:
        first = self.sequences.get((topic, number), 0) if sequence is None else sequence
        offset = self.send_batch(sealed(*bodies), topic, number, first)
        self.sequences[topic, number] = first + len(bodies)
        return offset

    def send_batch(self, batch: bytes, topic: str = "t", number: int = 0, sequence: int = 0) -> int:
        mine = of_producer(batch, *self.identity, sequence)
        with self.broker.turn() as core:
            return core.owners.produce(self.name, core.topics.get(topic), number, mine, read_header(mine))

    def commit_offsets(self, group: str, places: Mapping[int, Place], topic: str = "t") -> None:
        with self.broker.turn() as core:
            core.owners.commit_offsets(self.name, self.identity, group, core.topics.get(topic), places)

    def end(self, committed: bool = True) -> Commit:
        with self.broker.turn() as core:
            return core.owners.end(self.name, self.identity, committed)


@pytest.fixture
def two(broker: Broker) -> Broker:
    broker.topic("t", 2)
    return broker


def place_of(broker: Broker, group: str = "g", number: int = 0, topic: str = "t") -> tuple[int, str] | None:
    found = broker.core.topics.get(topic).groups.get(group)
    if found is None or not found.cursors[number].begun:
        return None
    return found.cursors[number].low, found.cursors[number].remark_here


# One transaction


def test_batches_and_offsets_are_there_when_the_transaction_is_committed(two: Broker) -> None:
    two.send(b"in", number=0)
    owner = Owning(two)
    owner.begin(0, 1, groups=("g",))
    assert owner.send(b"a", b"b") == STAGED
    owner.send(b"c", number=1)
    owner.send(b"d")
    owner.commit_offsets("g", {0: Place(1, "so far")})
    assert two.all_values() == [[b"in"], []]
    assert place_of(two) is None
    assert not owner.end().left
    assert two.all_values() == [[b"in", b"a", b"b", b"d"], [b"c"]]
    assert place_of(two) == (1, "so far")
    assert place_of(two, number=1) is None


def test_nothing_of_it_is_there_when_it_is_rolled_back(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0, groups=("g",))
    owner.send(b"a")
    owner.commit_offsets("g", {0: Place(0)})
    owner.end(committed=False)
    assert two.all_values() == [[], []]
    assert place_of(two) is None
    assert len(two.core.halves) == 0
    owner.begin(0)
    owner.send(b"b")
    owner.end()
    assert two.all_values() == [[b"b"], []]


def test_offsets_alone_can_be_committed(two: Broker) -> None:
    two.send(b"in", number=1)
    owner = Owning(two)
    owner.begin(groups=("g",))
    owner.commit_offsets("g", {1: Place(1)})
    assert not owner.end().left
    assert place_of(two, number=1) == (1, "")


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_can_be_asked_for_again_in_the_same_way_only(two: Broker, committed: bool) -> None:
    owner = Owning(two)
    with pytest.raises(TransactionEnded):
        owner.end(committed)
    owner.begin(0)
    owner.send(b"a")
    owner.end(committed)
    owner.end(committed)
    with pytest.raises(TransactionEnded):
        owner.end(not committed)
    assert two.all_values() == [[b"a"] if committed else [], []]


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_a_transaction_goes_on_after_a_restart(local: Broker, how: str) -> None:
    local.topic("t", 2)
    local.send(b"in", number=1)
    owner = Owning(local)
    owner.begin(0, groups=("g",))
    owner.send(b"a")
    local.restart(how)
    owner.send(b"a", sequence=0)
    owner.commit_offsets("g", {1: Place(1, "x")})
    local.restart(how)
    assert local.core.owners.is_pending("g", local.core.topics.get("t").id, 1)
    owner.send(b"b")
    owner.end()
    local.restart(how)
    owner.end()
    assert local.all_values() == [[b"a", b"b"], [b"in"]]
    assert place_of(local, number=1) == (1, "x")
    owner.begin(0)
    with pytest.raises(OutOfOrderSequence):
        owner.send(b"d", sequence=3)
    owner.send(b"c", sequence=2)
    owner.end()
    assert local.all_values() == [[b"a", b"b", b"c"], [b"in"]]


def test_the_decision_survives_with_everything_or_not_at_all(local: Broker) -> None:
    local.topic("t", 2, flush="async")
    owner = Owning(local)
    owner.begin(0, groups=("g",))
    owner.send(b"a")
    owner.commit_offsets("g", {0: Place(0)})
    local.core.owners.end(NAME, owner.identity, True)
    local.restart("power cut")
    assert local.all_values() == [[], []]
    assert place_of(local) is None
    owner.end()
    local.restart("power cut")
    assert local.all_values() == [[b"a"], []]
    assert place_of(local) == (0, "")


def batch_of(*headers: Headers, time_ms: int = NOW_MS - 1) -> bytes:
    """One message for each of the headers."""
    builder = BatchBuilder(0, time_ms)
    for number, each in enumerate(headers):
        builder.add(time_ms, b"key", b"%d" % number, encode_headers(each))
    return builder.seal()


def test_keys_headers_and_times_come_out_as_they_went_in(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0)
    owner.send_batch(batch_of(((b"h", b"v"), (b"h", None)), ()))
    two.now_ms += 5
    owner.end()
    first, second = two.records()
    assert first == (0, NOW_MS - 1, b"key", b"0", ((b"h", b"v"), (b"h", None)))
    assert second == (1, NOW_MS - 1, b"key", b"1", ())


def test_a_topic_that_stamps_gives_the_time_of_the_commit(broker: Broker) -> None:
    broker.topic("t", message_time="broker")
    owner = Owning(broker)
    owner.begin(0)
    owner.send_batch(batch_of(()))
    broker.now_ms += 5
    owner.end()
    assert [record[1] for record in broker.records()] == [NOW_MS + 5]


def test_delays_and_priorities_of_messages_count_from_the_commit_on(local: Broker) -> None:
    local.topic()
    owner = Owning(local)
    owner.begin(0)
    owner.send_batch(batch_of((), ((DUE, b"+1000"),), ((PRIORITY, b"9"),)))
    local.pass_ms(500)
    owner.end()
    assert local.values() == [b"0", b"2"]
    received = [record[3] for _, record, _ in local.receive(local.group(), most=1)]
    assert received == [b"2"]
    local.restart()
    local.pass_ms(999)
    assert local.values() == [b"0", b"2"]
    local.pass_ms(1)
    assert local.values() == [b"0", b"2", b"1"]


def test_delays_in_compressed_batches_count_where_the_topic_asks_for_it(local: Broker) -> None:
    local.topic(look_inside=True)
    owner = Owning(local)
    owner.begin(0)
    owner.send_batch(gzipped(batch_of((), ((DUE, b"+1000"),))))
    owner.end()
    assert local.values() == [b"0"]
    local.pass_ms(1000)
    assert local.values() == [b"0", b"1"]


def test_a_delay_that_is_none_is_refused_when_it_comes(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0)
    with pytest.raises(InvalidArgument, match="_due"):
        owner.send_batch(batch_of(((DUE, b"soon"),)))
    owner.end()
    assert two.all_values() == [[], []]


def test_a_batch_whose_records_nobody_can_read_does_not_stand_in_the_way_of_a_commit(two: Broker) -> None:
    sound = batch_of((), ())
    broken = sound[:HEADER_BYTES] + b"\xff" * (len(sound) - HEADER_BYTES)
    owner = Owning(two)
    owner.begin(0, 1)
    owner.send_batch(broken)
    owner.send(b"good", number=1)
    assert not owner.end().left
    assert two.values(number=1) == [b"good"]
    assert two.core.topics.get("t").partitions[0].end == 2


# Who may do what


def test_whoever_opens_under_the_name_takes_over_and_rolls_back(two: Broker) -> None:
    old = Owning(two)
    old.begin(0, groups=("g",))
    old.send(b"zombie")
    new = Owning(two)
    assert (new.identity[0], new.identity[1]) == (old.identity[0], old.identity[1] + 1)
    assert len(two.core.halves) == 0
    for call in (
        lambda: old.begin(0),
        lambda: old.send(b"late"),
        lambda: old.commit_offsets("g", {0: Place(0)}),
        lambda: old.end(),
        lambda: old.end(committed=False),
    ):
        with pytest.raises(Fenced, match="id and epoch"):
            call()
    with pytest.raises(TransactionEnded):
        new.end(committed=False)
    new.begin(0)
    new.send(b"new")
    new.end()
    assert two.all_values() == [[b"new"], []]


def test_an_owner_that_is_not_known_or_has_another_id_is_told(two: Broker) -> None:
    owner = Owning(two)
    owner.identity = (owner.identity[0] + 1, 0)
    with pytest.raises(NotFound, match="not"):
        owner.begin(0)
    owner.name = "nobody"
    with pytest.raises(NotFound, match="has to open"):
        owner.begin(0)


def test_it_sends_only_to_what_it_named(two: Broker) -> None:
    owner = Owning(two)
    with pytest.raises(TransactionEnded, match="partition 0"):
        owner.send(b"a")
    owner.begin(0)
    with pytest.raises(TransactionEnded, match="partition 1"):
        owner.send(b"a", number=1)
    with pytest.raises(TransactionEnded, match="group 'g'"):
        owner.commit_offsets("g", {0: Place(0)})
    owner.end()
    with pytest.raises(TransactionEnded, match="partition 0"):
        owner.send(b"a")
    assert two.all_values() == [[], []]


def test_a_repeated_batch_is_taken_once_also_after_the_end(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0)
    owner.send(b"a")
    owner.send(b"a", sequence=0)
    owner.end()
    owner.send(b"a", sequence=0)
    with pytest.raises(OutOfOrderSequence):
        owner.send(b"c", sequence=2)
    assert two.all_values() == [[b"a"], []]


def test_a_producer_that_says_who_it_was_gets_its_next_epoch_once(two: Broker) -> None:
    first = Owning(two)
    next_one = Owning(two, former=first.identity)
    assert next_one.identity == (first.identity[0], 1)
    assert Owning(two, former=first.identity).identity == next_one.identity, "the answer was lost"
    with pytest.raises(Fenced):
        Owning(two, former=(first.identity[0], 7))
    next_one.begin(0)
    with pytest.raises(Fenced):
        Owning(two, former=first.identity)
    stranger = Owning(two)
    assert stranger.identity[1] == 2
    with pytest.raises(Fenced):
        Owning(two, former=next_one.identity)


def test_others_cannot_end_the_transaction_of_an_owner(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0)
    owner.send(b"a")
    (row,) = two.core.halves.list()
    assert (row.name, row.group) == (f"{NAME}{OWNED}{owner.identity[0]}-0-1", NAME)
    halves = two.core.halves
    with two.turn() as core:
        for call in (halves.commit, halves.rollback):
            with pytest.raises(InvalidArgument, match="transactional producer"):
                call(row.name)
        for all_call in (halves.commit_all, halves.rollback_all):
            with pytest.raises(InvalidArgument, match="transactional producer"):
                all_call([row.name])
        with pytest.raises(InvalidArgument, match="transactional producer"):
            halves.batches.stage(row.name, NAME, core.topics.get("t"), 0, sealed(b"x"))
        with pytest.raises(InvalidArgument, match="transactional producer"):
            halves.add(row.name, NAME, core.topics.get("t"), b"x")
        assert halves.rollback_prefix(NAME) == 0
    owner.end()
    assert two.all_values() == [[b"a"], []]


# Time


def test_when_its_time_is_up_it_is_rolled_back_and_the_owner_fenced(local: Broker) -> None:
    local.topic()
    told: list[str] = []
    local.core.owners.on_timeout = told.append
    owner = Owning(local)
    owner.begin(0)
    owner.send(b"a")
    local.pass_ms(TIMEOUT_MS - 1)
    owner.send(b"b")
    local.pass_ms(1)
    assert told == [NAME]
    assert len(local.core.halves) == 0
    with pytest.raises(Fenced):
        owner.end()
    local.restart()
    again = Owning(local, former=owner.identity)
    assert again.identity == (owner.identity[0], 1)
    again.begin(0)
    again.send(b"c")
    again.end()
    assert local.values() == [b"c"]


def test_time_passes_while_the_broker_is_down(local: Broker) -> None:
    local.topic()
    owner = Owning(local)
    owner.begin(0)
    owner.send(b"a")
    local.now_ms += TIMEOUT_MS
    local.restart()
    with pytest.raises(Fenced):
        owner.end()
    assert local.core.owners.tick(local.now_ms) is None


def test_nobody_is_asked_about_the_transaction_of_an_owner(two: Broker) -> None:
    asked: list[str] = []
    with two.turn() as core:
        core.halves.listen(NAME, lambda name, number, record: asked.append(name))
    with two.turn() as core:
        producer = core.owners.open(NAME, OWNER_TIMEOUT_MS_MAX)
        core.owners.begin(NAME, (producer.id, 0), [(core.topics.get("t"), 0)])
        batch = of_producer(sealed(b"a"), producer.id, 0, 0)
        core.owners.produce(NAME, core.topics.get("t"), 0, batch, read_header(batch))
    for _ in range(20):
        two.pass_ms(40_000)
    assert len(two.core.halves) == 1
    assert asked == []


def test_an_owner_is_forgotten_after_a_week_but_not_while_it_begins_transactions(local: Broker) -> None:
    local.topic()
    idle, busy = Owning(local, "idle"), Owning(local, "busy")
    local.pass_ms(PRODUCER_IDLE_MS_MAX - HOUR_MS)
    busy.begin(groups=("g",))
    busy.end()
    local.pass_ms(2 * HOUR_MS)
    assert [owner.name for owner in local.core.owners] == ["busy"]
    busy.begin(0)
    local.restart()
    new = Owning(local, "idle")
    assert new.identity[0] > idle.identity[0]
    assert new.identity[1] == 0


# Large ones, limits and trouble


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 1_000)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 200)
    monkeypatch.setattr("onemq.core.transaction.RECEIVE_BYTES_MAX", 150)


def test_while_a_commit_moves_the_owner_waits(local: Broker, small_turns: None) -> None:
    local.topic()
    owner = Owning(local)
    owner.begin(0, groups=("g",))
    for number in range(20):
        owner.send(b"%d" % number)
    owner.commit_offsets("g", {0: Place(0)})
    made = owner.end()
    assert made.left
    assert place_of(local) == (0, "")
    told: list[OneMQError | None] = []
    made.then = told.append
    for call in (lambda: owner.begin(0), lambda: owner.send(b"x"), lambda: Owning(local)):
        with pytest.raises(Busy):
            call()
    with pytest.raises(TransactionEnded):
        owner.end(committed=False)
    assert owner.end().left
    local.restart()
    while local.core.halves.list():
        local.pass_ms(1)
    assert local.values() == [b"%d" % number for number in range(20)]
    assert not owner.end().left
    owner.begin(0)


def test_what_went_to_a_topic_that_is_gone_is_dropped_and_the_rest_committed(two: Broker) -> None:
    two.topic("u")
    owner = Owning(two)
    owner.begin(0, groups=("g",))
    owner.begin(0, topic="u")
    owner.send(b"a")
    owner.send(b"b", topic="u")
    owner.commit_offsets("g", {0: Place(0)}, topic="u")
    with two.turn() as core:
        core.topics.delete("u")
    owner.end()
    assert two.all_values() == [[b"a"], []]


def test_a_further_owner_takes_the_place_of_one_that_has_no_transaction(
    two: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever opens under ever new names keeps all others out for a week."""
    monkeypatch.setattr(owners, "OWNERS_MAX", 3)
    names = ["busy", "first", "second"]
    for name in names:
        owner = Owning(two, name)
        if name == "busy":
            owner.begin(0)
        two.pass_ms(1)
    Owning(two, "third")
    assert sorted(each.name for each in two.core.owners) == ["busy", "second", "third"]


def test_limits_are_told(two: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Owning(two)
    with two.turn() as core:
        for timeout_ms in (0, -1, OWNER_TIMEOUT_MS_MAX + 1):
            with pytest.raises(InvalidArgument, match="time of a transaction"):
                core.owners.open("x", timeout_ms)
        with pytest.raises(InvalidArgument):
            core.owners.open("", TIMEOUT_MS)
    monkeypatch.setattr(owners, "OWNERS_MAX", 1)
    owner.begin(0)
    with pytest.raises(TransactionTooLarge):
        Owning(two, "another")
    owner = Owning(two)
    monkeypatch.setattr(owners, "OWNER_PLACES_MAX", 2)
    owner.begin(0, groups=("g",))
    owner.begin(0)
    with pytest.raises(TransactionTooLarge):
        owner.begin(1)
    with pytest.raises(TransactionTooLarge):
        owner.commit_offsets("g", {0: Place(0)})
    monkeypatch.setattr("onemq.core.transaction.STAGED_BYTES_MAX", 160)
    owner.send(b"a")
    with pytest.raises(TransactionTooLarge):
        owner.send(b"b" * 100)
    owner.send(b"c")


def test_a_full_disk_refuses_a_commit_and_not_a_rollback(two: Broker) -> None:
    owner = Owning(two)
    owner.begin(0)
    owner.send(b"a")
    two.core.sending.refusal = DiskFull("full")
    with pytest.raises(DiskFull):
        owner.end()
    two.core.sending.refusal = None
    owner.end()
    assert two.all_values() == [[b"a"], []]
    owner.begin(0)
    owner.send(b"b")
    two.core.sending.refusal = DiskFull("full")
    owner.end(committed=False)


def test_who_waits_for_a_commit_is_told_to_ask_again_when_the_log_fails(local: Broker, small_turns: None) -> None:
    local.topic()
    owner = Owning(local)
    owner.begin(0)
    for number in range(20):
        owner.send(b"%d" % number)
    told: list[OneMQError | None] = []
    owner.end().then = told.append
    local.core.reset()
    assert [type(each) for each in told] == [Busy]
    assert owner.end().left
