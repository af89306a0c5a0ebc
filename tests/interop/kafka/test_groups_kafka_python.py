"""Groups of kafka-python consumers, and its administrator."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import RebalanceInProgressError
from kafka.structs import OffsetAndMetadata

from tests.interop.kafka.members import WAIT_SECONDS_MAX, fill, make_topic
from tests.process import Serve

QUICK = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 100,
    "fetch_max_wait_ms": 50,
    "retry_backoff_ms": 20,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
}


@pytest.fixture
def filled(kafka: Serve, bootstrap: str, topic: str) -> set[bytes]:
    """The topic has four partitions with five messages each."""
    make_topic(kafka, topic, 4)
    return fill(bootstrap, topic, 4, 5)


@pytest.fixture
def join(bootstrap: str, topic: str) -> Iterator[Callable[..., Any]]:
    """Makes members that are closed at the end."""
    made: list[Any] = []

    def joined(**settings: Any) -> Any:
        made.append(KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, **(QUICK | settings)))
        return made[-1]

    yield joined
    for each in made:
        with suppress(Exception):
            each.close()


def poll_until(members: list[Any], condition: Callable[[set[bytes]], bool]) -> None:
    bodies: set[bytes] = set()
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    while not condition(bodies):
        assert time.monotonic() < give_up, "it does not happen"
        for member in members:
            for records in member.poll(timeout_ms=300).values():  # with less it gives up joining, and begins again
                bodies.update(each.value for each in records)


def commit(member: Any, others: list[Any]) -> None:
    """Polls on while the group is shared out anew: meanwhile nothing can be committed."""
    while True:
        try:
            return member.commit()
        except RebalanceInProgressError:
            poll_until([member, *others], lambda _: sum(sizes([member, *others])) == 4)


def sizes(members: list[Any]) -> list[int]:
    return sorted(len(each.assignment()) for each in members)


def test_members_share_and_take_over(topic: str, filled: set[bytes], join: Callable[..., Any]) -> None:
    members = [join(), join()]
    poll_until(members, lambda bodies: sizes(members) == [2, 2] and bodies >= filled)
    commit(members[0], members[1:])
    members.pop(0).close()
    poll_until(members, lambda bodies: sizes(members) == [4])


def test_commits_are_found_again(topic: str, filled: set[bytes], join: Callable[..., Any]) -> None:
    one, place = join(), TopicPartition(topic, 2)
    poll_until([one], lambda bodies: sizes([one]) == [4])
    assert one.committed(place) is None
    one.commit({place: OffsetAndMetadata(3, "three", -1)})
    assert one.committed(place) == 3
    one.close()
    again = join()
    poll_until([again], lambda bodies: b"2-4" in bodies)
    assert again.committed(place) == 3


def test_administrators_see_and_change_groups(
    bootstrap: str, topic: str, filled: set[bytes], join: Callable[..., Any]
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        one, place = join(), TopicPartition(topic, 0)
        poll_until([one], lambda bodies: sizes([one]) == [4])
        one.commit({place: OffsetAndMetadata(2, "", -1)})
        assert topic in str(admin.list_groups())
        described = str(admin.describe_groups([topic]))
        assert "Stable" in described
        assert topic in described
        one.close()
        found = admin.list_group_offsets(topic)
        assert "offset=2" in str(found)
        admin.delete_groups([topic])
        assert topic not in str(admin.list_groups())
    finally:
        admin.close()
