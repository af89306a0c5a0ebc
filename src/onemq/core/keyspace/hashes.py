"""Hashes: fields with values under one key, in the order in which they came."""

from collections.abc import Sequence
from itertools import islice

from onemq.core.keyspace import decimals, integers
from onemq.core.keyspace.decimals import Decimal
from onemq.core.keyspace.entries import HASH_DELETED, HASH_SET, Appliers, Entry
from onemq.core.keyspace.table import Table
from onemq.errors import InvalidArgument


class Hashes:
    """The commands on hashes. All raise WrongType for a key of another type; no key is an empty hash."""

    def __init__(self, keys: Table) -> None:
        self._keys = keys

    def appliers(self) -> Appliers:
        """What applies each kind of entry."""
        return {HASH_SET: self._set, HASH_DELETED: self._deleted}

    def set(self, key: bytes, fields_and_values: list[bytes]) -> int:
        """Sets field, value, field, value, ..., at least one; returns how many fields are new.

        The list is kept for the log: the caller must not change it any more.
        """
        assert fields_and_values
        assert len(fields_and_values) % 2 == 0
        keys = self._keys
        old = keys.writing(key, dict)
        length = len(old) if old is not None else 0
        entry = (HASH_SET, key, fields_and_values)
        fields = self._set(entry)
        keys.stage(entry)
        return len(fields) - length

    def set_if_absent(self, key: bytes, field: bytes, value: bytes) -> bool:
        """Sets one field unless it is there; returns whether it did."""
        fields = self._keys.writing(key, dict)
        if fields is not None and field in fields:
            return False
        self.set(key, [field, value])
        return True

    def increment(self, key: bytes, field: bytes, by: int) -> int:
        """Adds to the number in a field, 0 if it is not there; returns the sum.

        Raises InvalidArgument if it holds no number of 64 bits or the sum is none.
        """
        fields = self._keys.writing(key, dict) or {}
        number = integers.parse(fields.get(field, b"0"))
        if number is None:
            raise InvalidArgument("hash value is not an integer")
        total = integers.plus(number, by)
        self.set(key, [field, b"%d" % total])
        return total

    def increment_decimal(self, key: bytes, field: bytes, by: Decimal) -> bytes:
        """Adds to the number with a fraction in a field, 0 if it is not there; returns the sum.

        Raises InvalidArgument if it holds no number or the sum is none.
        """
        fields = self._keys.writing(key, dict) or {}
        number = decimals.parse(fields.get(field, b"0"))
        if number is None:
            raise InvalidArgument("hash value is not a float")
        total = decimals.plus(number, by)
        self.set(key, [field, total])
        return total

    def delete(self, key: bytes, fields: Sequence[bytes]) -> int:
        """Removes fields; returns how many were there."""
        old = self._keys.writing(key, dict) or {}
        gone = [field for field in dict.fromkeys(fields) if field in old]
        if gone:
            entry = (HASH_DELETED, key, gone)
            self._deleted(entry)
            self._keys.stage(entry)
        return len(gone)

    def get(self, key: bytes, field: bytes) -> bytes | None:
        """The value of a field, or None."""
        fields = self._keys.reading(key, dict)
        return None if fields is None else fields.get(field)

    def get_many(self, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
        """The values of the fields, None for each that is not there."""
        found = self._keys.reading(key, dict) or {}
        return list(map(found.get, fields))

    def all(self, key: bytes) -> dict[bytes, bytes]:
        """A copy of the hash."""
        return dict(self._keys.reading(key, dict) or {})

    def keys(self, key: bytes) -> list[bytes]:
        """The fields."""
        return list(self._keys.reading(key, dict) or ())

    def values(self, key: bytes) -> list[bytes]:
        """The values, in the order of `keys`."""
        return list((self._keys.reading(key, dict) or {}).values())

    def at(self, key: bytes, index: int) -> bytes:
        """The field at an index in the order of `keys`. It must be there."""
        field: bytes = next(islice(self._keys.reading(key, dict) or (), index, None))
        return field

    def length(self, key: bytes) -> int:
        """The number of fields."""
        return len(self._keys.reading(key, dict) or ())

    def exists(self, key: bytes, field: bytes) -> bool:
        """Whether the field is there."""
        return field in (self._keys.reading(key, dict) or ())

    def _set(self, entry: Entry) -> dict[bytes, bytes]:
        _, key, fields_and_values = entry
        keys = self._keys
        fields: dict[bytes, bytes] | None = keys.values.get(key)
        if fields is None:
            fields = {}
            keys.create(key, fields)
        if len(fields_and_values) == 2:
            fields[fields_and_values[0]] = fields_and_values[1]
        else:
            pairs = iter(fields_and_values)
            fields.update(zip(pairs, pairs, strict=True))
        if keys.watched:
            keys.changed(key)
        return fields

    def _deleted(self, entry: Entry) -> None:
        _, key, gone = entry
        fields = self._keys.values[key]
        for field in gone:
            del fields[field]
        if not fields:
            self._keys.drop(key)
        if self._keys.watched:
            self._keys.changed(key)
