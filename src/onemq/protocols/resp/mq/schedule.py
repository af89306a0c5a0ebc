"""MQ.SCHEDULE: messages that are due later; looking at them, cancelling and moving them."""

import re
from itertools import islice
from typing import TYPE_CHECKING

from onemq.core.schedule import Scheduled
from onemq.errors import NotFound
from onemq.limits import MQ_COUNT_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import Words, shown
from onemq.protocols.resp.mq.messages import map_reply, optional, optional_integer, optional_text
from onemq.protocols.resp.mq.waiting import Answer
from onemq.protocols.resp.numbers import parse_integer
from onemq.units import format_duration

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_COUNT = 100
_PAGE = 1_000
_PAGES_MAX = 10
"""How many timers are looked at in one call if few of them are of the topic that is asked for."""
_CURSOR = re.compile(rb"([0-9]{1,18})-([0-9]{1,18})")


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.SCHEDULE LIST")
    topic, count, after = None, _COUNT, None
    while words:
        match words.option():
            case "TOPIC":
                topic = words.text("TOPIC")
            case "COUNT":
                count = words.integer("COUNT", 1, MQ_COUNT_MAX)
            case "AFTER":
                after = _cursor(words)
            case other:
                raise words.unknown(other)
    answer = Answer(session, replies.array([session.replies.null, replies.EMPTY_ARRAY]))
    _Lister(session, topic, count, answer).look(after)
    return answer.reply()


def _cursor(words: Words) -> tuple[int, int]:
    word = words.value("AFTER")
    match = _CURSOR.fullmatch(word)
    if match is None:
        raise words.problem(f"AFTER takes what an earlier MQ.SCHEDULE LIST answered first, not {shown(word)}")
    return int(match[1]), int(match[2])


class _Lister:
    """One MQ.SCHEDULE LIST."""

    def __init__(self, session: "RespSession", topic: str | None, count: int, answer: Answer) -> None:
        self._session = session
        self._topic = topic
        self._count = count
        self._answer = answer
        self._rows: list[Scheduled] = []
        self._pages = 0

    def look(self, after: tuple[int, int] | None) -> None:
        """Reads the next page of timers."""
        schedule = self._session.service.core.schedule
        most = self._count - len(self._rows) if self._topic is None else _PAGE
        timers = list(islice(schedule.timers(after), most + 1))
        more = len(timers) > most
        timers = timers[:most]
        self._pages += 1
        if timers:
            schedule.describe(timers, lambda rows: self._found(rows, timers[-1] if more else None))
        else:
            self._give(None)

    def _found(self, rows: list[Scheduled], last: tuple[int, int] | None) -> None:
        for row in rows:
            if self._topic is None or row.topic == self._topic:
                self._rows.append(row)
                if len(self._rows) == self._count:
                    self._give((row.due_ms, row.id) if last is not None or row is not rows[-1] else None)
                    return
        if last is None or self._pages == _PAGES_MAX:
            self._give(last)
        else:
            self.look(last)

    def _give(self, cursor: tuple[int, int] | None) -> None:
        form = self._session.replies
        shown_cursor = form.null if cursor is None else replies.text(f"{cursor[0]}-{cursor[1]}")
        rows = [_timer_reply(self._session, row) for row in self._rows]
        self._answer.give(replies.array([shown_cursor, replies.array(rows)]))


def _timer_reply(session: "RespSession", timer: Scheduled) -> bytes:
    form, core = session.replies, session.service.core
    return map_reply(form, {
        "id": replies.integer(timer.id),
        "message": replies.text(core.schedule.parking.message_id(timer.id)),
        "due": replies.integer(timer.due_ms),
        "topic": replies.text(timer.topic),
        "key": optional(form, timer.key),
        "body": replies.bulk(timer.body),
        "every": optional_text(form, format_duration(timer.every_ms) if timer.every_ms is not None else None),
        "cron": optional_text(form, timer.cron),
        "zone": optional_text(form, timer.zone),
        "left": optional_integer(form, timer.left),
    })  # fmt: skip


def get(session: "RespSession", request: list[bytes]) -> bytes:
    answer = Answer(session, session.replies.null)

    def found(timer: Scheduled | None) -> None:
        answer.give(session.replies.null if timer is None else _timer_reply(session, timer))

    session.service.core.schedule.find(_id(request[2]), found)
    return answer.reply()


def cancel(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    cancelled = 0
    for id in [_id(word) for word in request[2:]]:
        try:
            core.schedule.cancel(id)
        except NotFound:
            continue
        cancelled += 1
    return replies.integer(cancelled)


def move(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    words = Words(request, 3, "MQ.SCHEDULE MOVE")
    match words.option():
        case "DELAY":
            due_ms = core.stage.now_ms + words.duration_ms("DELAY")
        case "AT":
            due_ms = words.time_ms("AT")
        case other:
            raise words.problem(f"the new time is DELAY duration or AT time, not {shown(other.encode())}")
    if words:
        raise words.unknown(words.option())
    core.schedule.move(_id(request[2]), due_ms)
    return replies.OK


def _id(word: bytes) -> int:
    number = parse_integer(word)
    if number is None or number < 0:
        raise CommandError(f"ERR {shown(word)} is not the number of a scheduled message: MQ.SCHEDULE LIST shows them")
    return number
