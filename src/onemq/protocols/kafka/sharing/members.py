"""Who is in a share group: members that join, send heartbeats and leave, and what each may fetch.

Every member gets all partitions of the topics it asks for, as with Kafka's simple assignor where there are no more
members than partitions: which message goes to whom is decided when it is handed out. All of this is in memory. After a
restart members are unknown, and join again.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from onemq.core.core import Core
from onemq.core.start import FIRST
from onemq.core.topics import Topic
from onemq.core.waiting import Wait
from onemq.limits import SHARE_MEMBERS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.member import check_size
from onemq.protocols.kafka.sharing.places import find_topic, group_to_use
from onemq.protocols.kafka.sharing.settings import HEARTBEAT, SESSION, ShareSettings

AWAITING_MS = 500
"""A member that waits for a topic comes again after so long at the latest."""
JOIN, LEAVE = 0, -1
"""Epochs in a heartbeat."""

Silent = Callable[[str, str, str], None]
"""Told the group, the member and the reason when a member was not heard of for too long."""


class Client(NamedTuple):
    """What a heartbeat tells of its sender."""

    id: str = ""
    host: str = ""


NOBODY = Client()


class Heartbeat(NamedTuple):
    """One heartbeat."""

    group: str
    member: str
    epoch: int
    topics: list[str] | None = None
    """None: as before."""
    rack: str | None = None


class Answer(NamedTuple):
    """What it is answered."""

    epoch: int
    heartbeat_ms: int
    """When it is to come again."""
    assignment: list[tuple[Topic, range]] | None = None
    """The topics and partitions to fetch from; None: as before."""


class ShareMember:
    """One member."""

    def __init__(self, id: str, client: Client) -> None:
        self.id = id
        self.client = client
        self.rack: str | None = None
        self.topics: list[str] = []
        self.missing: set[str] = set()
        """Topics it asked for that were not there at its last heartbeat."""
        self.epoch = self.previous_epoch = 0
        self.assigned: dict[int, int] = {}
        """What it was told last: topic -> number of partitions."""
        self.seen_ms = 0
        self.timer: Wait | None = None


class ShareGroup:
    """The members of one group."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = 0
        self.members: dict[str, ShareMember] = {}


class ShareMembers:
    """The members of all share groups."""

    def __init__(self, core: Core, on_silent: Silent) -> None:
        self._core = core
        self._on_silent = on_silent
        self._settings = ShareSettings(core)
        self.is_taken: Callable[[str], bool] = lambda group: False
        """Whether a group of that name has members of another kind, which keep places of their own."""
        self.groups: dict[str, ShareGroup] = {}

    def heartbeat(self, beat: Heartbeat, client: Client = NOBODY) -> Answer:
        """Takes a heartbeat. Raises `Refused`."""
        if not beat.group or not beat.member:
            raise Refused(ErrorCode.INVALID_REQUEST, "a heartbeat needs the ids of the group and of the member")
        check_size(beat.member, beat.rack, *(beat.topics or ()))
        if beat.epoch == LEAVE:
            self._remove(*self._member(beat))  # its session ends by itself: its last acknowledgements may come later
            return Answer(LEAVE, self._settings.milliseconds(beat.group, HEARTBEAT))
        group, member = self._joined(beat, client) if beat.epoch == JOIN else self._member(beat)
        member.seen_ms = self._core.stage.now_ms
        if beat.rack is not None:
            member.rack = beat.rack
        if beat.topics is not None:
            member.topics = list(dict.fromkeys(beat.topics))
        assigned = self._assigned(group, member)
        heartbeat_ms = self._heartbeat_ms(group, member)
        changed = {topic.id: len(topic.partitions) for topic in assigned}
        if member.assigned != changed or beat.epoch == JOIN:
            group.epoch += 1
            member.assigned, member.previous_epoch, member.epoch = changed, member.epoch, group.epoch
        elif beat.topics is None and beat.epoch == member.epoch:
            return Answer(member.epoch, heartbeat_ms)
        return Answer(member.epoch, heartbeat_ms, [(topic, range(len(topic.partitions))) for topic in assigned])

    def _heartbeat_ms(self, group: ShareGroup, member: ShareMember) -> int:
        heartbeat_ms = self._settings.milliseconds(group.name, HEARTBEAT)
        return min(heartbeat_ms, AWAITING_MS) if member.missing else heartbeat_ms

    def _remove(self, group: ShareGroup, member: ShareMember) -> None:
        if member.timer is not None:
            member.timer.cancel()
        group.epoch += 1
        del group.members[member.id]
        if not group.members:
            del self.groups[group.name]

    def _joined(self, beat: Heartbeat, client: Client) -> tuple[ShareGroup, ShareMember]:
        if beat.topics is None:
            raise Refused(ErrorCode.INVALID_REQUEST, "a member that joins names the topics it wants")
        if self.is_taken(beat.group):
            text = f"group {beat.group!r} has members that are no share consumers"
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, text)
        group = self.groups.get(beat.group) or ShareGroup(beat.group)
        member = group.members.get(beat.member)
        if member is None:
            if len(group.members) >= SHARE_MEMBERS_MAX:
                text = f"a share group has {SHARE_MEMBERS_MAX} members at most"
                raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
            self._settings.reserve(beat.group)
            member = group.members[beat.member] = ShareMember(beat.member, client)
            member.seen_ms = self._core.stage.now_ms
            self.groups[beat.group] = group
            self._watch(beat.group, member)
        return group, member

    def _member(self, beat: Heartbeat) -> tuple[ShareGroup, ShareMember]:
        group = self.groups.get(beat.group)
        member = group.members.get(beat.member) if group is not None else None
        if group is None and not self._settings.is_known(beat.group):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no share group {beat.group!r}")
        if group is None or member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"share group {beat.group!r} has no member {beat.member!r}")
        if beat.epoch not in (LEAVE, member.epoch, member.previous_epoch):
            text = f"member {beat.member!r} is in epoch {member.epoch}, not {beat.epoch}: it must join again"
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, text)
        return group, member

    def _assigned(self, group: ShareGroup, member: ShareMember) -> list[Topic]:
        """The topics that it can fetch from; the group is made in those that do not have it. It begins where its
        settings say, or, if a member asked for a topic before it was there, at its beginning."""
        found = [(name, find_topic(self._core, name)) for name in member.topics]
        assigned = []
        for name, topic in found:
            awaited = any(name in each.missing for each in group.members.values())
            start = FIRST if awaited else None
            if topic is not None and group_to_use(self._core, topic, group.name, start) is not None:
                assigned.append(topic)
        member.missing = {name for name, topic in found if topic is None}
        return assigned

    def _watch(self, group: str, member: ShareMember) -> None:
        until_ms = member.seen_ms + self._settings.milliseconds(group, SESSION)
        member.timer = self._core.waiting.wait([], until_ms, partial(self._look, group, member))

    def _look(self, group_name: str, member: ShareMember) -> None:
        """The time of a member may be up."""
        group = self.groups.get(group_name)
        if group is None or group.members.get(member.id) is not member:
            return
        silent_ms = self._core.stage.now_ms - member.seen_ms
        if silent_ms >= self._settings.milliseconds(group_name, SESSION):
            self._remove(group, member)
            self._on_silent(group_name, member.id, "its member sent no heartbeat in time")
        else:
            self._watch(group_name, member)
