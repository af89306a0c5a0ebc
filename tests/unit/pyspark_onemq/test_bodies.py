"""JSON bodies as columns, and the schemas that describe them."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from onemq.errors import InvalidArgument
from pyspark_onemq.bodies import Bodies
from pyspark_onemq.columns import table_schema
from pyspark_onemq.ddl import parse_schema
from pyspark_onemq.options import read_options


def rows(schema: str, *bodies: bytes | None) -> list[dict[str, Any]]:
    options = read_options({"subscribe": "orders", "schema": schema, "columns": "value"})
    table = to_arrow_schema(table_schema(options), timezone="UTC")
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.array(bodies, pyarrow.binary())], names=["value"])
    expanded = Bodies(parse_schema(schema), table).expand(batch)
    assert expanded.schema == table
    found: list[dict[str, Any]] = expanded.to_pylist()
    return found


def test_fields_are_read_and_others_are_left() -> None:
    bodies = [json.dumps({"n": n, "name": f"x{n}", "more": [1]}).encode() for n in range(3)]
    assert rows("n INT, name STRING", *bodies) == [{"n": n, "name": f"x{n}"} for n in range(3)]


def test_one_odd_body_does_not_spoil_the_others() -> None:
    bodies = (b'{"n": 1}', b"not json", None, b'{"n": "one"}', b"[1]", b'{\n"n": 2}', b'{"n": 1e3}', b'{"m": 3}')
    assert [row["n"] for row in rows("n BIGINT", *bodies)] == [1, None, None, None, None, 2, None, None]


def test_bodies_that_are_no_json_are_kept_where_asked() -> None:
    found = rows("n INT, _corrupt_record STRING", b'{"n": 1}', b"oh\xff")
    assert found == [{"n": 1, "_corrupt_record": None}, {"n": None, "_corrupt_record": "oh\ufffd"}]


def test_numbers_that_do_not_fit_are_null() -> None:
    found = rows("a TINYINT, b DECIMAL(4,2), c FLOAT", b'{"a": 200, "b": 100.5, "c": 2}', b'{"a": 1, "b": "1.239"}')
    assert found == [{"a": None, "b": None, "c": 2.0}, {"a": 1, "b": Decimal("1.24"), "c": None}]


def test_nested_fields_and_times_are_read() -> None:
    schema = "at TIMESTAMP, day DATE, items ARRAY<STRUCT<sku: STRING, n: INT>>, tags MAP<STRING, BOOLEAN>, raw STRING"
    body = {
        "at": "2026-11-16T08:00:00+01:00", "day": "2026-11-16", "items": [{"sku": "a", "n": 2}, {"sku": 7}],
        "tags": {"new": True}, "raw": {"x": [1, 2]},
    }  # fmt: skip
    assert rows(schema, json.dumps(body).encode()) == [{
        "at": datetime(2026, 11, 16, 7, tzinfo=UTC), "day": date(2026, 11, 16),
        "items": [{"sku": "a", "n": 2}, {"sku": "7", "n": None}], "tags": [("new", True)], "raw": '{"x":[1,2]}',
    }]  # fmt: skip


def test_a_schema_is_read_as_spark_writes_it() -> None:
    text = "`order no` BIGINT, price DECIMAL(10,2) NOT NULL, s STRUCT<a: INT, b: ARRAY<MAP<STRING, DOUBLE>>>"
    schema = parse_schema(text)
    assert schema.simpleString() == (
        "struct<order no:bigint,price:decimal(10,2),s:struct<a:int,b:array<map<string,double>>>>"
    )
    assert parse_schema(schema.json()) == schema
    assert isinstance(schema, StructType)


@pytest.mark.parametrize(
    "text", ["a", "a INT,, b INT", "a INTT", "a ARRAY<INT", "a INT b INT", "a DECIMAL(x)", "{}", "?", ","]
)
def test_a_schema_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="option schema"):
        parse_schema(text)
