"""Typed bodies: what goes in comes out, and what cannot is told."""

import functools
import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.client.bodies import annotation_of, decode, encode
from onemq.errors import BadBody


@dataclass
class Item:
    name: str
    count: int = 1


@dataclass
class Order:
    number: int
    items: list[Item]
    at: datetime | None = None


class Point(msgspec.Struct, frozen=True):
    x: int
    y: float = 0.0


class Model(pydantic.BaseModel):
    number: int
    price: Decimal = Decimal("1.50")
    tags: list[str] = []


class Row(TypedDict):
    a: int


class Color(Enum):
    RED = "red"


ORDER = Order(10001, [Item("book", 2)], datetime(2026, 1, 2, tzinfo=UTC))
MODEL = Model(number=7, tags=["a"])


@pytest.mark.parametrize(
    ("value", "body", "kind"),
    [
        (b"\x00\xff", b"\x00\xff", "bytes"),
        (bytearray(b"ab"), b"ab", "bytes"),
        (memoryview(b"ab"), b"ab", "bytes"),
        ("grün", "grün".encode(), "text"),
        ("", b"", "text"),
        ({"orderno": 10001}, b'{"orderno":10001}', "json"),
        ([1, "a", None, True, 1.5], b'[1,"a",null,true,1.5]', "json"),
        (None, b"null", "json"),
        (5, b"5", "json"),
        (Item("book"), b'{"name":"book","count":1}', "json"),
        (Point(1), b'{"x":1,"y":0.0}', "json"),
        (MODEL, b'{"number":7,"price":"1.50","tags":["a"]}', "json"),
        ({"models": [MODEL]}, b'{"models":[{"number":7,"price":"1.50","tags":["a"]}]}', "json"),
        (Color.RED, b'"red"', "json"),
        (UUID(int=1), b'"00000000-0000-0000-0000-000000000001"', "json"),
    ],
)
def test_a_value_becomes_a_body_and_its_type(value: object, body: bytes, kind: str) -> None:
    assert encode(value) == (body, kind)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (ORDER, Order),
        (Point(3, 2.5), Point),
        (MODEL, Model),
        ([MODEL], list[Model]),
        ([ORDER], list[Order]),
        ({"a": 1}, Row),
        ({"a": 1}, dict),
        ({"a": 1}, dict[str, int]),
        ({"a": [1]}, Any),
        ({"a": [1]}, None),
        (5, int),
        (None, int | None),
        (Color.RED, Color),
        (Decimal("1.10"), Decimal),
        (3, Annotated[int, msgspec.Meta(ge=3)]),
    ],
)
def test_it_comes_back_as_annotated(value: object, annotation: Any, packed: bool) -> None:
    body, kind = encode(value, packed=packed)
    assert kind == ("msgpack" if packed else "json")
    assert decode(body, kind, annotation) == value


@pytest.mark.parametrize("value", ["grün", b"\x00\xff"])
def test_text_and_bytes_come_back_without_an_annotation(value: object) -> None:
    assert decode(*encode(value)) == value
    assert encode(value, packed=True) == encode(value)


def test_a_body_of_unknown_type_stays_bytes_unless_an_annotation_says_more() -> None:
    assert decode(b'{"x": 1}') == b'{"x": 1}'
    assert decode(b'{"x": 1}', "image/png") == b'{"x": 1}'
    assert decode(b'{"x": 1}', None, Point) == Point(1)
    assert decode(b'{"x": 1}', "text", Point) == Point(1)
    assert decode(b'{"x": 1}', "json", str) == '{"x": 1}'
    assert decode(b'{"x": 1}', "json", bytes) == b'{"x": 1}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_values, st.booleans())
def test_whatever_json_knows_comes_back(value: object, packed: bool) -> None:
    assert decode(*encode(value, packed=packed)) == value


@given(st.binary(), st.sampled_from(["text", "json", "msgpack"]), st.sampled_from([None, Order, Model, str, int]))
def test_bytes_from_anybody_give_a_value_or_a_clear_error(body: bytes, kind: str, annotation: Any) -> None:
    try:
        decode(body, kind, annotation)
    except BadBody as problem:
        assert problem.text


@pytest.mark.parametrize(
    ("body", "kind", "annotation", "reason"),
    [
        (b"{", "json", None, "not json"),
        (b'{"x": "one"}', "json", Point, r"not Point: Expected `int`, got `str` - at `\$.x`; it is '{"),
        (b'{"number": "x"}', "json", Model, "not Model: Input should be a valid integer, .* - at `number`; it is"),
        (b'[{"number": "x"}]', "json", list[Model], r"not list\[.*Model\]"),
        (b"\xff", "text", None, "not text"),
        (b"\xff", "bytes", str, "not text"),
        (b"\xc1", "msgpack", None, "not msgpack"),
        (b"[" * 100_000, "json", None, "not json"),
        (pickle.dumps(ORDER), "bytes", Order, "not Order"),
        (b"1", "json", object(), "cannot be read from a message"),
    ],
)
def test_what_does_not_fit_is_told(body: bytes, kind: str, annotation: Any, reason: str) -> None:
    with pytest.raises(BadBody, match=reason):
        decode(body, kind, annotation)


class Strange:
    pass


@pytest.mark.parametrize("value", [Strange(), {"a": Strange()}, [test_what_does_not_fit_is_told], "\ud800", 1j])
def test_what_cannot_be_sent_is_told(value: object) -> None:
    with pytest.raises(BadBody, match="cannot be sent"):
        encode(value)


def test_a_number_that_does_not_fit_into_messagepack_is_told() -> None:
    with pytest.raises(BadBody, match="cannot be sent"):
        encode(2**70, packed=True)


class Handlers:
    def method(self, order: Order) -> None: ...
    def __call__(self, order: "Order") -> None: ...


def plain(message):  # type: ignore[no-untyped-def]
    ...


def typed(order: Order, more: int = 0) -> None: ...
def by_name(order: "Order") -> None: ...
async def coroutine(order: list[Order]) -> None: ...
def second(number: int, order: "Order") -> None: ...


@functools.wraps(by_name)
def wrapped(*arguments: object) -> None: ...


@pytest.mark.parametrize(
    ("handler", "annotation"),
    [
        (plain, None),
        (print, None),
        (typed, Order),
        (by_name, Order),
        (coroutine, list[Order]),
        (wrapped, Order),
        (Handlers().method, Order),
        (Handlers(), Order),
        (functools.partial(second, 1), Order),
        (functools.partial(typed, more=1), Order),
        (lambda message: None, None),
    ],
)
def test_the_annotation_of_a_handler_is_found(handler: Any, annotation: Any) -> None:
    assert annotation_of(handler) == annotation


def test_a_handler_that_takes_nothing_or_an_unknown_type_is_refused() -> None:
    def unknown(order: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
        ...

    with pytest.raises(TypeError, match="takes nothing"):
        annotation_of(lambda: None)
    with pytest.raises(TypeError, match="cannot be read: name 'Missing'"):
        annotation_of(unknown)
