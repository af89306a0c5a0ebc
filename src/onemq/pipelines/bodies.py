"""JSON bodies: read with a schema, and what is wrong with those that do not fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

BODY, REASON = "body", "reason"
_SHOWN_CHARACTERS = 60


def parse_schema(ddl: str) -> StructType:
    """`orderno BIGINT NOT NULL, city STRING`. Raises `InvalidArgument`; needs a session."""
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(ddl)
    except Exception:
        raise InvalidArgument(f"--schema {ddl!r}: write it like orderno BIGINT NOT NULL, city STRING") from None
    if not isinstance(schema, StructType) or not schema.fields:
        raise InvalidArgument("--schema names no field: write it like orderno BIGINT NOT NULL, city STRING")
    return schema


def nullable(schema: StructType) -> StructType:
    """The same fields, each of which may be missing: what is NOT NULL is checked, not promised to Spark."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(each.name, each.dataType, True) for each in schema])


def with_body(rows: DataFrame, schema: StructType) -> DataFrame:
    """Adds `body`, the parsed value, and `reason`, why a value does not fit; one of them is null."""
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    parsed = rows.withColumn(BODY, F.from_json(text, nullable(schema)))
    reason = F.coalesce(_not_an_object(text), _misfits(text, schema))
    fitting = F.when(F.col(REASON).isNull(), F.col(BODY))
    return parsed.withColumn(REASON, reason).withColumn(BODY, fitting)


def _not_an_object(text: Column) -> Column:
    from pyspark.sql import functions as F

    kind = F.schema_of_variant(F.try_parse_json(text))
    return (
        F.when(text.isNull(), F.lit("no body"))
        .when(kind.isNull(), F.lit("not JSON"))
        .when(~kind.startswith("OBJECT"), F.lit("not a JSON object"))
    )


def _misfits(text: Column, schema: StructType) -> Column:
    """The sentences about all fields that do not fit, or null."""
    from pyspark.sql import functions as F

    found = F.concat_ws("; ", *(_misfit(text, each) for each in schema))
    return F.when(found != "", found)


def _misfit(text: Column, field: StructField) -> Column:
    from pyspark.sql import functions as F

    name = field.name
    given = F.get_json_object(text, "$['" + name + "']")
    is_missing = F.when(given.isNull(), F.lit(f"{name} is missing")) if not field.nullable else F.lit(None)
    shown = F.substring(given, 1, _SHOWN_CHARACTERS)
    is_other = given.isNotNull() & F.col(BODY).getField(name).isNull()
    return F.coalesce(is_missing, F.when(is_other, F.concat(F.lit(f"{name} is no {_type(field)}: "), shown)))


def _type(field: StructField) -> str:
    return field.dataType.simpleString()
