"""The fields of a structure in one version: what the notes of its class say (schema.py), in the order of the wire."""

from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from onemq.protocols.kafka.schema import NEVER, NullableSince, Number, Present, Tagged

Kind = Number | type
"""A number of fixed size, `str`, `bytes`, `memoryview` for records, or a structure."""
_NUMBERS = {bool: Number("?"), float: Number("d")}
_EVERY_VERSION = Present(0, NEVER)


@dataclass(frozen=True, slots=True)
class Field:
    """One field as a version has it."""

    name: str
    kind: Kind
    is_list: bool
    nullable: bool
    tag: int | None
    default: Any

    @property
    def fixed(self) -> Number | None:
        """The number, if the field is nothing more."""
        return self.kind if isinstance(self.kind, Number) and not self.is_list and self.tag is None else None


@dataclass(frozen=True, slots=True)
class _Written:
    """A field as the class has it."""

    name: str
    kind: Kind
    is_list: bool
    may_be_null: bool
    notes: tuple[Any, ...]
    default: Any

    def in_version(self, version: int) -> Field | None:
        present = self._note(Present) or _EVERY_VERSION
        if not present.first <= version <= present.last:
            return None
        nullable, tagged = self._note(NullableSince), self._note(Tagged)
        return Field(
            self.name,
            self.kind,
            self.is_list,
            self.may_be_null and (nullable is None or version >= nullable.version),
            tagged.number if tagged is not None and version >= tagged.first else None,
            self.default,
        )

    def _note(self, kind: type) -> Any:
        return next((note for note in self.notes if isinstance(note, kind)), None)


def fields_in(structure: type[msgspec.Struct], version: int) -> list[Field]:
    """The fields that a version has."""
    found = (written.in_version(version) for written in _written(structure))
    return [field for field in found if field is not None]


@cache
def _written(structure: type[msgspec.Struct]) -> tuple[_Written, ...]:
    hints = get_type_hints(structure, include_extras=True)
    defaults = structure()
    return tuple(
        _field(each.name, hints[each.name], getattr(defaults, each.name)) for each in msgspec.structs.fields(structure)
    )


def _field(name: str, hint: Any, default: Any) -> _Written:
    kind, notes = _without_notes(hint)
    alternatives = set(get_args(kind)) if get_origin(kind) in (Union, UnionType) else {kind}
    may_be_null = NoneType in alternatives
    alternatives.discard(NoneType)
    kind = memoryview if memoryview in alternatives else alternatives.pop()
    is_list = get_origin(kind) is list
    if is_list:
        (kind,) = get_args(kind)
    kind, more = _without_notes(kind)
    notes += more
    number = _NUMBERS.get(kind) or next((note for note in notes if isinstance(note, Number)), None)
    return _Written(name, number or kind, is_list, may_be_null, notes, default)


def _without_notes(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        return hint.__origin__, hint.__metadata__
    return hint, ()
