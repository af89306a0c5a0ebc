"""A member of a classic group, and what it asks for."""

from collections.abc import Callable

from onemq.limits import KAFKA_MEMBER_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarm
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from onemq.protocols.kafka.schemas.sync_group import SyncGroupResponse

_WORD_BYTES = 50
"""What the shortest word takes in memory."""
SyncAnswer = Callable[[SyncGroupResponse], None]


class Join:
    """A wish to be a member, until it is answered."""

    def __init__(
        self,
        request: JoinGroupRequest,
        version: int,
        client_id: str,
        host: str,
        answer: Callable[[JoinGroupResponse], None],
    ) -> None:
        self.request = request
        self.version = version
        self.client_id = client_id
        self.host = host
        self.answer = answer
        self.on_lost: Callable[[], None] = lambda: None

    @property
    def rebalance_timeout_ms(self) -> int:
        """Those who know only one timeout mean both by it."""
        request = self.request
        return request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms

    def refuse(self, code: ErrorCode, member_id: str | None = None) -> None:
        self.answer(refusal(code, self.request.member_id if member_id is None else member_id, self.version))

    def lost(self) -> None:
        """Whoever asked is gone."""
        self.on_lost()


def refusal(code: ErrorCode, member_id: str, version: int) -> JoinGroupResponse:
    name = None if version >= 7 else ""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=name)


def check_size(*words: str | bytes | None) -> None:
    """Raises `Refused` if what a member says of itself, which is kept, is too much."""
    if sum(_WORD_BYTES + len(word) for word in words if word is not None) > KAFKA_MEMBER_BYTES_MAX:
        raise Refused(ErrorCode.INVALID_REQUEST, f"a member can say {KAFKA_MEMBER_BYTES_MAX} bytes of itself")


class Member:
    """One client in a group."""

    __slots__ = (
        "alarm", "assignment", "client_id", "expires_ms", "host", "id", "instance_id", "joining", "protocols",
        "rebalance_timeout_ms", "session_timeout_ms", "syncing",
    )  # fmt: skip

    def __init__(self, id: str, instance_id: str | None) -> None:
        self.id = id
        self.instance_id = instance_id
        """What a static member calls itself: it may come back under this name without a rebalance."""
        self.client_id = ""
        self.host = ""
        self.protocols: list[JoinGroupRequestProtocol] = []
        self.session_timeout_ms = 0
        self.rebalance_timeout_ms = 0
        self.assignment = b""
        self.joining: Join | None = None
        """It waits for the next generation."""
        self.syncing: SyncAnswer | None = None
        """It waits for its assignment."""
        self.expires_ms = 0
        """When it is gone if it says nothing until then."""
        self.alarm: Alarm | None = None
        """When that is looked at again."""

    def take_over(self, join: Join) -> None:
        """What it says of itself."""
        self.client_id, self.host = join.client_id, join.host
        self.protocols = join.request.protocols
        self.session_timeout_ms = join.request.session_timeout_ms
        self.rebalance_timeout_ms = join.rebalance_timeout_ms

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for us: then it need not show that it is alive."""
        return self.joining is not None or self.syncing is not None

    def metadata(self, protocol: str | None) -> bytes:
        """What it says of itself in a protocol."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")
