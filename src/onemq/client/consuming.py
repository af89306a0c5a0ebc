"""How a consumer takes messages: what code may say about it."""

from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

from onemq.client.connection import Word
from onemq.client.grouping import Assign, GroupSettings, Order, Start
from onemq.client.handler import Acknowledge
from onemq.client.retry import Policy
from onemq.client.times import Duration
from onemq.errors import InvalidArgument

PREFETCH = 256
"""Messages in hand at most, unless told otherwise."""


class ConsumerOptions(TypedDict, total=False):
    """What `consumer(...)` takes beside topic and group. Settings of the group are made true when the consumer
    begins: the group is created with them, or altered to them."""

    filter: str | None
    """Of the group: `A || B` for tags, or SQL: `tag IN ('created', 'paid') AND amount > 100`."""
    retry: Policy | None
    """Of the group: `Ladder()`, `Backoff(...)` or `Immediate(...)`."""
    order: Order | None
    """Of the group: one message at a time per partition, or per key."""
    once_by: str | None
    """Of the group: handle once what has the same "key", "id", or header of that name."""
    once_window: Duration | None
    """Of the group: how long that is remembered."""
    start: Start | None
    """Where a new group begins: "first" (usual), "last", an offset or a time."""
    assign: Assign | None
    """Of the group: how partitions are given to members."""
    lease: Duration | Literal["none"] | None
    """Of the group: a message that is not acknowledged in this time is handed out again."""
    dead_topic: str | None
    """Of the group: where dead letters go."""
    concurrency: int
    """Handlers at work at the same time: 1."""
    prefetch: int | None
    """Messages in hand at most: with handlers, and waiting for them."""
    acknowledge: Acknowledge
    """auto, client, lazy or transacted."""
    batch: int
    """Above 1 the handler gets a list of up to so many messages."""
    send_to: str | None
    """The topic to which what the handler returns is sent, together with the acknowledgement."""
    member: str | None
    room: str | None
    partitions: tuple[int, ...] | None


_OF_THE_GROUP = (
    "filter", "retry", "order", "once_by", "once_window", "start", "assign", "lease", "dead_topic",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """How messages are taken."""

    topic: str
    group: str
    settings: GroupSettings
    concurrency: int = 1
    """Handlers at work at the same time."""
    prefetch: int | None = None
    """Messages in hand at most: with handlers, and waiting for them."""
    acknowledge: Acknowledge = "auto"
    batch: int = 1
    """Above 1 the handler gets a list of up to so many messages."""
    send_to: str | None = None
    """Where what the handler returns is sent, together with the acknowledgement."""
    member: str | None = None
    """The name in the group; else the broker gives one."""
    room: str | None = None
    """For the assignment by room."""
    partitions: tuple[int, ...] | None = None
    """Only these, where the assignment is by configuration."""

    def check(self) -> None:
        """Raises `InvalidArgument` for what makes no sense."""
        if self.concurrency < 1 or self.batch < 1:
            raise InvalidArgument("concurrency and batch must be at least 1")
        if self.prefetch is not None and self.prefetch < 1:
            raise InvalidArgument("prefetch must be at least 1")
        if self.acknowledge not in ("auto", "client", "lazy", "transacted"):
            raise InvalidArgument(f"acknowledge is auto, client, lazy or transacted, not {self.acknowledge!r}")
        if self.batch > 1 and self.settings.order not in (None, "none"):
            raise InvalidArgument("an ordered consumer takes messages one by one: leave out batch, or order")

    @property
    def credit(self) -> int:
        return self.prefetch or max(PREFETCH, 2 * self.concurrency * self.batch)

    def options(self) -> tuple[Word, ...]:
        """What MQ.SUBSCRIBE is told beside the credit."""
        words: list[Word] = []
        if self.member is not None:
            words += ["MEMBER", self.member]
        if self.room is not None:
            words += ["ROOM", self.room]
        if self.partitions is not None:
            words += ["PARTITIONS", *self.partitions]
        return tuple(words)


def consumer_settings(topic: str, group: str, **options: Unpack[ConsumerOptions]) -> ConsumerSettings:
    """The settings that these options mean. Raises `InvalidArgument`."""
    of_the_group = {name: value for name, value in options.items() if name in _OF_THE_GROUP}
    own = {name: value for name, value in options.items() if name not in _OF_THE_GROUP}
    settings = ConsumerSettings(topic, group, GroupSettings(**of_the_group), **own)  # type: ignore[arg-type]
    settings.check()
    return settings
