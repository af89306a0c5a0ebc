"""Assignors: which member of a consumer group reads which partition, decided by the broker (KIP-848).

`uniform`: everybody gets as many as the others, give or take one, and keeps what it had. `range`: of each topic,
neighbours in a row.
"""

from bisect import insort
from collections.abc import Callable, Mapping
from heapq import heapify, heapreplace

Place = tuple[int, int]
"""Number of the topic, partition."""
Shares = dict[str, set[Place]]
"""Member -> what it reads."""


def uniform(sizes: Mapping[int, int], wishes: Mapping[str, frozenset[int]], before: Mapping[str, set[Place]]) -> Shares:
    """`sizes`: topic -> number of partitions; `wishes`: member -> topics; `before`: what they had last."""
    shares: Shares = {
        name: {(topic, number) for topic, number in before.get(name, ()) if topic in topics and number < sizes[topic]}
        for name, topics in wishes.items()
    }
    taken = set[Place]().union(*shares.values())
    for topic in sorted(sizes):
        takers = sorted(name for name, topics in wishes.items() if topic in topics)
        free = [(topic, number) for number in range(sizes[topic]) if (topic, number) not in taken] if takers else []
        _share(free, takers, shares)
    while _balance(wishes, shares):
        pass
    return shares


def _share(free: list[Place], takers: list[str], shares: Shares) -> None:
    """Gives each of the places to whoever has the least."""
    heap = [(len(shares[name]), name) for name in takers]
    heapify(heap)
    for place in free:
        count, name = heap[0]
        shares[name].add(place)
        heapreplace(heap, (count + 1, name))


def _balance(wishes: Mapping[str, frozenset[int]], shares: Shares) -> bool:
    """Moves places from those who have the most to those who have the least. Returns whether there may be more to
    move."""
    moved = False
    for topic in sorted(set[int]().union(*wishes.values())):
        takers = [name for name, topics in wishes.items() if topic in topics]
        takers.sort(key=lambda name: len(shares[name]))
        spare = {name: sorted(place for place in shares[name] if place[0] == topic) for name in takers}
        low, high = 0, len(takers) - 1
        while low < high and len(shares[takers[high]]) - len(shares[takers[low]]) > 1:
            giver, taker = takers[high], takers[low]
            if not spare[giver]:
                high -= 1
                continue
            place = spare[giver].pop()
            insort(spare[taker], place)
            shares[giver].remove(place)
            shares[taker].add(place)
            moved = True
            takers.sort(key=lambda name: len(shares[name]))
            low, high = 0, len(takers) - 1
    return moved


def ranges(sizes: Mapping[int, int], wishes: Mapping[str, frozenset[int]], before: Mapping[str, set[Place]]) -> Shares:
    """The same in the other way."""
    shares: Shares = {name: set() for name in wishes}
    for topic, size in sizes.items():
        takers = sorted(name for name, topics in wishes.items() if topic in topics)
        for place, name in enumerate(takers):
            each, more = divmod(size, len(takers))
            first = each * place + min(place, more)
            shares[name].update((topic, number) for number in range(first, first + each + (place < more)))
    return shares


Assignor = Callable[[Mapping[int, int], Mapping[str, frozenset[int]], Mapping[str, set[Place]]], Shares]

ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": ranges}
DEFAULT = "uniform"
