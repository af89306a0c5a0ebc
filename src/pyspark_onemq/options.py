"""The options of a read, checked: names as in Spark's Kafka source, in any case.

Pure: nothing here talks to a broker or to Spark. Every mistake is one sentence that says what to do.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onemq.errors import InvalidArgument
from pyspark_onemq.connection import DEFAULT_SERVERS

Edge = Literal["earliest", "latest"]
EARLIEST, LATEST = -2, -1
"""In JSON, these stand for the first message and the end, as in Spark's Kafka source."""
Places = dict[str, dict[int, int]]
"""Topic -> partition -> offset."""

READ_OPTIONS = (
    "servers", "user", "password", "subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets",
    "startingTimestamp", "endingTimestamp", "maxOffsetsPerTrigger", "minPartitions", "failOnDataLoss",
    "includeHeaders", "columns", "filter", "group", "schema",
)  # fmt: skip
_ELSEWHERE = {
    "kafka.bootstrap.servers": "servers", "bootstrap.servers": "servers", "url": "servers", "host": "servers",
    "kafka.group.id": "group", "groupidprefix": "group", "topic": "subscribe", "topics": "subscribe",
    "path": "subscribe", "startingoffsetsbytimestamp": "startingTimestamp", "username": "user",
    "endingoffsetsbytimestamp": "endingTimestamp",
}  # fmt: skip
"""What the same thing is called in other places."""
STREAM_ONLY = ("maxOffsetsPerTrigger", "group")
BATCH_ONLY = ("endingOffsets", "endingTimestamp")


@dataclass(frozen=True, slots=True)
class Server:
    """Which broker, and as whom."""

    servers: str = DEFAULT_SERVERS
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Topics:
    """Which topics: exactly one of the three is set."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """Where reading starts or ends: at an edge of each partition, at offsets, or at a time."""

    edge: Edge = "latest"
    offsets: Places | None = None
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything that can be said about a read."""

    server: Server
    topics: Topics
    start: Bound | None = None
    end: Bound = Bound("latest")
    offsets_per_trigger_max: int | None = None
    partitions_min: int | None = None
    fail_on_data_loss: bool = True
    with_headers: bool = False
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    group: str | None = None
    schema: str | None = None

    def starting(self, default: Edge) -> Bound:
        """Where to start; a batch read starts with the first message by default, a stream with what comes next."""
        return self.start or Bound(default)


def read_options(given: Mapping[str, str], known: tuple[str, ...] = READ_OPTIONS) -> ReadOptions:
    """Raises `InvalidArgument`."""
    options = known_options(given, known, "reading")
    number = _number_of(options)
    return ReadOptions(
        server=server_of(options),
        topics=_topics(options),
        start=_bound(options, "startingOffsets", "startingTimestamp", ("earliest", "latest")),
        end=_bound(options, "endingOffsets", "endingTimestamp", ("latest",)) or Bound("latest"),
        offsets_per_trigger_max=number("maxOffsetsPerTrigger"),
        partitions_min=number("minPartitions"),
        fail_on_data_loss=boolean(options, "failOnDataLoss", True),
        with_headers=boolean(options, "includeHeaders", False),
        columns=_columns(options),
        filter=_text(options, "filter"),
        group=_text(options, "group"),
        schema=_text(options, "schema"),
    )


def check_kind(given: Mapping[str, str], is_stream: bool) -> None:
    """Refuses what makes sense for the other kind of read only."""
    present = {name.lower() for name in given}
    for name in BATCH_ONLY if is_stream else STREAM_ONLY:
        if name.lower() in present:
            kind, other = ("stream", "batch") if is_stream else ("batch", "stream")
            raise InvalidArgument(f"the option {name} is for a {other} read, and this is a {kind} read: leave it out")
    start = str(given.get("startingOffsets", "")).strip().lower()
    if not is_stream and start == "latest":
        raise InvalidArgument(
            'startingOffsets "latest" leaves nothing for a batch read: say "earliest", or offsets as JSON'
        )


def known_options(given: Mapping[str, str], known: tuple[str, ...], doing: str) -> dict[str, str]:
    """The options under their proper names; one that is not known is refused, with the likeliest that is."""
    proper = {name.lower(): name for name in known}
    options = {}
    for name, value in given.items():
        if name.lower() not in proper:
            raise InvalidArgument(_unknown(name, proper, doing))
        options[proper[name.lower()]] = value
    return options


def _unknown(name: str, proper: dict[str, str], doing: str) -> str:
    near = difflib.get_close_matches(name.lower(), proper, 1, 0.6)
    meant = _ELSEWHERE.get(name.lower()) or (proper[near[0]] if near else None)
    if meant is not None and meant.lower() in proper:
        return f"there is no option {name} for {doing} with onemq: did you mean {meant}?"
    return f"there is no option {name} for {doing} with onemq; there are {', '.join(proper.values())}"


def server_of(options: Mapping[str, str]) -> Server:
    """The options that every use of a broker has."""
    user, password = _text(options, "user"), options.get("password")
    if user is not None and password is None:
        raise InvalidArgument("the option user needs the option password")
    return Server(_text(options, "servers") or DEFAULT_SERVERS, user, password)


def boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = str(options.get(name, default)).strip().lower()
    if value not in ("true", "false"):
        raise InvalidArgument(f'{name} is "true" or "false", not {options[name]!r}')
    return value == "true"


def _number_of(options: Mapping[str, str]) -> Callable[[str], int | None]:
    def number(name: str) -> int | None:
        if name not in options:
            return None
        text = options[name].strip()
        if not text.isdecimal() or int(text) < 1:
            raise InvalidArgument(f"{name} is a number from 1 on, not {options[name]!r}")
        return int(text)

    return number


def _text(options: Mapping[str, str], name: str) -> str | None:
    if name not in options:
        return None
    text = options[name].strip()
    if not text:
        raise InvalidArgument(f"the option {name} is empty: give it a value or leave it out")
    return text


def _columns(options: Mapping[str, str]) -> tuple[str, ...] | None:
    text = _text(options, "columns")
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _topics(options: Mapping[str, str]) -> Topics:
    ways = [name for name in ("subscribe", "subscribePattern", "assign") if name in options]
    if not ways:
        raise InvalidArgument(
            "which topics? name them with the option subscribe (orders,payments), subscribePattern or assign"
        )
    if len(ways) > 1:
        raise InvalidArgument(f"{' and '.join(ways)} contradict each other: keep one of them")
    text = _text(options, ways[0]) or ""
    if ways[0] == "subscribePattern":
        try:
            re.compile(text)
        except re.error as problem:
            raise InvalidArgument(f"subscribePattern {text!r} is no regular expression: {problem}") from None
        return Topics(pattern=text)
    if ways[0] == "assign":
        return Topics(assigned=_assigned(text))
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InvalidArgument("the option subscribe names no topic")
    return Topics(names=names)


def _assigned(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    value = _json(text)
    good = isinstance(value, dict) and all(
        isinstance(numbers, list) and numbers and all(type(each) is int and each >= 0 for each in numbers)
        for numbers in value.values()
    )
    if not good or not value:
        raise InvalidArgument(f'assign is JSON such as {{"orders": [0, 1]}}, not {text!r}')
    return tuple((topic, tuple(sorted(set(numbers)))) for topic, numbers in sorted(value.items()))


def _bound(options: Mapping[str, str], name: str, time_name: str, edges: tuple[Edge, ...]) -> Bound | None:
    if name in options and time_name in options:
        raise InvalidArgument(f"{name} and {time_name} contradict each other: keep one of them")
    if time_name in options:
        text = options[time_name].strip()
        if not text.isdecimal():
            raise InvalidArgument(f"{time_name} is in milliseconds since 1970, not {options[time_name]!r}")
        return Bound(time_ms=int(text))
    if name not in options:
        return None
    text = options[name].strip()
    for edge in edges:
        if text.lower() == edge:
            return Bound(edge)
    return Bound(offsets=_offsets(name, text, edges))


def _offsets(name: str, text: str, edges: tuple[Edge, ...]) -> Places:
    value = _json(text)
    least = EARLIEST if "earliest" in edges else LATEST
    try:
        places = {topic: _partitions(each) for topic, each in value.items()}
    except (AttributeError, ValueError, TypeError):
        places = {}
    if not places or any(offset < least for each in places.values() for offset in each.values()):
        words = " or ".join(f'"{edge}"' for edge in edges)
        raise InvalidArgument(f'{name} is {words}, or JSON such as {{"orders": {{"0": 23, "1": -1}}}}, not {text!r}')
    return places


def _partitions(value: Any) -> dict[int, int]:
    """Offsets by partition, as written by hand or, with the topic's id beside them, in a checkpoint."""
    entries = value.get("partitions", value)
    if not all(type(offset) is int for offset in entries.values()):
        raise ValueError
    return {int(number): offset for number, offset in entries.items()}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
