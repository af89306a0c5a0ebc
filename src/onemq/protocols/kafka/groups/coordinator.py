"""The coordinator: all groups whose members Kafka clients are."""

from collections.abc import Callable, Iterable
from functools import partial
from uuid import uuid4

from onemq.errors import InvalidArgument
from onemq.limits import (
    KAFKA_GROUP_DELAY_MS,
    KAFKA_GROUP_IDLE_MS,
    KAFKA_GROUPS_MAX,
    KAFKA_SESSION_MS_MAX,
    KAFKA_SESSION_MS_MIN,
)
from onemq.message import check_name
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarm, Alarms
from onemq.protocols.kafka.groups.catalog import Catalog
from onemq.protocols.kafka.groups.classic import ClassicGroup
from onemq.protocols.kafka.groups.consumer import ConsumerGroup
from onemq.protocols.kafka.groups.consumer_member import JOINS
from onemq.protocols.kafka.groups.member import Join, SyncAnswer, check_size
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse

OWN_IDS_SINCE = 1
"""From this version of ConsumerGroupHeartbeat on, members make up their own ids."""
EPOCHS_SINCE = 9
"""From this version on, OffsetCommit knows consumer groups, and groups that are not there."""
LiveGroup = ClassicGroup | ConsumerGroup


class Coordinator:
    """All groups with members, and those that had some until recently."""

    def __init__(
        self,
        alarms: Alarms,
        catalog: Catalog,
        new_id: Callable[[], str] = lambda: str(uuid4()),
        delay_ms: int = KAFKA_GROUP_DELAY_MS,
    ) -> None:
        self.groups: dict[str, LiveGroup] = {}
        self.on_change: Callable[[LiveGroup], None] = lambda group: None
        """Told when it is another question who reads what in a group."""
        self.is_shared: Callable[[str], bool] = lambda name: False
        """Whether a share group of a name has members: the two kinds must not disturb each other."""
        self._alarms = alarms
        self._catalog = catalog
        self._new_id = new_id
        self._delay_ms = delay_ms
        self._watches: dict[str, Alarm] = {}
        """When groups that became empty are looked at again."""

    # Classic groups

    def join(self, join: Join) -> None:
        """Answers at once or later."""
        try:
            self._group_to_join(join).join(join)
        except Refused as refused:
            join.refuse(refused.error)

    def sync(self, request: SyncGroupRequest, answer: SyncAnswer) -> None:
        """Answers at once or later."""
        try:
            self._classic(request.group_id).sync(request, answer)
        except Refused as refused:
            answer(SyncGroupResponse(error_code=refused.error))

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        try:
            return self._classic(group_id).heartbeat(member_id, instance_id, generation)
        except Refused as refused:
            return refused.error

    def leave(self, group_id: str, member_id: str, instance_id: str | None) -> ErrorCode:
        try:
            self._classic(group_id).leave(member_id, instance_id)
        except Refused as refused:
            return refused.error
        return ErrorCode.NONE

    # Consumer groups

    def consume(
        self, request: ConsumerGroupHeartbeatRequest, version: int, client_id: str, host: str
    ) -> ConsumerGroupHeartbeatResponse:
        """A member of a consumer group joins, shows that it lives, or leaves. Raises `Refused`."""
        if not request.group_id:
            raise Refused(ErrorCode.INVALID_REQUEST, "a group has a name")
        if not request.member_id:
            if request.member_epoch != JOINS or version >= OWN_IDS_SINCE:
                raise Refused(ErrorCode.INVALID_REQUEST, "a member has an id")
            request.member_id = self._new_id()
        return self._consumers(request).heartbeat(request, client_id, host)

    def _consumers(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroup:
        _check_id(request.group_id)
        found = self.groups.get(request.group_id)
        is_shared = self.is_shared(request.group_id)
        if isinstance(found, ConsumerGroup) and not is_shared:
            return found
        if request.member_epoch != JOINS or is_shared or (found is not None and not found.is_idle):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {request.group_id!r}")
        self._make_room(request.group_id)
        epoch = 0 if found is None else found.generation
        group = ConsumerGroup(request.group_id, self._alarms, self._catalog, epoch)
        group.on_change = self._changed
        self.groups[request.group_id] = group
        self._watch(group)
        return group

    def check_is_not_shared(self, group_id: str) -> None:
        """Raises `Refused` where share consumers are in the group: its places are theirs."""
        if self.is_shared(group_id):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id!r} is a share group")

    # What both have

    def check_commit(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        version: int,
        transactional: bool = False,
    ) -> ErrorCode:
        """Whether somebody may tell how far the group is."""
        group = self.groups.get(group_id)
        try:
            self.check_is_not_shared(group_id)
            if group is not None:
                group.check_commit(member_id, instance_id, generation, transactional)
                if isinstance(group, ConsumerGroup) and group.members and not transactional and version < EPOCHS_SINCE:
                    return ErrorCode.UNSUPPORTED_VERSION
            elif generation >= 0:
                return ErrorCode.GROUP_ID_NOT_FOUND if version >= EPOCHS_SINCE else ErrorCode.ILLEGAL_GENERATION
        except Refused as refused:
            return refused.error
        return ErrorCode.NONE

    def stale(self, group_id: str, member_id: str, epoch: int, topic: int, numbers: Iterable[int]) -> set[int]:
        """The partitions that a member must not commit, since it got them in a later epoch."""
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup) or not group.members:
            return set()
        return {number for number in numbers if group.is_stale(member_id, epoch, (topic, number))}

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> ErrorCode:
        """Whether somebody may ask how far the group is."""
        group = self.groups.get(group_id)
        try:
            if isinstance(group, ConsumerGroup):
                group.check_fetch(member_id, epoch)
        except Refused as refused:
            return refused.error
        return ErrorCode.NONE

    def is_busy(self, group_id: str) -> bool:
        """Whether a group has members."""
        group = self.groups.get(group_id)
        return group is not None and bool(group.members)

    def forget(self, group_id: str) -> bool:
        """A group without members is gone. Returns whether it was there."""
        return not self.is_busy(group_id) and self._remove(group_id)

    def _classic(self, group_id: str) -> ClassicGroup:
        _check_id(group_id)
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def _group_to_join(self, join: Join) -> ClassicGroup:
        request = join.request
        _check_id(request.group_id)
        if not KAFKA_SESSION_MS_MIN <= request.session_timeout_ms <= KAFKA_SESSION_MS_MAX:
            raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)
        words = [word for each in request.protocols for word in (each.name, each.metadata)]
        check_size(join.client_id, request.group_instance_id, request.protocol_type, *words)
        found = self.groups.get(request.group_id)
        is_classic = isinstance(found, ClassicGroup)
        if self.is_shared(request.group_id) or (found is not None and not is_classic and not found.is_idle):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if isinstance(found, ClassicGroup):
            return found
        if request.member_id:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self._create(request.group_id, 0 if found is None else found.generation)

    def _create(self, name: str, generation: int) -> ClassicGroup:
        self._make_room(name)
        group = ClassicGroup(name, self._alarms, self._new_id, self._delay_ms, generation)
        group.on_change = self._changed
        self.groups[name] = group
        self._watch(group)
        return group

    # Groups that nobody needs

    def _make_room(self, name: str) -> None:
        self._remove(name)
        if len(self.groups) >= KAFKA_GROUPS_MAX:
            for each in [group.name for group in self.groups.values() if group.is_idle]:
                self._remove(each)
        if len(self.groups) >= KAFKA_GROUPS_MAX:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _changed(self, group: LiveGroup) -> None:
        self.on_change(group)
        if not group.members:
            self._watch(group)

    def _remove(self, name: str) -> bool:
        """A group is gone, with everything that would have kept it. Returns whether it was there."""
        watch, group = self._watches.pop(name, None), self.groups.pop(name, None)
        if watch is not None:
            watch.cancel()
        if isinstance(group, ClassicGroup):
            group.break_promises()
        return group is not None

    def _watch(self, group: LiveGroup) -> None:
        due_ms = self._alarms.now_ms + KAFKA_GROUP_IDLE_MS
        if group.name in self._watches:
            self._watches[group.name].cancel()
        self._watches[group.name] = self._alarms.add(due_ms, partial(self._idle_due, group, group.generation))

    def _idle_due(self, group: LiveGroup, generation: int) -> None:
        if self.groups.get(group.name) is not group or group.members or group.generation != generation:
            return
        if group.is_idle:
            self._remove(group.name)
        else:
            self._watch(group)


def _check_id(group_id: str) -> None:
    try:
        check_name("group", group_id)
    except InvalidArgument:
        raise Refused(ErrorCode.INVALID_GROUP_ID) from None
