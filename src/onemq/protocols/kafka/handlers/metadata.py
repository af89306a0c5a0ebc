"""Metadata: which brokers and topics there are. One broker leads everything."""

from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import code_of
from onemq.protocols.kafka.identity import LEADER_EPOCH, NODE_ID
from onemq.protocols.kafka.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from onemq.protocols.kafka.schema import INT32_MIN, NO_UUID
from onemq.protocols.kafka.schemas.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def metadata(call: Call[MetadataRequest]) -> MetadataResponse:
    """A topic that is asked for by name is made if there is none, unless the client or the settings forbid it."""
    request, service = call.request, call.service
    host, port = service.address_for(call.session)
    may = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else INT32_MIN
    return MetadataResponse(
        brokers=[MetadataResponseBroker(NODE_ID, host, port)],
        cluster_id=service.cluster_id,
        controller_id=NODE_ID,
        topics=_topics(call),
        cluster_authorized_operations=may,
    )


def _topics(call: Call[MetadataRequest]) -> list[MetadataResponseTopic]:
    topics = call.request.topics
    if topics is None or (not topics and call.version == 0):
        return [_describe(call, topic) for topic in call.service.topics.all()]
    once = {(each.name, each.topic_id): each for each in topics}
    return [_asked_for(call, wanted) for wanted in once.values()]


def _asked_for(call: Call[MetadataRequest], wanted: MetadataRequestTopic) -> MetadataResponseTopic:
    topics = call.service.topics
    try:
        if wanted.topic_id != NO_UUID:
            return _describe(call, topics.get_by_id(wanted.topic_id))
        return _describe(call, topics.ensure(wanted.name or "", call.request.allow_auto_topic_creation))
    except OneMQError as error:
        name = wanted.name if wanted.name is not None or call.version >= 12 else ""
        return MetadataResponseTopic(error_code=code_of(error), name=name, topic_id=wanted.topic_id)


def _describe(call: Call[MetadataRequest], topic: Topic) -> MetadataResponseTopic:
    nodes = [NODE_ID]
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=call.service.topics.id_of(topic),
        partitions=[
            MetadataResponsePartition(0, each.number, NODE_ID, LEADER_EPOCH, nodes, nodes) for each in topic.partitions
        ],
        topic_authorized_operations=TOPIC_OPERATIONS if call.request.include_topic_authorized_operations else INT32_MIN,
    )
