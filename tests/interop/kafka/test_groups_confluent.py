"""Groups of confluent-kafka consumers: members that come, go and die, static and cooperative ones, offsets, admins."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.interop.kafka.members import (
    QUICK,
    WAIT_SECONDS_MAX,
    MemberProcess,
    Members,
    consumer,
    fill,
    make_topic,
    places,
)
from tests.process import Serve


@pytest.fixture
def members() -> Iterator[Members]:
    made = Members()
    yield made
    made.close()


@pytest.fixture
def filled(kafka: Serve, bootstrap: str, topic: str) -> set[bytes]:
    """The topic has six partitions with ten messages each."""
    make_topic(kafka, topic, 6)
    return fill(bootstrap, topic, 6, 10)


def join(members: Members, bootstrap: str, topic: str, **settings: Any) -> Consumer:
    one = consumer(bootstrap, topic, **settings)
    one.subscribe([topic])
    members.consumers.append(one)
    return one


def committed(member: Consumer, topic: str, *numbers: int) -> list[int]:
    return [each.offset for each in member.committed(places(topic, numbers), timeout=WAIT_SECONDS_MAX)]


def test_three_members_share_the_partitions_and_whoever_is_left_takes_over(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    for _ in range(3):
        join(members, bootstrap, topic)
    members.wait_for_shares(2, 2, 2)
    members.wait_for(filled)
    assert set[int]().union(*members.shares()) == set(range(6))
    for left in ((3, 3), (6,)):
        members.consumers.pop(0).close()
        members.wait_for_shares(*left)


def test_a_member_that_is_killed_is_replaced_after_its_session_timeout(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    doomed = MemberProcess(bootstrap, topic, topic, session_timeout_ms=1_000)
    try:
        doomed.wait_for_share()
        for _ in range(2):
            join(members, bootstrap, topic)
        members.wait_for_shares(2, 2)
    finally:
        doomed.kill()
    members.wait_for_shares(3, 3)
    members.wait_for(filled)


def test_kcat_joins_leaves_and_leaves_its_offsets_behind(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    one = join(members, bootstrap, topic)
    members.wait_for_shares(6)
    settings = QUICK | {"session.timeout.ms": 2_000 * WAIT_SECONDS_MAX, "enable.auto.commit": "true"}
    words = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
    command = ["kcat", "-b", bootstrap, "-q", "-u", "-f", "%p %s\n", *words, "-G", topic, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as kcat:
        assert kcat.stdout is not None
        try:
            members.wait_for_shares(3)
            lines = [next(kcat.stdout).split() for _ in range(30)]
        finally:
            kcat.terminate()
    members.wait_for_shares(6)  # long before its session would be over
    theirs = {int(number) for number, _ in lines}
    assert {body for _, body in lines} == {body for body in filled if int(body.partition(b"-")[0]) in theirs}
    assert committed(one, topic, *theirs) == [10, 10, 10]


def test_cooperative_members_keep_what_they_need_not_give_away(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    revoked: list[int] = []
    first = consumer(bootstrap, topic, partition_assignment_strategy="cooperative-sticky")
    first.subscribe([topic], on_revoke=lambda _, gone: revoked.extend(each.partition for each in gone))
    members.consumers.append(first)
    members.wait_for_shares(6)
    join(members, bootstrap, topic, partition_assignment_strategy="cooperative-sticky")
    members.wait_for_shares(3, 3)
    assert len(revoked) == 3, "only what went to the other one"
    members.wait_for(filled)
    assert len(members.got) <= len(filled) + 30


def test_a_static_member_that_restarts_gets_the_same_again_and_disturbs_nobody(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    one = join(members, bootstrap, topic, group_instance_id="one")
    lost: list[int] = []
    two = consumer(bootstrap, topic, group_instance_id="two")
    two.subscribe([topic], on_revoke=lambda _, gone: lost.append(len(gone)))
    members.consumers.append(two)
    members.wait_for_shares(3, 3)
    share, other = members.shares()
    members.consumers.remove(one)
    one.close()  # a static member says no good-bye
    back = join(members, bootstrap, topic, group_instance_id="one")
    members.poll_until(lambda: bool(back.assignment()))
    assert {each.partition for each in back.assignment()} == share
    assert members.shares()[0] == other
    assert lost == []


def test_a_second_static_member_of_the_same_name_fences_the_first(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    first = consumer(bootstrap, topic, group_instance_id="i")
    first.subscribe([topic])
    Members(first).wait_for_shares(6)
    join(members, bootstrap, topic, group_instance_id="i")
    members.wait_for_shares(6)
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    message = None
    while message is None or message.error() is None:
        assert time.monotonic() < give_up
        message = first.poll(0.05)
    assert "fenced" in str(message.error()).lower()
    first.close()


def test_commits_are_found_again_with_their_metadata(
    kafka: Serve, bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    one = join(members, bootstrap, topic)
    members.wait_for_shares(6)
    assert committed(one, topic, 0, 1) == [-1001, -1001]
    one.commit(offsets=[TopicPartition(topic, 0, 7, "seven")], asynchronous=False)
    (place,) = one.committed(places(topic, [0]), timeout=WAIT_SECONDS_MAX)
    assert (place.offset, place.metadata) == (7, "seven")
    assert b"lag\r\n:53\r\n" in kafka.command(f"MQ.GROUP INFO {topic} {topic}")


def test_a_group_goes_on_where_it_was_and_where_others_put_it(
    kafka: Serve, bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    one = join(members, bootstrap, topic)
    members.wait_for(filled)
    members.commit()
    members.consumers.remove(one)
    one.close()
    assert kafka.command(f"MQ.GROUP SEEK {topic} {topic} OFFSET 8 PARTITION 3") == b"+OK\r\n"
    again = Members(consumer(bootstrap, topic))
    again.consumers[0].subscribe([topic])
    again.wait_for({b"3-8", b"3-9"})
    again.close()
    assert again.bodies == {b"3-8", b"3-9"}


@pytest.mark.parametrize("where", ["earliest", "latest"])
def test_where_nothing_was_committed_the_client_chooses(
    bootstrap: str, topic: str, filled: set[bytes], members: Members, where: str
) -> None:
    one = join(members, bootstrap, topic, auto_offset_reset=where)
    members.wait_for_shares(6)
    members.poll_until(lambda: all(each.offset >= 0 for each in one.position(one.assignment())) or where == "latest")
    if where == "latest":  # a client tells no position before the first message: wait until it has asked for the end
        share = one.assignment()
        members.poll_until(lambda: all(one.get_watermark_offsets(each, cached=True)[1] == 10 for each in share))
    more = {b"more"}
    fill_one(bootstrap, topic, b"more")
    members.wait_for(more if where == "latest" else filled | more)
    assert members.bodies == (more if where == "latest" else filled | more)


def fill_one(bootstrap: str, topic: str, body: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, body, partition=0)
    assert producer.flush(WAIT_SECONDS_MAX) == 0


def test_a_commit_of_somebody_who_is_no_member_is_refused(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    join(members, bootstrap, topic)
    members.wait_for_shares(6)
    stranger = consumer(bootstrap, topic)
    with pytest.raises(KafkaException, match="UNKNOWN_MEMBER_ID"):
        stranger.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    stranger.close()


def test_administrators_see_and_change_groups(
    bootstrap: str, topic: str, filled: set[bytes], members: Members
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    one = join(members, bootstrap, topic, client_id="worker")
    members.wait_for_shares(6)
    one.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    listed = {each.group_id: each.state for each in admin.list_consumer_groups().result().valid}
    assert listed[topic] is ConsumerGroupState.STABLE
    described = admin.describe_consumer_groups([topic])[topic].result()
    (member,) = described.members
    assert (described.state, member.client_id) == (ConsumerGroupState.STABLE, "worker")
    assert {each.partition for each in member.assignment.topic_partitions} == set(range(6))
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([topic])[topic].result()
    members.consumers.remove(one)
    one.close()
    moved = ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 1, 9)])
    admin.alter_consumer_group_offsets([moved])[topic].result()
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic)])[topic].result()
    assert {each.partition: each.offset for each in asked.topic_partitions} == {0: 4, 1: 9}
    admin.delete_consumer_groups([topic])[topic].result()
    assert topic not in {each.group_id for each in admin.list_consumer_groups().result().valid}
    with pytest.raises(KafkaException, match="GROUP_ID_NOT_FOUND"):
        admin.delete_consumer_groups([topic])[topic].result()


def test_offsets_survive_a_killed_broker_and_members_come_back(tmp_path: Path, topic: str) -> None:
    with Serve(tmp_path / "data", kafka=True) as serve:
        serve.wait_until_serving()
        bootstrap, port, kafka_port = f"127.0.0.1:{serve.kafka_port}", serve.port, serve.kafka_port
        make_topic(serve, topic, 2)
        filled = fill(bootstrap, topic, 2, 5)
        members = Members(consumer(bootstrap, topic, reconnect_backoff_max_ms=100))
        members.consumers[0].subscribe([topic])
        members.wait_for(filled)
        members.commit()
        serve.kill()
    with Serve(tmp_path / "data", port=port, kafka_port=kafka_port) as serve:
        serve.wait_until_serving()
        more = {b"after"}
        fill_one(bootstrap, topic, b"after")
        members.wait_for(more)
        assert committed(members.consumers[0], topic, 0, 1) == [5, 5]
        members.commit()
        assert committed(members.consumers[0], topic, 0, 1) == [6, 5]
        members.close()
    assert len(members.got) == len(filled) + 1, "nothing came twice"
