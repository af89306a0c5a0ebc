"""The one codec of all messages: a reader and a writer for each class and version, made when first needed.

    PartitionData, version 12:      index, error, offsets | aborted | replica | records | tags
                                    one pack             each by its primitive

They are made as Python source: neighbours of fixed size are packed together, and nothing is decided per message that
the version decides. Nothing here looks into records: they are a slice of what was read, and a piece of what is written.
"""

from collections.abc import Callable
from functools import cache
from itertools import groupby
from struct import Struct as Packer
from struct import calcsize
from struct import error as StructError
from typing import Any, TypeVar

from msgspec import Struct

from onemq.limits import KAFKA_LIST_ELEMENTS_MAX
from onemq.log.stretch import Stretch
from onemq.protocols.kafka import primitives
from onemq.protocols.kafka.fields import Field, Kind, fields_in
from onemq.protocols.kafka.primitives import Malformed
from onemq.protocols.kafka.schema import UUID, Message, Number

M = TypeVar("M", bound=Message)

Reader = Callable[[bytes, int], tuple[Any, int]]
"""Takes bytes and a position; returns the structure and the position after it."""
Writer = Callable[[Any, Callable[[Any], object]], None]
"""Takes a structure and what appends a piece of bytes."""

Piece = bytes | memoryview | Stretch
"""Of a message that is written."""
_NAMES: dict[type, str] = {str: "string", bytes: "bytes", memoryview: "records"}
"""What the primitives of a type are called after."""


def decode(kind: type[M], version: int, data: bytes, at: int = 0, limit: int | None = None) -> M:
    """The message that begins at a position and ends before another, if one is given. Raises `ProtocolError`.

    Bytes that follow it are ignored, as Kafka does: librdkafka 2 sends three of them after some Metadata requests."""
    try:
        message, end = reader(kind, version)(data, at)
    except (StructError, IndexError):
        raise Malformed(f"{kind.__name__} of version {version}: it is cut off") from None
    except UnicodeDecodeError:
        raise Malformed(f"{kind.__name__} of version {version}: a text is not UTF-8") from None
    if end > (len(data) if limit is None else limit):
        raise Malformed(f"{kind.__name__} of version {version}: it is cut off")
    return message  # type: ignore[no-any-return]


def encode(message: Message, version: int, pieces: list[Piece]) -> None:
    """Appends the message in pieces."""
    writer(type(message), version)(message, pieces.append)


def reader(kind: type[Message], version: int) -> Reader:
    return _reader(kind, version, version >= kind.flexible_since)


def writer(kind: type[Message], version: int) -> Writer:
    return _writer(kind, version, version >= kind.flexible_since)


@cache
def _reader(structure: type[Struct], version: int, flexible: bool) -> Reader:
    return _ReaderSource(structure, version, flexible).function()


@cache
def _writer(structure: type[Struct], version: int, flexible: bool) -> Writer:
    return _WriterSource(structure, version, flexible).function()


class _Source:
    """The source of a function that is being made, and what it refers to."""

    def __init__(self, structure: type[Struct], version: int, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._structure = structure
        fields = fields_in(structure, version)
        self._plain = [field for field in fields if field.tag is None]
        self._tagged = [field for field in fields if field.tag is not None]
        self._short = "short_" if flexible else ""
        self._names: dict[str, Any] = dict(vars(primitives))
        self._lines: list[str] = []

    def _line(self, text: str, depth: int = 1) -> None:
        self._lines.append("    " * depth + text)

    def _refer(self, name: str, value: Any) -> str:
        """The name under which the function finds the value."""
        self._names[name] = value
        return name

    def _made(self, head: str) -> Any:
        exec("\n".join([head, *self._lines]), self._names)
        return self._names["made"]


class _ReaderSource(_Source):
    def function(self) -> Reader:
        for fixed, fields in groupby(self._plain, lambda field: field.fixed is not None):
            if fixed:
                self._read_fixed(list(fields))
            else:
                for field in fields:
                    self._read(field, 1)
        if self._flexible:
            self._read_tags()
        values = ", ".join(f"{field.name}=_{field.name}" for field in self._plain + self._tagged)
        self._line(f"return {self._refer('Structure', self._structure)}({values}), at")
        made: Reader = self._made("def made(data, at):")
        return made

    def _read_fixed(self, fields: list[Field]) -> None:
        packer = _packer(fields)
        unpack = self._refer(f"unpack_{fields[0].name}", packer.unpack_from)
        self._line(f"({''.join(f'_{field.name}, ' for field in fields)}) = {unpack}(data, at)")
        self._line(f"at += {packer.size}")

    def _read(self, field: Field, depth: int) -> None:
        target = f"_{field.name}"
        if field.is_list:
            self._read_list(field, depth)
        elif isinstance(field.kind, type) and issubclass(field.kind, Struct) and field.nullable:
            self._line(f"{target} = None", depth)
            self._line("at += 1", depth)
            self._line("if data[at - 1] < 128:", depth)
            self._line(f"{target}, at = {self._element(field.kind)}(data, at)", depth + 1)
        else:
            self._line(f"{target}, at = {self._element(field.kind, field.nullable)}(data, at)", depth)

    def _read_list(self, field: Field, depth: int) -> None:
        target = f"_{field.name}"
        self._line(f"count, at = read_{self._short}count(data, at)", depth)
        self._line("if count < 0:", depth)
        self._line(f"{target} = None" if field.nullable else "raise Malformed('a list is null')", depth + 1)
        if isinstance(field.kind, Number) and field.kind != UUID:
            letter = field.kind.letter
            self._line("else:", depth)
            self._line(f"{target}, at = read_numbers(data, at, count, {letter!r}, {calcsize(letter)})", depth + 1)
            return
        self._line(f"elif count > {KAFKA_LIST_ELEMENTS_MAX}:", depth)
        self._line(f"raise Malformed('a list has {KAFKA_LIST_ELEMENTS_MAX:,} elements at most')", depth + 1)
        self._line("else:", depth)
        self._line(f"{target} = []", depth + 1)
        self._line("for _ in range(count):", depth + 1)
        self._line(f"element, at = {self._element(field.kind)}(data, at)", depth + 2)
        self._line(f"{target}.append(element)", depth + 2)

    def _element(self, kind: Kind, nullable: bool = False) -> str:
        """The name of what reads a value of a type."""
        if isinstance(kind, Number):
            return self._refer(f"read_{ord(kind.letter[0])}", _number_reader(kind))
        if issubclass(kind, Struct):
            return self._refer(f"read_{kind.__name__}", _reader(kind, self._version, self._flexible))
        return f"read_{'nullable_' if nullable else ''}{self._short}{_NAMES[kind]}"

    def _read_tags(self) -> None:
        if not self._tagged:
            self._line("at = skip_tags(data, at) if data[at] else at + 1")
            return
        for field in self._tagged:
            self._line(f"_{field.name} = {self._default(field)}")
        self._line("if data[at]:")
        self._line("places, after = read_tags(data, at)", 2)
        for field in self._tagged:
            self._line(f"if {field.tag} in places:", 2)
            self._line(f"at = places[{field.tag}]", 3)
            self._read(field, 3)
        self._line("at = after", 2)
        self._line("else:")
        self._line("at += 1", 2)

    def _default(self, field: Field) -> str:
        if field.default == []:
            return "[]"
        return self._refer(f"default_{field.name}", field.default)


class _WriterSource(_Source):
    _append = "append"

    def function(self) -> Writer:
        for fixed, fields in groupby(self._plain, lambda field: field.fixed is not None):
            if fixed:
                run = list(fields)
                pack = self._refer(f"pack_{run[0].name}", _packer(run).pack)
                self._line(f"append({pack}({', '.join(f'value.{field.name}' for field in run)}))")
            else:
                for field in fields:
                    self._write(field, f"value.{field.name}", 1)
        if self._flexible:
            self._write_tags()
        self._line("return")
        made: Writer = self._made("def made(value, append):")
        return made

    def _write(self, field: Field, value: str, depth: int) -> None:
        is_structure = isinstance(field.kind, type) and issubclass(field.kind, Struct)
        if field.is_list:
            self._write_list(field, value, depth)
        elif field.kind is memoryview:
            self._write_records(field, value, depth)
        elif is_structure and field.nullable:
            self._line(f"if {value} is None:", depth)
            self._line(f"{self._append}(b'\\xff')", depth + 1)
            self._line("else:", depth)
            self._line(f"{self._append}(b'\\x01')", depth + 1)
            self._write_element(field.kind, value, depth + 1)
        else:
            self._write_element(field.kind, value, depth, field.nullable)

    def _write_list(self, field: Field, value: str, depth: int) -> None:
        self._line(f"elements = {value}", depth)
        if field.nullable:
            self._line("if elements is None:", depth)
            self._line(f"{self._append}(packed_{self._short}count(-1))", depth + 1)
            self._line("else:", depth)
            depth += 1
        self._line(f"{self._append}(packed_{self._short}count(len(elements)))", depth)
        if isinstance(field.kind, Number) and field.kind != UUID:
            self._line(f"{self._append}(packed_numbers(elements, {field.kind.letter!r}))", depth)
            return
        self._line("for element in elements:", depth)
        self._write_element(field.kind, "element", depth + 1)

    def _write_records(self, field: Field, value: str, depth: int) -> None:
        self._line(f"records = {value}", depth)
        if field.nullable:
            self._line("if records is None:", depth)
            self._line(f"{self._append}(packed_{self._short}count(-1))", depth + 1)
            self._line("else:", depth)
            depth += 1
        self._line(f"{self._append}(packed_{self._short}count(len(records)))", depth)
        self._line(f"{self._append}(records)", depth)

    def _write_element(self, kind: Kind, value: str, depth: int, nullable: bool = False) -> None:
        if isinstance(kind, Number):
            pack = self._refer(f"pack_{ord(kind.letter[0])}", _number_packer(kind).pack)
            self._line(f"{self._append}({pack}({value}))", depth)
        elif issubclass(kind, Struct):
            write = self._refer(f"write_{kind.__name__}", _writer(kind, self._version, self._flexible))
            self._line(f"{write}({value}, {self._append})", depth)
        else:
            pack = f"packed_{'nullable_' if nullable else ''}{self._short}{_NAMES[kind]}"
            self._line(f"{self._append}({pack}({value}))", depth)

    def _write_tags(self) -> None:
        if not self._tagged:
            self._line(r"append(b'\0')")
            return
        names = [(f"value.{field.name}", f"default_{field.name}") for field in self._tagged]
        unset = " and ".join(f"({value} is {default} or {value} == {default})" for value, default in names)
        self._line(f"if {unset}:")
        self._line(r"append(b'\0')", 2)
        self._line("return", 2)
        self._line("tags = []")
        for field in sorted(self._tagged, key=lambda field: field.tag or 0):
            default = self._refer(f"default_{field.name}", field.default)
            self._line(f"if value.{field.name} is not {default} and value.{field.name} != {default}:")
            self._line("pieces = []", 2)
            self._append = "pieces.append"
            self._write(field, f"value.{field.name}", 2)
            self._line(f"tags.append((packed_varint({field.tag}), pieces))", 2)
        self._line("append(packed_varint(len(tags)))")
        self._line("for number, pieces in tags:")
        self._line("append(number)", 2)
        self._line("append(packed_varint(sum(map(len, pieces))))", 2)
        self._line("for piece in pieces:", 2)
        self._line("append(piece)", 3)


def _packer(fields: list[Field]) -> Packer:
    return Packer(">" + "".join(field.fixed.letter for field in fields if field.fixed is not None))


@cache
def _number_packer(number: Number) -> Packer:
    return Packer(">" + number.letter)


@cache
def _number_reader(number: Number) -> Reader:
    packer = _number_packer(number)
    unpack, size = packer.unpack_from, packer.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        (value,) = unpack(data, at)
        return value, at + size

    return read
