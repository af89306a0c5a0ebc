"""MQ.TRACE: what happened to a message, and how it is with it now."""

from typing import TYPE_CHECKING

from onemq.core.trace import Event, GroupState, Trace
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import text_of
from onemq.protocols.resp.mq.messages import (
    content_facts,
    map_reply,
    optional_integer,
    optional_text,
)
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.waiting import Answer
from onemq.protocols.resp.replies import Replies

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def trace(session: "RespSession", request: list[bytes]) -> bytes:
    topic = existing_topic(session, request[1])
    core = session.service.core
    answer = Answer(session, session.replies.null)

    def found(trace: Trace) -> None:
        if trace.error is not None:
            answer.fail(trace.error)
        else:
            answer.give(_trace_reply(session.replies, trace))

    following = core.traces.trace(topic.name, text_of("the id of a message", request[2]), found)
    answer.stop = following.cancel
    now_ms = core.stage.now_ms
    while session.atomic and not answer.given:  # in a transaction all at once
        if core.scans.tick(now_ms) != now_ms:
            break
    return answer.reply()


def _trace_reply(form: Replies, trace: Trace) -> bytes:
    place = {
        "id": replies.text(trace.id),
        "topic": replies.text(trace.topic),
        "partition": optional_integer(form, trace.partition),
        "offset": optional_integer(form, trace.offset),
    }
    content = content_facts(form, trace.record) if trace.record is not None else {}
    return map_reply(form, {
        **place,
        **content,
        "traced": form.boolean(trace.traced),
        "events": replies.array([_event_reply(form, event, trace) for event in trace.events]),
        "groups": replies.array([_state_reply(form, state) for state in trace.groups]),
    })  # fmt: skip


def _event_reply(form: Replies, event: Event, trace: Trace) -> bytes:
    """Its place is that of the message, unless it tells of another."""
    topic, partition, offset = event.place or (trace.topic, trace.partition, trace.offset)
    return map_reply(form, {
        "time": replies.integer(event.time_ms),
        "event": replies.text(event.event),
        "group": optional_text(form, event.group),
        "member": optional_text(form, event.member),
        "topic": replies.text(topic),
        "partition": optional_integer(form, partition),
        "offset": optional_integer(form, offset),
        "deliveries": replies.integer(event.deliveries),
        "due": optional_integer(form, event.due_ms or None),
        "reason": replies.text(event.reason),
    })  # fmt: skip


def _state_reply(form: Replies, state: GroupState) -> bytes:
    return map_reply(form, {
        "group": replies.text(state.group),
        "state": replies.text(state.state),
        "member": optional_text(form, state.member),
        "since": optional_integer(form, state.since_ms or None),
        "deliveries": replies.integer(state.deliveries),
        "due": optional_integer(form, state.due_ms if state.due_ms > 0 else None),
    })  # fmt: skip
