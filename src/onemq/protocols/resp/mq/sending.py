"""MQ.SEND, MQ.SENDMANY: messages into topics."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.cron import DEFAULT_ZONE
from onemq.core.placed import HALF, TIMER, Placed
from onemq.core.ranking import with_priority
from onemq.core.redelivery import DELAY_LEVELS
from onemq.core.schedule import Scheduled
from onemq.core.sender import InTransaction
from onemq.core.sending import ProducerSequence, check_size
from onemq.core.series import Repeat
from onemq.core.topics import Topic
from onemq.errors import TooLarge
from onemq.limits import SENT_ONCE_MS, TRANSACTION_CHECK_MS
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import (
    BORN,
    CONTENT_TYPE,
    CORRELATION,
    ENCODING,
    EXPIRES,
    ORDER_KEY,
    PRIORITY_DEFAULT,
    PRIORITY_MAX,
    REPLY_TO,
    TAG,
    message_id,
)
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, shown
from onemq.protocols.resp.mq.messages import map_reply
from onemq.protocols.resp.mq.places import check_name_is_free, find_topic, topic_to_use

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_SENDERS_OWN = frozenset((BORN, ENCODING))
"""Reserved headers that have no option here and that a sender may write."""
_NEW = "*"
"""The name of a transaction that is to be named after its first message."""
_TYPES = ("TEXT", "BYTES", "JSON")


@dataclass(slots=True)
class Options:
    """What a message is like beside its body."""

    key: bytes | None = None
    number: int | None = None
    priority: int = PRIORITY_DEFAULT
    order: bytes | None = None
    due_ms: int | None = None
    expires_ms: int | None = None
    """After it was sent, or after it was due."""
    persistent: bool = True
    producer: ProducerSequence | None = None
    every_ms: int | None = None
    cron: str | None = None
    zone: str | None = None
    times: int | None = None
    once_key: bytes | None = None
    once_ms: int = SENT_ONCE_MS
    transaction: str | None = None
    producer_group: str = ""
    check_after_ms: int = TRANSACTION_CHECK_MS
    headers: list[tuple[bytes, bytes | None]] = field(default_factory=list)

    @property
    def repeats(self) -> bool:
        return self.every_ms is not None or self.cron is not None or self.times is not None


def send(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    options = _options(Words(request, 3, "MQ.SEND"), core.stage.now_ms)
    core.check_writable()
    topic = topic_to_use(session, request[1])
    facts = _send(core, topic, request[2], options)
    if core.keys.watched:
        core.keys.topic_changed(request[1])
    return map_reply(session.replies, facts)


def check(session: "RespSession", request: list[bytes]) -> bool:
    """Raises what `send` surely would, and changes nothing. Says whether it would store anything."""
    core = session.service.core
    options = _options(Words(request, 3, "MQ.SEND"), core.stage.now_ms)
    core.sending.check()
    if options.repeats:
        Repeat(options.every_ms, options.cron, options.zone or DEFAULT_ZONE, options.times).check()
    if options.once_key is not None:
        core.sent_once.check(options.once_ms)
    topic = find_topic(core, request[1])
    if topic is None:
        check_name_is_free(core, request[1])
        bytes_max = session.service.topic_config.message_bytes_max
        if len(request[2]) > bytes_max:
            raise TooLarge(f"a new topic takes messages of up to {bytes_max} bytes, this one has {len(request[2])}")
        return True
    if options.number is not None:
        topic.choose(options.key, options.number)
    if options.due_ms is not None:
        core.schedule.check_due(max(options.due_ms, 0))
    headers = with_priority(tuple(options.headers), options.priority)
    check_size(topic, request[2], options.key, encode_headers(headers))
    return options.once_key is None or core.sent_once.find(topic, options.once_key) is None


def send_many(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.SENDMANY")
    options = Options()
    bodies: list[bytes] = []
    while words:
        match words.option():
            case "TAG":
                options.headers.append((TAG, words.value("TAG")))
            case "KEY":
                options.key = words.value("KEY")
            case "PARTITION":
                options.number = words.integer("PARTITION")
            case "BODIES":
                bodies = words.rest()
            case other:
                raise words.unknown(other)
    if not bodies:
        raise words.problem("the bodies of the messages come last, after the word BODIES")
    core = session.service.core
    core.check_writable()
    topic = topic_to_use(session, request[1])
    places = _send_all(core, topic, bodies, options)
    if core.keys.watched:
        core.keys.topic_changed(request[1])
    if len({number for number, _ in places}) == 1:
        return map_reply(session.replies, place_facts(topic, *places[0]) | {"count": replies.integer(len(places))})
    return replies.array([replies.array([replies.integer(each) for each in place]) for place in places])


def _send_all(core: Core, topic: Topic, bodies: list[bytes], options: Options) -> list[tuple[int, ...]]:
    """All of them or none. Returns (partition, offset) of each."""
    core.sending.check()
    if options.number is not None:
        topic.choose(options.key, options.number)
    headers = encode_headers(options.headers) if options.headers else NO_HEADERS
    for body in bodies:
        check_size(topic, body, options.key, headers)
    return [core.sending.send(topic, body, options.key, headers, options.number) for body in bodies]


def _options(words: Words, now_ms: int) -> Options:
    options = Options()
    while words:
        match words.option():
            case "KEY":
                options.key = words.value("KEY")
            case "TAG":
                options.headers.append((TAG, words.value("TAG")))
            case "HEADER":
                options.headers.append(_header(words))
            case "ORDER":
                options.order = words.value("ORDER")
            case "PARTITION":
                options.number = words.integer("PARTITION")
            case "PRIORITY":
                options.priority = words.integer("PRIORITY", 0, PRIORITY_MAX)
            case "DELAY" | "LEVEL" | "AT" as option:
                if options.due_ms is not None:
                    raise words.problem("a message is due once: give one of DELAY, LEVEL and AT")
                options.due_ms = _asked_ms(words, option, now_ms)
            case "EXPIRES":
                options.expires_ms = words.duration_ms("EXPIRES")
            case "TRANSIENT":
                options.persistent = False
            case "REPLYTO":
                options.headers.append((REPLY_TO, words.text("REPLYTO").encode()))
            case "CORRELATION":
                options.headers.append((CORRELATION, words.value("CORRELATION")))
            case "TYPE":
                options.headers.append((CONTENT_TYPE, words.choice("TYPE", *_TYPES).lower().encode()))
            case "PRODUCER":
                options.producer = producer_of(words)
            case "EVERY":
                options.every_ms = words.duration_ms("EVERY")
            case "CRON":
                options.cron = words.text("CRON")
            case "ZONE":
                options.zone = words.text("ZONE")
            case "TIMES":
                options.times = words.integer("TIMES", 1)
            case "IDEMPOTENCY":
                options.once_key = words.value("IDEMPOTENCY")
            case "WITHIN":
                options.once_ms = words.duration_ms("WITHIN")
            case "TRANSACTION":
                options.transaction = words.text("TRANSACTION")
            case "GROUP":
                options.producer_group = words.text("GROUP")
            case "CHECKAFTER":
                options.check_after_ms = words.duration_ms("CHECKAFTER")
            case other:
                raise words.unknown(other)
    _check(words, options, now_ms)
    return options


def _asked_ms(words: Words, option: str, now_ms: int) -> int:
    if option == "AT":
        return words.time_ms("AT")
    if option == "LEVEL":
        return now_ms + DELAY_LEVELS[words.integer("LEVEL", 1, len(DELAY_LEVELS)) - 1]
    return now_ms + words.duration_ms("DELAY")


def _check(words: Words, options: Options, now_ms: int) -> None:
    is_later = options.repeats or (options.due_ms is not None and options.due_ms > now_ms)
    if is_later and not options.persistent:
        raise words.problem("a message that is due later is always stored: leave TRANSIENT out")
    if options.zone is not None and options.cron is None:
        raise words.problem("ZONE is the time zone of a CRON expression")
    if options.transaction is not None:
        _check_half(words, options)
    elif options.producer_group:
        raise words.problem("GROUP is the producer group of a TRANSACTION")
    if options.expires_ms is not None:
        if options.repeats:
            raise words.problem("EXPIRES is one time for all copies of a message that repeats: let the topic have it")
        from_ms = options.due_ms if is_later and options.due_ms is not None else now_ms
        options.headers.insert(0, (EXPIRES, b"%d" % (from_ms + options.expires_ms)))  # before the sender's own


def _check_half(words: Words, options: Options) -> None:
    if not options.producer_group:
        raise words.problem("TRANSACTION needs GROUP, the producer group that is asked what became of it")
    if options.due_ms is not None or options.repeats or options.producer is not None or not options.persistent:
        raise words.problem("a message of a transaction cannot be delayed, transient or of a PRODUCER sequence")
    if options.once_key is not None and options.transaction == _NEW:
        raise words.problem("IDEMPOTENCY needs a transaction with a name")


def _header(words: Words) -> tuple[bytes, bytes]:
    name = words.value("HEADER")
    if name.startswith(b"_") and name not in _SENDERS_OWN:
        raise words.problem(f"header names that begin with _ are OneMQ's own: {shown(name)}")
    return name, words.value("HEADER")


def producer_of(words: Words) -> ProducerSequence:
    """PRODUCER id epoch sequence"""
    return (
        words.integer("PRODUCER, its id,"),
        words.integer("PRODUCER, its epoch,", 0, 2**15 - 1),
        words.integer("PRODUCER, the sequence number,", 0, 2**31 - 1),
    )


def _send(core: Core, topic: Topic, body: bytes, options: Options) -> dict[str, bytes]:
    if options.transaction == _NEW:
        return _send_first_half(core, topic, body, options)
    within = None
    if options.transaction is not None:
        within = InTransaction(options.producer_group, options.transaction, options.check_after_ms)
    placed = core.send(
        topic.name, body, options.key, tuple(options.headers), options.number, options.due_ms, options.persistent,
        options.producer, priority=options.priority, order_key=options.order, every_ms=options.every_ms,
        cron=options.cron, zone=options.zone or DEFAULT_ZONE, times=options.times, transaction=within,
        once_key=options.once_key, once_ms=options.once_ms,
    )  # fmt: skip
    if placed.partition == TIMER:
        facts = _scheduled_facts(core, topic, placed.offset, _due_ms(core, options, placed))
    elif placed.partition == HALF:
        facts = _half_facts(core, topic, placed.offset, options.transaction or "")
    else:
        facts = place_facts(topic, *placed)
    return facts | {"duplicate": replies.ONE} if placed.duplicate else facts


def _send_first_half(core: Core, topic: Topic, body: bytes, options: Options) -> dict[str, bytes]:
    """Begins a transaction, which gets its name from this message."""
    headers = with_priority(tuple(options.headers), options.priority)
    if options.order is not None and options.order != options.key:
        headers = (*headers, (ORDER_KEY, options.order))
    half = core.halves.add(
        None, options.producer_group, topic, body, options.key, headers, options.number, options.check_after_ms
    )
    return _half_facts(core, topic, half.offset, half.transaction)


def _half_facts(core: Core, topic: Topic, offset: int, transaction: str) -> dict[str, bytes]:
    return {
        "id": replies.text(core.halves.parking.message_id(offset)),
        "topic": replies.text(topic.name),
        "transaction": replies.text(transaction),
    }


def place_facts(topic: Topic, partition: int, offset: int) -> dict[str, bytes]:
    """Where a message is."""
    return {
        "id": replies.text(message_id(topic.id, partition, offset)),
        "topic": replies.text(topic.name),
        "partition": replies.integer(partition),
        "offset": replies.integer(offset),
    }


def _scheduled_facts(core: Core, topic: Topic, timer: int, due_ms: int | None) -> dict[str, bytes]:
    """Where a message is that is due later; without its time if that has come already."""
    facts = {
        "id": replies.text(core.schedule.parking.message_id(timer)),
        "topic": replies.text(topic.name),
        "schedule": replies.integer(timer),
    }
    return facts if due_ms is None else facts | {"due": replies.integer(due_ms)}


def _due_ms(core: Core, options: Options, placed: Placed) -> int | None:
    """When a message is due; that of one which was scheduled earlier has to be looked up."""
    if not placed.duplicate and not options.repeats:
        return options.due_ms
    series = core.schedule.series(placed.offset)
    if series is not None:
        return series.due_ms
    found: list[Scheduled | None] = []
    core.schedule.find(placed.offset, found.append)
    return found[0].due_ms if found and found[0] is not None else None
