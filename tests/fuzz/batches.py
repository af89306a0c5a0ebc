"""Batches that a client sealed: what is taken can be read, whatever was done to it, and what is not is refused.

A batch is made, changed in some places, and gets the checksum that its bytes ask for, as a faulty or hostile client
would give it.
"""

from random import Random

from crc32c import crc32c

from onemq.core.core import Core
from onemq.core.receive import Handed
from onemq.core.start import FIRST
from onemq.errors import OneMQError
from onemq.log.batch_builder import BatchBuilder
from onemq.log.memory import MemoryLog
from onemq.log.records import encode_headers

NOW_MS = 1_700_000_000_000
_NAMES = (b"_id", b"_sid", b"_tag", b"_exp", b"_pri", b"_order", b"_dead", b"_due", b"_to", b"_f", b"a", b"")
_VALUES = (b"", b"a", b"9", b"1-1", b"\xff", b"{}", b"99999999999999999999", None)


def run(seed: int) -> None:
    random = Random(seed)
    core = Core(MemoryLog())
    core.recover(NOW_MS)
    core.tick(NOW_MS)
    topic = core.topics.create("t")
    core.create_group("t", "g", FIRST)
    stored = 0
    for _ in range(random.randrange(1, 6)):
        try:
            stored += core.sending.append(topic, 0, _batch(random)).messages
        except OneMQError:
            continue
    core.send("t", b"last")
    _check(core, stored + 1)


def _check(core: Core, count: int) -> None:
    """Groups, readers and the commands on streams get all of it."""
    got: list[Handed] = []
    core.receiving.receive(core.groups.get("t", "g"), "m", 10_000, got.extend)
    received = {record[0] for _, record, _ in got}
    assert count - 1 in received
    assert core.groups.get("t", "g").lag == len(received), "others have expired"
    stream = core.streams.get(b"t")
    assert stream is not None
    records = list(stream.records(0))
    assert [record[0] for record in records] == list(range(count))
    assert stream.last_id > 0
    core.settle()
    errors: list[object] = []
    core.flush(errors.append)
    assert errors == [None]


def _batch(random: Random) -> bytes:
    builder = BatchBuilder(0, NOW_MS - random.randrange(1000))
    for _ in range(random.randrange(1, 20)):
        names = random.sample(_NAMES, k=random.choice([0, 0, 1, 2, 3]))
        headers = encode_headers([(name, random.choice(_VALUES)) for name in names])
        key = random.choice([None, b"", b"k"])
        builder.add(NOW_MS, key, random.choice([None, b"", b"x" * random.randrange(300)]), headers)
    data = bytearray(builder.seal())
    if random.random() < 0.8:
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(21, len(data))] = random.choice([0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)])
    if random.random() < 0.1:
        del data[random.randrange(61, len(data)) :]
    return bytes(data[:17]) + crc32c(bytes(data[21:])).to_bytes(4, "big") + bytes(data[21:])
