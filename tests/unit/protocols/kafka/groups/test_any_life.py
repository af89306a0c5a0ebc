"""Groups through random lives: clients that come, go, die, come back under their names and answer late, from a seed.

Whatever happened: when everybody calms down, those who live share everything, and when all are gone, nothing is left.
"""

from itertools import count
from random import Random

import pytest

from onemq.limits import KAFKA_CONSUMER_SESSION_MS, KAFKA_GROUP_IDLE_MS
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.classic import ClassicGroup, State
from onemq.protocols.kafka.groups.consumer import ConsumerGroup
from onemq.protocols.kafka.groups.coordinator import Coordinator
from onemq.protocols.kafka.groups.member import Join
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.unit.protocols.kafka.groups.shelf import Shelf

STEP_MS = 50
SESSION_MS = 500
REBALANCE_MS = 1_500


class House:
    """A coordinator and its clock."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_ms = 1_000_000
        self.shelf = Shelf(t=7)
        ids = count(1)
        self.alarms = Alarms(lambda: self.now_ms, lambda due_ms: None)
        self.coordinator = Coordinator(self.alarms, self.shelf, lambda: str(next(ids)), self.random.choice([0, 100]))

    def step(self, duration_ms: int = STEP_MS) -> None:
        self.now_ms += duration_ms
        self.alarms.ring()

    def check_nothing_left(self) -> None:
        for _ in range(40):
            self.step(REBALANCE_MS)
        self.step(KAFKA_CONSUMER_SESSION_MS)
        self.step(KAFKA_GROUP_IDLE_MS)
        assert self.coordinator.groups == {}
        assert len(self.alarms) == 0


class ClassicClient:
    """Does what consumers do: joins, asks for its assignment, shows that it lives, joins again when it is told to."""

    def __init__(self, house: House, instance: str | None) -> None:
        self.house = house
        self.instance = instance
        self.version = house.random.choice([3, 5, 9])
        self.id = ""
        self.generation = -1
        self.waits = 0
        self.stable = False
        self.alive = True
        self.fenced = False
        self._join: Join | None = None

    def step(self) -> None:
        if self.waits or self.fenced:
            return
        if self.generation < 0:
            self.join()
        elif self.stable:
            code = self.house.coordinator.heartbeat("g", self.id, self.instance, self.generation)
            if code is not ErrorCode.NONE:
                self._again(code)

    def join(self) -> None:
        self.stable, self.waits = False, self.waits + 1
        request = JoinGroupRequest(
            "g", SESSION_MS, REBALANCE_MS, self.id, self.instance, "consumer",
            [JoinGroupRequestProtocol("range", b"%d" % self.house.random.randint(0, 1))],
        )  # fmt: skip
        self._join = Join(request, self.version, "c", "h", self._joined)
        self.house.coordinator.join(self._join)

    def _joined(self, answer: JoinGroupResponse) -> None:
        self._join = None
        self.waits -= 1
        assert self.waits == 0, "answered twice"
        if not self.alive:
            return
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
        elif answer.error_code:
            self._again(ErrorCode(answer.error_code))
        else:
            self.id, self.generation = answer.member_id, answer.generation_id
            leads = answer.leader == self.id and not answer.skip_assignment
            self._sync([each.member_id for each in answer.members] if leads else [])

    def _sync(self, members: list[str]) -> None:
        self.waits += 1
        rows = [SyncGroupRequestAssignment(each, each.encode()) for each in members]
        request = SyncGroupRequest("g", self.generation, self.id, self.instance, assignments=rows)
        self.house.coordinator.sync(request, self._synced)

    def _synced(self, answer: SyncGroupResponse) -> None:
        self.waits -= 1
        assert self.waits == 0, "answered twice"
        if self.alive and answer.error_code:
            self._again(ErrorCode(answer.error_code))
        elif self.alive:
            self.stable = True

    def _again(self, code: ErrorCode) -> None:
        self.stable, self.generation = False, -1
        if code is ErrorCode.FENCED_INSTANCE_ID:
            self.fenced = True
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.id = ""
        else:
            assert code is ErrorCode.REBALANCE_IN_PROGRESS, code

    def die(self) -> None:
        self.alive = False
        if self._join is not None and self.house.random.random() < 0.5:
            self._join.lost()
            self.waits = 0  # nobody is there to be answered

    def leave(self) -> None:
        self.alive = False
        self.house.coordinator.leave("g", self.id, self.instance)


@pytest.mark.parametrize("seed", range(25))
def test_a_classic_group_calms_down_and_goes(seed: int) -> None:
    house = House(seed)
    random, clients = house.random, list[ClassicClient]()
    for _ in range(150):
        roll = random.random()
        living = [each for each in clients if each.alive]
        if roll < 0.06 and len(living) < 6:
            clients.append(ClassicClient(house, random.choice([None, None, "i1", "i2"])))
        elif roll < 0.09 and living:
            random.choice(living).die()
        elif roll < 0.11 and living:
            random.choice(living).leave()
        for each in random.sample(living, len(living)):
            if random.random() < 0.9:
                each.step()
        house.step(random.choice([STEP_MS, STEP_MS, 2 * STEP_MS, SESSION_MS // 2]))
    living = [each for each in clients if each.alive and not each.fenced]
    for _ in range(200):
        for each in living:
            each.step()
        house.step()
    living = [each for each in living if not each.fenced]
    group = house.coordinator.groups.get("g")
    if living:
        assert isinstance(group, ClassicGroup)
        assert (group.state, set(group.members)) == (State.STABLE, {each.id for each in living})
        assert all(each.stable and each.generation == group.generation for each in living)
    for each in clients:
        each.alive = False
    house.check_nothing_left()
    assert not any(each.waits for each in clients), "somebody was never answered"


class ConsumerClient:
    """Takes what it is told, and gives up what it is told after a while."""

    def __init__(self, house: House, name: str, instance: str | None) -> None:
        self.house = house
        self.name = name
        self.instance = instance
        self.epoch = 0
        self.owned: set[int] = set()
        self.told: set[int] = set()
        self.alive = True
        self.last_ms = 0

    def step(self) -> None:
        if self.owned != self.told and self.house.random.random() < 0.7:
            self.owned = set(self.told)
        topic = [TopicPartitions(ord("t").to_bytes(16, "big"), sorted(self.owned))] if self.owned else []
        fields: dict[str, object] = {"topic_partitions": topic}
        if self.epoch == 0:
            fields = {"topic_partitions": [], "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t"]}
        request = ConsumerGroupHeartbeatRequest("g", self.name, self.epoch, self.instance, **fields)  # type: ignore[arg-type]
        try:
            answer = self.house.coordinator.consume(request, 1, "c", "h")
        except Refused as refused:
            self._refused(refused.error)
            return
        self.epoch, self.last_ms = answer.member_epoch, self.house.now_ms
        if answer.assignment is not None:
            self.told = {number for each in answer.assignment.topic_partitions for number in each.partitions}
            self.owned &= self.told if not self.owned <= self.told else self.owned
            if self.told >= self.owned:
                self.owned = set(self.told)

    def _refused(self, code: ErrorCode) -> None:
        allowed = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNRELEASED_INSTANCE_ID)
        assert code in (*allowed, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID), code
        self.owned, self.told, self.epoch = set(), set(), 0

    def leave(self) -> None:
        self.alive, self.owned, self.told = False, set(), set()
        request = ConsumerGroupHeartbeatRequest("g", self.name, -1, self.instance)
        try:
            self.house.coordinator.consume(request, 1, "c", "h")
        except Refused:
            return


@pytest.mark.parametrize("seed", range(25))
def test_nobody_reads_what_another_reads_in_a_consumer_group(seed: int) -> None:
    house = House(seed)
    random, clients, names = house.random, list[ConsumerClient](), count(1)
    for _ in range(150):
        roll = random.random()
        living = [each for each in clients if each.alive]
        if roll < 0.08 and len(living) < 6:
            clients.append(ConsumerClient(house, f"m{next(names)}", random.choice([None, None, None, "i1"])))
        elif roll < 0.10 and living:
            random.choice(living).alive = False  # it dies, and says nothing
        elif roll < 0.13 and living:
            random.choice(living).leave()
        elif roll < 0.14:
            house.shelf.put(t=house.shelf.partitions["t"] + 1)
        for each in living:
            if each.alive:
                each.step()
        owned = [number for each in clients if house.now_ms - each.last_ms < 40_000 for number in each.owned]
        assert len(owned) == len(set(owned)), "read by two"
        house.step(1_000)
    living = [each for each in clients if each.alive]
    for _ in range(100):
        for each in living:
            each.step()
        house.step(1_000)
    sharing = [each for each in living if each.epoch]
    if sharing:
        group = house.coordinator.groups["g"]
        assert isinstance(group, ConsumerGroup)
        assert group.state == "Stable"
        assert sorted(number for each in sharing for number in each.owned) == list(range(house.shelf.partitions["t"]))
        sizes = [len(each.owned) for each in sharing]
        assert max(sizes) - min(sizes) <= 1
    house.check_nothing_left()
