"""What pipelines are told on the command line: fields, sides, outlets, windows. None of it needs Spark."""

import pytest

from onemq.errors import InvalidArgument
from onemq.pipelines.fields import check_field, names_of
from onemq.pipelines.outlet import Outlet, parse_outlet
from onemq.pipelines.sides import Side, parse_side
from onemq.pipelines.windows import Aggregate, Shape, parse_aggregate, shape


@pytest.mark.parametrize("text", ["orderno", "customer.id", "$.lines[0].sku", "@key", "@timestamp", "@header:source"])
def test_fields_are_places_in_a_body_or_parts_of_the_message(text: str) -> None:
    assert check_field(text) == text


@pytest.mark.parametrize("text", ["", "@offset", "@header:", "it's"])
def test_other_fields_are_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(InvalidArgument, match="names no part of a message"):
        check_field(text)


def test_names_of_columns_are_all_different() -> None:
    assert names_of(["a.b", "a_b", "@key", "count"], ("count",)) == ["a_b", "a_b_", "key", "count_"]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("topic:a/b", Side("topic", "a/b")),
        ("group:orders/points", Side("group", "orders", "points")),
        ("archive:s3a://lake/x#orders", Side("archive", "s3a://lake/x", "orders")),
        ("archive:/lake", Side("archive", "/lake")),
        ("dead:orders", Side("dead", "orders")),
        ("dead:orders/points", Side("dead", "orders", "points")),
    ],
)
def test_sides_of_the_books(text: str, side: Side) -> None:
    assert parse_side(text) == side
    assert str(side) == text


@pytest.mark.parametrize("text", ["orders", "topic:", "group:orders", "queue:orders"])
def test_other_sides_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_side(text)


def test_outlets() -> None:
    assert parse_outlet("topic:minutes") == Outlet("topic:", "minutes")
    assert parse_outlet("console") == Outlet("console", "console")
    assert parse_outlet("hdfs://name/minutes/") == Outlet("path", "hdfs://name/minutes")
    with pytest.raises(InvalidArgument, match="no place to write to"):
        parse_outlet("minutes")


def test_windows_and_aggregates() -> None:
    assert shape(60_000, None, None) == Shape(60_000, 60_000)
    assert shape(60_000, 10_000, None) == Shape(60_000, 10_000)
    assert shape(None, None, 5_000).is_session
    for lengths in ((None, None, None), (10, None, 10), (10, 20, None), (None, 10, None), (10, 0, None)):
        with pytest.raises(InvalidArgument):
            shape(*lengths)
    assert parse_aggregate("sum(customer.points)") == Aggregate("sum", "customer.points")
    with pytest.raises(InvalidArgument, match="no aggregate"):
        parse_aggregate("median(x)")
