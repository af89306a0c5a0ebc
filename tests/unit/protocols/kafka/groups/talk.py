"""A broker, and connections that ask each time in a turn of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from onemq.core.core import Core
from onemq.protocols.kafka.schema import Message
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from tests.unit.core.broker import Broker
from tests.unit.protocols.kafka.fakes import Client

M = TypeVar("M", bound=Message)


class Talk:
    """One connection."""

    def __init__(self, house: "House") -> None:
        self._house = house
        self._answers: list[Any] = []
        self._client = Client(house.service)
        self.session = self._client.session

    def send(self, request: Message, version: int) -> None:
        with self._house.turn():
            self._client.send(request, version)

    def answer(self, kind: type[M]) -> M | None:
        """To the oldest request whose answer was not looked at, if it is answered."""
        self._answers += self._client.take()
        if not self._answers:
            return None
        answer = self._answers.pop(0)
        assert isinstance(answer, kind)
        return answer

    def ask(self, request: Message, kind: type[M], version: int) -> M:
        self.send(request, version)
        answer = self.answer(kind)
        assert answer is not None, "it was not answered"
        return answer


class House:
    """A broker and its connections."""

    def __init__(self) -> None:
        self.broker = Broker(None)
        self.service = KafkaService(self.broker.core, KafkaFacts(identity=b"test" * 4))

    @property
    def core(self) -> Core:
        return self.broker.core

    def connect(self) -> Talk:
        return Talk(self)

    @contextmanager
    def turn(self) -> Iterator[Core]:
        with self.broker.turn() as core:
            yield core

    def pass_ms(self, duration_ms: int, step_ms: int = 50) -> None:
        for _ in range(duration_ms // step_ms):
            self.broker.pass_ms(step_ms)

    def topic(self, name: str, messages: int = 0, **settings: Any) -> None:
        """With so many messages, all in the first partition; then it gets two more."""
        self.broker.topic(name, **settings)
        self.broker.send(*[b"%d" % each for each in range(messages)], topic=name)
        with self.turn() as core:
            core.topics.alter(name, partitions=3)
