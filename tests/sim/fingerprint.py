"""What a broker's state is, in a form that two brokers can be compared by."""

from typing import Any

import msgspec

from onemq.core.core import Core
from onemq.core.partition import Partition
from onemq.core.topics import Topic
from tests.sim.records import records_of
from tests.sim.streams import after_power_cut_of, streams_of

__all__ = ["after_power_cut", "fingerprint", "first_difference", "records_of"]


def fingerprint(core: Core) -> dict[str, Any]:
    """Everything durable but the messages themselves."""
    return {
        "topics": {topic.name: _topic(topic) for topic in core.topics},
        "schedule": sorted(core.schedule.timers()),
        "producers": core.producers.dump(),
        "keys": _keys(core),
        "streams": streams_of(core),
        "halves": _halves(core),
        "series": {id: each.row() for _, id in core.schedule.timers() if (each := core.schedule.series(id))},
        "owners": msgspec.msgpack.decode(msgspec.msgpack.encode(core.owners.dump())),
        "profiles": dict(core.profiles.dump()),  # type: ignore[call-overload]
        "once": msgspec.msgpack.decode(msgspec.msgpack.encode(core.sent_once.dump())),
    }


def after_power_cut(state: dict[str, Any], core: Core) -> dict[str, Any]:
    """The state as a power cut leaves it, when async topics lost messages at their end."""
    topics = {}
    for name, topic in state["topics"].items():
        found = core.topics.find(name)
        topics[name] = topic
        if topic["config"].flush == "async" and found and len(found.partitions) == len(topic["ends"]):
            ends = [min(partition.end, end) for partition, end in zip(found.partitions, topic["ends"], strict=True)]
            lanes = [_cut_lanes(each, end) for each, end in zip(topic["lanes"], ends, strict=True)]
            cut = {
                key: group
                | {
                    "cursors": _cut(group["cursors"], ends),
                    "locks": _cut_locks(group["locks"], ends),
                    "marks": _cut_marks(group["marks"], ends),
                }
                for key, group in topic["groups"].items()
            }
            topics[name] = topic | {"ends": ends, "groups": cut, "lanes": lanes}
    return state | {"topics": topics, "streams": after_power_cut_of(state["streams"], core)}


def _cut_lanes(lanes: dict[int, list[int]], end: int) -> dict[int, list[int]]:
    cut = {priority: [offset for offset in lane if offset < end] for priority, lane in lanes.items()}
    return {priority: lane for priority, lane in cut.items() if lane}


def _cut(cursors: list[Any], ends: list[int]) -> list[Any]:
    return [
        (
            min(next_offset, end),
            {offset: each for offset, each in deliveries.items() if offset < end},
            [offset for offset in waiting if offset < end],
        )
        for (next_offset, deliveries, waiting), end in zip(cursors, ends, strict=True)
    ]


def _cut_marks(marks: list[Any], ends: list[int]) -> list[Any]:
    pairs = zip(marks, ends, strict=True)
    return [
        (begun, min(low, end), remark if remark is not None and remark[0] <= end else None)
        for (begun, low, remark), end in pairs
    ]


def _cut_locks(locks: Any, ends: list[int]) -> Any:
    return locks and [[row for row in rows if row[1] < ends[row[0]]] for rows in locks]


def _keys(core: Core) -> dict[str, Any]:
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(core.keys.dump()))
    return {
        "values": dict(zip(state["keys"], state["values"], strict=True)),
        "expiry": dict(zip(state["expiring"], state["expires_at_ms"], strict=True)),
    }


def _halves(core: Core) -> dict[str, Any]:
    halves = core.halves
    _, _, transactions, ended, committing, units = halves.dump()  # type: ignore[misc]
    live = [id for id in range(halves.parking.low, halves.parking.end) if halves.parking.is_live(id)]
    state = {"live": live, "open": transactions, "ended": ended, "committing": committing, "units": units}
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state))


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "id": topic.id,
        "config": topic.config,
        "starts": [partition.start for partition in topic.partitions],
        "ends": [partition.end for partition in topic.partitions],
        "lanes": [lanes_of(partition) for partition in topic.partitions],
        "groups": {
            group.name: {
                "config": group.config,
                "members": {member.name: (member.leased, member.attributes) for member in group.members.values()},
                "locks": group.locks.dump() if group.locks is not None else None,
                "once": group.once_keys.dump() if group.once_keys is not None else None,
                "cursors": [(cursor.next, _deliveries(cursor), _waiting(cursor)) for cursor in group.cursors],
                "marks": [(cursor.begun, cursor.low, cursor.remark) for cursor in group.cursors],
            }
            for group in topic.groups.values()
        },
    }


def lanes_of(partition: Partition) -> dict[int, list[int]]:
    """The offsets of each priority that the partition knows."""
    return {priority: lane.tolist() for priority, lane in partition.lanes or ()}


def _waiting(cursor: Any) -> list[int]:
    """What of the lanes was not handed out."""
    lanes = cursor.partition.lanes or ()
    return sorted(offset for priority, lane in lanes for offset in lane if offset >= cursor.lanes.of(priority))


def _deliveries(cursor: Any) -> dict[int, Any]:
    return {
        offset: (each.member.name if each.member else None, each.since_ms, each.count, each.history)
        for offset, each in cursor.unacknowledged.items()
    }


def first_difference(found: Any, expected: Any, path: str = "") -> str | None:
    """Where two states differ first, in words."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        pairs = [(f"{path}/{key}", found[key], expected[key]) for key in expected]
    elif isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected):
        pairs = [(f"{path}/{place}", *pair) for place, pair in enumerate(zip(found, expected, strict=True))]
    else:
        return None if found == expected else f"{path}: found {found}, expected {expected}"
    return next((text for where, a, b in pairs if (text := first_difference(a, b, where)) is not None), None)
