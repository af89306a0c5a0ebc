"""How ranges become tasks, and how much a micro-batch takes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_onemq.planning import TASK_OFFSETS_MAX, TASKS_MANY, Range, admit, plan


def test_a_small_partition_is_one_task_and_an_empty_one_is_none() -> None:
    ranges = [Range("a", 1, 0, 5, 10), Range("a", 1, 1, 7, 7), Range("b", 2, 0, 0, 1)]
    assert plan(ranges, None) == [[ranges[0]], [ranges[2]]]
    assert plan([ranges[1]], 4) == []


def test_a_large_partition_is_split_into_equal_tasks() -> None:
    tasks = plan([Range("a", 1, 0, 0, 5_000_000)], None)
    assert len(tasks) == 20
    assert {each[0].size for each in tasks} == {250_000}


def test_at_least_so_many_tasks_are_made_if_there_are_as_many_messages() -> None:
    assert len(plan([Range("a", 1, 0, 0, 100), Range("a", 1, 1, 0, 300)], 8)) == 8
    assert len(plan([Range("a", 1, 0, 0, 3)], 8)) == 3


def test_many_small_partitions_share_tasks() -> None:
    tasks = plan([Range(f"t{number}", number, 0, 0, 10) for number in range(1000)], None)
    assert len(tasks) <= TASKS_MANY + 1
    assert sum(map(len, tasks)) == 1000


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=100),
    st.none() | st.integers(1, 100),
)
def test_every_offset_is_in_one_task(sizes: list[tuple[int, int]], least: int | None) -> None:
    ranges = [Range(f"t{place}", place, 0, first, first + size) for place, (first, size) in enumerate(sizes)]
    tasks = plan(ranges, least)
    pieces = sorted((each for task in tasks for each in task), key=lambda each: (each.topic_id, each.first))
    joined: list[Range] = []
    for each in pieces:
        assert 0 < each.size <= TASK_OFFSETS_MAX
        if joined and joined[-1].topic_id == each.topic_id:
            assert joined[-1].end == each.first
            joined[-1] = Range(each.topic, each.topic_id, 0, joined[-1].first, each.end)
        else:
            joined.append(each)
    assert joined == [each for each in ranges if each.size]


def test_a_micro_batch_takes_of_each_partition_in_proportion_to_its_backlog() -> None:
    starts = {("a", 0): 0, ("a", 1): 100, ("a", 2): 50}
    ends = {("a", 0): 900, ("a", 1): 200, ("a", 2): 50}
    taken = admit(starts, ends, 100)
    assert taken == {("a", 0): 90, ("a", 1): 110, ("a", 2): 50}
    assert admit(starts, ends, 1000) == ends


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 1000), st.integers(0, 100)), max_size=9),
    st.integers(1, 200),
)
def test_micro_batches_keep_the_limit_and_come_to_the_end(backlog: dict[int, tuple[int, int]], most: int) -> None:
    starts = {("a", number): start for number, (start, _) in backlog.items()}
    ends = {("a", number): start + size for number, (start, size) in backlog.items()}
    place, steps = starts, 0
    total = sum(ends.values()) - sum(starts.values())
    while place != ends:
        after = admit(place, ends, most)
        gained = [after[each] - place[each] for each in ends]
        assert min(gained) >= 0
        assert sum(gained) == min(most, sum(ends.values()) - sum(place.values()))
        place, steps = after, steps + 1
    assert steps == -(-total // most)


def test_a_small_backlog_is_not_starved_by_large_ones() -> None:
    starts = {("a", number): 0 for number in range(5)}
    ends = {("a", number): 1_000_000 for number in range(4)} | {("a", 4): 1}
    assert admit(starts, ends, 10)["a", 4] == 1
    seen, place = set(), starts
    for _ in range(10):
        after = admit(place, ends, 2)
        seen |= {each for each in ends if after[each] > place[each]}
        place = after
    assert seen == set(ends)
