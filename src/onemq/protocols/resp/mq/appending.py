"""MQ.APPEND, MQ.PRODUCER: whole batches of messages that a client sealed, stored once however often they are sent.

A batch is a Kafka record batch, version 2, as log/records.py describes it. It gets the time of the broker.
"""

from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.messages import map_reply
from onemq.protocols.resp.mq.places import topic_to_use
from onemq.protocols.resp.mq.sending import producer_of

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def append(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.APPEND")
    number = words.integer("the partition")
    batch = words.value("the partition")
    producer = None
    while words:
        match words.option():
            case "PRODUCER":
                producer = producer_of(words)
            case other:
                raise words.unknown(other)
    core = session.service.core
    core.check_writable()
    topic = topic_to_use(session, request[1])
    appended = core.sending.append(topic, number, batch, producer)
    if core.keys.watched:
        core.keys.topic_changed(request[1])
    facts = {
        "partition": replies.integer(number),
        "offset": replies.integer(appended.offset),
        "count": replies.integer(appended.messages),
        "topic_id": replies.integer(topic.id),
        "partitions": replies.integer(len(topic.partitions)),
    }
    if appended.repeated:
        facts["duplicate"] = replies.ONE
    return map_reply(session.replies, facts)


def producer(session: "RespSession", request: list[bytes]) -> bytes:
    name = text_of("the name of a producer", request[1]) if len(request) > 1 else None
    opened = session.service.core.producers.open(name)
    return map_reply(session.replies, {"id": replies.integer(opened.id), "epoch": replies.integer(opened.epoch)})
