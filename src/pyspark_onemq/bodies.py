"""JSON bodies as columns, for the option `schema`.

Arrow's own reader takes a page at once; where it refuses one (a body that is no JSON, a number where text is
expected), each body of that page is read by itself. A body that is no JSON object gives a row of nulls, and a value
that does not fit its field gives null, as in Spark's `from_json`.
"""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import pyarrow
import pyarrow.json
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from pyspark_onemq.columns import CORRUPT

Reading = Callable[[Any], Any]
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class Bodies:
    """Puts the fields of bodies in place of the column `value`."""

    def __init__(self, body: StructType, table: pyarrow.Schema) -> None:
        self._table = table
        self._body = to_arrow_schema(body, timezone="UTC")
        self._fields = {field.name: reading_of(field.dataType) for field in body}
        self._quick = all(_is_quick(field.dataType) for field in body) and CORRUPT not in self._fields

    def expand(self, rows: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The rows with the columns that Spark sees."""
        columns: list[pyarrow.Array] = []
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            columns += self._read(column) if name == "value" else [column]
        return pyarrow.RecordBatch.from_arrays(columns, schema=self._table)

    def _read(self, values: pyarrow.Array) -> list[pyarrow.Array]:
        return (self._read_all(values) if self._quick else None) or self._read_each(values)

    def _read_all(self, values: pyarrow.Array) -> list[pyarrow.Array] | None:
        """All at once; None if one of them is not as expected."""
        bodies = values.to_pylist()
        if not all(body is not None and body.startswith(b"{") for body in bodies):
            return None
        text = b"\n".join(bodies)
        if text.count(b"\n") != len(bodies) - 1:
            return None
        try:
            table = pyarrow.json.read_json(
                pyarrow.BufferReader(text),
                pyarrow.json.ReadOptions(block_size=len(text) + 1, use_threads=False),
                pyarrow.json.ParseOptions(explicit_schema=self._body, unexpected_field_behavior="ignore"),
            )
        except pyarrow.ArrowInvalid:
            return None
        return [each.combine_chunks() for each in table.columns] if table.num_rows == len(bodies) else None

    def _read_each(self, values: pyarrow.Array) -> list[pyarrow.Array]:
        columns: dict[str, list[Any]] = {name: [] for name in self._fields}
        for body in values.to_pylist():
            fields = _object(body)
            for name, reading in self._fields.items():
                columns[name].append(None if fields is None else reading(fields.get(name)))
            if fields is None and CORRUPT in columns:
                columns[CORRUPT][-1] = (body or b"").decode(errors="replace")
        return [pyarrow.array(columns[field.name], field.type) for field in self._body]


def _is_quick(type: DataType) -> bool:
    """Whether Arrow's JSON reader gives what `from_json` would."""
    return isinstance(type, StringType | BooleanType | DoubleType | IntegralType)


def _object(body: bytes | None) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(body or b"")
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, dict) else None


def reading_of(type: DataType) -> Reading:
    """What makes a value of this type of what JSON has; None where it does not fit."""
    match type:
        case StructType():
            inner = {field.name: reading_of(field.dataType) for field in type}
            return lambda value: (
                {name: reading(value.get(name)) for name, reading in inner.items()} if isinstance(value, dict) else None
            )
        case ArrayType():
            element = reading_of(type.elementType)
            return lambda value: [element(each) for each in value] if isinstance(value, list) else None
        case MapType():
            item = reading_of(type.valueType)
            return lambda value: (
                [(name, item(each)) for name, each in value.items()] if isinstance(value, dict) else None
            )
        case StringType():
            return _text
        case BooleanType():
            return lambda value: value if isinstance(value, bool) else None
        case IntegralType():
            most = 1 << (_INTEGER_BITS[type.simpleString()] - 1)
            return lambda value: value if is_integer(value) and -most <= value < most else None
        case DoubleType() | FloatType():
            return lambda value: float(value) if is_integer(value) or isinstance(value, float) else None
        case DecimalType():
            return _decimal(type)
        case TimestampType():
            return _timestamp
        case DateType():
            return _date
    return lambda value: None


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _decimal(type: DecimalType) -> Reading:
    step, most = Decimal(1).scaleb(-type.scale), Decimal(10) ** (type.precision - type.scale)

    def reading(value: Any) -> Decimal | None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            number = Decimal(str(value)).quantize(step)
        except InvalidOperation:
            return None
        return number if abs(number) < most else None

    return reading


def _timestamp(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None
