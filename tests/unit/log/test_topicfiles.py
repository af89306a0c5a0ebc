"""Topics by id: names, changes and taking them back."""

from random import Random

import pytest

from onemq.errors import NotFound
from onemq.log.behind import WriteBehind
from onemq.log.engine import TopicPlace
from onemq.log.openfiles import OpenFiles
from onemq.log.partition import POSITION_MAX
from onemq.log.topicfiles import Registry, folder_of, is_segment_file, is_topic_folder
from tests.sim.disk import SimDisk


@pytest.fixture
def registry() -> Registry:
    return Registry(OpenFiles(SimDisk(Random(1)), 10), WriteBehind(), 100)


def counts(registry: Registry) -> dict[int, tuple[int, int]]:
    """id -> (partitions by the settings, partitions there)"""
    return {number: (topic.place.partitions, len(topic.partitions)) for number, topic in registry.topics.items()}


@pytest.mark.parametrize("name", ["orders", "a/b", "..", "ä" * 100, "%2F", "a~3", "x" * 249])
def test_a_folder_is_one_safe_name_that_ends_in_the_id(name: str) -> None:
    folder = folder_of(TopicPlace(12, name, 1, 1)).removeprefix("topics/")
    assert "/" not in folder
    assert folder.endswith("~12")
    assert len(folder.encode()) < 150
    assert is_topic_folder(folder)


@pytest.mark.parametrize("name", ["backup", ".DS_Store", "orders", "orders~", "orders~x"])
def test_other_names_are_no_topic_folders(name: str) -> None:
    assert not is_topic_folder(name)


def test_segment_files_are_known_by_their_names() -> None:
    for name in ("0-00000000000000000000.log", "12-00000000000000000007.c3.log", "0-00000000000000000007.index"):
        assert is_segment_file(name)
    for name in ("0-7.log", "notes.log", "0-00000000000000000000.log.bak", "0-00000000000000000000.txt"):
        assert not is_segment_file(name)


def test_partitions_are_added_and_never_taken(registry: Registry) -> None:
    for partitions in (2, 5, 3):
        registry.ensure(TopicPlace(1, "t", partitions, 1000))
    assert counts(registry) == {1: (5, 5)}


def test_limits_reach_all_partitions(registry: Registry) -> None:
    registry.ensure(TopicPlace(1, "t", 2, 1000, 5))
    registry.ensure(TopicPlace(1, "t", 3, 1 << 40, 7))
    assert {(each.segment_bytes, each.segment_ms) for each in registry.topics[1].partitions} == {(POSITION_MAX, 7)}


def test_a_change_can_be_taken_back(registry: Registry) -> None:
    first = TopicPlace(1, "t", 2, 1000, 5)
    registry.ensure(first)
    registry.ensure(TopicPlace(1, "t", 4, 2000, 6))
    registry.ensure(TopicPlace(2, "u", 1, 1000))
    registry.revert(2, None)
    registry.revert(1, first)
    assert counts(registry) == {1: (2, 2)}
    assert {(each.segment_bytes, each.segment_ms) for each in registry.topics[1].partitions} == {(1000, 5)}


def test_what_is_not_there_is_not_found(registry: Registry) -> None:
    registry.ensure(TopicPlace(1, "t", 1, 1000))
    for topic, number in ((1, 1), (2, 0)):
        with pytest.raises(NotFound):
            registry.partition(topic, number)


def test_topics_come_back_from_what_a_snapshot_keeps(registry: Registry) -> None:
    registry.ensure(TopicPlace(1, "t", 2, 1000, 5))
    partition = registry.partition(1, 1)
    partition.start, partition.end = 3, 9
    partition.new_segment(3).restore_meta([3, 500, 9, 100, 200])
    again = Registry(OpenFiles(SimDisk(Random(1)), 10), WriteBehind(), 100)
    again.restore(registry.meta())
    assert again.meta() == registry.meta()
