"""What one connection has in message queues: its members of groups, and its subscriptions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.core.assignment import Attributes
from onemq.core.delivery import Member
from onemq.core.group import Group
from onemq.errors import TooLarge
from onemq.limits import MQ_MEMBERS_MAX
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.members import Key
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.mq.subscription import Subscription
    from onemq.protocols.resp.session import RespSession


class MqConnection:
    """The state of a session that receives messages."""

    def __init__(self, session: "RespSession") -> None:
        self._session = session
        self._members = session.service.members
        self.members: dict[Key, None] = {}
        self.lost: set[Key] = set()
        """Members that other connections took over."""
        self.subscriptions: dict[int, Subscription] = {}
        self.listening: dict[str, Callable[[], None]] = {}
        """The producer groups for which it can be asked, with what ends that."""
        self.waiting: tuple[Key, Answer] | None = None
        """The member for which a command waits, if one does."""
        self._last_subscription = 0
        session.mq = self
        session.on_lost[self.end] = None

    def bind(self, group: Group, name: str, attributes: Attributes | None = None) -> Member:
        """The member of a group, which belongs to this connection from now on."""
        member = self._members.bind(self, group, name, attributes)
        member.seen_ms = self._session.service.now_ms
        return member

    def lose(self, key: Key, reason: str) -> None:
        """Another connection is that member now."""
        self.members.pop(key, None)
        self.lost.add(key)
        if self.waiting is not None and self.waiting[0] == key:
            self.waiting[1].stop()
            self.waiting[1].fail(CommandError(f"FENCED {reason}"))
        for subscription in [each for each in self.subscriptions.values() if each.key == key]:
            subscription.end(reason)

    def leave(self, key: Key) -> None:
        """Is that member no longer; what it has goes back untried."""
        if key in self.members:
            del self.members[key]
            if self._session.service.core.stage.refusal is None:
                self._members.give_back(key)
            self._members.release(self, key, "the member left")

    def forget_gone(self) -> None:
        """Forgets members whose groups are gone."""
        for key in [key for key in self.members if not self._members.is_live(key)]:
            del self.members[key]
            self._members.release(self, key, "")
        self.lost = {key for key in self.lost if self._members.is_live(key)}

    def check_room(self, count: int) -> None:
        """Raises if the connection has as many members, or groups that it listens for, as it may have."""
        if count >= MQ_MEMBERS_MAX:
            raise TooLarge(f"a connection can be {MQ_MEMBERS_MAX} members of groups, and listen for as many")

    def next_subscription(self) -> int:
        self._last_subscription += 1
        return self._last_subscription

    def end(self) -> None:
        """The connection is gone, or starts anew."""
        for subscription in list(self.subscriptions.values()):
            subscription.stop()
        for stop in self.listening.values():
            stop()
        for key in self.members:
            self._members.release(self, key, "the connection ended")
        self.members.clear()
        self._session.mq = None
        self._session.on_lost.pop(self.end, None)


def connection_of(session: "RespSession") -> MqConnection:
    """The session's, made if it has none."""
    return session.mq or MqConnection(session)


def own_name(session: "RespSession") -> str:
    """What a member is called that was given no name."""
    return f"client-{session.id}"
