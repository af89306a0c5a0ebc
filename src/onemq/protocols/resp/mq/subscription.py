"""A subscription: messages are pushed to a connection as they come, for as long as it has credit.

Its request waits in the group like any other. How many messages it takes is asked when it is served: as many as
are missing to the credit, and none while the peer does not take our output. So whatever frees a delivery
(an acknowledgement by anyone, a lease that ends) gives credit back, and nothing is counted here.
"""

from typing import TYPE_CHECKING

from onemq.core.assignment import Attributes
from onemq.core.group import Group
from onemq.core.receive import Handed, Receive
from onemq.errors import OneMQError
from onemq.limits import MQ_PUSH_BYTES, MQ_PUSH_MESSAGES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.connection import MqConnection
from onemq.protocols.resp.mq.messages import push
from onemq.protocols.resp.mq.waiting import FOREVER_MS

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_ENDED = replies.text("mq.ended")
_RETRY_MS = 1_000
_FIRST_PUSH = 64
"""Messages of the first push, when nothing is known of their size."""


class Subscription:
    """One subscription of a connection."""

    def __init__(
        self, session: "RespSession", connection: MqConnection, group: Group, member: str, attributes: Attributes,
        credit: int, in_flight: bool,
    ) -> None:  # fmt: skip
        self._session = session
        self._connection = connection
        self._core = session.service.core
        self._group = group
        self._attributes = attributes
        self._in_flight = in_flight
        """Whether messages must be acknowledged; else they are done when they are pushed."""
        self._request: Receive | None = None
        self._most = _FIRST_PUSH
        self._is_open = self._is_over = False
        self.key = (group.id, member)
        self.credit = credit
        self.number = connection.next_subscription()

    def begin(self) -> None:
        """Pushes from the end of this turn on, when the reply that names it has been written."""
        self._ask()
        self._connection.subscriptions[self.number] = self
        self._session.on_resume[self.go_on] = None
        self._is_open = True
        self.go_on()

    def go_on(self) -> None:
        """Looks again, at the end of this turn, whether there is something to push."""
        if self._request is not None:
            self._core.groups.hot[self._group] = None

    def end(self, reason: str) -> None:
        """Ends it and tells the client why."""
        self.stop()
        words = [_ENDED, replies.integer(self.number), replies.text(reason)]
        self._session.write(replies.RESP3.push(words))

    def stop(self) -> None:
        """Nothing is pushed any more."""
        self._is_over = True
        if self._request is not None:
            self._request.cancel()
            self._request = None
        self._connection.subscriptions.pop(self.number, None)
        self._session.on_resume.pop(self.go_on, None)

    def _ask(self) -> None:
        group = self._core.groups.find(self.key[0])
        if group is None:
            self.end("the group is gone")
            return
        self._group = group  # another object if the core had to start anew
        try:
            if self.key[1] not in group.members:
                self._core.groups.join(group, self.key[1], leased=True, attributes=self._attributes)
            self._request = self._core.receiving.receive(
                group, self.key[1], 0, self._take, FOREVER_MS, in_flight=self._in_flight, allowance=self._allowance
            )
        except OneMQError:  # nothing can be written now
            self._core.waiting.wait([], self._core.stage.now_ms + _RETRY_MS, self._ask_again)

    def _ask_again(self) -> None:
        if not self._is_over and self._request is None:
            self._ask()
            self.go_on()

    def _allowance(self) -> int:
        session = self._session
        if session.atomic:
            self.go_on()  # after the transaction: a push cannot stand among its replies
            return 0
        if not self._is_open or session.peer.congested or session.replies.version == 2:
            return 0
        member = self._group.members.get(self.key[1])
        return min(self._most, self.credit - (0 if member is None else member.in_flight))

    def _take(self, got: list[Handed]) -> None:
        self._request = None
        if self._is_over:
            return
        if got:
            frame = push(self.number, got)
            self._most = max(min(MQ_PUSH_MESSAGES_MAX, MQ_PUSH_BYTES * len(got) // len(frame)), 1)
            member = self._group.members.get(self.key[1])
            if member is not None:
                member.seen_ms = self._core.stage.now_ms
            self._session.write(frame)
        self._ask()
