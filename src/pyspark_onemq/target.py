"""Where rows are written to: the options of the sink, checked before any job starts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from onemq.client.bodies import BYTES, JSON, MSGPACK, TEXT
from onemq.errors import InvalidArgument
from onemq.limits import PARTITIONS_MAX
from onemq.message import check_name
from pyspark_onemq.connection import PATIENCE_S, Connection, Refused, Unreachable
from pyspark_onemq.options import Server, boolean, known_options, server_of

WRITE_OPTIONS = ("servers", "user", "password", "topic", "createTopic", "partitions", "contentType")
BATCH_OPTIONS = ("unit", "unitNumber")
"""Those that only batch writes have: a stream is a unit of its own."""
_SPARKS_OWN = ("checkpointlocation", "queryname")
"""What Spark hands on of its own settings."""
CONTENT_TYPES = (TEXT, BYTES, JSON, MSGPACK)
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """The options of a sink. Travels to the tasks."""

    server: Server = field(default_factory=Server)
    topic: str | None = None
    """Where all rows go; None: each says it in its column."""
    create_topic: bool = True
    partitions: int = 1
    """How many a topic gets that is made."""
    content_type: str | None = None
    """What the bodies are; None: bytes."""

    def connect(self, patience_s: float = PATIENCE_S) -> Connection:
        """A connection; waits so long for a broker that is gone, for example because it is restarted."""
        give_up = time.monotonic() + patience_s
        while True:
            try:
                return Connection(self.server.servers, self.server.user, self.server.password)
            except Unreachable:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_PAUSE_S)

    def extent(self, connection: Connection, topic: str) -> tuple[int, int]:
        """(partitions, the bytes that it takes at a time) of a topic, which is made if it is not there."""
        try:
            info = connection.insist("MQ.TOPIC", "INFO", topic)
        except Refused as refused:
            if refused.word != "NOTOPIC":
                raise
            if not self.create_topic:
                raise InvalidArgument(f"there is no topic {topic!r}, and createTopic is false") from None
            connection.insist("MQ.TOPIC", "CREATE", topic, "PARTITIONS", self.partitions, "IFNOTEXISTS")
            info = connection.insist("MQ.TOPIC", "INFO", topic)
        return int(info["partitions"]), int(info["max_bytes"])


@dataclass(frozen=True, slots=True)
class Unit:
    """What makes a batch write that is repeated add nothing: a name, and a number that rises."""

    name: str
    number: int


def target_of(options: Mapping[str, str], is_text: bool) -> Target:
    """The target that options describe. `is_text` says whether the column `value` is a string."""
    topic = options.get("topic")
    content_type = options.get("contentType", TEXT if is_text else BYTES)
    if content_type not in CONTENT_TYPES:
        raise InvalidArgument(f"contentType is one of {', '.join(CONTENT_TYPES)}, not {content_type!r}")
    return Target(
        server_of(options),
        None if topic is None else check_name("topic", topic),
        boolean(options, "createTopic", True),
        _number("partitions", options.get("partitions", "1"), 1, PARTITIONS_MAX),
        None if content_type == BYTES else content_type,
    )


def unit_of(options: Mapping[str, str]) -> Unit | None:
    """The unit that a batch write names."""
    name, number = options.get("unit"), options.get("unitNumber")
    if name is None and number is None:
        return None
    if name is None or number is None:
        raise InvalidArgument("unit and unitNumber go together: the name of what is written, and a number that rises")
    return Unit(check_name("unit", name), _number("unitNumber", number, 0, 2**63 - 1))


def write_options(given: Mapping[str, str], is_stream: bool) -> dict[str, str]:
    """The options under their proper names. Raises `InvalidArgument` for those that are not there."""
    own = {name: value for name, value in given.items() if name.lower() not in _SPARKS_OWN}
    options = known_options(own, WRITE_OPTIONS + BATCH_OPTIONS, "writing")
    if is_stream and not options.keys().isdisjoint(BATCH_OPTIONS):
        raise InvalidArgument("unit and unitNumber are for batch writes: a stream writes each of its batches once")
    return options


def _number(name: str, word: str, least: int, most: int) -> int:
    if not word.strip().isdecimal() or not least <= int(word) <= most:
        raise InvalidArgument(f"{name} is a number from {least} to {most}, not {word!r}")
    return int(word)
