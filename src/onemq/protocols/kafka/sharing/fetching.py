"""A ShareFetch under way: asks the groups of its topics for messages, and waits for the first that has any."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from onemq.core.group import Group
from onemq.core.receive import Receive
from onemq.core.whole import Share, Whole
from onemq.limits import FETCH_BYTES_MAX, SHARE_IN_FLIGHT_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schemas.share_fetch import ShareFetchRequest, ShareFetchResponse
from onemq.protocols.kafka.sharing.places import NO_LOCK_MS, group_to_use, lock_ms
from onemq.protocols.kafka.sharing.rows import Rows
from onemq.protocols.kafka.sharing.sessions import ShareSession

if TYPE_CHECKING:
    from onemq.protocols.kafka.sharing.sharing import Sharing

_STRICT = 1
"""The mode in which no more messages are acquired than were asked for."""


class ShareFetching:
    """One of them."""

    def __init__(self, call: Call[ShareFetchRequest], sharing: "Sharing", session: ShareSession, rows: Rows) -> None:
        request = call.request
        self._call = call
        self._sharing = sharing
        self._session = session
        self._rows = rows
        self._room = request.max_records
        self._bytes_left = min(max(request.max_bytes, 1), FETCH_BYTES_MAX)
        self._is_strict = request.share_acquire_mode == _STRICT
        self._until_ms = sharing.core.stage.now_ms + request.max_wait_ms if request.max_wait_ms > 0 else None
        self._asked: list[Receive] = []
        self._lock_ms = NO_LOCK_MS
        self._has_any = False
        self._is_waiting = False

    def begin(self) -> ShareFetchResponse | None:
        """Answers at once if there is something to tell."""
        for topic_id, numbers in self._session.by_topic().items():
            self._ask(topic_id, numbers)
        if self._is_done():
            return self._answer()
        self._is_waiting = True
        self._call.on_lost = self._cancel
        self._session.stop = self._stop
        return None

    def _ask(self, topic_id: bytes, numbers: list[int]) -> None:
        core = self._sharing.core
        topic = self._sharing.topics.by_id(topic_id)
        if topic is None:
            self._give_up(topic_id, numbers)
            return
        group = group_to_use(core, topic, self._session.group)
        if group is None or self._room <= 0 or self._bytes_left <= 0:
            return
        self._sharing.sessions.join(self._session, group)
        self._lock_ms = min(self._lock_ms, lock_ms(group))
        asked = core.receiving.receive_whole(
            group,
            self._session.member,
            self._allowance(group),
            Whole(numbers, self._bytes_left, self._is_strict),
            partial(self._take, topic_id),
            None if self._has_any or self._rows.failed else self._until_ms,
        )
        self._asked.append(asked)

    def _allowance(self, group: Group) -> Callable[[], int]:
        name = self._session.member

        def allowance() -> int:
            member = group.members.get(name)
            return min(self._room, SHARE_IN_FLIGHT_MAX - (0 if member is None else member.in_flight))

        return allowance

    def _give_up(self, topic_id: bytes, numbers: list[int]) -> None:
        """The topic is gone: its partitions are told once and leave the session."""
        for number in numbers:
            del self._session.places[topic_id, number]
            self._rows.refused((topic_id, number), Refused(ErrorCode.UNKNOWN_TOPIC_ID, "the topic is gone"))

    def _take(self, topic_id: bytes, shares: list[Share]) -> None:
        for share in shares:
            self._has_any = True
            self._room -= self._rows.acquired(topic_id, share)
            self._bytes_left -= len(share.batches)
        if self._is_waiting and self._is_done():
            self._call.answer(self._answer())

    def _is_done(self) -> bool:
        return self._has_any or self._rows.failed or all(request.answered for request in self._asked)

    def _answer(self) -> ShareFetchResponse:
        self._cancel()
        return self._rows.fetched(self._lock_ms)

    def _cancel(self) -> None:
        """Asks for nothing any more."""
        self._is_waiting = False
        self._session.stop = None
        for request in self._asked:
            request.cancel()

    def _stop(self) -> None:
        """The session has ended meanwhile."""
        self._cancel()
        text = "the share session has ended"
        self._call.answer(ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND, error_message=text))
