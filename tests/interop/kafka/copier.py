"""A process that copies a topic to another one, exactly once: `python -m tests.interop.kafka.copier` and its arguments.

It reads in a group, sends under a transactional id, and commits what it sent and how far it has read together. It may
be killed at any time, and so may the broker.
"""

import sys

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

SECONDS = 30
BATCH = 7
RECONNECTING = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "metadata.recovery.strategy": "none"}
"""Comes back soon. With the strategy that is librdkafka's default it forgets the one broker there is, and with it who
coordinates the group, and then waits for ever in send_offsets_to_transaction (seen in 2.16)."""


def main(bootstrap: str, source: str, target: str) -> None:
    common = {"bootstrap.servers": bootstrap} | RECONNECTING
    sender = Producer(common | {"transactional.id": f"{source}-copier", "linger.ms": 0, "retry.backoff.ms": 20})
    sender.init_transactions(SECONDS)
    settings = {"group.id": f"{source}-copiers", "group.instance.id": "copier", "auto.offset.reset": "earliest",
                "enable.auto.commit": False, "isolation.level": "read_committed", "heartbeat.interval.ms": 100,
                "session.timeout.ms": 6_000}  # fmt: skip
    while True:
        reader = Consumer(common | settings)
        reader.subscribe([source])
        try:
            copy_on(reader, sender, target)
        except KafkaException as problem:
            print(problem, flush=True)
            if not problem.args[0].txn_requires_abort():
                raise
            sender.abort_transaction(SECONDS)
        reader.close()


def copy_on(reader: Consumer, sender: Producer, target: str) -> None:
    """Until something goes wrong."""
    while True:
        messages = [each for each in reader.consume(BATCH, 0.05) if each.error() is None]
        if messages:
            copy(reader, sender, target, messages)


def copy(reader: Consumer, sender: Producer, target: str, messages: list[Message]) -> None:
    sender.begin_transaction()
    for message in messages:
        sender.produce(target, message.value(), message.key(), partition=message.partition())
    ends = {message.partition(): message.offset() + 1 for message in messages}
    offsets = [TopicPartition(messages[0].topic(), number, offset) for number, offset in ends.items()]
    sender.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), SECONDS)
    sender.commit_transaction(SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
