"""A consumer group: the broker says who reads what, and members come to it one by one (KIP-848).

    the group's epoch      rises when members, what they want, or partitions change; then everybody gets a target
    a member's epoch       follows when the member has given up what is not in its target any more
    its assignment         what it may read now: of its target, what no other member still has

Members say in each heartbeat what they have; whoever keeps something longer than its rebalance timeout is put out. What
is answered follows Apache Kafka's group coordinator.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from onemq.limits import KAFKA_CONSUMER_HEARTBEAT_MS, KAFKA_CONSUMER_SESSION_MS, KAFKA_GROUP_MEMBERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.assignors import ASSIGNORS, DEFAULT, Place, Shares
from onemq.protocols.kafka.groups.catalog import Catalog
from onemq.protocols.kafka.groups.consumer_member import JOINS, LEAVES_FOR_NOW, ConsumerMember
from onemq.protocols.kafka.groups.subscription import CONSUMER
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


class ConsumerGroup:
    """One group."""

    type = "consumer"
    protocol_type = CONSUMER

    def __init__(self, name: str, alarms: Alarms, catalog: Catalog, epoch: int = 0) -> None:
        self.name = name
        self.epoch = epoch
        self.members: dict[str, ConsumerMember] = {}
        self.instances: dict[str, ConsumerMember] = {}
        self.target: Shares = {}
        self.assignor = DEFAULT
        self.on_change: Callable[[ConsumerGroup], None] = lambda group: None
        """Told when somebody's assignment is another one."""
        self._alarms = alarms
        self._catalog = catalog
        self._sizes: dict[int, int] = {}
        """The topics that members want, and their partitions."""
        self._version = catalog.version
        """The catalog's, when these were looked at."""
        self._owners: dict[Place, ConsumerMember] = {}

    @property
    def state(self) -> str:
        """As clients read it."""
        if not self.members:
            return "Empty"
        settled = all(
            each.epoch == self.epoch and not each.revoking and not each.is_short for each in self.members.values()
        )
        return "Stable" if settled else "Reconciling"

    @property
    def generation(self) -> int:
        return self.epoch

    @property
    def is_idle(self) -> bool:
        """Whether nobody would miss it."""
        return not self.members

    is_of_consumers = True

    def is_subscribed(self, topic: str) -> bool:
        """Whether members want a topic."""
        return any(topic in each.wishes(self._catalog) for each in self.members.values())

    def reading(self) -> dict[str, dict[str, list[int]]]:
        """Member -> topic -> partitions."""
        return {each.id: self.by_name(each.assigned) for each in self.members.values()}

    def by_name(self, places: Iterable[Place]) -> dict[str, list[int]]:
        """Topic -> partitions."""
        found: dict[str, list[int]] = {}
        for topic, number in sorted(places):
            name = self._catalog.name_of(topic)
            if name is not None:
                found.setdefault(name, []).append(number)
        return found

    # What members ask for

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client_id: str, host: str
    ) -> ConsumerGroupHeartbeatResponse:
        """Raises `Refused`."""
        if request.member_epoch < JOINS:
            return self._leave(request)
        member = self._joining(request) if request.member_epoch == JOINS else self._known(request)
        member.client_id, member.host = client_id, host
        changed = self._take_over(member, request)
        self._renew(member)
        if changed or self._topics_changed():
            self._retarget()
        self._reconcile(member, self._owned(request))
        return self._answer(member, request)

    def check_commit(self, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> None:
        """Whether somebody may tell how far it is. Raises `Refused`."""
        if epoch < 0 and not self.members:
            return
        if transactional and epoch < 0 and not member_id:
            return
        member = self.members.get(member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if epoch > member.epoch or (transactional and epoch != member.epoch):
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    def is_stale(self, member_id: str, epoch: int, place: Place) -> bool:
        """Whether a member has a partition only since a later epoch, or not at all (KIP-1251)."""
        member = self.members[member_id]
        if epoch == member.epoch:
            return False
        return place not in member.since or member.since[place] > epoch

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Whether somebody may ask how far it is. Raises `Refused`."""
        if member_id is None and epoch < 0:
            return
        member = self.members.get(member_id or "")
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if epoch != member.epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    # Coming and going

    def _joining(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
        _check_joining(request)
        if request.instance_id is not None and request.instance_id in self.instances:
            return self._back(self.instances[request.instance_id], request.member_id)
        member = self.members.get(request.member_id)
        if member is None:
            if len(self.members) >= KAFKA_GROUP_MEMBERS_MAX:
                raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
            member = self.members[request.member_id] = ConsumerMember(request.member_id, request.instance_id)
            if request.instance_id is not None:
                self.instances[request.instance_id] = member
        return member

    def _back(self, member: ConsumerMember, new_id: str) -> ConsumerMember:
        """A static member comes under a name that is known."""
        if member.id != new_id:
            if member.epoch != LEAVES_FOR_NOW:
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"{member.instance_id!r} is another member now")
            del self.members[member.id]
            self.target[new_id] = self.target.pop(member.id, set())
            member.id = new_id
            self.members[new_id] = member
        if member.epoch == LEAVES_FOR_NOW:
            member.epoch = member.last_epoch = JOINS
        return member

    def _known(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
        if request.instance_id is not None:
            named = self.instances.get(request.instance_id)
            if named is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            if named.id != request.member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(request.member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if request.member_epoch != member.epoch:
            owned = self._owned(request)
            is_late = request.member_epoch == member.last_epoch and owned is not None and owned <= member.assigned
            if not is_late:
                raise Refused(ErrorCode.FENCED_MEMBER_EPOCH)
        return member

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        member = self.members.get(request.member_id)
        if request.instance_id is not None:
            member = self.instances.get(request.instance_id)
            if member is not None and member.id != request.member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if request.member_epoch == LEAVES_FOR_NOW and member.instance_id is not None:
            member.epoch, member.told = LEAVES_FOR_NOW, None
            member.assigned |= member.revoking
            member.revoking = set()
            self._renew(member)
        else:
            self._remove(member)
        return ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)

    def _remove(self, member: ConsumerMember) -> None:
        for alarm in (member.alarm, member.revoke_alarm):
            if alarm is not None:
                alarm.cancel()
        self.members.pop(member.id, None)
        if member.instance_id is not None:
            self.instances.pop(member.instance_id, None)
        self._owners = {place: owner for place, owner in self._owners.items() if owner is not member}
        self._retarget()
        self.on_change(self)

    def _renew(self, member: ConsumerMember) -> None:
        if member.alarm is not None:
            member.alarm.cancel()
        due_ms = self._alarms.now_ms + KAFKA_CONSUMER_SESSION_MS
        member.alarm = self._alarms.add(due_ms, partial(self._remove, member))

    # Who is to read what

    def _take_over(self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> bool:
        """What it says of itself. Returns whether partitions must be shared out anew."""
        if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
            self._undo_join(member)
            raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, f"assignors are {', '.join(ASSIGNORS)}")
        try:
            changed = member.take_over(request)
        except Refused:
            self._undo_join(member)
            raise
        return changed or member.id not in self.target

    def _undo_join(self, member: ConsumerMember) -> None:
        if member.id not in self.target:
            self.members.pop(member.id, None)
            if member.instance_id is not None:
                self.instances.pop(member.instance_id, None)

    def _topics_changed(self) -> bool:
        """Whether partitions that members want came or went."""
        if self._version == self._catalog.version:
            return False
        self._version = self._catalog.version
        return self._topic_sizes() != self._sizes

    def _topic_sizes(self) -> dict[int, int]:
        wanted = set[str]().union(*(each.wishes(self._catalog) for each in self.members.values()))
        known = (self._catalog.named(name) for name in wanted)
        return dict(sorted(each for each in known if each is not None))

    def _retarget(self) -> None:
        """The next epoch begins, with a new target for everybody."""
        self.epoch += 1
        self._sizes = self._topic_sizes()
        chosen = Counter(each.assignor or DEFAULT for each in self.members.values())
        self.assignor = chosen.most_common(1)[0][0] if chosen else DEFAULT
        wishes = {
            each.id: frozenset(
                topic[0] for name in each.wishes(self._catalog) if (topic := self._catalog.named(name)) is not None
            )
            for each in self.members.values()
        }
        self.target = ASSIGNORS[self.assignor](self._sizes, wishes, self.target)

    # How they come to it

    def _owned(self, request: ConsumerGroupHeartbeatRequest) -> set[Place] | None:
        """What the member says that it has; none if it says nothing."""
        if request.topic_partitions is None:
            return None
        numbered = ((self._catalog.number_of(each.topic_id), each.partitions) for each in request.topic_partitions)
        return {(topic, number) for topic, numbers in numbered if topic is not None for number in numbers}

    def _reconcile(self, member: ConsumerMember, owned: set[Place] | None) -> None:
        if member.revoking:
            if owned is None or owned & member.revoking:
                return
            self._release(member.revoking)
            member.revoking = set()
        elif member.epoch == self.epoch and not member.is_short:
            return
        target = self.target[member.id]
        gives_up = member.assigned - target
        self._to_epoch(member, target, gives_up)

    def _to_epoch(self, member: ConsumerMember, target: set[Place], gives_up: set[Place]) -> None:
        before = member.assigned
        member.assigned = before & target
        if gives_up and member.epoch != JOINS:
            member.revoking = gives_up
            self._watch_revoking(member)
        else:
            self._release(gives_up)
            others = {place for place in target if self._owners.get(place, member) is not member}
            member.assigned = target - others
            member.is_short = bool(others)
            self._owners.update(dict.fromkeys(member.assigned, member))
            if member.epoch != self.epoch:
                member.last_epoch, member.epoch = member.epoch, self.epoch
            member.since = {place: member.since.get(place, self.epoch) for place in member.assigned}
        if member.assigned != before:
            self.on_change(self)

    def _release(self, places: set[Place]) -> None:
        for place in places:
            self._owners.pop(place, None)

    def _watch_revoking(self, member: ConsumerMember) -> None:
        if member.revoke_alarm is not None:
            member.revoke_alarm.cancel()
        due_ms = self._alarms.now_ms + member.rebalance_timeout_ms
        member.revoke_alarm = self._alarms.add(due_ms, partial(self._revoking_due, member, member.revoking))

    def _revoking_due(self, member: ConsumerMember, revoking: set[Place]) -> None:
        if member.revoking is revoking and self.members.get(member.id) is member:
            self._remove(member)

    def _answer(
        self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        assignment = None
        if member.told != member.assigned or request.member_epoch == JOINS or _is_full(request):
            assignment = Assignment(self._by_id(member.assigned))
            member.told = set(member.assigned)
        return ConsumerGroupHeartbeatResponse(
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=KAFKA_CONSUMER_HEARTBEAT_MS,
            assignment=assignment,
        )

    def _by_id(self, places: set[Place]) -> list[TopicPartitions]:
        found: dict[int, list[int]] = {}
        for topic, number in sorted(places):
            found.setdefault(topic, []).append(number)
        return [TopicPartitions(self._catalog.id_of(topic), numbers) for topic, numbers in found.items()]


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.topic_partitions:
        raise Refused(ErrorCode.INVALID_REQUEST, "a member that joins has no partitions yet")
    if request.rebalance_timeout_ms < 0:
        raise Refused(ErrorCode.INVALID_REQUEST, "a member that joins says how long it takes to give up partitions")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "a member that joins says which topics it wants")


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the client tells everything, because it is not sure what we know."""
    wishes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return wishes and request.rebalance_timeout_ms >= 0 and request.topic_partitions is not None
