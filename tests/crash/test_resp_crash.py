"""A broker killed with -9 in the middle of pipelines and transactions of several connections (A2, D1).

What was answered is there afterwards, in its order; what was sent and not answered may be there or not, but a
transaction is there as a whole or not at all; nothing is there twice. The same folder is killed again and again.
"""

import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import hiredis
import pytest

from tests.crash.mixed_commands import MixedCommands, Unit
from tests.crash.stream_commands import everything
from tests.crash.wire import Wire
from tests.process import Serve

KILLS = 5
DEPTH = 25
"""Commands of a pipeline."""


class Work:
    """What one connection does again and again, and what it knows to be true of the broker."""

    def __init__(self, number: int) -> None:
        self.name = f"{type(self).__name__.lower()}:{number}"
        self.random = Random(number)
        self.answered = 0
        """Replies that came: for the test to know that there was something to lose."""

    def do(self, wire: Wire) -> None:
        """One round. The broker may be killed at any point."""
        raise NotImplementedError

    def check(self, wire: Wire) -> None:
        """Compares with a broker that was started again, and takes what it finds as the truth from there on."""
        raise NotImplementedError


class Pushing(Work):
    """Pushes the numbers 0, 1, 2, ... to a list."""

    length = 0
    sent = 0

    def do(self, wire: Wire) -> None:
        numbers = range(self.length, self.length + DEPTH)
        self.sent = self.length + DEPTH
        for reply in wire.pipeline(*(("RPUSH", self.name, number) for number in numbers)):
            self.length += 1
            self.answered += 1
            assert reply == self.length

    def check(self, wire: Wire) -> None:
        found = integers(wire.command("LRANGE", self.name, 0, -1))
        assert found == list(range(len(found)))
        assert self.length <= len(found) <= max(self.sent, self.length)
        self.length = len(found)


class Moving(Work):
    """Moves numbers from one list to another, and takes some out there: each is in one place at any time."""

    total = 0
    moved = 0

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.taken: set[int] = set()
        self.source, self.target = f"{self.name}:from", f"{self.name}:to"

    def do(self, wire: Wire) -> None:
        fresh = range(self.total, self.total + DEPTH)
        self.total += DEPTH  # also if it is not answered: then they may all be missing
        wire.command("LPUSH", self.source, *fresh)
        moves = [("LMOVE", self.source, self.target, "RIGHT", "LEFT") for _ in range(DEPTH - 5)]
        takes = [("RPOP", self.target) for _ in range(5)]
        for reply in wire.pipeline(*moves):
            self.moved += reply is not None
            self.answered += 1
        for reply in wire.pipeline(*takes):
            if reply is not None:
                self.taken.add(int(reply))
            self.answered += 1

    def check(self, wire: Wire) -> None:
        source, target = (integers(wire.command("LRANGE", key, 0, -1)) for key in (self.source, self.target))
        there = source + target
        assert len(set(there)) == len(there), "something is there twice"
        assert not self.taken & set(there), "something that was taken is back"
        assert there == sorted(there, reverse=True)
        assert len(target) + len(self.taken) + 5 >= self.moved
        # What was taken without an answer, and what was pushed without one.
        missing = set(range(self.total)) - self.taken - set(there)
        assert len(missing) <= 5 + DEPTH
        self.taken |= missing
        self.moved = len(target) + len(self.taken)


class Handing(Work):
    """Pushes numbers to a list on which a second connection waits: each goes to whoever waits, once."""

    pushed = 0
    other: Wire | None = None

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.taken: list[int] = []

    def do(self, wire: Wire) -> None:
        if self.other is None or self.other.port != wire.port:
            self.other = Wire(wire.port)
        self.other.send(*(("BLPOP", self.name, 60) for _ in range(5)))
        self.pushed += 5  # also if it is not answered
        for _ in wire.pipeline(*(("RPUSH", self.name, number) for number in range(self.pushed - 5, self.pushed))):
            self.answered += 1
        for _ in range(5):
            self.taken.append(int(self.other.reply()[1]))
            self.answered += 1

    def check(self, wire: Wire) -> None:
        if self.other is not None:
            self.other.close()
        there = integers(wire.command("LRANGE", self.name, 0, -1))
        assert self.taken == sorted(set(self.taken))
        assert there == sorted(set(there))
        assert not set(self.taken) & set(there), "something that was taken is back"
        assert len(there) <= 5
        self.taken = [*self.taken, *there]
        if there:
            wire.command("DEL", self.name)


class Transacting(Work):
    """Adds a number to two lists, a stream, a hash and a counter in one transaction; several in a pipeline."""

    count = 0
    sent = 0

    def do(self, wire: Wire) -> None:
        numbers = range(self.count, self.count + 5)
        self.sent = self.count + 5
        commands = [command for number in numbers for command in self._transaction(number)]
        for place, reply in enumerate(wire.pipeline(*commands)):
            if isinstance(reply, list):
                assert len(reply) == 5
                assert reply[0] == reply[1] == reply[4] == self.count + 1
                self.count += 1
            else:
                assert reply == (b"OK" if place % 7 == 0 else b"QUEUED")
            self.answered += 1

    def _transaction(self, number: int) -> list[tuple[object, ...]]:
        return [
            ("MULTI",),
            ("RPUSH", f"{self.name}:left", number),
            ("RPUSH", f"{self.name}:right", number),
            ("XADD", f"{self.name}:stream", "*", "number", number),
            ("HSET", f"{self.name}:hash", number, "x"),
            ("INCR", f"{self.name}:count"),
            ("EXEC",),
        ]

    def check(self, wire: Wire) -> None:
        count = int(wire.command("GET", f"{self.name}:count") or 0)
        assert self.count <= count <= max(self.sent, self.count)
        expected = list(range(count))
        assert integers(wire.command("LRANGE", f"{self.name}:left", 0, -1)) == expected
        assert integers(wire.command("LRANGE", f"{self.name}:right", 0, -1)) == expected
        assert numbers(wire.command("XRANGE", f"{self.name}:stream", "-", "+")) == expected
        assert sorted(integers(wire.command("HKEYS", f"{self.name}:hash"))) == expected
        self.count = count


class Streaming(Work):
    """Adds to a stream, reads it with a group, and acknowledges some: three pipelines by turns."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.entries: list[bytes] = []
        """The ids that were answered, in order."""
        self.sent = 0
        self.delivered: list[bytes] = []
        self.acknowledged: set[bytes] = set()
        self.perhaps_acknowledged: set[bytes] = set()
        self.created = False

    def do(self, wire: Wire) -> None:
        if not self.created:
            wire.command("XGROUP", "CREATE", self.name, "group", 0, "MKSTREAM")
            self.created = True
        self.sent = len(self.entries) + DEPTH
        adding = (("XADD", self.name, "*", "number", number) for number in range(len(self.entries), self.sent))
        for reply in wire.pipeline(*adding):
            self.entries.append(reply)
            self.answered += 1
        reading = ("XREADGROUP", "GROUP", "group", "consumer", "COUNT", 10, "STREAMS", self.name, ">")
        for reply in wire.pipeline(reading, reading):
            self.delivered += [entry[0] for _, entries in reply or [] for entry in entries]
            self.answered += 1
        open_ids = [each for each in self.delivered if each not in self.acknowledged]
        chosen = self.random.sample(open_ids, min(len(open_ids), 10))
        self.perhaps_acknowledged.update(chosen)
        acknowledging = (("XACK", self.name, "group", each) for each in chosen)
        for each, reply in zip(chosen, wire.pipeline(*acknowledging), strict=True):
            assert reply == 1
            self.acknowledged.add(each)
            self.answered += 1

    def check(self, wire: Wire) -> None:
        if not wire.command("EXISTS", self.name):
            assert not self.created
            return
        self.created = True
        found = wire.command("XRANGE", self.name, "-", "+")
        ids = [entry[0] for entry in found]
        assert numbers(found) == list(range(len(found)))
        assert ids[: len(self.entries)] == self.entries
        assert len(found) <= max(self.sent, len(self.entries))
        assert ids == sorted(set(ids), key=in_order)
        self._check_group(wire, ids)
        self.entries = ids

    def _check_group(self, wire: Wire, ids: list[bytes]) -> None:
        pending = {row[0]: row for row in wire.command("XPENDING", self.name, "group", "-", "+", 1_000_000)}
        assert all(row[1] == b"consumer" and row[3] == 1 for row in pending.values())
        assert not self.acknowledged & set(pending), "something acknowledged is pending again"
        assert set(self.delivered) - self.perhaps_acknowledged <= set(pending), "a delivery was lost"
        (group,) = wire.command("XINFO", "GROUPS", self.name)
        last = dict(zip(group[::2], group[1::2], strict=True))[b"last-delivered-id"]
        # Deliveries are in order, so this is all that was ever delivered, answered or not.
        delivered = [each for each in ids if in_order(each) <= in_order(last)]
        assert delivered[: len(self.delivered)] == self.delivered
        assert set(pending) <= set(delivered)
        assert len(delivered) <= len(self.delivered) + 20
        self.delivered = delivered
        self.acknowledged = set(delivered) - set(pending)
        self.perhaps_acknowledged = set(self.acknowledged)


class Mirrored(Work):
    """Random commands on lists and a stream with groups, some of them in transactions. A second broker executes them,
    too, and is not killed: it knows what the answers are, and what there is after each command.

    So what the killed one holds must be what the second one holds after all commands that were answered, or after some
    more of those that had been sent.
    """

    def __init__(self, number: int, twin: Wire) -> None:
        super().__init__(number)
        self.in_flight = 0
        """How many commands and transactions had no answer, or not their last one, when the broker was killed."""
        self._twin = twin
        self._commands = MixedCommands(self.name, number)
        self._sent: list[Unit] = []
        self._answers: list[Any] = []

    def do(self, wire: Wire) -> None:
        units = self._commands.units(DEPTH)
        self._sent += units
        for answer in wire.answers(*(words for unit in units for words in unit)):
            self._answers.append(comparable(answer))
            self.answered += 1

    def check(self, wire: Wire) -> None:
        left = deque(self._sent)
        expected: list[Any] = []
        while left and len(expected) + len(left[0]) <= len(self._answers):
            expected += self._execute(left.popleft())
        assert self._answers[: len(expected)] == expected
        self.in_flight += len(left)
        found = self._seen(wire)
        while (model := self._seen(self._twin)) != found:
            assert left, f"OneMQ holds {found}, and after all that was sent it would be {model}"
            self._execute(left.popleft())
        self._sent, self._answers = [], []

    def _execute(self, unit: Unit) -> list[Any]:
        """What the second broker answers."""
        return [comparable(answer) for answer in self._twin.answers(*unit)]

    def _seen(self, wire: Wire) -> Any:
        return comparable(everything(wire.command, f"{self.name}:*"))


def comparable(answer: Any) -> Any:
    """An answer with its errors as texts and times as such."""
    if isinstance(answer, dict):
        return {key: comparable(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [comparable(item) for item in answer]
    if isinstance(answer, int) and 10**12 < answer < 10**13:
        return "a time"
    return str(answer) if isinstance(answer, hiredis.ReplyError) else answer


def integers(values: list[bytes]) -> list[int]:
    return [int(value) for value in values]


def numbers(entries: list[Any]) -> list[int]:
    """What the entries of a stream carry."""
    return [int(fields[1]) for _, fields in entries]


def in_order(entry_id: bytes) -> tuple[int, ...]:
    return tuple(int(part) for part in entry_id.split(b"-"))


def run_until_killed(broker: Serve, works: Sequence[Work], answers: int) -> None:
    """All works at the same time, each on its connection, until so many answers have come: then -9."""
    enough = threading.Event()
    failures: list[BaseException] = []
    target = sum(work.answered for work in works) + answers

    def repeat(work: Work, wire: Wire) -> None:
        try:
            while True:
                work.do(wire)
                if sum(each.answered for each in works) >= target:
                    enough.set()
        except OSError:
            pass  # killed
        except BaseException as error:
            failures.append(error)
        finally:
            enough.set()
            wire.close()

    threads = [threading.Thread(target=repeat, args=(work, Wire(broker.port))) for work in works]
    for thread in threads:
        thread.start()
    enough.wait()
    broker.kill()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_what_was_answered_is_there_after_every_kill(tmp_path: Path, flush: str) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text(f'[log]\nflush = "{flush}"\njournal_bytes = "1MiB"\n')
    kinds: list[type[Work]] = [Pushing, Moving, Handing, Transacting, Streaming]
    works = [kind(number) for kind in kinds for number in range(2)]
    kill_again_and_again(tmp_path / "data", config, works, Random(flush))


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_lists_streams_groups_and_pending_entries_are_what_was_answered(tmp_path: Path, flush: str) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text(f'[log]\nflush = "{flush}"\njournal_bytes = "1MiB"\n')
    with Serve(tmp_path / "twin") as broker:
        broker.wait_until_serving()
        with closing(Wire(broker.port)) as twin:
            works = [Mirrored(number, twin) for number in range(4)]
            kill_again_and_again(tmp_path / "data", config, works, Random(flush))
    assert all(work.in_flight for work in works), "at some kill, each had something in flight"


def kill_again_and_again(folder: Path, config: Path, works: Sequence[Work], random: Random) -> None:
    """Lets all of them work, kills the broker, and has them compare with what it holds when it was started again."""
    for kill in range(KILLS + 1):
        with Serve(folder, "--config", str(config)) as broker:
            broker.wait_until_serving()
            wire = Wire(broker.port)
            for work in works:
                work.check(wire)
            wire.close()
            if kill < KILLS:
                run_until_killed(broker, works, random.randint(50, 3000))
    assert all(work.answered > DEPTH for work in works)


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small disk does not work here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Writes a file until the disk has no room left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


def said(port: int, *words: object) -> str:
    """The reply as text; an error with its prefix. A connection that was closed after its error is made again."""
    wire = Wire(port)
    try:
        return str(wire.command(*words))
    except AssertionError as error:
        return str(error).removeprefix("refused: ")
    finally:
        wire.close()


def until_said(port: int, beginning: str, *words: object) -> str:
    """Asks until the reply begins so."""
    give_up = time.monotonic() + 60
    while not (reply := said(port, *words)).startswith(beginning):
        assert time.monotonic() < give_up, reply
    return reply


def test_a_full_disk_refuses_writes_and_serves_reads_until_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text('[log]\ndisk_watermark = 1.0\njournal_bytes = "1MiB"\n')
    with Serve(small_disk / "data", "--config", str(config)) as broker:
        broker.wait_until_serving()
        port, value = broker.port, "x" * 1000
        said(port, "LPUSH", "list", "before")
        said(port, "XADD", "stream", "1-1", "field", "before")
        said(port, "XGROUP", "CREATE", "stream", "group", "0")
        ballast = fill(small_disk)
        for words in (("LPUSH", "list", value), ("XADD", "stream", "*", "field", value), ("SET", "key", value)):
            reply = until_said(port, "MISCONF", *words)
            assert "No space left" in reply or "the disk is 100% full" in reply, reply
        assert said(port, "LRANGE", "list", "-1", "-1") == "[b'before']"
        assert said(port, "XRANGE", "stream", "-", "+", "COUNT", "1") == "[[b'1-1', [b'field', b'before']]]"
        assert said(port, "PING") == "b'PONG'"
        ballast.unlink()
        until_said(port, "b'2-1'", "XADD", "stream", "2-1", "field", "after")
        assert int(said(port, "RPUSH", "list", "after")) >= 2
        broker.kill()
    with Serve(small_disk / "data", "--config", str(config)) as broker:
        broker.wait_until_serving()
        assert said(broker.port, "LINDEX", "list", "-1") == "b'after'"
        assert said(broker.port, "XREVRANGE", "stream", "+", "-", "COUNT", "1") == "[[b'2-1', [b'field', b'after']]]"


def test_above_the_watermark_messages_are_refused_and_acknowledgements_taken(small_disk: Path, tmp_path: Path) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text('[log]\njournal_bytes = "1MiB"\n')
    with Serve(small_disk / "data", "--config", str(config)) as broker:
        broker.wait_until_serving()
        port = broker.port
        said(port, "XADD", "stream", "1-1", "field", "before")
        said(port, "XGROUP", "CREATE", "stream", "group", "0")
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(21 << 20))
        reply = until_said(port, "MISCONF", "XADD", "stream", "*", "field", "value")
        assert "over the watermark" in reply
        assert "1-1" in said(port, "XREADGROUP", "GROUP", "group", "consumer", "STREAMS", "stream", ">")
        assert said(port, "XACK", "stream", "group", "1-1") == "1"
        ballast.unlink()
        until_said(port, "b'", "XADD", "stream", "*", "field", "value")
