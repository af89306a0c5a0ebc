"""MAXLEN and MINID: how they are read, and what goes."""

import pytest

from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.core.topics import TopicConfig
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.streams.removing import Removal
from onemq.protocols.resp.streams.trimming import Trimming
from tests.unit.core.broker import Broker, in_memory


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
