"""What a search should find: a look at everything that is stored."""

from dataclasses import replace
from math import inf
from random import Random

from onemq.core.core import Core
from onemq.core.fetching import fetch
from onemq.core.filter import compile_filter
from onemq.core.scan import ScanResult
from onemq.core.search import Query, place_of
from onemq.core.topics import Topic
from onemq.log.batch import walk
from onemq.log.records import decode
from onemq.message import Record, id_of
from tests.sim.records import records_of

Found = list[tuple[int, Record]]

_FILTERS = ("*", "key IN ('k1', 'k3')", "stored / 1000 * 1000 <> stored", "key IS NULL OR NOT key LIKE '%2'")


def check_search(core: Core, topic: Topic, random: Random) -> None:
    """A random search finds what a look at everything finds."""
    stored = {number: _visible(core, topic, number) for number in range(len(topic.partitions))}
    some = [(number, record) for number, records in stored.items() for record in records]
    number, record = random.choice(some) if some else (0, (0, 0, None, None, ()))
    time_ms = record[1]
    query = Query(
        id=random.choice([None, None, id_of(topic.id, number, record)]),
        key=random.choice([None, None, record[2]]),
        from_ms=random.choice([None, None, time_ms - random.randint(0, 10_000), time_ms]),
        to_ms=random.choice([None, None, time_ms + random.randint(0, 10_000), time_ms]),
        filter=random.choice([None, compile_filter(random.choice(_FILTERS))]),
        number=random.choice([None, None, number]),
        most=random.choice([1, 5, 1_000]),
        newest=random.random() < 0.5,
    )
    if query.to_ms is not None and any(partition.floor_ms > query.to_ms for partition in topic.partitions):
        query = replace(query, to_ms=None)  # where it ends is told by times that only readers see
    everything = {number: records_of(core, topic, number) for number in stored}
    results: list[ScanResult] = []
    core.searching.search(topic.name, query, results.append)
    while not results:
        core.scans.tick(core.stage.now_ms)
    assert results[0].error is None
    assert not results[0].damage
    assert results[0].found == expected(topic.id, stored, query, everything), query


def check_fetch(core: Core, topic: Topic, random: Random) -> None:
    """Fetching from anywhere gives what readers get from there on, or what a filter selects of it."""
    number = random.randrange(len(topic.partitions))
    partition = topic.partitions[number]
    first, until = sorted(random.randint(partition.start, partition.end) for _ in range(2))
    filter = random.choice([None, compile_filter(random.choice(_FILTERS))])
    expected = [record for record in _visible(core, topic, number) if first <= record[0] < until]
    found: list[Record] = []
    place = first
    while place < until:
        got: list[tuple[bytes, int]] = []
        bytes_max = random.choice([1, 1_000, 1 << 20])
        fetch(core.reading, partition, place, bytes_max, lambda *answer, got=got: got.append(answer), until, filter)
        (data, next_offset), earlier = got[0], place
        for position, header in walk(data):
            found += [record for record in decode(data, position, header) if earlier <= record[0] < until]
        assert next_offset > place
        place = next_offset
    selected = expected if filter is None else filter.select(expected)
    assert list(map(_without_time, found)) == list(map(_without_time, selected))


def _without_time(record: Record) -> tuple[object, ...]:
    """Batches that are stored as they came have the times of their producers; to readers of single messages, times
    that do not go back."""
    return (record[0], *record[2:])


def _visible(core: Core, topic: Topic, number: int) -> list[Record]:
    """What readers get of a partition."""
    partition = topic.partitions[number]
    found: list[Record] = []
    offset = partition.start
    while offset < partition.end:
        records, offset = core.reading.page(partition, offset)
        found += records
    return found


def expected(
    topic_id: int, stored: dict[int, list[Record]], query: Query, everything: dict[int, list[Record]]
) -> Found:
    """The result for what each partition stores; `everything` is that and what nobody reads any more."""
    numbers = [number for number in stored if query.number in (None, number)]
    if query.id is not None:
        topic, number, offset = place_of(query.id)
        at_place = [
            (each, record)
            for each in numbers
            for record in stored[each]
            if (topic, number, offset) == (topic_id, each, record[0]) and _is_wanted(topic_id, each, record, query)
        ]
        if at_place:
            return at_place
    found: Found = []
    for number in numbers:
        late = _too_late(everything[number], query.to_ms)
        records = [each for each in stored[number] if _is_wanted(topic_id, number, each, query) and each[0] < late]
        records = records[::-1] if query.newest else records
        found += [(number, record) for record in records[: query.most]]
    if len(numbers) > 1:
        found.sort(key=lambda each: (each[1][1], each[0], each[1][0]), reverse=query.newest)
    return found[: query.most]


def _too_late(records: list[Record], to_ms: int | None) -> float:
    """A search ends at the first message that is too late, also if the clock went back after it."""
    return next((record[0] for record in records if to_ms is not None and record[1] > to_ms), inf)


def _is_wanted(topic_id: int, number: int, record: Record, query: Query) -> bool:
    return (
        (query.id is None or id_of(topic_id, number, record) == query.id)
        and (query.key is None or record[2] == query.key)
        and (query.from_ms is None or record[1] >= query.from_ms)
        and (query.to_ms is None or record[1] <= query.to_ms)
        and (query.filter is None or query.filter.at(topic_id, number).matches(record))
    )
