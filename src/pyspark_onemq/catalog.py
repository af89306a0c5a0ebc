"""What the driver knows of the broker's topics: which there are, and where their partitions start and end."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onemq.errors import InvalidArgument, NotFound
from pyspark_onemq.connection import Connection, Refused, Word
from pyspark_onemq.offsets import Offsets, Place
from pyspark_onemq.options import EARLIEST, LATEST, Bound, Topics

_TOPICS_PER_CALL = 500


@dataclass(frozen=True, slots=True)
class Extent:
    """What a partition holds: the offsets from `start` up to, and without, `end`; `at` is the offset of a time."""

    topic: str
    topic_id: int
    number: int
    start: int
    end: int
    at: int | None = None

    @property
    def place(self) -> Place:
        return self.topic, self.number


def topic_names(connection: Connection, topics: Topics) -> list[str]:
    """The topics that are meant and, if they are found by a pattern, exist."""
    if topics.pattern is None:
        return list(topics.names) or [topic for topic, _ in topics.assigned]
    wanted = re.compile(topics.pattern)
    return sorted(name for name in _all_names(connection) if wanted.fullmatch(name))


def extents(
    connection: Connection, topics: Topics, names: Sequence[str] | None = None, time_ms: int | None = None
) -> list[Extent]:
    """The partitions that are read, in order. Raises `NotFound` for a topic or partition that is not there."""
    if names is None:
        names = topic_names(connection, topics)
    found = extents_of(connection, names, time_ms)
    if not topics.assigned:
        return found
    there = {each.place: each for each in found}
    for topic, numbers in topics.assigned:
        for number in numbers:
            if (topic, number) not in there:
                count = sum(each.topic == topic for each in found)
                raise NotFound(f"the topic {topic!r} has no partition {number}: it has {count}, counted from 0")
    return [there[topic, number] for topic, numbers in topics.assigned for number in numbers]


def extents_of(connection: Connection, names: Iterable[str], time_ms: int | None = None) -> list[Extent]:
    """All partitions of these topics."""
    names = sorted(names)
    time: tuple[Word, ...] = () if time_ms is None else ("TIME", time_ms)
    found = []
    for at in range(0, len(names), _TOPICS_PER_CALL):
        some = names[at : at + _TOPICS_PER_CALL]
        try:
            rows = connection.insist("MQ.OFFSETS", *time, "TOPICS", *some)
        except Refused as refused:
            if refused.word != "NOTOPIC":
                raise
            raise _no_topic(connection, some) from None
        found += [Extent(topic.decode(), *numbers) for topic, *numbers in rows]
    return found


def extents_there(connection: Connection, names: Iterable[str]) -> list[Extent]:
    """All partitions of those of these topics that exist."""
    names = list(names)
    try:
        return extents_of(connection, names)
    except NotFound:
        there = set(_all_names(connection))
        return extents_of(connection, [name for name in names if name in there])


def resolve(bound: Bound, found: list[Extent]) -> Offsets:
    """The offset that a bound means in each partition; those that it does not name are at `earliest`."""
    ids = {each.topic: each.topic_id for each in found}
    if bound.offsets is not None:
        _check_named(bound, found)
    return Offsets({each.place: _resolved(bound, each) for each in found}, ids)


def _resolved(bound: Bound, extent: Extent) -> int:
    if bound.time_ms is not None:
        return extent.end if extent.at is None else extent.at
    if bound.offsets is None:
        return extent.start if bound.edge == "earliest" else extent.end
    offset = bound.offsets.get(extent.topic, {}).get(extent.number, EARLIEST)
    return {EARLIEST: extent.start, LATEST: extent.end}.get(offset, offset)


def _check_named(bound: Bound, found: list[Extent]) -> None:
    """Every partition that is read must be named, and no other, as in Spark's Kafka source."""
    named = {(topic, number) for topic, each in (bound.offsets or {}).items() for number in each}
    there = {each.place for each in found}
    for problem, places in (("lack", there - named), ("have", named - there)):
        if places:
            listed = ", ".join(f"{topic}/{number}" for topic, number in sorted(places)[:5])
            more = "which are read" if problem == "lack" else "which are not read"
            raise InvalidArgument(f"the offsets given as JSON {problem} {listed}, {more}: name each partition once")


def _no_topic(connection: Connection, names: Sequence[str]) -> NotFound:
    there = _all_names(connection)
    missing = next((name for name in names if name not in there), names[0])
    near = difflib.get_close_matches(missing, there, 1)
    hint = f": did you mean {near[0]!r}?" if near else "; make it with `onemq topic create`, or send a first message"
    return NotFound(f"there is no topic {missing!r} at the broker{hint}")


def _all_names(connection: Connection) -> list[str]:
    return [each["name"].decode() for each in connection.insist("MQ.TOPIC", "LIST")]
