"""MQ.TX: what becomes of half messages, and who is asked about it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.core.parking import target_of
from onemq.message import ID, Record, header
from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.connection import connection_of
from onemq.protocols.resp.mq.messages import content_facts, map_reply

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CHECK = replies.text("mq.check")
_TRANSACTION, _GROUP = "the name of a transaction", "the name of a producer group"


def commit(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.halves.commit(text_of(_TRANSACTION, request[2])).messages)


def rollback(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.integer(session.service.core.halves.rollback(text_of(_TRANSACTION, request[2])).messages)


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
