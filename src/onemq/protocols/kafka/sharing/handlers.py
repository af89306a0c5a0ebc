"""The calls of members: ShareGroupHeartbeat, ShareFetch, ShareAcknowledge."""

from collections.abc import Sequence
from typing import Any

from onemq.errors import OneMQError
from onemq.limits import SHARE_SETTLED_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schemas.share_acknowledge import (
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from onemq.protocols.kafka.schemas.share_fetch import FetchTopic, ShareFetchRequest, ShareFetchResponse
from onemq.protocols.kafka.schemas.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from onemq.protocols.kafka.sharing.fetching import ShareFetching
from onemq.protocols.kafka.sharing.members import Client, Heartbeat
from onemq.protocols.kafka.sharing.rows import Rows
from onemq.protocols.kafka.sharing.sessions import CLOSE, OPEN, ShareSession
from onemq.protocols.kafka.sharing.settings import LOCK
from onemq.protocols.kafka.sharing.settling import Settlement, offsets_in


def share_group_heartbeat(call: Call[ShareGroupHeartbeatRequest]) -> ShareGroupHeartbeatResponse:
    request, topics = call.request, call.service.topics
    beat = Heartbeat(
        request.group_id, request.member_id, request.member_epoch, request.subscribed_topic_names, request.rack_id
    )
    host = call.session.peer.address.rpartition(":")[0].strip("[]")
    answer = call.service.sharing.members.heartbeat(beat, Client(call.client_id or "", f"/{host}"))
    response = ShareGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=answer.epoch, heartbeat_interval_ms=answer.heartbeat_ms
    )
    if answer.assignment is not None:
        rows = [TopicPartitions(topics.id_of(topic), list(numbers)) for topic, numbers in answer.assignment]
        response.assignment = Assignment(rows)
    return response


def share_fetch(call: Call[ShareFetchRequest]) -> ShareFetchResponse | None:
    request, sharing = call.request, call.service.sharing
    session, rows = _session(call), Rows()
    _settle(call, session, rows)
    if request.share_session_epoch == CLOSE:
        sharing.sessions.close(session)
        return rows.fetched(_lock_ms(call))
    _update(call, session, rows)
    if request.max_records <= 0:
        return rows.fetched(_lock_ms(call))
    return ShareFetching(call, sharing, session, rows).begin()


def share_acknowledge(call: Call[ShareAcknowledgeRequest]) -> ShareAcknowledgeResponse:
    session, rows = _session(call), Rows()
    _settle(call, session, rows)
    if call.request.share_session_epoch == CLOSE:
        call.service.sharing.sessions.close(session)
    return rows.acknowledged(_lock_ms(call))


def _lock_ms(call: Call[Any]) -> int:
    """What members are told of the locks of their group in an answer without messages."""
    return call.service.sharing.settings.milliseconds(call.request.group_id, LOCK)


def _session(call: Call[Any]) -> ShareSession:
    """The session that a request belongs to."""
    request, sessions = call.request, call.service.sharing.sessions
    group, member, epoch = request.group_id, request.member_id, request.share_session_epoch
    if not group or not member:
        raise Refused(ErrorCode.INVALID_REQUEST, "the request needs the ids of the group and of the member")
    if epoch != OPEN:
        return sessions.check(group, member, epoch)
    if isinstance(request, ShareAcknowledgeRequest):
        raise Refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "acknowledgements need an open share session")
    if any(partition.acknowledgement_batches for topic in request.topics for partition in topic.partitions):
        raise Refused(ErrorCode.INVALID_REQUEST, "the first request of a share session acknowledges nothing")
    return sessions.open(group, member, call.session)


def _settle(call: Call[Any], session: ShareSession, rows: Rows) -> None:
    """Carries out the acknowledgements of a request."""
    topics: Sequence[FetchTopic | AcknowledgeTopic] = call.request.topics
    room = SHARE_SETTLED_MAX
    for topic in topics:
        for partition in topic.partitions:
            if not partition.acknowledgement_batches:
                continue
            batches = partition.acknowledgement_batches
            try:
                settlement = Settlement(batches, call.request.is_renew_ack, room)
                found = call.service.topics.get_by_id(topic.topic_id)
                group = found.groups.get(session.group)
                if group is None:
                    raise Refused(ErrorCode.INVALID_RECORD_STATE, f"the group has nothing of {found.name!r}")
                settlement.carry_out(call.service.core, group, partition.partition_index, session.member)
            except OneMQError as error:
                rows.settled((topic.topic_id, partition.partition_index), error)
            else:
                rows.settled((topic.topic_id, partition.partition_index), None)
            room -= offsets_in(batches)


def _update(call: Call[ShareFetchRequest], session: ShareSession, rows: Rows) -> None:
    """Takes partitions into the session, and out of it."""
    request, topics = call.request, call.service.topics
    for named in request.topics:
        topic = topics.by_id(named.topic_id)
        for partition in named.partitions:
            place = (named.topic_id, partition.partition_index)
            if topic is None:
                rows.refused(place, Refused(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic of this id"))
            elif not 0 <= partition.partition_index < len(topic.partitions):
                rows.refused(place, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition"))
            else:
                session.places[place] = None
                if request.share_session_epoch == OPEN:
                    rows.named(place)
    for forgotten in request.forgotten_topics_data:
        for number in forgotten.partitions:
            session.places.pop((forgotten.topic_id, number), None)
