"""Assignment: which member of a group serves which partition.

Pure functions of the members and the number of partitions. Members are taken in the order of their names, so the
same members always lead to the same assignment, whoever came first.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

import msgspec
from crc32c import crc32c

RING_POINTS = 100
"""Points of each member on the ring of `by_hash`: the more, the more even."""


class Attributes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a member says about itself when it joins."""

    room: str = ""
    """The machine room in which it runs."""
    partitions: tuple[int, ...] = ()
    """The partitions that it wants, for groups that are assigned by config."""


NO_ATTRIBUTES = Attributes()

Members = Mapping[str, Attributes]
Assigned = list[str | None]
"""The member of each partition."""


def average(partitions: int, members: Members) -> Assigned:
    """Each member gets a run of neighbours, as long as those of the others or one longer."""
    names = sorted(members)
    size, longer = divmod(partitions, len(names))
    assigned: Assigned = []
    for place, name in enumerate(names):
        assigned += [name] * (size + (place < longer))
    return assigned


def circle(partitions: int, members: Members) -> Assigned:
    """The members take turns."""
    names = sorted(members)
    return [names[number % len(names)] for number in range(partitions)]


def by_config(partitions: int, members: Members) -> Assigned:
    """Each member gets what it names; of several, the first by name. What nobody names is served by nobody."""
    assigned: Assigned = [None] * partitions
    for name in sorted(members, reverse=True):
        for number in members[name].partitions:
            if 0 <= number < partitions:
                assigned[number] = name
    return assigned


def by_room(partitions: int, members: Members) -> Assigned:
    """The rooms take turns, and the members of a room share what falls to it. Members that name no room are a room
    of their own. A room that nobody is left in has no turn, so all share what was its part."""
    rooms: dict[str, dict[str, Attributes]] = {}
    for name, attributes in members.items():
        rooms.setdefault(attributes.room, {})[name] = attributes
    order = sorted(rooms)
    assigned: Assigned = [None] * partitions
    for place, room in enumerate(order):
        numbers = range(place, partitions, len(order))
        for number, member in zip(numbers, average(len(numbers), rooms[room]), strict=True):
            assigned[number] = member
    return assigned


def by_hash(partitions: int, members: Members) -> Assigned:
    """A ring of hashes: when a member comes or goes, the partitions of the others mostly stay where they are."""
    ring = sorted((_hash(f"{name}#{point}"), name) for name in members for point in range(RING_POINTS))
    points = [point for point, _ in ring]
    places = (bisect_left(points, _hash(f"partition {number}")) for number in range(partitions))
    return [ring[place % len(ring)][1] for place in places]


def _hash(text: str) -> int:
    mixed = int(crc32c(text.encode("utf-8", "surrogatepass"))) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return mixed ^ mixed >> 29


_WAYS: dict[str, Callable[[int, Members], Assigned]] = {
    "average": average,
    "circle": circle,
    "config": by_config,
    "room": by_room,
    "hash": by_hash,
}


def assign(way: str, partitions: int, members: Members) -> Sequence[str | None]:
    """The member of each partition; nobody without members."""
    return _WAYS[way](partitions, members) if members else [None] * partitions
