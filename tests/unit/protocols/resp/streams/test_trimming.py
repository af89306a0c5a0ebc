"""MAXLEN and MINID: how they are read, and what goes."""

from random import Random

import pytest

from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.core.topics import TopicConfig
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.streams.removing import Removal, is_referenced
from onemq.protocols.resp.streams.trimming import Trimming
from tests.unit.core.broker import Broker, CountingLog, in_memory
from tests.unit.protocols.resp.fakes import Client


def read(text: str) -> Trimming:
    """All options of a request, which holds nothing else."""
    words, trimming, place = text.encode().split(), Trimming(), 0
    while place < len(words):
        after = trimming.parse(words, place)
        assert after > place, f"{words[place]!r} is no option"
        place = after
    trimming.check()
    return trimming


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Trimming()),
        ("MAXLEN 5", Trimming(length_max=5)),
        ("maxlen = 5", Trimming(length_max=5)),
        ("MAXLEN ~ 5", Trimming(length_max=5, about=True)),
        ("MAXLEN ~ 5 LIMIT 10", Trimming(length_max=5, about=True, limit=10)),
        ("MINID 7", Trimming(id_min=7 << NUMBER_BITS)),
        ("MINID = 7-3", Trimming(id_min=7 << NUMBER_BITS | 3)),
        ("MINID ~ 7 LIMIT 0", Trimming(id_min=7 << NUMBER_BITS, about=True, limit=0)),
    ],
)
def test_what_is_asked_for(text: str, expected: Trimming) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("MAXLEN x", "not an integer"),
        ("MAXLEN -1", "MAXLEN argument must be >= 0"),
        ("MINID x", "Invalid stream ID"),
        ("MAXLEN ~ 5 LIMIT -1", "LIMIT argument must be >= 0"),
        ("MAXLEN 5 LIMIT 1", "without the special ~ option"),
        ("LIMIT 1", "without specifying a trimming strategy"),
        ("MAXLEN 5 MINID 7", "at the same time are not compatible"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        read(text)


def test_a_word_of_something_else_is_left_alone() -> None:
    assert Trimming().parse([b"NOMKSTREAM", b"5"], 0) == 0
    assert Trimming().parse([b"MAXLEN"], 0) == 0


# What goes


def make(entries: int) -> tuple[Broker, Stream]:
    """A stream with the ids 1-0, 2-0, ..."""
    broker = in_memory()
    with broker.turn() as core:
        stream = core.streams.create(b"s", TopicConfig())
        for number in range(1, entries + 1):
            core.streams.add(stream, b"", (), number << NUMBER_BITS)
    return broker, stream


def trim(broker: Broker, stream: Stream, text: str, removal: Removal | None = None) -> int:
    trimming = read(text)
    trimming.removal = removal
    with broker.turn() as core:
        return trimming.apply(core, stream)


def left(stream: Stream) -> list[int]:
    return [id_of(record) >> NUMBER_BITS for record in stream.records(0)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("MAXLEN 3", 3),
        ("MAXLEN 0", 0),
        ("MAXLEN 99", 10),
        ("MINID 8", 3),
        ("MINID 8-1", 2),
        ("MINID 0", 10),
        ("MINID 99", 0),
    ],
)
def test_exactly_so_many_are_kept(text: str, kept: int) -> None:
    broker, stream = make(10)
    assert trim(broker, stream, text) == 10 - kept
    assert left(stream) == list(range(11 - kept, 11))
    assert len(stream) == kept
    assert trim(broker, stream, text) == 0


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("MAXLEN ~ 1", 200), ("MAXLEN ~ 50", 200), ("MAXLEN ~ 51", 100), ("MAXLEN ~ 151", 0),
        ("MAXLEN ~ 0 LIMIT 199", 100), ("MAXLEN ~ 0 LIMIT 99", 0), ("MINID ~ 200", 100), ("MINID ~ 201", 200),
    ],
)  # fmt: skip
def test_about_so_many_means_whole_hundreds(text: str, gone: int) -> None:
    broker, stream = make(250)
    assert trim(broker, stream, text) == gone
    assert left(stream)[:1] == [gone + 1]


@pytest.mark.parametrize("text", ["MAXLEN ~ 0", "MAXLEN ~ 0 LIMIT 250", "MAXLEN ~ 0 LIMIT 0", "MINID ~ 251"])
def test_where_nothing_is_to_stay_the_last_hundred_need_not_be_full(text: str) -> None:
    broker, stream = make(250)
    assert trim(broker, stream, text) == 250
    assert left(stream) == []


def test_what_is_young_enough_stays_behind_deleted_entries() -> None:
    broker, stream = make(500)
    with broker.turn() as core:
        core.removing.delete(stream, list(range(100, 300)))
    assert trim(broker, stream, "MINID ~ 350") == 100
    assert left(stream) == list(range(301, 501))


def test_what_was_deleted_does_not_count() -> None:
    broker, stream = make(10)
    with broker.turn() as core:
        core.removing.delete(stream, [7, 4])
    assert trim(broker, stream, "MAXLEN 3") == 5
    assert left(stream) == [7, 9, 10]


def test_what_becomes_of_references() -> None:
    for removal, pending, kept in (
        (Removal.KEEPREF, 4, [9, 10]),
        (Removal.DELREF, 0, [9, 10]),
        (Removal.ACKED, 4, [1, 2, 3, 4, 6, 7, 8, 9, 10]),
    ):
        broker, stream = make(10)
        group = broker.group("s")
        broker.receive(group, most=5)
        broker.acknowledge(group, 4)
        assert trim(broker, stream, "MAXLEN 2", removal) == 10 - len(kept)
        assert (len(group.cursors[0].unacknowledged), left(stream)) == (pending, kept)


# Only what every group has acknowledged


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("MAXLEN ~ 0", 250), ("MAXLEN ~ 1", 200), ("MAXLEN ~ 151", 0), ("MAXLEN ~ 0 LIMIT 199", 100),
        ("MAXLEN ~ 0 LIMIT 10", 0), ("MAXLEN ~ 0 LIMIT 0", 250), ("MINID ~ 200", 100), ("MINID ~ 251", 250),
    ],
)  # fmt: skip
def test_about_so_many_means_the_same_where_only_what_is_acknowledged_may_go(text: str, gone: int) -> None:
    broker, stream = make(250)
    assert trim(broker, stream, text, Removal.ACKED) == gone
    assert left(stream)[:1] == ([gone + 1] if gone < 250 else [])


def test_a_limit_is_for_what_is_looked_at_whether_it_may_go_or_not() -> None:
    broker, stream = make(250)
    group = broker.group("s")
    broker.receive(group, most=250)
    broker.acknowledge(group, *range(50, 250))
    assert trim(broker, stream, "MAXLEN ~ 0 LIMIT 100", Removal.ACKED) == 50
    assert left(stream) == [*range(1, 51), *range(101, 251)]
    assert trim(broker, stream, "MAXLEN ~ 0 LIMIT 50", Removal.ACKED) == 0


def test_no_entry_is_read_to_find_out_which_are_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    log = CountingLog()
    monkeypatch.setattr(Broker, "_open", lambda self: log)
    broker, stream = make(250)
    group = broker.group("s")
    broker.receive(group, most=200)
    broker.acknowledge(group, *range(100))
    log.offsets.clear()
    assert trim(broker, stream, "MAXLEN 10", Removal.ACKED) == 100
    broker.group("s", "from the start")
    assert trim(broker, stream, "MAXLEN 10", Removal.ACKED) == 0
    assert log.offsets == []


@pytest.mark.parametrize("seed", range(20))
def test_exact_trimming_takes_the_oldest_that_no_group_refers_to(seed: int) -> None:
    random = Random(seed)
    broker, stream = make(30)
    broker.send(b"", topic="s", priority=9)
    groups = [broker.group("s", name) for name in "gh"[: random.randrange(3)]]
    for group in groups:
        broker.receive(group, most=random.randrange(40))
        broker.acknowledge(group, *(each for each in list(group.cursors[0].unacknowledged) if random.random() < 0.7))
    with broker.turn() as core:
        core.removing.delete(stream, random.sample(range(31), 5))
    for _ in range(3):
        offsets = [record[0] for record in stream.records(0)]
        most = random.randrange(10)
        free = [offset for offset in offsets if not is_referenced(stream, offset)][:most]
        assert trim(broker, stream, f"MAXLEN {len(offsets) - most}", Removal.ACKED) == len(free)
        assert [record[0] for record in stream.records(0)] == [each for each in offsets if each not in free]
    young = random.randrange(1, 31)
    offsets = [record[0] for record in stream.records(0)]
    free = [each for each in offsets if each < young - 1 and not is_referenced(stream, each)]
    assert trim(broker, stream, f"MINID {young}", Removal.ACKED) == len(free)
    assert [record[0] for record in stream.records(0)] == [each for each in offsets if each not in free]


# Together with a delivery time


@pytest.mark.parametrize("trimming", ["MAXLEN 2", "MAXLEN = 2", "MINID 2-1", "MAXLEN 2 ACKED"])
def test_an_entry_that_is_due_later_trims_what_is_there_now(trimming: str) -> None:
    client = Client()
    for id in ("1-1", "1-2", "2-1", "2-2"):
        client.ask("XADD", "s", id, "f", "v")
    client.ask("XADD", "s", *trimming.split(), "*", "_delay", "1s", "f", "v")
    assert [id for id, _ in client.ask("XRANGE", "s", "-", "+")] == [b"2-1", b"2-2"]


def test_one_that_is_refused_trims_nothing() -> None:
    client = Client()
    client.ask("XADD", "s", "1-1", "f", "v")
    answer = client.ask("XADD", "s", "MAXLEN", "0", "5-1", "_delay", "1s", "f", "v")
    assert "gets its ID when it is added" in str(answer)
    assert client.ask("XLEN", "s") == 1
