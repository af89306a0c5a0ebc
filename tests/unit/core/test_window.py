"""The window: names are remembered for a while, so many of each producer."""

from onemq.core.stream_ids import NUMBER_BITS
from onemq.core.window import DURATION_MS, NAMES_MAX, Window

NOW_MS = 1_700_000_000_000


def at(ms: int, number: int = 0) -> int:
    return ms << NUMBER_BITS | number


def window(*names: bytes, names_max: int = NAMES_MAX) -> Window:
    """One in which a producer gave names, one each millisecond."""
    made = Window()
    made.set_limits(DURATION_MS, names_max)
    for place, name in enumerate(names):
        made.remember(b"p", name, at(NOW_MS + place), NOW_MS + place)
    return made


def found(given: Window, *names: bytes, now_ms: int = NOW_MS) -> list[int | None]:
    return [id if (id := given.find(b"p", name, now_ms)) is None else id >> NUMBER_BITS for name in names]


def test_a_name_is_found_for_its_producer_only() -> None:
    given = window(b"a")
    assert given.find(b"p", b"a", NOW_MS) == at(NOW_MS)
    assert given.find(b"p", b"b", NOW_MS) is None
    assert given.find(b"q", b"a", NOW_MS) is None


def test_a_name_is_forgotten_after_its_time_from_the_id_on() -> None:
    given = window(b"a", b"b")
    assert found(given, b"a", b"b", now_ms=NOW_MS + DURATION_MS - 1) == [NOW_MS, NOW_MS + 1]
    assert found(given, b"a", b"b", now_ms=NOW_MS + DURATION_MS) == [None, NOW_MS + 1]


def test_the_oldest_name_makes_room() -> None:
    given = window(b"a", b"b", b"c", names_max=2)
    assert found(given, b"a", b"b", b"c") == [None, NOW_MS + 1, NOW_MS + 2]
    given.remember(b"q", b"a", at(NOW_MS + 9), NOW_MS + 9)
    assert found(given, b"b", b"c") == [NOW_MS + 1, NOW_MS + 2]


def test_being_found_does_not_make_a_name_younger() -> None:
    given = window(b"a", b"b", names_max=2)
    found(given, b"a")
    given.remember(b"p", b"c", at(NOW_MS + 2), NOW_MS + 2)
    assert found(given, b"a", b"b") == [None, NOW_MS + 1]


def test_a_name_that_is_given_again_is_the_youngest() -> None:
    given = window(b"a", b"b", b"a", b"c", names_max=2)
    assert found(given, b"a", b"b", b"c") == [NOW_MS + 2, None, NOW_MS + 3]


def test_names_whose_time_is_over_go_when_another_comes() -> None:
    late = NOW_MS + DURATION_MS + 1
    given = window(b"a", b"b")
    given.remember(b"p", b"c", at(late), late)
    assert given.producers == {b"p": {b"c": at(late)}}


def test_producers_that_do_not_come_back_are_forgotten_when_another_comes() -> None:
    given = Window()
    for place in range(10_000):
        now_ms = NOW_MS + place * 1_000
        given.remember(b"%d" % place, b"a", at(now_ms), now_ms)
        given.remember(b"steady", b"%d" % place, at(now_ms, 1), now_ms)
    assert len(given.producers) == 101
    assert {b"steady", b"9900", b"9999"} <= given.producers.keys()


def test_a_producer_is_kept_as_long_as_one_of_its_names() -> None:
    given = window(b"a")
    given.remember(b"q", b"a", at(NOW_MS + 1), NOW_MS + 1)
    given.remember(b"p", b"b", at(NOW_MS + 2), NOW_MS + 2)
    late = NOW_MS + DURATION_MS + 1
    given.remember(b"r", b"a", at(late), late)
    assert list(given.producers) == [b"p", b"r"]
    assert found(given, b"b", now_ms=late) == [NOW_MS + 2]


def test_what_is_forgotten_depends_on_what_is_remembered_alone() -> None:
    """So that it is the same when it is replayed."""
    late = NOW_MS + DURATION_MS + 1
    given = window(b"a", b"b", b"c")
    assert [given.tracked(now_ms) for now_ms in (NOW_MS, late, late + 1)] == [(1, 3), (1, 1), (0, 0)]
    assert given.dump() == window(b"a", b"b", b"c").dump()


def test_a_name_that_is_over_already_leaves_no_producer_behind() -> None:
    given = Window()
    given.remember(b"p", b"a", at(NOW_MS - DURATION_MS), NOW_MS)
    assert given.producers == {}
    assert given.added == 1


def test_the_same_limits_keep_names_and_others_forget_them() -> None:
    given = window(b"a")
    given.set_limits(DURATION_MS, NAMES_MAX)
    assert found(given, b"a") == [NOW_MS]
    given.set_limits(DURATION_MS, NAMES_MAX - 1)
    assert found(given, b"a") == [None]
    assert (given.added, given.duplicates) == (1, 1)


def test_names_and_repetitions_are_counted() -> None:
    given = window(b"a", b"b")
    found(given, b"a", b"a", b"x")
    assert (given.added, given.duplicates) == (2, 2)


def test_a_window_is_the_same_after_a_dump_and_a_load() -> None:
    given, loaded = window(b"a", b"b", names_max=7), Window()
    found(given, b"a")
    loaded.load(given.dump())
    assert loaded.dump() == given.dump()
    assert (loaded.names_max, loaded.added, loaded.duplicates, loaded.producers) == (7, 2, 1, given.producers)
