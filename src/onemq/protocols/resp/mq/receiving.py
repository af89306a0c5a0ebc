"""MQ.RECEIVE, MQ.SUBSCRIBE, MQ.CREDIT, MQ.UNSUBSCRIBE: messages of a group, on request or pushed."""

from typing import TYPE_CHECKING

from onemq.core.assignment import Attributes
from onemq.core.receive import Handed
from onemq.limits import MQ_COUNT_MAX, MQ_CREDIT_MAX, PARTITIONS_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.connection import connection_of, own_name
from onemq.protocols.resp.mq.messages import map_reply, message_reply
from onemq.protocols.resp.mq.places import group_to_use
from onemq.protocols.resp.mq.subscription import Subscription
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CREDIT = 100


def receive(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 3, "MQ.RECEIVE")
    member, count, wait_ms, number, in_flight = own_name(session), 1, None, None, True
    while words:
        match words.option():
            case "MEMBER":
                member = words.text("MEMBER")
            case "COUNT":
                count = words.integer("COUNT", 1, MQ_COUNT_MAX)
            case "WAIT":
                wait_ms = words.duration_ms("WAIT")
            case "PARTITION":
                number = words.integer("PARTITION")
            case "AUTOACK":
                in_flight = False
            case other:
                raise words.unknown(other)
    core = session.service.core
    core.check_writable()
    group = group_to_use(session, request[1], request[2])
    topic = group.topic
    connection = connection_of(session)
    connection.bind(group, member)
    answer = Answer(session, replies.EMPTY_ARRAY)

    def came(got: list[Handed]) -> None:
        found = [message_reply(session, topic, place, record, deliveries) for place, record, deliveries in got]
        answer.give(replies.array(found))

    until_ms = core.stage.now_ms + wait_ms if wait_ms and not session.atomic else None
    asked = core.receiving.receive(
        group, member, count, came, until_ms, number, in_flight, allowance=lambda: count
    )
    answer.stop = asked.cancel
    connection.waiting = ((group.id, member), answer)
    return answer.reply()


def subscribe(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 3, "MQ.SUBSCRIBE")
    member, credit, in_flight, room = own_name(session), _CREDIT, True, ""
    partitions: tuple[int, ...] = ()
    while words:
        match words.option():
            case "MEMBER":
                member = words.text("MEMBER")
            case "CREDIT":
                credit = words.integer("CREDIT", 0, MQ_CREDIT_MAX)
            case "AUTOACK":
                in_flight = False
            case "ROOM":
                room = words.text("ROOM")
            case "PARTITIONS":
                partitions = _partitions(words)
            case other:
                raise words.unknown(other)
    if session.replies.version == 2:
        raise words.problem("messages are pushed, which needs RESP3: send HELLO 3 first, or use MQ.RECEIVE")
    session.service.core.check_writable()
    group = group_to_use(session, request[1], request[2])
    connection = connection_of(session)
    for each in connection.subscriptions.values():
        if each.key == (group.id, member):
            raise CommandError(
                f"EXISTS subscription {each.number} of this connection is member {member!r} already: MQ.CREDIT changes "
                "it, MQ.UNSUBSCRIBE ends it"
            )
    attributes = Attributes(room, partitions)
    connection.bind(group, member, attributes)
    subscription = Subscription(session, connection, group, member, attributes, credit, in_flight)
    subscription.begin()
    return map_reply(session.replies, {
        "subscription": replies.integer(subscription.number),
        "member": replies.text(member),
        "topic_id": replies.integer(group.topic.id),
        "partitions": replies.integer(len(group.topic.partitions)),
    })  # fmt: skip


def _partitions(words: Words) -> tuple[int, ...]:
    """All words that are left."""
    numbers = []
    while words:
        numbers.append(words.integer("PARTITIONS", 0, PARTITIONS_MAX - 1))
    return tuple(numbers)


def credit(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 1, "MQ.CREDIT")
    subscription = _find(session, words.integer("the number of the subscription"))
    if subscription is None:
        raise CommandError(f"NOTFOUND this connection has no subscription {request[1].decode()}")
    subscription.credit = words.integer("the credit", 0, MQ_CREDIT_MAX)
    subscription.go_on()
    return replies.OK


def unsubscribe(session: "RespSession", request: list[bytes]) -> bytes:
    connection = session.mq
    if connection is None:
        return replies.ZERO
    ending = list(connection.subscriptions.values())
    if len(request) > 1:
        named = _find(session, Words(request, 1, "MQ.UNSUBSCRIBE").integer("the number of the subscription"))
        ending = [] if named is None else [named]
    for subscription in ending:
        subscription.stop()
        connection.leave(subscription.key)
    return replies.integer(len(ending))


def _find(session: "RespSession", number: int) -> Subscription | None:
    return session.mq.subscriptions.get(number) if session.mq is not None else None
