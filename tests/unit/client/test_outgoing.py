"""Messages on their way out, as bytes and words."""

import gzip
import os

import pytest

from onemq.client.headers import block
from onemq.client.outgoing import SendOptions, encoded, is_batched, record_headers, send_words
from onemq.errors import InvalidArgument
from onemq.log.records import NO_HEADERS, encode_headers


def test_a_plain_message_has_no_headers() -> None:
    assert record_headers(encoded(b"x", None, None), {}) == NO_HEADERS


def test_fields_are_reserved_headers() -> None:
    options: SendOptions = {"tag": "t", "ordering_key": "o", "reply_to": "r", "correlation": "c", "headers": {"a": "b"}}
    assert record_headers(encoded("text", "k", None), options) == encode_headers([
        (b"_tag", b"t"), (b"_type", b"text"), (b"_order", b"o"), (b"_reply", b"r"), (b"_corr", b"c"), (b"a", b"b"),
    ])  # fmt: skip


def test_only_what_gets_smaller_is_compressed() -> None:
    large, random = encoded(b"words " * 1000, None, 4096), encoded(os.urandom(5000), None, 4096)
    assert large.encoding == b"gzip"
    assert gzip.decompress(large.value) == b"words " * 1000
    assert (random.encoding, len(random.value)) == (None, 5000)
    assert encoded(b"words " * 1000, None, None).encoding is None


def test_names_of_headers_that_are_reserved_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        block(headers={"_tag": "x"})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"tag": "x", "headers": {"a": "b"}, "partition": 1}, True),
        ({"delay": None, "transient": False}, True),
        ({"delay": "1s"}, False),
        ({"priority": 0}, False),
        ({"idempotency_key": "k"}, False),
        ({"transient": True}, False),
    ],
)
def test_special_messages_are_sent_by_themselves(options: SendOptions, expected: bool) -> None:
    assert is_batched(options) is expected


def test_a_special_message_in_words() -> None:
    options: SendOptions = {"delay": "10s", "priority": 9, "headers": {"a": "b"}, "idempotency_key": "i"}
    assert send_words("t", encoded({"n": 1}, "k", None), options) == (
        b"MQ.SEND", "t", b'{"n":1}', b"KEY", b"k", b"TYPE", "json", b"HEADER", b"a", "b",
        b"DELAY", b"10000", b"PRIORITY", 9, b"IDEMPOTENCY", "i",
    )  # fmt: skip


def test_a_special_message_gets_a_key_of_its_own_so_that_it_can_be_sent_again() -> None:
    one, two = (send_words("t", encoded(b"", None, None), {"level": 3}) for _ in range(2))
    assert one[-4] == b"IDEMPOTENCY"
    assert one[-3] != two[-3]
    assert b"IDEMPOTENCY" not in send_words("t", encoded(b"", None, None), {}, safe=False)


@pytest.mark.parametrize("options", [{"delay": "1s", "at": 7}, {"level": 2, "delay": 0}, {"zone": "Europe/Berlin"}])
def test_times_that_contradict_each_other_are_refused(options: SendOptions) -> None:
    with pytest.raises(InvalidArgument):
        send_words("t", encoded(b"x", None, None), options)
