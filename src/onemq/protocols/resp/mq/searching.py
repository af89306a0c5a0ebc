"""MQ.SEARCH: messages by id, key, time and filter. It changes nothing."""

from typing import TYPE_CHECKING

from onemq.core.scan import ScanResult
from onemq.core.search import Query
from onemq.limits import SEARCH_COUNT_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.messages import message_reply
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def search(session: "RespSession", request: list[bytes]) -> bytes:
    query = _query(Words(request, 2, "MQ.SEARCH"))
    topic = existing_topic(session, request[1])
    answer = Answer(session, replies.EMPTY_ARRAY)

    def found(result: ScanResult) -> None:
        if result.error is not None:
            answer.fail(result.error)
        else:
            shown = [message_reply(session, topic, number, record) for number, record in result.found]
            answer.give(replies.array(shown))

    scan = session.service.core.searching.search(topic.name, query, found)
    if scan is not None:
        answer.stop = scan.cancel
        while session.atomic and not (scan.over or scan.busy):  # in a transaction all at once
            scan.step()
    return answer.reply()


def _query(words: Words) -> Query:
    id, key, from_ms, to_ms, filter, number, count, newest = None, None, None, None, None, None, 10, False
    while words:
        match words.option():
            case "ID":
                id = words.text("ID")
            case "KEY":
                key = words.value("KEY")
            case "FROM":
                from_ms = words.time_ms("FROM")
            case "TO":
                to_ms = words.time_ms("TO")
            case "FILTER":
                filter = words.filter()
            case "PARTITION":
                number = words.integer("PARTITION")
            case "COUNT":
                count = words.integer("COUNT", 1, SEARCH_COUNT_MAX)
            case "NEWEST":
                newest = True
            case other:
                raise words.unknown(other)
    return Query(id, key, from_ms, to_ms, filter, number, count, newest)
