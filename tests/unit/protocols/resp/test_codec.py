"""Requests: each row whole, byte by byte, with trailing bytes, and by both decoders."""

from collections.abc import Iterable, Iterator
from random import Random

import pytest

from onemq.errors import ProtocolError
from onemq.limits import (
    RESP_ARGUMENTS_MAX,
    RESP_BULK_BYTES_MAX,
    RESP_INLINE_BYTES_MAX,
    RESP_LOGIN_ARGUMENTS_MAX,
    RESP_LOGIN_BULK_BYTES_MAX,
    RESP_REQUEST_BYTES_MAX,
)
from onemq.protocols.resp.careful import CarefulDecoder
from onemq.protocols.resp.codec import RequestDecoder

Outcome = list[list[bytes] | str]
"""The requests, and the error text at the end if there is one."""



class ShortWay:
    """A decoder that is fed by `decode_whole`, as sessions do it as long as they keep up."""

    def __init__(self) -> None:
        self._decoder = RequestDecoder()
        self._decoded: list[list[bytes]] = []

    @property
    def buffered_bytes(self) -> int:
        return self._decoder.buffered_bytes

    def feed(self, data: bytes) -> None:
        requests = self._decoder.decode_whole(data)
        if not requests:
            self._decoder.feed(data)
            requests = self._decoder.take()
        self._decoded += requests

    def take(self) -> list[list[bytes]]:
        decoded, self._decoded = self._decoded, []
        return decoded or self._decoder.take()


DECODERS = [RequestDecoder, ShortWay, CarefulDecoder]


def encode(*arguments: bytes) -> bytes:
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%b\r\n" % (len(each), each) for each in arguments)


def decode(decoder: RequestDecoder | ShortWay | CarefulDecoder, pieces: Iterable[bytes]) -> Outcome:
    outcome: Outcome = []
    try:
        for piece in pieces:
            decoder.feed(piece)
            outcome.extend(requests(decoder))
    except ProtocolError as error:
        outcome.append(error.text)
    return outcome


def requests(decoder: RequestDecoder | ShortWay | CarefulDecoder) -> Iterator[list[bytes]]:
    if not isinstance(decoder, CarefulDecoder):
        while some := decoder.take():
            yield from some
    else:
        while (one := decoder.next()) is not None:
            yield one


def single_bytes(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


REQUESTS = {
    "one argument": (encode(b"PING"), [[b"PING"]]),
    "several arguments": (encode(b"XADD", b"s", b"*", b"f", b"v"), [[b"XADD", b"s", b"*", b"f", b"v"]]),
    "an empty argument": (encode(b"ECHO", b""), [[b"ECHO", b""]]),
    "line ends in an argument": (encode(b"ECHO", b"a\r\nb\r\n"), [[b"ECHO", b"a\r\nb\r\n"]]),
    "a request in an argument": (encode(b"ECHO", encode(b"PING", b"x")), [[b"ECHO", encode(b"PING", b"x")]]),
    "all bytes in an argument": (encode(b"ECHO", bytes(range(256))), [[b"ECHO", bytes(range(256))]]),
    "a giant list in an argument": (encode(b"ECHO", b"\r\n*99999999\r\n"), [[b"ECHO", b"\r\n*99999999\r\n"]]),
    "many arguments": (encode(*[b"x"] * 12_345), [[b"x"] * 12_345]),
    "a pipeline": (encode(b"PING") * 3, [[b"PING"]] * 3),
    "empty requests": (b"*0\r\n*-1\r\n*-10\r\n" + encode(b"PING"), [[b"PING"]]),
    "an inline command": (b"ECHO hello\r\n", [[b"ECHO", b"hello"]]),
    "an inline command that ends like on Unix": (b"PING\nPING\n", [[b"PING"], [b"PING"]]),
    "blank lines": (b"\r\n\r\n  \r\nPING\r\n", [[b"PING"]]),
    "an inline command that looks like a reply": (b"+OK\r\n:1\r\n$3\r\n", [[b"+OK"], [b":1"], [b"$3"]]),
    "both kinds in turn": (encode(b"PING") + b"ECHO a\r\n" + encode(b"PING"), [[b"PING"], [b"ECHO", b"a"], [b"PING"]]),
    "other bytes than a line end after an argument": (b"*1\r\n$4\r\nPINGxx" + encode(b"PING"), [[b"PING"]] * 2),
}
ERRORS = {
    "no number of arguments": (b"*\r\n", "invalid multibulk length"),
    "a word for a number": (b"*abc\r\n", "invalid multibulk length"),
    "a blank in a number": (b"* 1\r\n", "invalid multibulk length"),
    "a number with a leading zero": (b"*01\r\n", "invalid multibulk length"),
    "a number with an underscore": (b"*1_0\r\n", "invalid multibulk length"),
    "too many arguments": (b"*%d\r\n" % (RESP_ARGUMENTS_MAX + 1), "invalid multibulk length"),
    "a number beyond 64 bits": (b"*99999999999999999999\r\n", "invalid multibulk length"),
    "an integer as argument": (b"*1\r\n:5\r\n", "expected '$', got ':'"),
    "a list as argument": (b"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
    "a letter as argument": (b"*1\r\nx\r\n", "expected '$', got 'x'"),
    "a null as argument": (b"*2\r\n$4\r\nECHO\r\n_\r\n", "expected '$', got '_'"),
    "a missing argument": (b"*1\r\n$-1\r\n", "invalid bulk length"),
    "no length": (b"*1\r\n$\r\n", "invalid bulk length"),
    "a length with a leading zero": (b"*1\r\n$04\r\nPING\r\n", "invalid bulk length"),
    "an argument that is too long": (b"*1\r\n$%d\r\n" % (RESP_BULK_BYTES_MAX + 1), "invalid bulk length"),
    "an argument of gigabytes": (b"*2\r\n$4\r\nECHO\r\n$99999999999\r\n", "invalid bulk length"),
    "quotes that do not match": (b'ECHO "a\r\n', "unbalanced quotes in request"),
    "an endless line": (b"x" * (RESP_INLINE_BYTES_MAX + 1), "too big inline request"),
    "an endless number of arguments": (b"*" + b"1" * RESP_INLINE_BYTES_MAX, "too big mbulk count string"),
    "an endless length": (b"*1\r\n$" + b"1" * RESP_INLINE_BYTES_MAX, "too big bulk count string"),
}


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(("data", "expected"), REQUESTS.values(), ids=REQUESTS.keys())
class TestRequests:
    def test_whole(self, kind: type[RequestDecoder], data: bytes, expected: Outcome) -> None:
        assert decode(kind(), [data]) == expected

    def test_byte_by_byte(self, kind: type[RequestDecoder], data: bytes, expected: Outcome) -> None:
        assert decode(kind(), single_bytes(data)) == expected

    def test_cut_in_two_anywhere(self, kind: type[RequestDecoder], data: bytes, expected: Outcome) -> None:
        step = len(data) // 50 + 1 if len(data) > 1_000 else 1
        for cut in range(1, len(data), step):
            assert decode(kind(), [data[:cut], data[cut:]]) == expected, cut

    def test_with_trailing_bytes_that_are_half_a_request(
        self, kind: type[RequestDecoder], data: bytes, expected: Outcome
    ) -> None:
        decoder = kind()
        assert decode(decoder, [data + b"*2\r\n$4\r\nEC"]) == expected
        assert decode(decoder, [b"HO\r\n$1\r\n", b"a\r\n"]) == [[b"ECHO", b"a"]]

    def test_after_another_request(self, kind: type[RequestDecoder], data: bytes, expected: Outcome) -> None:
        assert decode(kind(), [encode(b"PING") + data]) == [[b"PING"], *expected]


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(("data", "text"), ERRORS.values(), ids=ERRORS.keys())
class TestErrors:
    def test_whole(self, kind: type[RequestDecoder], data: bytes, text: str) -> None:
        assert decode(kind(), [data]) == [text]

    def test_byte_by_byte(self, kind: type[RequestDecoder], data: bytes, text: str) -> None:
        assert decode(kind(), single_bytes(data)) == [text]

    def test_the_requests_before_it_are_given_out(
        self, kind: type[RequestDecoder], data: bytes, text: str
    ) -> None:
        assert decode(kind(), [encode(b"PING") * 2 + data]) == [[b"PING"], [b"PING"], text]


AFTER_ALIKE = {
    "another last word": encode(b"ECHO", b"9999"),
    "line ends in the last word": encode(b"ECHO", b"\r\n\r\n"),
    "another first word": encode(b"HCEO", b"1234"),
    "words of other lengths": encode(b"ECH", b"12345"),
    "several requests": encode(b"PING") + b"PING 123\r\n",
    "other bytes than a line end after an argument": encode(b"ECHO", b"1234")[:-2] + b"xx",
    "an integer as argument": b"*2\r\n$4\r\nECHO\r\n:1234567\r\n",
    "a request that goes on": encode(b"ECHO", b"1" * 9)[: len(encode(b"ECHO", b"1234"))],
    "an inline command": b"ECHO 67890 23456789012\r\n",
}


@pytest.mark.parametrize("data", AFTER_ALIKE.values(), ids=AFTER_ALIKE.keys())
def test_after_requests_that_were_alike_others_of_their_size_are_what_they_are(data: bytes) -> None:
    alike = [encode(b"ECHO", b"%d" % each) for each in range(1230, 1234)]
    assert len(data) == len(alike[0])
    pieces = [*alike, data, *alike, encode(b"PING"), *alike]
    assert decode(ShortWay(), pieces) == decode(CarefulDecoder(), pieces)


def test_requests_that_are_alike_are_given_out_as_lists_of_their_own() -> None:
    decoder = RequestDecoder()
    for _ in range(3):
        (request,) = decoder.decode_whole(encode(b"ECHO", b"a"))
        request[0] = b"CHANGED"
    assert decoder.decode_whole(encode(b"ECHO", b"b")) == [[b"ECHO", b"b"]]


@pytest.mark.parametrize("kind", DECODERS)
def test_the_largest_argument_is_accepted(kind: type[RequestDecoder]) -> None:
    body = bytes(RESP_BULK_BYTES_MAX)
    data = encode(b"ECHO", body)
    pieces = [data[at : at + 262_144] for at in range(0, len(data), 262_144)]
    ((name, got),) = decode(kind(), pieces)
    assert (name, got == body) == (b"ECHO", True)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_request_that_is_too_large_in_sum_is_refused_when_it_says_so(kind: type[RequestDecoder]) -> None:
    decoder = kind()
    count = RESP_REQUEST_BYTES_MAX // RESP_BULK_BYTES_MAX
    part = b"$%d\r\n%b\r\n" % (RESP_BULK_BYTES_MAX, bytes(RESP_BULK_BYTES_MAX))
    decode(decoder, [b"*%d\r\n" % (count + 1), *[part] * count])
    assert decode(decoder, [b"$1\r\n"]) == [f"request is larger than {RESP_REQUEST_BYTES_MAX} bytes"]


@pytest.mark.parametrize("kind", DECODERS)
def test_a_giant_list_costs_nothing_before_its_arguments_come(kind: type[RequestDecoder]) -> None:
    decoder = kind()
    assert decode(decoder, [b"*%d\r\n" % RESP_ARGUMENTS_MAX]) == []
    assert decoder.buffered_bytes == 0


def test_nothing_is_kept_when_all_requests_were_given_out() -> None:
    decoder = RequestDecoder()
    for _ in range(3):
        decode(decoder, [encode(b"ECHO", bytes(5_000)) * 50, b"PING\r\n", b"*1\r\n$4\r\nPI", b"NG\r\n"])
        assert decoder.buffered_bytes == 0


def test_what_is_fed_before_it_is_asked_for_is_kept_in_order() -> None:
    decoder = RequestDecoder()
    for piece in (encode(b"a"), b"b\r\n*1\r\n$1", b"\r\nc\r\n", encode(b"d")):
        decoder.feed(piece)
    assert decode(decoder, [b""]) == [[b"a"], [b"b"], [b"c"], [b"d"]]


PARTS = [
    *(b"\r\n", b"*", b"$", b"*1\r\n", b"$4\r\n", b"PING", b"\r\n*2\r\n", b"x", b"0", b"-1", b"12345", b"\0"),
    *(b"*100000\r\n", b":5\r\n", b"_\r\n", b"#f\r\n", b"%1\r\n", b">1\r\n", b" ", b'"', b"*0\r\n", b"\xff"),
]


def random_stream(random: Random) -> bytes:
    """Mostly requests; their arguments, and sometimes the stream itself, made of what confuses parsers."""
    stream = b""
    for _ in range(random.randrange(1, 25)):
        kind = random.random()
        if kind < 0.75:
            stream += encode(*(random_argument(random) for _ in range(random.randrange(1, 6))))
        elif kind < 0.85:
            stream += b"ECHO inline\r\n"
        elif kind < 0.95:
            stream += encode(b"XADD", b"s", b"*", b"f", b"v" * random.randrange(200))
        else:
            stream += b"".join(random.choices(PARTS, k=random.randrange(6)))
    return stream


def random_argument(random: Random) -> bytes:
    if random.random() < 0.8:
        return b"".join(random.choices(PARTS, k=random.randrange(6)))
    return random.randbytes(random.choice([5, 300, 3_000, 20_000]))


def random_pieces(random: Random, data: bytes) -> Iterator[bytes]:
    size_max = random.choice([1, 7, 100, 1_500, 40_000]) if len(data) < 20_000 else random.choice([1_500, 40_000])
    at = 0
    while at < len(data):
        size = random.randrange(1, size_max + 1)
        yield data[at : at + size]
        at += size


@pytest.mark.parametrize("seed", range(300))
def test_both_decoders_agree_on_any_stream_in_any_pieces(seed: int) -> None:
    random = Random(seed)
    stream = random_stream(random)
    expected = decode(CarefulDecoder(), [stream])
    for pieces in ([stream], random_pieces(random, stream), random_pieces(random, stream)):
        pieces = list(pieces)
        assert decode(RequestDecoder(), pieces) == expected
        assert decode(ShortWay(), pieces) == expected


@pytest.mark.parametrize("seed", range(100))
def test_noise_is_answered_or_waited_for_and_never_fails_otherwise(seed: int) -> None:
    random = Random(seed)
    noise = bytes(random.choices(b"*$:+-_\r\n\"' 0123456789ABCxyz\0\xff", k=random.randrange(2_000)))
    expected = decode(CarefulDecoder(), [noise])
    assert decode(RequestDecoder(), random_pieces(random, noise)) == expected
    assert decode(ShortWay(), random_pieces(random, noise)) == expected


# Strangers: clients that have to log in and have not.


def strangers() -> RequestDecoder:
    decoder = RequestDecoder()
    decoder.restrict()
    return decoder


LARGEST = [b"x" * RESP_LOGIN_BULK_BYTES_MAX] * RESP_LOGIN_ARGUMENTS_MAX
FITTING = {name: row for name, row in REQUESTS.items() if name != "many arguments"} | {
    "as much as a stranger may send": (encode(*LARGEST) * 2, [LARGEST] * 2)
}
REFUSED = {
    "an argument too many": (encode(*[b"x"] * (RESP_LOGIN_ARGUMENTS_MAX + 1)), "unauthenticated multibulk length"),
    "arguments that are only announced": (b"*1000000\r\n", "unauthenticated multibulk length"),
    "an argument that is too long": (b"*1\r\n$%d\r\n" % (RESP_LOGIN_BULK_BYTES_MAX + 1), "unauthenticated bulk length"),
    "the last argument": (b"*2\r\n$4\r\nECHO\r\n$16385\r\n", "unauthenticated bulk length"),
    "more than anybody may send": (b"*1\r\n$%d\r\n" % (RESP_BULK_BYTES_MAX + 1), "invalid bulk length"),
}


@pytest.mark.parametrize(("data", "expected"), FITTING.values(), ids=FITTING.keys())
def test_what_a_stranger_may_send_is_decoded_one_by_one(data: bytes, expected: Outcome) -> None:
    for pieces in ([data], [encode(b"PING") + data], [*single_bytes(data[:2_000]), data[2_000:]]):
        decoder = strangers()
        found: Outcome = []
        for piece in pieces:
            assert decoder.decode_whole(piece) == []
            decoder.feed(piece)
            while some := decoder.take():
                assert len(some) == 1
                found += some
        assert found[-len(expected) :] == expected
        assert decoder.buffered_bytes == 0


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_stranger_may_not_send_is_refused_when_it_is_announced(data: bytes, text: str) -> None:
    for pieces in ([data], [encode(b"PING") + data], single_bytes(data)):
        assert decode(strangers(), pieces)[-1] == text


@pytest.mark.parametrize("data", [encode(*[b"x"] * 11), encode(b"ECHO", b"x" * 20_000)])
@pytest.mark.parametrize("together", [True, False], ids=["in one piece", "in two"])
def test_what_follows_the_login_is_nobody_s_stranger_s(data: bytes, together: bool) -> None:
    decoder = strangers()
    decoder.feed(encode(b"AUTH") + data * together)
    assert decoder.take() == [[b"AUTH"]]
    decoder.lift()
    assert decoder.is_empty != together
    outcome = decode(decoder, [b"", data * (not together), encode(b"PING"), data])
    assert outcome == decode(CarefulDecoder(), [data, encode(b"PING"), data])
    assert decoder.buffered_bytes == 0
    assert decoder.decode_whole(encode(b"PING")) == [[b"PING"]]


def test_what_came_before_it_was_known_for_a_stranger_is_decoded_as_one_s() -> None:
    for pieces in ([b"*11\r\n"], [encode(b"PING") + b"*11\r\n"], [encode(b"PING"), b"*11\r\n"], [b"*1", b"1\r\n"]):
        decoder = RequestDecoder()
        for piece in pieces:
            decoder.feed(piece)
        decoder.restrict()
        assert decode(decoder, [b""])[-1] == "unauthenticated multibulk length"


@pytest.mark.parametrize("seed", range(200))
def test_logging_in_and_out_between_any_requests(seed: int) -> None:
    """Expected is what the careful decoder finds, which is told so after the same requests."""
    random = Random(seed)
    pieces = list(random_pieces(random, b"".join(random_stream(random) for _ in range(3))))
    decoder, found, turns, is_stranger = RequestDecoder(), Outcome(), [], False
    try:
        for piece in pieces:
            if not (whole := decoder.decode_whole(piece)):
                decoder.feed(piece)
            while some := whole or decoder.take():
                whole = []
                found += some
                if random.random() < 0.3:
                    if is_stranger:
                        decoder.lift()
                    else:
                        decoder.restrict()
                    is_stranger = not is_stranger
                    turns.append(len(found))
    except ProtocolError as error:
        found.append(error.text)
    assert found == by_turns(b"".join(pieces), turns)


def by_turns(stream: bytes, turns: list[int]) -> Outcome:
    """What the careful decoder finds if after so many requests a stranger comes, or goes."""
    decoder, found = CarefulDecoder(), Outcome()
    decoder.feed(stream)
    try:
        while (request := decoder.next()) is not None:
            found.append(request)
            decoder.of_stranger ^= len(found) in turns
    except ProtocolError as error:
        found.append(error.text)
    return found
