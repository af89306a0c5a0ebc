"""XADD, XLEN, XTRIM, XSETID: what streams hold."""

from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.stream import Stream
from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX, id_text
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, syntax_error, wrong_arity
from onemq.protocols.resp.streams.arguments import existing_stream, stream_of, stream_to_write
from onemq.protocols.resp.streams.delay import due_time
from onemq.protocols.resp.streams.fields import id_head, single_field_headers, to_message
from onemq.protocols.resp.streams.ids import parse_id, parse_partial_id
from onemq.protocols.resp.streams.removing import removal_of
from onemq.protocols.resp.streams.trimming import Trimming

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


class _PlainIds:
    """Replies with ids `ms-offset`. Those of one millisecond begin alike, so the beginning is kept."""

    __slots__ = ("_first", "_head", "_last", "_ms")

    def __init__(self) -> None:
        self._ms = -1
        self._first, self._last = 0, -1
        """The offsets that have as many digits as the head says."""
        self._head = b""

    def reply(self, ms: int, offset: int) -> bytes:
        if ms != self._ms or not self._first <= offset <= self._last:
            self._ms = ms
            self._first, self._last, self._head = id_head(ms, offset)
        return b"%b%d\r\n" % (self._head, offset)


_plain_id_reply = _PlainIds().reply


def add_many(
    session: "RespSession", words: list[bytes], bodies: list[bytes], counts: list[int]
) -> list[bytes] | None:
    """Many `XADD key * name value` to one stream, executed at once; see runs.py."""
    if len(words) != 4 or words[2] != b"*" or words[3][:1] == b"_":
        return None
    core = session.service.core
    first = core.streams.add_plain(words[1], bodies, single_field_headers(words[3]))
    if first < 0:
        return None
    now_ms, last = core.stage.now_ms, first + len(bodies) - 1
    _, last_as_long, head = id_head(now_ms, first)
    if last <= last_as_long:
        return replies.shares(head, first, counts)
    answers = iter([_plain_id_reply(now_ms, each) for each in range(first, last + 1)])
    return [b"".join(islice(answers, count)) for count in counts]


def xadd(session: "RespSession", request: list[bytes]) -> bytes:
    """The plain form, `XADD key * name value` to a stream that is there, comes first and fast."""
    if len(request) == 5 and request[2] == b"*":
        core = session.service.core
        name = request[3]
        offset = core.streams.add_plain(request[1], request[4:], single_field_headers(name)) if name[:1] != b"_" else -1
        if offset >= 0:
            return _plain_id_reply(core.stage.now_ms, offset)
    return _xadd(session, request)


@dataclass(slots=True)
class _Options:
    """What stands between the key and the fields of an XADD."""

    id: int | None = None
    """None: the stream chooses."""
    time_ms: int | None = None
    """Only the number is the stream's choice."""
    make: bool = True
    producer: bytes | None = None
    message: bytes | None = None
    """With a producer: the name of this message; none: made of its fields."""
    trimming: Trimming = field(default_factory=Trimming)
    fields_at: int = 0


def _options(request: list[bytes]) -> _Options:
    options = _Options()
    trimming = options.trimming
    place = 2
    while place < len(request):
        word = request[place]
        if word == b"*":
            break
        name = word.lower()
        after = trimming.parse(request, place)
        if after != place:
            place = after
        elif name == b"nomkstream":
            options.make = False
            place += 1
        elif trimming.removal is None and (removal := removal_of(name)) is not None:
            trimming.removal = removal
            place += 1
        elif (name == b"idmp" and place + 2 < len(request)) or (name == b"idmpauto" and place + 1 < len(request)):
            place = _producer(options, request, name, place)
        else:
            options.time_ms = parse_partial_id(word)
            if options.time_ms is None:
                options.id = parse_id(word)
            break
    trimming.check()
    options.fields_at = place + 1
    return options


def _producer(options: _Options, request: list[bytes], name: bytes, place: int) -> int:
    """IDMP producer message, or IDMPAUTO producer."""
    if options.producer is not None:
        raise CommandError("ERR syntax error, IDMP/IDMPAUTO specified multiple times")
    shown = name.decode().upper()
    options.producer = request[place + 1]
    if not options.producer:
        raise CommandError(f"ERR syntax error, {shown} requires a non-empty producer ID")
    if name == b"idmpauto":
        return place + 2
    options.message = request[place + 2]
    if not options.message:
        raise CommandError("ERR syntax error, IDMP requires a non-empty idempotent ID")
    return place + 3


def _xadd(session: "RespSession", request: list[bytes]) -> bytes:
    options = _options(request)
    fields = request[options.fields_at :]
    if len(fields) < 2 or len(fields) % 2:
        raise wrong_arity("xadd")
    if options.producer is not None and (options.id is not None or options.time_ms is not None):
        raise CommandError("ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")
    if options.id == 0:
        raise CommandError("ERR The ID specified in XADD must be greater than 0-0")
    core = session.service.core
    core.check_writable()
    due_ms, fields = due_time(core.stage.now_ms, fields)
    if due_ms is not None and (options.id is not None or options.time_ms is not None or options.producer is not None):
        raise CommandError("ERR an entry that is due later gets its ID when it is added: use *, without IDMP")
    stream = core.streams.get(request[1])
    if stream is None:
        if not options.make:
            return session.replies.null
        _check_first(session, request[1], options, fields, due_ms)
        stream = core.streams.create(request[1], session.service.topic_config)
    if due_ms is not None:
        return _schedule(core, stream, options, fields, due_ms)
    id = _add(core, stream, options, fields)
    return replies.bulk(id_text(id))


def _check_first(
    session: "RespSession", key: bytes, options: _Options, fields: list[bytes], due_ms: int | None
) -> None:
    """Raises what adding the entry to a new stream would raise: what is refused leaves no stream behind."""
    core = session.service.core
    if due_ms is not None:
        core.schedule.check_due(due_ms)
    body, headers = to_message(fields)
    id = options.id if options.time_ms is None else options.time_ms << NUMBER_BITS or 1
    core.streams.check_first(key, session.service.topic_config, body, headers, id)


def _add(core: Core, stream: Stream, options: _Options, fields: list[bytes]) -> int:
    message = b""
    if options.producer is not None:
        message = _digest(fields) if options.message is None else options.message
        known = core.streams.repeated(stream, options.producer, message)
        if known is not None:
            return known
    id = _new_id(core, stream, options)
    body, headers = to_message(fields)
    core.streams.add(stream, body, headers, id)
    if options.producer is not None:
        core.streams.remember(stream, options.producer, message, id)
    if options.trimming.given:
        options.trimming.apply(core, stream)
    return id


def _new_id(core: Core, stream: Stream, options: _Options) -> int:
    last = stream.last_id
    if last == ID_MAX:
        raise CommandError("ERR The stream has exhausted the last possible ID, unable to add more items")
    id = options.id
    if options.time_ms is not None:
        id = options.time_ms << NUMBER_BITS
        if last >> NUMBER_BITS == options.time_ms:
            id = last + 1 if last & NUMBER_MAX < NUMBER_MAX else 0
    if id is None:
        id = stream.next_id(core.stage.now_ms)
    if id <= last:
        raise CommandError("ERR The ID specified in XADD is equal or smaller than the target stream top item")
    return id


def _digest(fields: list[bytes]) -> bytes:
    """What names a message whose sender gave it no name: its fields in whatever order."""
    pairs = sorted(zip(fields[::2], fields[1::2], strict=True))
    digest = blake2b(digest_size=16)
    for pair in pairs:
        for word in pair:
            digest.update(b"%d:%b" % (len(word), word))
    return digest.digest()


def _schedule(core: Core, stream: Stream, options: _Options, fields: list[bytes], due_ms: int) -> bytes:
    """Adds the entry when it is due, and trims now. The answer is no entry's id: it tells when, and the number in the
    schedule."""
    body, headers = to_message(fields)
    timer = core.schedule.add(stream.topic, due_ms, body, None, headers, 0)
    if options.trimming.given:
        options.trimming.apply(core, stream)
    return replies.bulk(id_text(due_ms << NUMBER_BITS | timer))


def xlen(session: "RespSession", request: list[bytes]) -> bytes:
    stream = stream_of(session, request[1])
    return replies.integer(0 if stream is None else len(stream))


def xtrim(session: "RespSession", request: list[bytes]) -> bytes:
    trimming = Trimming()
    place = 2
    while place < len(request):
        after = trimming.parse(request, place)
        if after == place:
            removal = removal_of(request[place])
            if removal is None or trimming.removal is not None:
                raise syntax_error()
            trimming.removal = removal
            after = place + 1
        place = after
    if not trimming.given and not trimming.limit:
        raise CommandError("ERR syntax error, XTRIM must be called with a trimming strategy")
    trimming.check()
    stream = stream_to_write(session, request[1])
    return replies.integer(0 if stream is None else trimming.apply(session.service.core, stream))


def xsetid(session: "RespSession", request: list[bytes]) -> bytes:
    id = parse_id(request[2])
    added: int | None = None
    deleted_id = 0
    for place in range(3, len(request), 2):
        option = request[place].lower()
        if place + 1 == len(request) or option not in (b"entriesadded", b"maxdeletedid"):
            raise syntax_error()
        if option == b"entriesadded":
            added = integer(request[place + 1])
            if added < 0:
                raise CommandError("ERR entries_added must be positive")
        else:
            deleted_id = parse_id(request[place + 1])
            if id < deleted_id:
                raise CommandError(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
                )
    core = session.service.core
    core.check_writable()
    stream = existing_stream(session, request[1])
    _check_setid(stream, id, added)
    before = stream.added_before if added is None else added - stream.partition.end
    core.streams.set(stream, id, deleted_id or stream.max_deleted_id, before)
    return replies.OK


def _check_setid(stream: Stream, id: int, added: int | None) -> None:
    if not len(stream):
        return
    if id < stream.top_id():
        raise CommandError("ERR The ID specified in XSETID is smaller than the target stream top item")
    if added is not None and added < len(stream):
        raise CommandError("ERR The entries_added specified in XSETID is smaller than the target stream length")
