"""Groups of kafka-python consumers, and its administrator."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import RebalanceInProgressError
from kafka.structs import OffsetAndMetadata

from tests.interop.kafka.members import PYTHON_QUICK, WAIT_SECONDS_MAX, MemberProcess, fill, make_topic
from tests.process import Serve


@pytest.fixture
def filled(kafka: Serve, bootstrap: str, topic: str) -> set[bytes]:
    """The topic has six partitions with five messages each."""
    make_topic(kafka, topic, 6)
    return fill(bootstrap, topic, 6, 5)


@pytest.fixture
def join(bootstrap: str, topic: str) -> Iterator[Callable[..., Any]]:
    """Makes members that are closed at the end."""
    made: list[Any] = []

    def joined(**settings: Any) -> Any:
        made.append(KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, **(PYTHON_QUICK | settings)))
        return made[-1]

    yield joined
    for each in made:
        with suppress(Exception):
            each.close()


def poll_until(
    members: list[Any], condition: Callable[[set[bytes]], bool], bodies: set[bytes] | None = None
) -> None:
    """The bodies are what was got, besides those given. All members poll at the same time, as those of different
    processes do: one that waits long enough for others to join does not give up and begin again."""
    bodies = set() if bodies is None else bodies
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    with ThreadPoolExecutor(len(members)) as pool:
        while not condition(bodies):
            assert time.monotonic() < give_up, "it does not happen"
            for polled in pool.map(lambda member: member.poll(timeout_ms=500), members):
                bodies.update(each.value for records in polled.values() for each in records)


def commit(member: Any, others: list[Any]) -> None:
    """Polls on while the group is shared out anew: meanwhile nothing can be committed."""
    while True:
        try:
            return member.commit()
        except RebalanceInProgressError:
            poll_until([member, *others], lambda _: sum(sizes([member, *others])) == 6)


def sizes(members: list[Any]) -> list[int]:
    return sorted(len(each.assignment()) for each in members)


def test_three_members_share_and_take_over(topic: str, filled: set[bytes], join: Callable[..., Any]) -> None:
    members = [join(), join(), join()]
    poll_until(members, lambda bodies: sizes(members) == [2, 2, 2] and bodies >= filled)
    commit(members[0], members[1:])
    for left in ([3, 3], [6]):
        members.pop(0).close()
        poll_until(members, lambda _: sizes(members) == left)
    members.append(join())
    poll_until(members, lambda _: sizes(members) == [3, 3])


def test_a_member_that_is_killed_is_replaced_after_its_session_timeout(
    bootstrap: str, topic: str, filled: set[bytes], join: Callable[..., Any]
) -> None:
    doomed = MemberProcess(bootstrap, topic, topic, "kafka-python", session_timeout_ms=1_000)
    try:
        doomed.wait_for_share()
        members, got = [join(), join()], set[bytes]()
        poll_until(members, lambda _: sizes(members) == [2, 2], got)
    finally:
        doomed.kill()
    poll_until(members, lambda bodies: sizes(members) == [3, 3] and bodies >= filled, got)


def test_commits_are_found_again(topic: str, filled: set[bytes], join: Callable[..., Any]) -> None:
    one, place = join(), TopicPartition(topic, 2)
    poll_until([one], lambda bodies: sizes([one]) == [6])
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
        poll_until([one], lambda bodies: sizes([one]) == [6])
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
