"""Strings: bytes under a key, and numbers kept as text in them."""

from collections.abc import Sequence

from onemq.core.keyspace import decimals, integers
from onemq.core.keyspace.decimals import Decimal
from onemq.core.keyspace.entries import (
    KEYS_DELETED,
    STRING_APPENDED,
    STRING_OVERWRITTEN,
    STRING_REPLACED,
    STRING_SET,
    STRING_SET_UNTIL,
    Appliers,
    Entry,
)
from onemq.core.keyspace.table import Table
from onemq.errors import InvalidArgument, TooLarge

STRING_BYTES_MAX = 512 * 1024 * 1024


class Strings:
    """The commands on strings. All but `set` and `set_many` raise WrongType for a key of another type."""

    def __init__(self, keys: Table) -> None:
        self._keys = keys

    def appliers(self) -> Appliers:
        """What applies each kind of entry."""
        return {
            STRING_SET: self._set,
            STRING_SET_UNTIL: self._set_until,
            STRING_REPLACED: self._replaced,
            STRING_APPENDED: self._appended,
            STRING_OVERWRITTEN: self._overwritten,
        }

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        keys = self._keys
        value = keys.values.get(key)
        if type(value) is not bytes or key in keys.expires_at_ms:
            return keys.reading(key, bytes)
        return value

    def length(self, key: bytes) -> int:
        """The number of bytes, 0 for no key."""
        return len(self._keys.reading(key, bytes) or b"")

    def set(
        self,
        key: bytes,
        value: bytes,
        expires_at_ms: int | None = None,
        keep_ttl: bool = False,
        *,
        if_absent: bool = False,
        if_present: bool = False,
    ) -> bool:
        """Sets the value in place of whatever is there; returns whether the condition held.

        Without `keep_ttl` an old expiry is gone. A time that has come already leaves no key.
        """
        keys = self._keys
        if (if_absent or if_present) and keys.holds(key) is if_absent:
            return False
        if keep_ttl:
            keys.evict(key)
            self._replace(key, value)
        elif expires_at_ms is None:
            entry = (STRING_SET, key, value)
            self._set(entry)
            keys.stage(entry)
        else:
            self._set_or_expire(key, value, expires_at_ms)
        return True

    def set_many(self, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        """Sets keys one after the other, without expiry."""
        stage = self._keys.stage
        for key, value in zip(keys, values, strict=True):
            entry = (STRING_SET, key, value)
            self._set(entry)
            stage(entry)

    def append(self, key: bytes, tail: bytes) -> int:
        """Adds to the end of the string, or of an empty one; returns the length. Raises TooLarge."""
        keys = self._keys
        length = len(keys.writing(key, bytes) or b"") + len(tail)
        _check_length(length)
        entry = (STRING_APPENDED, key, tail)
        self._appended(entry)
        keys.stage(entry)
        return length

    def overwrite(self, key: bytes, offset: int, part: bytes) -> int:
        """Puts bytes, at least one, in place of those at the offset, after zeros if it is behind the end.

        Returns the length. Raises TooLarge.
        """
        assert part
        keys = self._keys
        length = len(keys.writing(key, bytes) or b"")
        _check_length(offset + len(part))
        entry = (STRING_OVERWRITTEN, key, offset, part)
        self._overwritten(entry)
        keys.stage(entry)
        return max(length, offset + len(part))

    def increment(self, key: bytes, by: int) -> int:
        """Adds to the number that the string holds, 0 for no key; the expiry stays. Returns the sum.

        Raises InvalidArgument if it holds no number of 64 bits or the sum is none.
        """
        keys = self._keys
        text = keys.values.get(key)
        if type(text) is not bytes or key in keys.expires_at_ms:
            text = keys.writing(key, bytes)
        number = 0 if text is None else integers.parse(text)
        if number is None:
            raise InvalidArgument("value is not an integer or out of range")
        total = integers.plus(number, by)
        entry = (STRING_REPLACED, key, b"%d" % total)
        self._replaced(entry)
        keys.stage(entry)
        return total

    def increment_decimal(self, key: bytes, by: Decimal) -> bytes:
        """Adds to the number with a fraction that the string holds, 0 for no key; the expiry stays. Returns the sum.

        Raises InvalidArgument if it holds no number or the sum is none.
        """
        text = self._keys.writing(key, bytes)
        number = decimals.parse(b"0" if text is None else text)
        if number is None:
            raise InvalidArgument("value is not a valid float")
        total = decimals.plus(number, by)
        self._replace(key, total)
        return total

    def _replace(self, key: bytes, value: bytes) -> None:
        entry = (STRING_REPLACED, key, value)
        self._replaced(entry)
        self._keys.stage(entry)

    def _set_or_expire(self, key: bytes, value: bytes, expires_at_ms: int) -> None:
        keys = self._keys
        if expires_at_ms > keys.now_ms:
            entry: tuple[object, ...] = (STRING_SET_UNTIL, key, value, expires_at_ms)
            self._set_until(entry)
            keys.stage(entry)
        elif key in keys.values:
            entry = (KEYS_DELETED, [key])
            keys.removed(entry)
            keys.stage(entry)

    def _set(self, entry: Entry) -> None:
        _, key, value = entry
        keys = self._keys
        if type(keys.values.get(key)) is bytes and key not in keys.expires_at_ms:
            keys.values[key] = value
        else:
            keys.put(key, value)
        if keys.watched:
            keys.changed(key)

    def _set_until(self, entry: Entry) -> None:
        _, key, value, expires_at_ms = entry
        self._keys.put(key, value)
        self._keys.deadlines.set(key, expires_at_ms)
        if self._keys.watched:
            self._keys.changed(key)

    def _replaced(self, entry: Entry) -> None:
        _, key, value = entry
        keys = self._keys
        if type(keys.values.get(key)) is bytes:
            keys.values[key] = value
        else:
            expires_at_ms = keys.expires_at_ms.get(key)
            keys.put(key, value)
            if expires_at_ms is not None:
                keys.deadlines.set(key, expires_at_ms)
        if keys.watched:
            keys.changed(key)

    def _appended(self, entry: Entry) -> None:
        _, key, tail = entry
        self._replaced((STRING_REPLACED, key, self._keys.values.get(key, b"") + tail))

    def _overwritten(self, entry: Entry) -> None:
        _, key, offset, part = entry
        old = self._keys.values.get(key, b"")
        new = old[:offset].ljust(offset, b"\0") + part + old[offset + len(part) :]
        self._replaced((STRING_REPLACED, key, new))


def _check_length(length: int) -> None:
    if length > STRING_BYTES_MAX:
        raise TooLarge("string exceeds maximum allowed size (proto-max-bulk-len)")
