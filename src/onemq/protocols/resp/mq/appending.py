"""MQ.APPEND, MQ.PRODUCER: whole batches of messages that a client sealed, stored once however often they are sent.

A batch is a Kafka record batch, version 2, as log/batch.py and log/records.py describe it. It gets the time of the
broker. With TRANSACTION it is stored, but nobody sees it before the commit.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.core.sending import ProducerSequence
from onemq.core.topics import Topic
from onemq.limits import TRANSACTION_CHECK_MS
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.messages import map_reply
from onemq.protocols.resp.mq.places import topic_to_use
from onemq.protocols.resp.mq.sending import producer_of

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


@dataclass(slots=True)
class _Options:
    producer: ProducerSequence | None = None
    transaction: str | None = None
    group: str | None = None
    place: int | None = None
    check_after_ms: int | None = None


def append(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.APPEND")
    number = words.integer("the partition")
    batch = words.value("the partition")
    options = _options(words)
    core = session.service.core
    core.check_writable()
    topic = topic_to_use(session, request[1])
    if options.transaction is not None:
        return _stage(session, topic, number, batch, options)
    appended = core.sending.append(topic, number, batch, options.producer)
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


def _options(words: Words) -> _Options:
    found = _Options()
    while words:
        match words.option():
            case "PRODUCER":
                found.producer = producer_of(words)
            case "TRANSACTION":
                found.transaction = words.text("TRANSACTION")
            case "GROUP":
                found.group = words.text("GROUP")
            case "BATCH":
                found.place = words.integer("BATCH")
            case "CHECKAFTER":
                found.check_after_ms = words.duration_ms("CHECKAFTER")
            case other:
                raise words.unknown(other)
    if found.transaction is None:
        if (found.group, found.place, found.check_after_ms) != (None, None, None):
            raise words.problem("GROUP, BATCH and CHECKAFTER belong to a TRANSACTION")
    elif not found.group:
        raise words.problem("TRANSACTION needs GROUP, the producer group that is asked what became of it")
    elif found.producer is not None:
        raise words.problem("a batch of a transaction cannot be of a PRODUCER sequence: use BATCH, its place there")
    return found


def _stage(session: "RespSession", topic: Topic, number: int, batch: bytes, options: _Options) -> bytes:
    check_after_ms = TRANSACTION_CHECK_MS if options.check_after_ms is None else options.check_after_ms
    staged = session.service.core.halves.batches.stage(
        options.transaction or "", options.group or "", topic, number, batch, options.place, check_after_ms
    )
    facts = {
        "transaction": replies.text(staged.transaction),
        "partition": replies.integer(number),
        "count": replies.integer(staged.messages),
        "topic_id": replies.integer(topic.id),
        "partitions": replies.integer(len(topic.partitions)),
    }
    if staged.repeated:
        facts["duplicate"] = replies.ONE
    return map_reply(session.replies, facts)


def producer(session: "RespSession", request: list[bytes]) -> bytes:
    name = text_of("the name of a producer", request[1]) if len(request) > 1 else None
    opened = session.service.core.producers.open(name)
    return map_reply(session.replies, {"id": replies.integer(opened.id), "epoch": replies.integer(opened.epoch)})
