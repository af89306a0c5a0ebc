"""Share sessions: which partitions a member fetches, on one connection, with an epoch for each request.

What a member has acquired goes with its session. When the session is closed, messages that it did not acknowledge go
back untried; when its connection is lost, they go back and count as tried, as with every member of a group.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from onemq.core.core import Core
from onemq.core.group import Group
from onemq.limits import SHARE_SESSIONS_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.sharing.places import held

OPEN, CLOSE = 0, -1
"""Epochs in a request."""
_EPOCH_MAX = (1 << 31) - 1
_RETRY_MS = 1_000

Place = tuple[bytes, int]
"""(id of a topic, partition)"""


class Owner(Protocol):
    """The connection that a session belongs to."""

    on_lost: dict[Callable[[], None], None]


class ShareSession:
    """One member's session."""

    def __init__(self, group: str, member: str, owner: Owner) -> None:
        self.group = group
        self.member = member
        self.owner = owner
        self.epoch = 1
        """That of the next request."""
        self.places: dict[Place, None] = {}
        """What it fetches, in the order in which it was asked for."""
        self.joined: set[int] = set()
        """The groups of the core that it is a member of."""
        self.turns = 0
        """How many fetches there were: topics take turns."""
        self.lost: Callable[[], None] | None = None
        """What ends it when its connection is lost."""
        self.stop: Callable[[], None] | None = None
        """What ends a fetch that waits."""

    def by_topic(self) -> dict[bytes, list[int]]:
        """The partitions of each topic; another topic comes first each time."""
        found: dict[bytes, list[int]] = {}
        for topic, number in self.places:
            found.setdefault(topic, []).append(number)
        self.turns += 1
        first = self.turns % len(found) if found else 0
        topics = list(found)
        return {topic: found[topic] for topic in topics[first:] + topics[:first]}


class ShareSessions:
    """The sessions of all members."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._sessions: dict[tuple[str, str], ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, group: str, member: str, owner: Owner) -> ShareSession:
        """A new session, in place of the one that the member has. What it acquired on the same connection stays
        acquired."""
        old = self._sessions.get((group, member))
        if old is None and len(self._sessions) >= SHARE_SESSIONS_MAX:
            text = f"this broker has {SHARE_SESSIONS_MAX} share sessions at most"
            raise Refused(ErrorCode.SHARE_SESSION_LIMIT_REACHED, text)
        session = ShareSession(group, member, owner)
        if old is not None and old.owner is owner:
            session.joined = old.joined
            self._forget(old)
        elif old is not None:
            self.end(old, "another connection took the member over")
        self._sessions[group, member] = session
        session.lost = partial(self.end, session, "the connection was lost")
        owner.on_lost[session.lost] = None
        return session

    def check(self, group: str, member: str, epoch: int) -> ShareSession:
        """The session of a request; its epoch goes on, unless it closes the session. Raises `Refused`."""
        session = self._sessions.get((group, member))
        if session is None:
            text = f"member {member!r} of share group {group!r} has no share session"
            raise Refused(ErrorCode.SHARE_SESSION_NOT_FOUND, text)
        if epoch == CLOSE:
            return session
        if epoch != session.epoch:
            text = f"the share session is in epoch {session.epoch}, not {epoch}"
            raise Refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH, text)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def join(self, session: ShareSession, group: Group) -> None:
        """Makes the member known to a group of the core."""
        member = group.members.get(session.member)
        if group.id not in session.joined or member is None or not member.leased:
            member = self._core.groups.join(group, session.member, leased=True)
            session.joined.add(group.id)
        member.seen_ms = self._core.stage.now_ms

    def close(self, session: ShareSession) -> None:
        """The member is done: what it did not acknowledge goes back untried."""
        for group in self._groups(session):
            for cursor in group.cursors:
                self._core.groups.give_back(group, cursor.partition.number, held(cursor, session.member))
        self.end(session, "the share session was closed")

    def end_of(self, group: str, member: str, reason: str) -> None:
        """Ends the session of a member that is gone, if it has one."""
        session = self._sessions.get((group, member))
        if session is not None:
            self.end(session, reason)

    def end(self, session: ShareSession, reason: str) -> None:
        """The session is over: what the member has goes back, and counts."""
        self._forget(session)
        self._leave(session, reason)

    def _leave(self, session: ShareSession, reason: str) -> None:
        later = self._sessions.get((session.group, session.member))
        if self._core.stage.refusal is not None:  # nothing can be written now
            until_ms = self._core.stage.now_ms + _RETRY_MS
            self._core.waiting.wait([], until_ms, partial(self._leave, session, reason))
            return
        for group in self._groups(session):
            self._core.groups.leave(group, session.member, reason)
            if later is not None:
                later.joined.discard(group.id)

    def _forget(self, session: ShareSession) -> None:
        if self._sessions.get((session.group, session.member)) is session:
            del self._sessions[session.group, session.member]
        if session.lost is not None:
            session.owner.on_lost.pop(session.lost, None)
        if session.stop is not None:
            session.stop()

    def _groups(self, session: ShareSession) -> list[Group]:
        found = [self._core.groups.find(id) for id in session.joined]
        return [group for group in found if group is not None]
