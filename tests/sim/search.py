"""What a search should find: a look at everything that is stored."""

from onemq.core.search import Query, place_of
from onemq.message import Record, id_of

Found = list[tuple[int, Record]]


def expected(topic_id: int, stored: dict[int, list[Record]], query: Query) -> Found:
    """The result for what each partition stores."""
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
        records = [each for each in _in_time(stored[number], query) if _is_wanted(topic_id, number, each, query)]
        records = records[::-1] if query.newest else records
        found += [(number, record) for record in records[: query.most]]
    if len(numbers) > 1:
        found.sort(key=lambda each: (each[1][1], each[0], each[1][0]), reverse=query.newest)
    return found[: query.most]


def _in_time(records: list[Record], query: Query) -> list[Record]:
    """A search ends at the first message that is too late, also if the clock went back after it."""
    for place, record in enumerate(records):
        if query.to_ms is not None and record[1] > query.to_ms:
            return records[:place]
    return records


def _is_wanted(topic_id: int, number: int, record: Record, query: Query) -> bool:
    return (
        (query.id is None or id_of(topic_id, number, record) == query.id)
        and (query.key is None or record[2] == query.key)
        and (query.from_ms is None or record[1] >= query.from_ms)
        and (query.to_ms is None or record[1] <= query.to_ms)
        and (query.filter is None or query.filter.at(topic_id, number).matches(record))
    )
