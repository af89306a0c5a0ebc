"""Fields and messages: every entry comes back as it was, and messages from elsewhere are shown sensibly."""

import hiredis
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.log.batch import read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import decode, encode_headers
from onemq.message import DUE, STREAM_ID, Headers, Record
from onemq.protocols.resp.streams.fields import (
    entry_reply,
    fields_reply,
    single_field_headers,
    to_fields,
    to_message,
)

NAMES = st.sampled_from([b"body", b"_f", b"_sid", b"_due", b"_key", b"_x", b"", b"|", b"-", b"0|body", b"name"])
WORDS = st.one_of(NAMES, st.binary(max_size=5))
FIELDS = st.lists(st.tuples(WORDS, st.one_of(st.just(b""), st.binary(max_size=9))), min_size=1, max_size=5)
PLAIN = 1_700 << NUMBER_BITS | 7

Fields = list[tuple[bytes, bytes]]


def stored(body: bytes | None, headers: Headers, key: bytes | None = None) -> Record:
    """The message as the log gives it back."""
    builder = BatchBuilder(7, 1_700)
    builder.add(1_700, key, body, encode_headers(headers))
    batch = builder.seal()
    (record,) = decode(batch, 0, read_header(batch))
    return record


def flat(fields: Fields) -> list[bytes]:
    return [word for field in fields for word in field]


def replied(reply: bytes) -> object:
    reader = hiredis.Reader()
    reader.feed(reply)
    return reader.gets()


@given(FIELDS)
@example([(b"body", b"")])
@example([(b"a", b"1"), (b"body", b""), (b"body", b"2")])
@example([(b"_f", b"|x")])
@example([(b"_f", b"|x"), (b"a", b"")])
@example([(b"_sid", b"1-1"), (b"a", b"")])
def test_fields_come_back_as_they_were(fields: Fields) -> None:
    record = stored(*to_message(flat(fields)))
    assert to_fields(record) == fields
    assert replied(fields_reply(record)) == flat(fields)
    assert id_of(record) == PLAIN, "no field is taken for the id"


@given(FIELDS)
def test_fields_come_back_from_a_message_with_an_id_of_its_own(fields: Fields) -> None:
    body, headers = to_message(flat(fields))
    record = stored(body, ((STREAM_ID, b"5-3"), *headers))
    assert to_fields(record) == fields
    assert replied(entry_reply(record)) == [b"5-3", flat(fields)]


@given(FIELDS)
def test_fields_come_back_from_a_message_that_was_due_later(fields: Fields) -> None:
    body, headers = to_message(flat(fields))
    assert to_fields(stored(body, ((DUE, b"1700"), *headers))) == fields


@given(WORDS, st.binary(max_size=9))
def test_the_short_way_makes_the_same_fields(name: bytes, body: bytes) -> None:
    builder = BatchBuilder(7, 1_700)
    builder.add(1_700, None, body, single_field_headers(name))
    batch = builder.seal()
    (record,) = decode(batch, 0, read_header(batch))
    assert to_fields(record) == [(name, body)]


@pytest.mark.parametrize(
    ("fields", "body", "headers"),
    [
        ([(b"body", b"B")], b"B", ()),
        ([(b"body", b"B"), (b"a", b"A")], b"B", ((b"a", b"A"),)),
        ([(b"a", b"A"), (b"b", b"B")], b"", ((b"a", b"A"), (b"b", b"B"))),
        ([(b"name", b"B")], b"B", ((b"_f", b"|name"),)),
        ([(b"a", b"A"), (b"body", b"B")], b"B", ((b"_f", b"1|body"), (b"a", b"A"))),
    ],
)
def test_others_see_body_and_headers_that_they_know(fields: Fields, body: bytes, headers: Headers) -> None:
    assert to_message(flat(fields)) == (body, headers)


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (stored(b"B", ()), [(b"body", b"B")]),
        (stored(b"", ()), [(b"body", b"")]),
        (stored(None, ()), [(b"body", b"")]),
        (stored(b"B", ((b"h", b"H"),)), [(b"body", b"B"), (b"h", b"H")]),
        (stored(b"B", ((b"h", None),)), [(b"body", b"B"), (b"h", b"")]),
        (stored(b"", ((b"h", b"H"),)), [(b"h", b"H")]),
        (stored(b"B", ((b"h", b"H"),), key=b"K"), [(b"body", b"B"), (b"h", b"H"), (b"_key", b"K")]),
        (stored(b"B", (), key=b""), [(b"body", b"B"), (b"_key", b"")]),
        (stored(b"B", ((b"_id", b"1"), (b"_dead", b"{}"))), [(b"body", b"B"), (b"_id", b"1"), (b"_dead", b"{}")]),
        (stored(b"B", ((b"h", b"1"), (b"h", b"2"))), [(b"body", b"B"), (b"h", b"1"), (b"h", b"2")]),
    ],
)  # fmt: skip
def test_a_message_from_elsewhere(record: Record, fields: Fields) -> None:
    assert to_fields(record) == fields
    assert replied(fields_reply(record)) == flat(fields)


@given(
    st.one_of(st.none(), st.binary(max_size=5)),
    st.lists(st.tuples(WORDS, st.one_of(st.none(), WORDS)), max_size=4),
    st.one_of(st.none(), st.binary(max_size=5)),
)
@example(b"B", [(b"_f", b"x|y")], None)
@example(b"B", [(b"_f", b"99999|y")], None)
@example(b"B", [(b"_f", b"9" * 5000 + b"|y")], None)
@example(b"B", [(b"_f", b"-")], None)
@example(b"B", [(b"_sid", b"x")], None)
def test_whatever_others_send_has_an_id_and_fields(
    body: bytes | None, headers: list[tuple[bytes, bytes | None]], key: bytes | None
) -> None:
    record = stored(body, tuple(headers), key)
    assert isinstance(id_of(record), int)
    assert to_fields(record), "an entry has a field at least"
    assert replied(entry_reply(record)) is not None
