"""Messages in hand."""

import gzip

import pytest

from onemq.client.message import Message, from_map
from onemq.errors import BadBody, InvalidArgument


def message(body: bytes = b"x", key: bytes | None = None, headers: list[bytes] | None = None) -> Message:
    return Message("t", 2, 31, 1, 5, key, body, headers, None, 1, 10)


def test_the_id_is_made_of_the_place_unless_it_has_one() -> None:
    assert message().id == "a-2-1f"
    assert message(headers=[b"_id", b"1-0-7"]).id == "1-0-7"


def test_fields_come_from_reserved_headers() -> None:
    found = message(b'{"a":1}', b"k", [b"_tag", b"t", b"_pri", b"9", b"_type", b"json", b"_exp", b"77", b"own", b"o"])
    assert (found.tag, found.priority, found.expires, found.key) == ("t", 9, 77, "k")
    assert found.headers == {"own": "o"}
    assert found.value == found.json() == {"a": 1}
    assert (message().priority, message().tag, message().value) == (4, None, b"x")


def test_headers_that_are_no_text_stay_bytes() -> None:
    assert message(headers=[b"raw", b"\xff"]).headers == {"raw": b"\xff"}


def test_compressed_bodies_come_back() -> None:
    assert message(gzip.compress(b"large"), headers=[b"_enc", b"gzip"]).body == b"large"
    with pytest.raises(BadBody):
        _ = message(b"no gzip", headers=[b"_enc", b"gzip"]).body
    with pytest.raises(BadBody):
        _ = message(b"x", headers=[b"_enc", b"zstd"]).body


def test_a_message_that_was_only_read_cannot_be_acknowledged() -> None:
    with pytest.raises(InvalidArgument):
        message().ack()


def test_a_message_told_as_a_map() -> None:
    found = from_map({
        "id": b"1-0-1", "topic": b"t", "partition": 0, "offset": 1, "key": b"k", "tag": b"x", "body": b"hi",
        "headers": {b"own": b"o"}, "priority": 7, "deliveries": 2, "stored": 9, "type": b"text",
        "dead": {b"reason": b"why", b"deliveries": 3},
    })  # fmt: skip
    assert (found.id, found.topic, found.key, found.tag, found.value) == ("1-0-1", "t", "k", "x", "hi")
    assert (found.headers, found.priority, found.deliveries, found.stored) == ({"own": "o"}, 7, 2, 9)
    assert found.dead == {"reason": "why", "deliveries": 3}
