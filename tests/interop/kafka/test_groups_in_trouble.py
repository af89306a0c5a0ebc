"""Groups whose members come, go and are killed while messages flow: in the end everything was read and committed."""

import time
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from tests.interop.kafka.members import WAIT_SECONDS_MAX, MemberProcess, Members, consumer, make_topic, places
from tests.process import Serve

pytestmark = pytest.mark.long
PARTITIONS = 6
STEPS = 30
PROTOCOLS = {
    "eager": {},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "by the broker": {"group_protocol": "consumer"},
}


def settings_of(protocol: str) -> dict[str, object]:
    return dict(PROTOCOLS[protocol])


def member(bootstrap: str, topic: str, protocol: str) -> Consumer:
    settings = settings_of(protocol)
    if protocol == "by the broker":
        one = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": topic,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
    else:
        one = consumer(bootstrap, topic, session_timeout_ms=2_000, **settings)
    one.subscribe([topic])
    return one


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_is_missed(kafka: Serve, bootstrap: str, topic: str, protocol: str) -> None:
    random = Random(7)
    make_topic(kafka, topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    members = Members(member(bootstrap, topic, protocol))
    doomed: list[MemberProcess] = []
    sent: set[bytes] = set()
    for step in range(STEPS):
        for number in range(20):
            body = b"%d-%d" % (step, number)
            producer.produce(topic, body, partition=random.randrange(PARTITIONS))
            sent.add(body)
        producer.poll(0)
        change(random, members, doomed, bootstrap, topic, protocol)
        until = time.monotonic() + 0.2
        members.poll_until(lambda until=until: time.monotonic() > until)  # type: ignore[misc]
        commit_all(members)
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    for each in doomed:
        each.kill()
    members.wait_for(sent)
    members.poll_until(lambda: commit_all(members) and lag(members.consumers[0], topic) == 0)
    assert b"lag\r\n:0\r\n" in kafka.command(f"MQ.GROUP INFO {topic} {topic}")
    members.close()


def change(
    random: Random, members: Members, doomed: list[MemberProcess], bootstrap: str, topic: str, protocol: str
) -> None:
    """Somebody comes, goes, or is killed."""
    roll = random.random()
    if roll < 0.25 and len(members.consumers) < 4:
        members.consumers.append(member(bootstrap, topic, protocol))
    elif roll < 0.4 and len(members.consumers) > 1:
        members.consumers.pop(random.randrange(len(members.consumers))).close()
    elif roll < 0.5 and len(doomed) < 2 and protocol != "by the broker":
        doomed.append(MemberProcess(bootstrap, topic, topic, session_timeout_ms=1_000, **settings_of(protocol)))
    elif roll < 0.6 and doomed:
        doomed.pop().kill()


def commit_all(members: Members) -> bool:
    """Those who can; in the middle of a rebalance one cannot."""
    for each in members.consumers:
        try:
            each.commit(asynchronous=False)
        except KafkaException as problem:
            assert not problem.args[0].fatal(), problem
    return True


def lag(one: Consumer, topic: str) -> int:
    """Of the whole group."""
    found = one.committed(places(topic, range(PARTITIONS)), timeout=WAIT_SECONDS_MAX)
    ends = [one.get_watermark_offsets(each, timeout=WAIT_SECONDS_MAX)[1] for each in found]
    return sum(end - max(each.offset, 0) for each, end in zip(found, ends, strict=True))
