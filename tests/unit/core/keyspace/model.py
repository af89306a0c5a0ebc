"""The keyspace once more, as plain as can be: what every command must answer.

Lists are lists, hashes dicts, sets lists in order of arrival, sorted sets dicts that are sorted when
they are read. Keys whose time has come are removed before every command.
"""

import copy
from typing import Any

from onemq.errors import InvalidArgument, NotFound, WrongType

Sorted = type("Sorted", (dict,), {})
Members = type("Members", (list,), {})

NAMES = {bytes: "string", list: "list", dict: "hash", Members: "set", Sorted: "zset"}


class Model:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.values: dict[bytes, Any] = {}
        self.expiries: dict[bytes, int] = {}

    def run(self, name: str, *args: Any) -> Any:
        self.purge()
        result = getattr(self, name)(*args)
        for key in [key for key, value in self.values.items() if value in ([], {}) and value != b""]:
            self.drop(key)
        return result

    def purge(self) -> None:
        for key in [key for key, at_ms in self.expiries.items() if at_ms <= self.now_ms]:
            self.drop(key)

    def drop(self, key: bytes) -> None:
        self.values.pop(key, None)
        self.expiries.pop(key, None)

    def find(self, key: bytes, kind: type) -> Any:
        """The value, or an empty one that is not under the key."""
        value = self.values.get(key, kind())
        if type(value) is not kind:
            raise WrongType("")
        return value

    def open(self, key: bytes, kind: type) -> Any:
        self.values[key] = self.find(key, kind)
        return self.values[key]

    def replace(self, key: bytes, value: Any) -> None:
        self.drop(key)
        self.values[key] = value

    # keys

    def pass_time(self, ms: int) -> None:
        self.now_ms += ms

    def tick(self, ms: int) -> None:
        self.now_ms += ms

    def delete(self, *keys: bytes) -> int:
        there = {key for key in keys if key in self.values}
        for key in there:
            self.drop(key)
        return len(there)

    def exists(self, *keys: bytes) -> int:
        return sum(key in self.values for key in keys)

    def type_of(self, key: bytes) -> str | None:
        return NAMES[type(self.values[key])] if key in self.values else None

    def rename(self, key: bytes, target: bytes, if_absent: bool) -> bool:
        if key not in self.values:
            raise NotFound("")
        if if_absent and target in self.values:
            return False
        if key != target:
            value, at_ms = self.values[key], self.expiries.get(key)
            self.drop(key)
            self.replace(target, value)
            if at_ms is not None:
                self.expiries[target] = at_ms
        return True

    def copy(self, key: bytes, target: bytes, replace: bool) -> bool:
        if key == target or key not in self.values or (target in self.values and not replace):
            return False
        self.replace(target, copy.copy(self.values[key]))
        if key in self.expiries:
            self.expiries[target] = self.expiries[key]
        return True

    def expire_in(self, key: bytes, ms: int) -> bool:
        if key not in self.values:
            return False
        self.expiries[key] = self.now_ms + ms
        self.purge()
        return True

    def persist(self, key: bytes) -> bool:
        return self.expiries.pop(key, None) is not None

    def expiry(self, key: bytes) -> int | None:
        return self.expiries.get(key)

    def flush(self) -> None:
        self.values.clear()
        self.expiries.clear()

    def keys(self) -> list[bytes]:
        return sorted(self.values)

    # strings

    def set(self, key: bytes, value: bytes, how: tuple[Any, ...]) -> bool:
        ms, keep, absent, present = how
        if (absent and key in self.values) or (present and key not in self.values):
            return False
        if keep:
            self.values[key] = value
        else:
            self.replace(key, value)
            if ms is not None:
                self.expiries[key] = self.now_ms + ms
                self.purge()
        return True

    def get(self, key: bytes) -> bytes | None:
        return self.find(key, bytes) if key in self.values else None

    def append(self, key: bytes, tail: bytes) -> int:
        self.values[key] = self.find(key, bytes) + tail
        return len(self.values[key])

    def overwrite(self, key: bytes, offset: int, part: bytes) -> int:
        old = self.find(key, bytes)
        self.values[key] = (old[:offset] + b"\0" * (offset - len(old)) + part) + old[offset + len(part) :]
        return len(self.values[key])

    def increment(self, key: bytes, by: int) -> int:
        text = self.find(key, bytes) if key in self.values else b"0"
        if str(text, "latin-1") not in map(str, range(-1000, 1000)):
            raise InvalidArgument("")
        self.values[key] = b"%d" % (int(text) + by)
        return int(text) + by

    # lists

    def push(self, key: bytes, values: list[bytes], left: bool) -> int:
        items = self.open(key, list)
        for value in values:
            items.insert(0 if left else len(items), value)
        return len(items)

    def push_existing(self, key: bytes, values: list[bytes], left: bool) -> int:
        return self.push(key, values, left) if self.find(key, list) else 0

    def pop(self, key: bytes, left: bool, count: int) -> list[bytes]:
        items = self.find(key, list)
        return [items.pop(0 if left else -1) for _ in range(min(count, len(items)))]

    def pop_one(self, key: bytes, left: bool) -> bytes | None:
        return next(iter(self.pop(key, left, 1)), None)

    def move(self, source: bytes, target: bytes, from_left: bool, to_left: bool) -> bytes | None:
        if not self.find(source, list):
            return None
        self.find(target, list)
        [value] = self.pop(source, from_left, 1)
        self.push(target, [value], to_left)
        return value

    def range(self, key: bytes, start: int, stop: int) -> list[bytes]:
        items = self.find(key, list)
        return [item for at, item in enumerate(items) if inside(at, start, stop, len(items))]

    def trim(self, key: bytes, start: int, stop: int) -> None:
        items = self.find(key, list)
        items[:] = self.range(key, start, stop)

    def index(self, key: bytes, index: int) -> bytes | None:
        items = self.find(key, list)
        return items[index] if -len(items) <= index < len(items) else None

    def set_at(self, key: bytes, index: int, value: bytes) -> None:
        if not self.find(key, list):
            raise NotFound("")
        if self.index(key, index) is None:
            raise InvalidArgument("")
        self.find(key, list)[index] = value

    def insert(self, key: bytes, pivot: bytes, value: bytes, before: bool) -> int:
        items = self.find(key, list)
        if pivot not in items:
            return -1 if items else 0
        items.insert(items.index(pivot) + (0 if before else 1), value)
        return len(items)

    def remove(self, key: bytes, value: bytes, count: int) -> int:
        items = self.find(key, list)
        places = [at for at, item in enumerate(items) if item == value]
        places = places[:count] if count > 0 else places[count:]
        for at in reversed(places):
            del items[at]
        return len(places)

    def position(self, key: bytes, value: bytes, rank: int, count: int, maxlen: int) -> list[int]:
        places = list(enumerate(self.find(key, list)))[:: 1 if rank > 0 else -1][: maxlen or None]
        return [at for at, item in places if item == value][abs(rank) - 1 :][: count or None]

    # hashes

    def hash_set(self, key: bytes, pairs: list[bytes]) -> int:
        fields = self.open(key, dict)
        before = len(fields)
        for at in range(0, len(pairs), 2):
            fields[pairs[at]] = pairs[at + 1]
        return len(fields) - before

    def hash_set_if_absent(self, key: bytes, field: bytes, value: bytes) -> bool:
        return field not in self.find(key, dict) and self.hash_set(key, [field, value]) == 1

    def hash_increment(self, key: bytes, field: bytes, by: int) -> int:
        text = self.find(key, dict).get(field, b"0")
        if str(text, "latin-1") not in map(str, range(-1000, 1000)):
            raise InvalidArgument("")
        self.hash_set(key, [field, b"%d" % (int(text) + by)])
        return int(text) + by

    def hash_delete(self, key: bytes, gone: list[bytes]) -> int:
        fields = self.find(key, dict)
        return sum(fields.pop(field, None) is not None for field in gone)

    def hash_all(self, key: bytes) -> list[tuple[bytes, bytes]]:
        return list(self.find(key, dict).items())

    # sets

    def set_add(self, key: bytes, members: list[bytes]) -> int:
        old = self.open(key, Members)
        before = len(old)
        for member in members:
            if member not in old:
                old.append(member)
        return len(old) - before

    def set_remove(self, key: bytes, members: list[bytes]) -> int:
        old = self.find(key, Members)
        gone = set(members) & set(old)
        for member in gone:
            old.remove(member)
        return len(gone)

    def set_pop(self, key: bytes, count: int) -> list[bytes]:
        members = self.find(key, Members)
        return [members.pop() for _ in range(min(count, len(members)))]

    def set_move(self, source: bytes, target: bytes, member: bytes) -> bool:
        members = self.find(source, Members)
        if not members:
            return False
        self.find(target, Members)
        if member not in members:
            return False
        if source != target:
            self.set_remove(source, [member])
            self.set_add(target, [member])
        return True

    def set_members(self, key: bytes) -> list[bytes]:
        return list(self.find(key, Members))

    def combine(self, how: str, keys: list[bytes]) -> list[bytes]:
        first, *others = [set(self.find(key, Members)) for key in keys]
        return sorted(getattr(first, how)(*others))

    def store(self, target: bytes, how: str, keys: list[bytes]) -> int:
        members = self.combine(how, keys)
        self.replace(target, Members(members))
        return len(members)

    # sorted sets

    def zadd(self, key: bytes, pairs: list[tuple[float, bytes]], conditions: dict[str, bool]) -> tuple[int, int]:
        scores = self.open(key, Sorted)
        added = updated = 0
        for score, member in pairs:
            old = scores.get(member)
            if allowed(old, score, **conditions):
                added += old is None
                updated += old is not None and old != score
                scores[member] = score
        return added, updated

    def zincrement(self, key: bytes, member: bytes, by: float, conditions: dict[str, bool]) -> float | None:
        score = self.find(key, Sorted).get(member, 0.0) + by
        if not allowed(self.find(key, Sorted).get(member), score, **conditions):
            return None
        self.open(key, Sorted)[member] = score
        return score

    def pairs(self, key: bytes) -> list[tuple[float, bytes]]:
        return sorted((score, member) for member, score in self.find(key, Sorted).items())

    def zremove(self, key: bytes, members: list[bytes]) -> int:
        return sum(self.find(key, Sorted).pop(member, None) is not None for member in members)

    def zrank(self, key: bytes, member: bytes, reverse: bool) -> int | None:
        members = [member for _, member in self.pairs(key)][:: -1 if reverse else 1]
        return members.index(member) if member in members else None

    def zranks(self, key: bytes, start: int, stop: int, reverse: bool) -> list[tuple[float, bytes]]:
        pairs = self.pairs(key)[:: -1 if reverse else 1]
        return [pair for at, pair in enumerate(pairs) if inside(at, start, stop, len(pairs))]

    def zremove_ranks(self, key: bytes, start: int, stop: int) -> int:
        return self.zremove(key, [member for _, member in self.zranks(key, start, stop, False)])

    def zrange(
        self, key: bytes, low: float, high: float, opens: tuple[bool, bool], reverse: bool, limit: tuple[int, int]
    ) -> list[tuple[float, bytes]]:
        pairs = [
            pair
            for pair in self.pairs(key)
            if (low < pair[0] if opens[0] else low <= pair[0]) and (pair[0] < high if opens[1] else pair[0] <= high)
        ]
        offset, count = limit
        return pairs[:: -1 if reverse else 1][offset:][: count if count >= 0 else None]

    def zremove_range(self, key: bytes, low: float, high: float) -> int:
        pairs = self.zrange(key, low, high, (False, False), False, (0, -1))
        return self.zremove(key, [member for _, member in pairs])

    def zpop(self, key: bytes, lowest: bool, count: int) -> list[tuple[float, bytes]]:
        pairs = self.pairs(key)[:: 1 if lowest else -1][:count]
        self.zremove(key, [member for _, member in pairs])
        return pairs


def inside(at: int, start: int, stop: int, length: int) -> bool:
    first = start if start >= 0 else start + length
    last = stop if stop >= 0 else stop + length
    return first <= at <= last


def allowed(
    old: float | None, score: float, if_absent: bool, if_present: bool, if_greater: bool, if_less: bool
) -> bool:
    if old is None:
        return not if_present
    return not if_absent and (not if_greater or score > old) and (not if_less or score < old)
