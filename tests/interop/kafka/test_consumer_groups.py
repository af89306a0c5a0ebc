"""Groups of confluent-kafka consumers whose partitions the broker shares out (KIP-848)."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.interop.kafka.members import Members, fill, make_topic, places
from tests.process import Serve


@pytest.fixture
def members() -> Iterator[Members]:
    made = Members()
    yield made
    made.close()


def join(members: Members, bootstrap: str, group: str, subscription: str, **settings: Any) -> Consumer:
    words = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 50,
    }
    one = Consumer(words | {name.replace("_", "."): value for name, value in settings.items()})
    one.subscribe([subscription])
    members.consumers.append(one)
    return one


def test_members_share_and_take_over(kafka: Serve, bootstrap: str, topic: str, members: Members) -> None:
    make_topic(kafka, topic, 6)
    filled = fill(bootstrap, topic, 6, 10)
    join(members, bootstrap, topic, topic)
    members.wait_for(filled)
    members.commit()
    join(members, bootstrap, topic, topic)
    members.wait_for_shares(3, 3)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups([topic])[topic].result()
    assert (described.state, described.type) == (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER)
    assert sorted(len(each.assignment.topic_partitions) for each in described.members) == [3, 3]
    members.consumers.pop(0).close()
    members.wait_for_shares(6)
    assert [each.offset for each in members.consumers[0].committed(places(topic, range(6)), timeout=10)] == [10] * 6
    assert len(members.got) == len(filled), "what was committed does not come again"


def test_topics_are_chosen_by_an_expression_and_found_when_they_come(
    kafka: Serve, bootstrap: str, topic: str, members: Members
) -> None:
    make_topic(kafka, f"{topic}.a", 1)
    one = join(members, bootstrap, topic, f"^{topic}[.].*")
    members.wait_for_shares(1)
    make_topic(kafka, f"{topic}.b", 2)
    members.wait_for_shares(3)
    assert {each.topic for each in one.assignment()} == {f"{topic}.a", f"{topic}.b"}


@pytest.mark.long
def test_a_static_member_comes_back_to_what_it_had(
    kafka: Serve, bootstrap: str, topic: str, members: Members
) -> None:
    make_topic(kafka, topic, 4)
    one = join(members, bootstrap, topic, topic, group_instance_id="one")
    join(members, bootstrap, topic, topic, group_instance_id="two")
    members.wait_for_shares(2, 2)
    had = {each.partition for each in one.assignment()}
    members.consumers.remove(one)
    one.close()
    back = join(members, bootstrap, topic, topic, group_instance_id="one")
    members.poll_until(lambda: len(back.assignment()) == 2)
    assert {each.partition for each in back.assignment()} == had


@pytest.mark.long
def test_a_group_changes_its_protocol_when_it_is_empty(
    kafka: Serve, bootstrap: str, topic: str, members: Members
) -> None:
    make_topic(kafka, topic, 2)
    for protocol in ("classic", "consumer", "classic"):
        one = join(members, bootstrap, topic, topic, group_protocol=protocol)
        members.wait_for_shares(2)
        one.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        members.consumers.remove(one)
        one.close()
