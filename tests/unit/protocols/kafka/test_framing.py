"""Frames in any pieces, and those that are refused before they are gathered."""

from random import Random
from struct import pack

import pytest

from onemq.errors import ProtocolError
from onemq.limits import KAFKA_LOGIN_BYTES_MAX, KAFKA_PRODUCE_BYTES_MAX, KAFKA_REQUEST_BYTES_MAX
from onemq.protocols.kafka.framing import Frames


def frame(body: bytes, key: int = 3) -> bytes:
    return pack(">ih", len(body) + 2, key) + body


def taken(frames: Frames) -> list[bytes]:
    found = []
    while (next_one := frames.next()) is not None:
        data, start, end = next_one
        found.append(data[start:end])
    return found


def test_pieces_of_any_size_give_the_same_requests() -> None:
    random = Random(6)
    bodies = [random.randbytes(random.choice((6, 7, 100, 5_000))) for _ in range(100)]
    stream = b"".join(frame(body) for body in bodies)
    for size in (1, 2, 3, 7, 64, 4_096, len(stream)):
        frames, found = Frames(), []
        for at in range(0, len(stream), size):
            frames.feed(stream[at : at + size])
            if random.random() < 0.7:
                found += taken(frames)
        found += taken(frames)
        assert found == [pack(">h", 3) + body for body in bodies]
        assert frames.buffered_bytes == 0


def test_a_request_that_comes_alone_is_not_copied() -> None:
    data = frame(bytes(1000))
    frames = Frames()
    frames.feed(data)
    assert frames.next() == (data, 4, len(data))
    frames.feed(data)
    found = frames.next()
    assert found is not None
    assert found[0] is data


def test_requests_that_come_together_are_not_copied() -> None:
    one = frame(bytes(1000))
    data = one + one + one[:-1]
    frames = Frames()
    frames.feed(data)
    for start in (4, len(one) + 4):
        found = frames.next()
        assert found is not None
        assert found[0] is data
        assert found[1:] == (start, start + 1002)
    assert frames.next() is None
    frames.feed(one[-1:])
    assert taken(frames) == [one[4:]]


def test_a_large_request_is_joined_once() -> None:
    """Its bytes are looked at when the last of them is there, not with each piece."""
    body = bytes(20_000_000)
    data = frame(body, key=0)
    frames = Frames()
    for at in range(0, len(data), 65_536):
        assert frames.next() is None
        frames.feed(data[at : at + 65_536])
    found = frames.next()
    assert found is not None
    assert len(found[0]) == len(data)


def test_what_was_given_out_is_not_held() -> None:
    frames = Frames()
    frames.feed(frame(bytes(100)) + b"\0")
    frames.next()
    assert frames.buffered_bytes == 1


@pytest.mark.parametrize(
    ("size", "key"),
    [
        (-1, 3),
        (0, 3),
        (7, 3),
        (KAFKA_REQUEST_BYTES_MAX + 1, 3),
        (KAFKA_PRODUCE_BYTES_MAX + 1, 0),
        (0x47455420, 0x2F20),  # GET /
        (0x16030100, 0xC8),  # the greeting of TLS
    ],
)
def test_sizes_that_cannot_be_are_refused_at_once(size: int, key: int) -> None:
    frames = Frames()
    frames.feed(pack(">ih", size, key & 0x7FFF))
    with pytest.raises(ProtocolError, match="speaks Kafka's protocol"):
        frames.next()


def test_the_largest_requests_are_waited_for() -> None:
    for size, key in ((KAFKA_REQUEST_BYTES_MAX, 3), (KAFKA_PRODUCE_BYTES_MAX, 0)):
        frames = Frames()
        frames.feed(pack(">ih", size, key))
        assert frames.next() is None


def test_tokens_stand_between_requests() -> None:
    for size in (1, 2, 5, 1_000):
        frames, stream, found = Frames(), frame(b"handshake"), list[bytes]()
        tokens = [b"", b"x", b"abc" * 100, b"yz"]
        frames.feed(stream)
        assert taken(frames) == [pack(">h", 3) + b"handshake"]
        stream = b"".join(pack(">i", len(token)) + token for token in tokens)
        for at in range(0, len(stream), size):
            frames.feed(stream[at : at + size])
            while (token := frames.next_token()) is not None:
                found.append(token)
        assert found == tokens
        assert frames.buffered_bytes == 0
        frames.feed(frame(b"request"))
        assert taken(frames) == [pack(">h", 3) + b"request"]


@pytest.mark.parametrize("size", [-1, KAFKA_LOGIN_BYTES_MAX + 1, (1 << 31) - 1])
def test_tokens_of_other_sizes_are_refused(size: int) -> None:
    frames = Frames()
    frames.feed(pack(">i", size))
    with pytest.raises(ProtocolError):
        frames.next_token()
