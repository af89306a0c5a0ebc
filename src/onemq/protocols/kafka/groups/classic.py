"""A classic group: members agree on generations, and one of them, the leader, says who reads what.

    Empty ──join──> PreparingRebalance ──all are there, or time is up──> CompletingRebalance ──the leader's──> Stable
      ^                ^      │                                               │             assignment           │
      └──nobody left───┼──────┘                                               │                                  │
                       └──────────────a member comes, goes or changes its mind┴──────────────────────────────────┘

What is answered follows Apache Kafka's group coordinator, error by error. Answers are given when the state is as they
say: whoever gets one may ask at once for the next thing.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from onemq.limits import KAFKA_GROUP_DELAY_MS, KAFKA_GROUP_MEMBERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarm, Alarms
from onemq.protocols.kafka.groups.member import Join, Member, SyncAnswer
from onemq.protocols.kafka.groups.roster import Roster
from onemq.protocols.kafka.groups.sessions import Sessions
from onemq.protocols.kafka.groups.subscription import CONSUMER, partitions_of, topics_of
from onemq.protocols.kafka.schemas.join_group import JoinGroupResponse, JoinGroupResponseMember
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


class State(StrEnum):
    """As clients read it."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroup:
    """One group."""

    type = "classic"

    def __init__(
        self,
        name: str,
        alarms: Alarms,
        new_id: Callable[[], str],
        delay_ms: int = KAFKA_GROUP_DELAY_MS,
        generation: int = 0,
    ) -> None:
        """`delay_ms`: how long the first member of an empty group waits for others."""
        self.name = name
        self.state = State.EMPTY
        self.generation = generation
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.roster = Roster()
        self.members = self.roster.members
        self.promised: dict[str, Alarm] = {}
        """Ids that were given to clients which have not joined with them yet, and until when they may."""
        self.topics: frozenset[str] | None = frozenset()
        """What the members subscribe to; none: nobody knows."""
        self.on_change: Callable[[ClassicGroup], None] = lambda group: None
        """Told when a generation is stable or the group empty."""
        self._alarms = alarms
        self._sessions = Sessions(alarms, self._remove)
        self._new_id = new_id
        self._delay_ms = delay_ms
        self._alarm: Alarm | None = None
        """When those must have joined, or asked for their assignment, who will."""
        self._unsynced: set[str] = set()
        """Who has not asked for the assignment of this generation yet."""
        self._gathering_ms: int | None = None
        """While an empty group waits for others: how long it may still do so after this round."""
        self._grew = False

    # What members ask for

    def join(self, join: Join) -> None:
        """Answers at once or later. Raises `Refused`."""
        request = join.request
        self.roster.check_protocols(join, self.protocol_type)
        if not request.member_id:
            self._join_new(join)
        elif request.member_id in self.promised:
            if request.group_instance_id is not None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            self.roster.check_room()
            self._add(join, request.member_id)
        else:
            self._join_again(join, self.roster.get(request.member_id, request.group_instance_id))

    def sync(self, request: SyncGroupRequest, answer: SyncAnswer) -> None:
        """Answers at once or later. Raises `Refused`."""
        member = self.roster.get(request.member_id, request.group_instance_id)
        self._check_generation(request.generation_id)
        known = (request.protocol_type or self.protocol_type, request.protocol_name or self.protocol)
        if known != (self.protocol_type, self.protocol):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state is State.PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._unsynced.discard(member.id)
        if self.state is State.STABLE:
            self._sessions.renew(member)
            answer(self._synced(member))
            return
        late, member.syncing = member.syncing, answer
        if late is not None:
            late(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if member.id == self.roster.leader:
            self._assign({each.member_id: each.assignment for each in request.assignments})

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        """Raises `Refused`."""
        member = self.roster.get(member_id, instance_id)
        self._check_generation(generation)
        self._sessions.renew(member)
        return ErrorCode.REBALANCE_IN_PROGRESS if self.state is State.PREPARING else ErrorCode.NONE

    def leave(self, member_id: str, instance_id: str | None) -> None:
        """A member goes, or a static one is put out by its name. Raises `Refused`."""
        if not member_id and instance_id is not None:
            self._remove(self.roster.named(instance_id))
        elif member_id in self.promised:
            self._forget_promise(member_id)
        else:
            self._remove(self.roster.get(member_id, instance_id))

    def check_commit(self, member_id: str, instance_id: str | None, generation: int, transactional: bool) -> None:
        """Whether somebody may tell how far it is. Raises `Refused`."""
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            member = self.roster.get(member_id, instance_id)
            self._check_generation(generation)
            self._sessions.renew(member)
        elif not transactional and self.state is not State.EMPTY:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if not transactional and self.state is State.COMPLETING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def is_subscribed(self, topic: str) -> bool:
        """Whether members read a topic; if nobody can tell, they may."""
        return topic in self.topics if self.topics is not None else self.is_of_consumers

    @property
    def is_idle(self) -> bool:
        """Whether nobody would miss it."""
        return self.state is State.EMPTY and not self.promised

    @property
    def is_of_consumers(self) -> bool:
        """Whether its members say what they read, in Kafka's own way."""
        return self.protocol_type == CONSUMER

    def reading(self) -> dict[str, dict[str, list[int]]]:
        """Member -> topic -> partitions, as far as that can be told."""
        if self.state is not State.STABLE or not self.is_of_consumers:
            return {}
        return {each.id: partitions_of(each.assignment) for each in self.members.values()}

    # Joining

    def _join_new(self, join: Join) -> None:
        instance_id = join.request.group_instance_id
        new_id = f"{instance_id or join.client_id}-{self._new_id()}"
        if instance_id is not None and instance_id in self.roster.instances:
            self._replace(self.roster.instances[instance_id], new_id, join)
            return
        self.roster.check_room()
        if instance_id is None and join.version >= MEMBER_ID_REQUIRED_SINCE:
            if len(self.promised) >= KAFKA_GROUP_MEMBERS_MAX:
                raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
            until_ms = self._alarms.now_ms + join.request.session_timeout_ms
            self.promised[new_id] = self._alarms.add(until_ms, partial(self._forget_promise, new_id))
            join.refuse(ErrorCode.MEMBER_ID_REQUIRED, new_id)
        else:
            self._add(join, new_id)

    def _add(self, join: Join, id: str) -> None:
        if id in self.promised:
            self.promised.pop(id).cancel()
        member = Member(id, join.request.group_instance_id)
        if not self.members:
            self.protocol_type = join.request.protocol_type
        self.roster.add(member)
        self._grew = True
        self._take_over(member, join)
        self._rebalance()

    def _replace(self, member: Member, new_id: str, join: Join) -> None:
        """A static member is back under its name; who used it before is fenced."""
        old_id, old_leader = member.id, self.roster.leader
        joining, syncing = member.joining, member.syncing
        member.joining = member.syncing = None
        self.roster.change_id(member, new_id)
        if old_id in self._unsynced:
            self._unsynced.remove(old_id)
            self._unsynced.add(new_id)
        member.take_over(join)
        self._sessions.renew(member)
        if joining is not None:
            joining.refuse(ErrorCode.FENCED_INSTANCE_ID, old_id)
        if syncing is not None:
            syncing(SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        if self.state is State.STABLE and self.roster.chosen_protocol() == self.protocol:
            join.answer(self._welcome_back(member, join.version, old_leader))
            return
        self._take_over(member, join)
        self._rebalance()

    def _welcome_back(self, member: Member, version: int, old_leader: str | None) -> JoinGroupResponse:
        """The generation goes on: a leader must not assign anew. Clients that cannot be told so are told of a leader
        that is nobody any more."""
        answer = self._joined(member, version)
        if member.id == self.roster.leader:
            answer.skip_assignment = version >= SKIP_ASSIGNMENT_SINCE
            if not answer.skip_assignment:
                answer.leader, answer.members = old_leader or "", []
        return answer

    def _join_again(self, join: Join, member: Member) -> None:
        if self.state is not State.PREPARING:
            knows = member.protocols == join.request.protocols
            if knows and (self.state is State.COMPLETING or member.id != self.roster.leader):
                self._sessions.renew(member)
                join.answer(self._joined(member, join.version))
                return
        self._take_over(member, join)
        self._rebalance()

    def _take_over(self, member: Member, join: Join) -> None:
        """The member waits for the next generation."""
        late, member.joining = member.joining, join
        member.take_over(join)
        join.on_lost = partial(self._join_lost, member, join)
        self._sessions.renew(member)
        if late is not None and late is not join:
            late.refuse(ErrorCode.REBALANCE_IN_PROGRESS)

    def _join_lost(self, member: Member, join: Join) -> None:
        """Its connection is gone: from now on it must show that it lives, as all others."""
        if member.joining is join:
            member.joining = None
            self._sessions.renew(member)

    # A rebalance

    def _rebalance(self) -> None:
        if self.state is State.PREPARING:
            self._complete_if_all_joined()
            return
        interrupted = [(each, each.syncing) for each in self.members.values() if each.syncing is not None]
        if self.state is State.COMPLETING:
            for member in self.members.values():
                member.assignment = b""
        was_empty, self.state = self.state is State.EMPTY, State.PREPARING
        self._unsynced.clear()
        wait_ms = self.roster.rebalance_timeout_ms
        if was_empty and self._delay_ms:
            self._gathering_ms = max(wait_ms - self._delay_ms, 0)
            wait_ms = min(self._delay_ms, wait_ms)
        self._grew = False
        self._wait_for_joins(wait_ms)
        for member, answer in interrupted:
            member.syncing = None
            answer(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if self.state is State.PREPARING:
            self._complete_if_all_joined()

    def _wait_for_joins(self, wait_ms: int) -> None:
        self._set_alarm(wait_ms, self._joins_due)

    def _set_alarm(self, wait_ms: int, call: Callable[[], None]) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._alarms.add(self._alarms.now_ms + wait_ms, call)

    def _joins_due(self) -> None:
        if self._gathering_ms and self._grew:
            wait_ms = min(self._delay_ms, self._gathering_ms)
            self._gathering_ms -= wait_ms
            self._grew = False
            self._wait_for_joins(wait_ms)
        else:
            self._complete()

    def _complete_if_all_joined(self) -> None:
        if self._gathering_ms is not None and self.members:
            return
        if not self.promised and all(each.joining is not None for each in self.members.values()):
            self._complete()

    def _complete(self) -> None:
        """The next generation begins with those who have joined, and with static members in any case."""
        self._gathering_ms = None
        for member in [each for each in self.members.values() if each.joining is None and each.instance_id is None]:
            self._drop(member)
        joined = [each.id for each in self.members.values() if each.joining is not None]
        if self.members and not joined:
            self._wait_for_joins(self.roster.rebalance_timeout_ms)
            return
        if self.roster.leader not in joined:
            self.roster.leader = joined[0] if joined else None
        self.generation += 1
        if not self.members:
            self._become_empty()
            return
        self.protocol = self.roster.chosen_protocol()
        self.topics = topics_of(each.metadata(self.protocol) for each in self.members.values())
        self.state = State.COMPLETING
        self._unsynced = set(self.members)
        self._set_alarm(self.roster.rebalance_timeout_ms, self._syncs_due)
        self._welcome()

    def _welcome(self) -> None:
        answers: list[tuple[Join, JoinGroupResponse]] = []
        for member in self.members.values():
            if member.joining is not None:
                answers.append((member.joining, self._joined(member, member.joining.version)))
                member.joining = None
            self._sessions.renew(member)
        for join, answer in answers:
            join.answer(answer)

    def _joined(self, member: Member, version: int) -> JoinGroupResponse:
        everybody = self.members.values() if member.id == self.roster.leader else ()
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.roster.leader or "",
            member_id=member.id,
            members=[
                JoinGroupResponseMember(each.id, each.instance_id, each.metadata(self.protocol)) for each in everybody
            ],
        )

    def _become_empty(self) -> None:
        self.state = State.EMPTY
        if self._alarm is not None:
            self._alarm.cancel()
        self.protocol = self.roster.leader = None
        self.topics = frozenset()
        self.on_change(self)

    def _assign(self, assignments: dict[str, bytes]) -> None:
        """The leader has said who reads what."""
        self.state = State.STABLE
        answers: list[tuple[SyncAnswer, SyncGroupResponse]] = []
        for member in self.members.values():
            member.assignment = assignments.get(member.id, b"")
            if member.syncing is not None:
                answers.append((member.syncing, self._synced(member)))
                member.syncing = None
                self._sessions.renew(member)
        self.on_change(self)
        for answer, response in answers:
            answer(response)

    def _synced(self, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol, assignment=member.assignment
        )

    def _syncs_due(self) -> None:
        """Who has not asked for an assignment by now is gone."""
        for member in [member for id, member in self.members.items() if id in self._unsynced]:
            self._remove(member)

    # Going

    def _remove(self, member: Member) -> None:
        """A member is gone; the others share what it had."""
        if self.members.get(member.id) is not member:
            return
        joining, syncing = member.joining, member.syncing
        self._drop(member)
        if joining is not None:
            joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, "")
        if syncing is not None:
            syncing(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        if self.state is not State.EMPTY:
            self._rebalance()

    def _drop(self, member: Member) -> None:
        member.joining = member.syncing = None
        self._sessions.end(member)
        self.roster.remove(member)
        self._unsynced.discard(member.id)

    def _forget_promise(self, id: str) -> None:
        self.promised.pop(id).cancel()
        if self.state is State.PREPARING:
            self._complete_if_all_joined()

    def break_promises(self) -> None:
        """The group is gone: nobody can join it any more."""
        for alarm in self.promised.values():
            alarm.cancel()
        self.promised.clear()

    def _check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
