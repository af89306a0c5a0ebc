"""Messages with anything in them that their version can carry."""

import importlib
import pkgutil
from random import Random
from typing import Any

from onemq.protocols.kafka import schemas
from onemq.protocols.kafka.codec import encode
from onemq.protocols.kafka.fields import Field, fields_in
from onemq.protocols.kafka.schema import Message, Number, Struct

_RANGES = {"b": 7, "h": 15, "i": 31, "q": 63}


def all_messages() -> list[type[Message]]:
    """Every request and response there is."""
    for each in pkgutil.iter_modules(schemas.__path__):
        importlib.import_module(f"{schemas.__name__}.{each.name}")
    return sorted(Message.__subclasses__(), key=lambda each: each.__name__)


def sample(random: Random, structure: type[Struct], version: int) -> Any:
    """A structure with any values in the fields of a version, and defaults in all others."""
    return structure(**{field.name: _value(random, field, version) for field in fields_in(structure, version)})


def packed(message: Message, version: int) -> bytes:
    pieces: list[bytes | memoryview] = []
    encode(message, version, pieces)
    return b"".join(pieces)


def _value(random: Random, field: Field, version: int) -> Any:
    if field.nullable and random.random() < 0.2:
        return None
    if field.tag is not None and random.random() < 0.3:
        return field.default
    if field.is_list:
        is_structure = isinstance(field.kind, type) and issubclass(field.kind, Struct)
        count = random.randrange(3) if is_structure else random.choice((0, 1, 2, 130))
        return [_element(random, field.kind, version) for _ in range(count)]
    return _element(random, field.kind, version)


def _element(random: Random, kind: Any, version: int) -> Any:
    if isinstance(kind, Number):
        return _number(random, kind.letter)
    if kind is str:
        return random.choice(("", "topic", "größer", "x" * 130, "y" * 20_000))
    if kind in (bytes, memoryview):
        return random.randbytes(random.choice((0, 1, 127, 128, 70_000)))
    return sample(random, kind, version)


def _number(random: Random, letter: str) -> Any:
    if letter == "?":
        return random.random() < 0.5
    if letter == "d":
        return random.random()
    if letter == "16s":
        return random.randbytes(16)
    bits = _RANGES[letter]
    return random.choice((0, -1, (1 << bits) - 1, -(1 << bits), random.randrange(1 << bits)))
