"""The columns that can be written to topics, checked before any job starts."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from onemq.errors import InvalidArgument

COLUMNS = ("value", "key", "topic", "partition", "tag", "headers")
_TEXT = (StringType, BinaryType)
_KINDS: dict[str, tuple[str, tuple[type[DataType], ...]]] = {
    "value": ("a string or binary", _TEXT),
    "key": ("a string or binary", _TEXT),
    "topic": ("a string", (StringType,)),
    "partition": ("an int", (IntegerType, LongType, ShortType, ByteType)),
    "tag": ("a string", (StringType,)),
    "headers": ("an array<struct<key: string, value: binary>>", (ArrayType,)),
}


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raises `InvalidArgument` if rows of the schema cannot be messages. `topic` is that of the option."""
    for name in schema.fieldNames():
        if name not in COLUMNS:
            raise InvalidArgument(
                f"the column {name!r} cannot be written: a message has the columns {', '.join(COLUMNS)}; select those, "
                "for example with to_json(struct('*')) AS value"
            )
    if "value" not in schema.fieldNames():
        raise InvalidArgument("there is no column 'value', which is the body of the message: string or binary")
    for field in schema.fields:
        wanted, kinds = _KINDS[field.name]
        if not isinstance(field.dataType, kinds) or (field.name == "headers" and not _are_headers(field.dataType)):
            raise InvalidArgument(f"the column {field.name!r} must be {wanted}, not {field.dataType.simpleString()}")
    if topic is None and "topic" not in schema.fieldNames():
        raise InvalidArgument("no topic is named: say option('topic', ...), or give the rows a column 'topic'")


def _are_headers(kind: DataType) -> bool:
    element = kind.elementType if isinstance(kind, ArrayType) else None
    return (
        isinstance(element, StructType)
        and element.fieldNames() == ["key", "value"]
        and isinstance(element["key"].dataType, StringType)
        and isinstance(element["value"].dataType, _TEXT)
    )
