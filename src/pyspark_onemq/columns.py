"""What a row of the data source is made of."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from onemq.errors import InvalidArgument
from pyspark_onemq.ddl import parse_schema
from pyspark_onemq.options import ReadOptions

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
MESSAGE: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "id": StringType(),
    "tag": StringType(),
}
CORRUPT = "_corrupt_record"
"""A text column of this name in a schema for bodies gets the bodies that are no JSON object, as in Spark's own."""


def message_schema(options: ReadOptions) -> StructType:
    """The columns of messages as they are, in the order in which they are read from the broker."""
    there = MESSAGE | ({"headers": HEADERS} if options.with_headers else {})
    wanted = options.columns or tuple(there)
    for name in wanted:
        if name not in there:
            hint = "; it needs includeHeaders=true" if name == "headers" else ""
            raise InvalidArgument(f"there is no column {name}: columns are {', '.join(there)}{hint}")
    return StructType([StructField(name, there[name]) for name in there if name in wanted])


def body_schema(options: ReadOptions) -> StructType | None:
    """The fields of JSON bodies, if a schema is given."""
    if options.schema is None:
        return None
    if options.columns is not None and "value" not in options.columns:
        raise InvalidArgument("the option schema reads the column value, which the option columns leaves out")
    return parse_schema(options.schema)


def table_schema(options: ReadOptions) -> StructType:
    """What Spark sees: the fields of the body, if they are known, stand in place of `value`.

    A column of the message whose name is that of a field in the body gets an underscore in front.
    """
    message, body = message_schema(options), body_schema(options)
    if body is None:
        return message
    taken = {name.lower() for name in body.fieldNames()}
    fields: list[StructField] = []
    for field in message:
        if field.name == "value":
            fields += body
        else:
            fields.append(StructField(f"_{field.name}" if field.name in taken else field.name, field.dataType))
    return StructType(fields)
