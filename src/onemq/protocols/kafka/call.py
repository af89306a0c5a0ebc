"""A call: one request on its way to its answer."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from onemq.protocols.kafka.schema import Message

if TYPE_CHECKING:
    from onemq.protocols.kafka.api import Api
    from onemq.protocols.kafka.service import KafkaService
    from onemq.protocols.kafka.session import KafkaSession

R = TypeVar("R", bound=Message)


class Call(Generic[R]):
    """What a handler is given. It returns the answer, or returns None and calls `answer` or `drop` once, then or later.

    No further request of the connection is looked at before. When the connection is lost meanwhile, `on_lost`
    is called, if it is set, and an answer that still comes is thrown away."""

    __slots__ = ("api", "client_id", "correlation_id", "on_lost", "request", "session", "version")

    def __init__(
        self, session: "KafkaSession", api: "Api", version: int, correlation_id: int, client_id: str | None, request: R
    ) -> None:
        self.session = session
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request = request
        self.on_lost: Callable[[], None] | None = None

    @property
    def service(self) -> "KafkaService":
        """What all connections share."""
        return self.session.service

    def answer(self, response: Message) -> None:
        """Answers, and lets the connection's next request go on."""
        self.session.answered(self, response)

    def drop(self) -> None:
        """The same without an answer, for those who want none."""
        self.session.answered(self, None)
