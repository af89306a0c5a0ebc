"""Where rows are written to: the options of the sink, checked before any job starts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from onemq.client.bodies import BYTES, JSON, MSGPACK, TEXT
from onemq.errors import InvalidArgument
from onemq.limits import PARTITIONS_MAX
from onemq.message import check_name
from pyspark_onemq.connection import DEFAULT_SERVERS, PATIENCE_S, Connection, Refused, Unreachable
from pyspark_onemq.placing import Turn
from pyspark_onemq.sealing import Route

OPTIONS = ("servers", "user", "password", "topic", "createTopic", "partitions", "contentType")
BATCH_OPTIONS = ("unit", "unitNumber")
"""Those that only batch writes have: a stream is a unit of its own."""
SPARKS_OWN = ("checkpointLocation", "queryName", "outputMode")
"""What Spark hands on of its own settings."""
CONTENT_TYPES = (TEXT, BYTES, JSON, MSGPACK)
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Target:
    """The options of a sink. Travels to the tasks."""

    servers: str = DEFAULT_SERVERS
    user: str | None = None
    password: str | None = None
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
                return Connection(self.servers, self.user, self.password)
            except Unreachable:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_PAUSE_S)

    def route(self, connection: Connection, topic: str, first: int = 0) -> Route:
        """What there is to know of a topic, which is made if it is not there. `first`: whose turn it is."""
        try:
            info = connection.insist("MQ.TOPIC", "INFO", topic)
        except Refused as refused:
            if refused.word != "NOTOPIC":
                raise
            if not self.create_topic:
                raise InvalidArgument(f"there is no topic {topic!r}, and createTopic is false") from None
            connection.insist("MQ.TOPIC", "CREATE", topic, "PARTITIONS", self.partitions, "IFNOTEXISTS")
            info = connection.insist("MQ.TOPIC", "INFO", topic)
        return Route(topic, int(info["partitions"]), int(info["max_bytes"]), Turn(first))


@dataclass(frozen=True, slots=True)
class Unit:
    """What makes a batch write that is repeated add nothing: a name, and a number that rises."""

    name: str
    number: int


def target_of(options: Mapping[str, str], is_text: bool) -> Target:
    """The sink's own options. `is_text` says whether the column `value` is a string."""
    given = {name.lower(): value for name, value in options.items()}
    topic = given.get("topic")
    content_type = given.get("contenttype", TEXT if is_text else BYTES)
    if content_type not in CONTENT_TYPES:
        raise InvalidArgument(f"contentType is one of {', '.join(CONTENT_TYPES)}, not {content_type!r}")
    return Target(
        given.get("servers", DEFAULT_SERVERS),
        given.get("user"),
        given.get("password"),
        None if topic is None else check_name("topic", topic),
        _truth("createTopic", given.get("createtopic", "true")),
        _number("partitions", given.get("partitions", "1"), 1, PARTITIONS_MAX),
        None if content_type == BYTES else content_type,
    )


def unit_of(options: Mapping[str, str]) -> Unit | None:
    """The unit that a batch write names."""
    given = {name.lower(): value for name, value in options.items()}
    name, number = given.get("unit"), given.get("unitnumber")
    if name is None and number is None:
        return None
    if name is None or number is None:
        raise InvalidArgument("unit and unitNumber go together: the name of what is written, and a number that rises")
    return Unit(check_name("unit", name), _number("unitNumber", number, 0, 2**63 - 1))


def check_options(options: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raises `InvalidArgument` for an option that is not there: a misspelt one must not go unnoticed."""
    spelt = {name.lower(): name for name in known}
    for name in options:
        if name.lower() not in spelt and name.lower() not in map(str.lower, SPARKS_OWN):
            near = get_close_matches(name.lower(), spelt, 1)
            hint = f"did you mean {spelt[near[0]]!r}?" if near else f"there are {', '.join(known)}"
            raise InvalidArgument(f"writing to onemq has no option {name!r}: {hint}")


def _truth(name: str, word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise InvalidArgument(f"{name} is true or false, not {word!r}")
    return word.lower() == "true"


def _number(name: str, word: str, least: int, most: int) -> int:
    if not word.strip().isdecimal() or not least <= int(word) <= most:
        raise InvalidArgument(f"{name} is a number from {least} to {most}, not {word!r}")
    return int(word)
