"""Reads a schema as people write it, `orderno BIGINT, items ARRAY<STRUCT<sku: STRING>>`.

Spark's own parser is in Java and out of reach where a data source runs.
"""

import json
import re

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from onemq.errors import InvalidArgument

_SIMPLE: dict[str, DataType] = {
    "boolean": BooleanType(), "tinyint": ByteType(), "byte": ByteType(), "smallint": ShortType(),
    "short": ShortType(), "int": IntegerType(), "integer": IntegerType(), "bigint": LongType(), "long": LongType(),
    "float": FloatType(), "real": FloatType(), "double": DoubleType(), "string": StringType(), "date": DateType(),
    "timestamp": TimestampType(),
}  # fmt: skip
_TOKEN = re.compile(r"\s*(`[^`]+`|\w+|[<>(),:])")


def parse_schema(text: str) -> StructType:
    """The fields of a DDL string, or of the JSON that `StructType.json()` gives. Raises `InvalidArgument`."""
    if text.lstrip().startswith("{"):
        try:
            return StructType.fromJson(json.loads(text))
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument(f"the option schema is no schema as JSON: {text!r}") from None
    tokens = _Tokens(text)
    fields = _fields(tokens, end=None)
    if not fields:
        raise InvalidArgument("the option schema names no field")
    return StructType(fields)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self.next: str | None = None
        self.advance()

    def advance(self) -> str | None:
        """Returns the token that was next."""
        token, rest = self.next, self._text[self._position :]
        found = _TOKEN.match(rest)
        if found is None and rest.strip():
            raise self.wrong(rest.strip()[:10])
        self._position += found.end() if found is not None else len(rest)
        self.next = found[1] if found is not None else None
        return token

    def expect(self, token: str) -> None:
        if self.next is None or self.next != token:
            raise self.wrong(self.next)
        self.advance()

    def take(self, token: str) -> bool:
        if self.next is None or self.next.lower() != token:
            return False
        self.advance()
        return True

    def wrong(self, token: str | None) -> InvalidArgument:
        place = "its end" if token is None else repr(token)
        return InvalidArgument(
            f"the option schema is not understood at {place} ({self._text!r}): write it as orderno BIGINT, name STRING"
        )


def _fields(tokens: _Tokens, end: str | None) -> list[StructField]:
    fields: list[StructField] = []
    while tokens.next is not None and tokens.next != end:
        name = tokens.advance() or ""
        if name in "<>(),:":
            raise tokens.wrong(name)
        tokens.take(":")
        fields.append(StructField(name.strip("`"), _type(tokens)))
        if tokens.take("not"):
            tokens.take("null")
        if not tokens.take(","):
            break
    if tokens.next != end:
        raise tokens.wrong(tokens.next)
    return fields


def _type(tokens: _Tokens) -> DataType:
    name = (tokens.advance() or "").lower()
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name in ("decimal", "dec", "numeric"):
        return _decimal(tokens)
    if name not in ("array", "map", "struct"):
        raise tokens.wrong(name or None)
    tokens.expect("<")
    if name == "array":
        result: DataType = ArrayType(_type(tokens))
    elif name == "map":
        key = _type(tokens)
        tokens.expect(",")
        result = MapType(key, _type(tokens))
    else:
        result = StructType(_fields(tokens, ">"))
    tokens.expect(">")
    return result


def _decimal(tokens: _Tokens) -> DecimalType:
    if not tokens.take("("):
        return DecimalType()
    sizes = [tokens.advance() or ""]
    if tokens.take(","):
        sizes.append(tokens.advance() or "")
    tokens.expect(")")
    if not all(size.isdecimal() for size in sizes):
        raise tokens.wrong(sizes[-1])
    return DecimalType(*map(int, sizes))
