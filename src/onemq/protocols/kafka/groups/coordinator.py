"""The coordinator: all groups whose members Kafka clients are."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from onemq.errors import InvalidArgument
from onemq.limits import (
    KAFKA_GROUP_DELAY_MS,
    KAFKA_GROUP_IDLE_MS,
    KAFKA_GROUPS_MAX,
    KAFKA_MEMBER_BYTES_MAX,
    KAFKA_SESSION_MS_MAX,
    KAFKA_SESSION_MS_MIN,
)
from onemq.message import check_name
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.classic import ClassicGroup, State
from onemq.protocols.kafka.groups.member import Join, SyncAnswer
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse

GROUP_NOT_FOUND_SINCE = 9
"""From this version on, OffsetCommit is told so of groups that are not there."""


class Coordinator:
    """All groups with members, and those that had some until recently."""

    def __init__(
        self, alarms: Alarms, new_id: Callable[[], str] = lambda: str(uuid4()), delay_ms: int = KAFKA_GROUP_DELAY_MS
    ) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.on_change: Callable[[ClassicGroup], None] = lambda group: None
        """Told when a generation of a group is stable or the group empty."""
        self._alarms = alarms
        self._new_id = new_id
        self._delay_ms = delay_ms

    def join(self, join: Join) -> None:
        """Answers at once or later."""
        try:
            self._group_to_join(join).join(join)
        except Refused as refused:
            join.refuse(refused.error)

    def sync(self, request: SyncGroupRequest, answer: SyncAnswer) -> None:
        """Answers at once or later."""
        try:
            self._with_members(request.group_id).sync(request, answer)
        except Refused as refused:
            answer(SyncGroupResponse(error_code=refused.error))

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        try:
            return self._with_members(group_id).heartbeat(member_id, instance_id, generation)
        except Refused as refused:
            return refused.error

    def leave(self, group_id: str, member_id: str, instance_id: str | None) -> ErrorCode:
        try:
            self._with_members(group_id).leave(member_id, instance_id)
        except Refused as refused:
            return refused.error
        return ErrorCode.NONE

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
            if group is not None:
                group.check_commit(member_id, instance_id, generation, transactional)
            elif generation >= 0:
                missing = version >= GROUP_NOT_FOUND_SINCE
                return ErrorCode.GROUP_ID_NOT_FOUND if missing else ErrorCode.ILLEGAL_GENERATION
        except Refused as refused:
            return refused.error
        return ErrorCode.NONE

    def is_busy(self, group_id: str) -> bool:
        """Whether a group has members."""
        group = self.groups.get(group_id)
        return group is not None and group.state is not State.EMPTY

    def forget(self, group_id: str) -> bool:
        """A group without members is gone. Returns whether it was there."""
        return not self.is_busy(group_id) and self.groups.pop(group_id, None) is not None

    def _with_members(self, group_id: str) -> ClassicGroup:
        _check_id(group_id)
        group = self.groups.get(group_id)
        if group is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def _group_to_join(self, join: Join) -> ClassicGroup:
        request = join.request
        _check_id(request.group_id)
        if not KAFKA_SESSION_MS_MIN <= request.session_timeout_ms <= KAFKA_SESSION_MS_MAX:
            raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)
        if sum(len(each.name) + len(each.metadata) for each in request.protocols) > KAFKA_MEMBER_BYTES_MAX:
            raise Refused(ErrorCode.INVALID_REQUEST)
        group = self.groups.get(request.group_id)
        if group is not None:
            return group
        if request.member_id:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self._create(request.group_id)

    def _create(self, name: str) -> ClassicGroup:
        if len(self.groups) >= KAFKA_GROUPS_MAX:
            self._forget_idle()
        if len(self.groups) >= KAFKA_GROUPS_MAX:
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        group = self.groups[name] = ClassicGroup(name, self._alarms, self._new_id, self._delay_ms)
        group.on_change = self._changed
        self._watch(group)
        return group

    def _changed(self, group: ClassicGroup) -> None:
        self.on_change(group)
        if group.state is State.EMPTY:
            self._watch(group)

    def _watch(self, group: ClassicGroup) -> None:
        due_ms = self._alarms.now_ms + KAFKA_GROUP_IDLE_MS
        self._alarms.add(due_ms, partial(self._idle_due, group, group.generation))

    def _idle_due(self, group: ClassicGroup, generation: int) -> None:
        if group.generation == generation and self.groups.get(group.name) is group and not group.promised:
            self.forget(group.name)

    def _forget_idle(self) -> None:
        for group in list(self.groups.values()):
            if not group.promised:
                self.forget(group.name)


def _check_id(group_id: str) -> None:
    try:
        check_name("group", group_id)
    except InvalidArgument:
        raise Refused(ErrorCode.INVALID_GROUP_ID) from None
