"""A Kafka session and the codec under it: damaged requests in any pieces end in answers or a closed connection, never
in an error of our own; and what the codec reads from anything, it can write and read again."""

from random import Random

import msgspec

from onemq.errors import ProtocolError
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.service import KafkaService
from tests.fuzz.streams import pieces
from tests.unit.protocols.kafka.fakes import Client, framed, make_service
from tests.unit.protocols.kafka.samples import all_messages, packed, sample

_MESSAGES = all_messages()


def run(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        _read_anything(random)
    service = make_service()
    for _ in range(3):
        _talk(random, service)


def _read_anything(random: Random) -> None:
    kind = random.choice(_MESSAGES)
    version = random.choice(kind.versions)
    data = damaged(random, packed(sample(random, kind, version), version))
    try:
        found = decode(kind, version, data)
    except ProtocolError:
        return
    again = decode(kind, version, packed(found, version))
    assert msgspec.to_builtins(again) == msgspec.to_builtins(found), f"{kind.__name__} of version {version}: {data!r}"


def damaged(random: Random, stream: bytes) -> bytes:
    """Half of the time as it is; else with some bytes changed, lost, doubled or added."""
    if random.random() < 0.5:
        return stream
    data = bytearray(stream)
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(data) + 1)
        change = random.randrange(4)
        if change == 0 and at < len(data):
            data[at] = random.choice((0, 1, 2, 127, 128, 255, random.randrange(256)))
        elif change == 1:
            del data[at : at + random.randrange(1, 20)]
        elif change == 2:
            data[at:at] = data[at : at + random.randrange(1, 50)]
        else:
            data[at:at] = random.choice((b"\0", b"\xff" * 4, b"\x7f\xff\xff\xff", random.randbytes(5)))
    return bytes(data)


def _talk(random: Random, service: KafkaService) -> None:
    """Time goes on meanwhile, so that those who wait are answered in the end."""
    client = Client(service)
    for part in pieces(random, damaged(random, _requests(random, service))):
        if client.peer.closed:
            break
        client.session.receive(part)
        client.turn(service.now_ms + random.choice((0, 1, 1_000, 100_000)))
    client.session.lost()
    client.turn(service.now_ms + random.choice((0, 1_000)))


def _requests(random: Random, service: KafkaService) -> bytes:
    stream = b""
    for number in range(random.randrange(1, 12)):
        api = random.choice(list(service.apis.values()))
        version = random.randint(api.first, api.last)
        stream += framed(sample(random, api.request, version), version, number)
    return stream
