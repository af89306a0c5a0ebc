"""MQ.TX: what becomes of half messages, and who is asked about it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.core.commit_units import CommitUnit
from onemq.core.parking import target_of
from onemq.errors import OneMQError
from onemq.message import ID, Record, header
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.connection import connection_of
from onemq.protocols.resp.mq.messages import content_facts, map_reply
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CHECK = replies.text("mq.check")
_UNIT_WORDS = 3
"""UNIT name number"""
_TRANSACTION, _GROUP = "the name of a transaction", "the name of a producer group"


def commit(session: "RespSession", request: list[bytes]) -> bytes:
    """Answers when everything is where it goes; between MULTI and EXEC already when it is decided."""
    names, unit = _names_and_unit(request)
    halves = session.service.core.halves
    made = halves.commit_all(names, unit)
    answer = Answer(session, replies.integer(made.messages))

    def moved(error: OneMQError | None) -> None:
        if error is None:
            answer.give(replies.integer(made.messages))
        else:
            answer.fail(error)

    if made.left:
        made.then = moved
        answer.stop = lambda: halves.commits.forget(made)
    else:
        moved(None)
    return answer.reply()


def _names_and_unit(request: list[bytes]) -> tuple[list[str], CommitUnit | None]:
    words, unit = request[2:], None
    if len(words) >= _UNIT_WORDS and words[-_UNIT_WORDS].upper() == b"UNIT":
        at = len(request) - _UNIT_WORDS + 1
        last = Words(request, at, "MQ.TX COMMIT")
        unit = CommitUnit(last.text("UNIT"), last.integer("UNIT, its number,"))
        words = words[:-_UNIT_WORDS]
    return [text_of(_TRANSACTION, word) for word in words], unit


def rollback(session: "RespSession", request: list[bytes]) -> bytes:
    halves, words = session.service.core.halves, request[2:]
    if len(words) == 2 and words[0].upper() == b"PREFIX":
        return replies.integer(halves.rollback_prefix(text_of("PREFIX", words[1])))
    return replies.integer(halves.rollback_all([text_of(_TRANSACTION, word) for word in words]))


def unit(session: "RespSession", request: list[bytes]) -> bytes:
    number = session.service.core.halves.unit(text_of("the name of a unit", request[2]))
    return session.replies.null if number is None else replies.integer(number)


def unknown(session: "RespSession", request: list[bytes]) -> bytes:
    session.service.core.halves.unknown(text_of(_TRANSACTION, request[2]))
    return replies.OK


def listen(session: "RespSession", request: list[bytes]) -> bytes:
    group = text_of(_GROUP, request[2])
    if session.replies.version == 2:
        raise CommandError("ERR MQ.TX LISTEN: questions are pushed, which needs RESP3: send HELLO 3 first")
    connection = connection_of(session)
    if group not in connection.listening:
        connection.check_room(len(connection.listening))
        connection.listening[group] = session.service.core.halves.listen(group, _asking(session, group))
    return replies.OK


def _asking(session: "RespSession", group: str) -> Callable[[str, int, Record], None]:
    def ask(transaction: str, number: int, record: Record) -> None:
        facts = {
            "id": replies.bulk(header(record[4], ID) or b""),
            "topic": replies.text(target_of(record)),
            **content_facts(replies.RESP3, record),
        }
        words = [
            _CHECK, replies.text(group), replies.text(transaction), replies.integer(number),
            map_reply(replies.RESP3, facts),
        ]  # fmt: skip
        session.write(replies.RESP3.push(words))

    return ask


def unlisten(session: "RespSession", request: list[bytes]) -> bytes:
    listening = session.mq.listening if session.mq is not None else {}
    stop = listening.pop(text_of(_GROUP, request[2]), None)
    if stop is not None:
        stop()
    return replies.OK


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 2, "MQ.TX LIST")
    group = None
    while words:
        match words.option():
            case "GROUP":
                group = words.text("GROUP")
            case other:
                raise words.unknown(other)
    return replies.array([
        map_reply(session.replies, {
            "transaction": replies.text(each.name),
            "group": replies.text(each.group),
            "messages": replies.integer(each.messages),
            "born": replies.integer(each.born_ms),
            "checks": replies.integer(each.checks),
            "next": replies.integer(each.next_ms),
        })
        for each in session.service.core.halves.list(group)
    ])  # fmt: skip
