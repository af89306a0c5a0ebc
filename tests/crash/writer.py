"""A broker under load that says what it acknowledged, until it is killed.

    python -m tests.crash.writer FOLDER

First it checks the folder against what earlier runs were told to have been acknowledged (standard
input, one line each), then it writes and prints every acknowledgement as a line:

    sent TOPIC OFFSET NUMBER       the message with that number is stored there
    acked OFFSET                   the group has acknowledged it
    key NUMBER                     the key `counter` has this value
    timer ID NUMBER                the message is scheduled
"""

import sys
from functools import partial
from pathlib import Path
from random import Random

from onemq.core.core import Core
from onemq.core.start import FIRST
from onemq.errors import OneMQError
from onemq.log.disk import OsDisk
from onemq.log.local import LocalLog
from onemq.message import Record

TOPICS = ("orders", "payments")
FAR_MS = 3 * 10**12


def open_core(folder: Path) -> Core:
    disk = OsDisk(folder)
    disk.make_folder("")
    log = LocalLog(disk, journal_bytes=200_000)
    log.open()
    assert log.failure is None, log.failure
    core = Core(log, disk_watermark=1.1)
    core.recover(1)
    return core


def check(core: Core, lines: list[str]) -> None:
    """Everything that was acknowledged is there."""
    counter = 0
    for line in lines:
        kind, *words = line.split()
        if kind == "sent":
            topic, offset, number = words[0], int(words[1]), words[2].encode()
            found: list[Record] = []
            core.reading.records_at(core.topics.get(topic).partitions[0], [offset], found.extend)
            assert [record[3] for record in found] == [number], f"{line}: found {found}"
        elif kind == "acked":
            cursor = core.groups.get("orders", "points").cursors[0]
            assert int(words[0]) < cursor.next, line
            assert int(words[0]) not in cursor.unacknowledged, line
        elif kind == "key":
            counter = int(words[0])
        elif kind == "timer":
            assert core.schedule.is_live(int(words[0])), line
    stored = int(core.keys.strings.get(b"counter") or b"0")
    assert stored >= counter, f"the counter was acknowledged at {counter} and is {stored}"


def write(core: Core, number: int) -> None:
    """Turns of a few writes, each told once it is acknowledged, for ever."""
    random = Random(number)
    while True:
        core.tick(2 + number)
        told: list[str] = []
        for _ in range(random.randint(1, 20)):
            number += 1
            topic = random.choice(TOPICS)
            _, offset = core.send(topic, b"%d" % number)
            told.append(f"sent {topic} {offset} {number}")
        told.append(f"key {core.keys.strings.increment(b'counter', 1)}")
        timer = core.send("orders", b"%d" % number, deliver_at_ms=FAR_MS)[1]
        told.append(f"timer {timer} {number}")
        group = core.groups.get("orders", "points")
        core.receiving.receive(group, "worker", 10, partial(handle, core, told))
        core.settle()

        def done(error: OneMQError | None, told: list[str] = told) -> None:
            assert error is None, error
            sys.stdout.write("\n".join(told) + "\n")
            sys.stdout.flush()

        core.flush(done)


def handle(core: Core, told: list[str], got: list[tuple[int, Record, int]]) -> None:
    group = core.groups.get("orders", "points")
    offsets = [record[0] for _, record, _ in got][::2]
    core.groups.acknowledge(group, 0, offsets)
    told += [f"acked {offset}" for offset in offsets]


def main() -> None:
    core = open_core(Path(sys.argv[1]))
    lines = sys.stdin.read().splitlines()
    check(core, lines)
    core.tick(1)
    if core.topics.find("orders") is None:
        for topic in TOPICS:
            core.topics.create(topic)
        core.create_group("orders", "points", FIRST)
    print("checked", flush=True)
    last = max((int(line.split()[-1]) for line in lines if line.startswith("sent")), default=0)
    # Numbers of a run that was killed may be stored without having been told: begin well above them.
    write(core, last + 1_000_000)


if __name__ == "__main__":
    main()
