"""A member of a consumer group: what it wants, and what it has (KIP-848)."""

from onemq.protocols.kafka.expressions import Expression, compile_expression
from onemq.protocols.kafka.groups.alarms import Alarm
from onemq.protocols.kafka.groups.assignors import Place
from onemq.protocols.kafka.groups.catalog import Catalog
from onemq.protocols.kafka.groups.member import check_size
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOINS = 0
LEAVES = -1
LEAVES_FOR_NOW = -2
"""A static member that will be back soon."""


class ConsumerMember:
    """One client."""

    def __init__(self, id: str, instance_id: str | None) -> None:
        self.id = id
        self.instance_id = instance_id
        self.rack_id: str | None = None
        self.client_id = ""
        self.host = ""
        self.topics: frozenset[str] = frozenset()
        self.regex: str | None = None
        self.pattern: Expression | None = None
        self.assignor: str | None = None
        self.rebalance_timeout_ms = 0
        self.epoch = JOINS
        self.last_epoch = JOINS
        """The one before: a client that has not got our last answer still has it."""
        self.assigned: set[Place] = set()
        self.revoking: set[Place] = set()
        """What it must give up first, and may still have."""
        self.since: dict[Place, int] = {}
        """The epoch in which it got each of these."""
        self.is_short = False
        """Whether others have something that it is to get."""
        self.told: set[Place] | None = None
        """The assignment that it was told last."""
        self.alarm: Alarm | None = None
        self.revoke_alarm: Alarm | None = None

    def wishes(self, catalog: Catalog) -> frozenset[str]:
        """The names of the topics that it wants."""
        return self.topics if self.pattern is None else self.topics.union(catalog.matching(self.pattern))

    def take_over(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        """What it says of itself. Returns whether it wants something else than before. Raises `Refused`."""
        topics = request.subscribed_topic_names or ()
        check_size(self.id, self.instance_id, request.rack_id, request.server_assignor, *topics)
        before = (self.topics, self.regex, self.assignor)
        regex = request.subscribed_topic_regex
        if regex is not None and regex != self.regex:
            self.pattern = compile_expression(regex) if regex else None
            self.regex = regex
        if request.subscribed_topic_names is not None:
            self.topics = frozenset(request.subscribed_topic_names)
        if request.rebalance_timeout_ms >= 0:
            self.rebalance_timeout_ms = request.rebalance_timeout_ms
        self.assignor = request.server_assignor or self.assignor
        self.rack_id = request.rack_id or self.rack_id
        return before != (self.topics, self.regex, self.assignor)
