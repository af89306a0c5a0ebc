"""The parser of RESP requests: whole, and in any pieces, both decoders must find the same in any stream of bytes."""

from collections.abc import Iterable
from random import Random

from onemq.errors import ProtocolError
from onemq.protocols.resp.careful import CarefulDecoder
from onemq.protocols.resp.codec import RequestDecoder
from tests.fuzz.streams import damaged, pieces, requests

Outcome = list[list[bytes] | str]
"""The requests, and the error text at the end if there is one."""


def run(seed: int) -> None:
    random = Random(seed)
    stream = damaged(random, requests(random))
    expected = _carefully(stream)
    for _ in range(3):
        parts = list(pieces(random, stream))
        for decode in (_by_feeding, _at_once):
            found = decode(parts)
            assert found == expected, f"{decode.__name__}: {found!r} instead of {expected!r}"


def _carefully(stream: bytes) -> Outcome:
    decoder, found = CarefulDecoder(), Outcome()
    try:
        decoder.feed(stream)
        while (request := decoder.next()) is not None:
            found.append(request)
    except ProtocolError as error:
        found.append(error.text)
    return found


def _by_feeding(parts: Iterable[bytes]) -> Outcome:
    """As sessions do that are busy: some parts come before any is asked for."""
    decoder, found = RequestDecoder(), Outcome()
    try:
        for number, part in enumerate(parts):
            decoder.feed(part)
            if number % 3 == 0:
                _take(decoder, found)
        _take(decoder, found)
    except ProtocolError as error:
        found.append(error.text)
    return found


def _at_once(parts: Iterable[bytes]) -> Outcome:
    """As sessions do that keep up."""
    decoder, found = RequestDecoder(), Outcome()
    try:
        for part in parts:
            whole = decoder.decode_whole(part)
            found += whole
            if not whole:
                decoder.feed(part)
            _take(decoder, found)
    except ProtocolError as error:
        found.append(error.text)
    return found


def _take(decoder: RequestDecoder, found: Outcome) -> None:
    while some := decoder.take():
        found += some
