"""MQ.OFFSETS: where the partitions of topics begin and end, and where a time lies in them. It changes nothing."""

from functools import partial
from typing import TYPE_CHECKING

from onemq.core.start import Start, positions
from onemq.core.topics import Topic
from onemq.errors import NotFound
from onemq.limits import MQ_TOPICS_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_LOOKED_UP_PER_TURN = 100
"""Partitions in which a time is looked up, before others get their turn."""


def offsets(session: "RespSession", request: list[bytes]) -> bytes:
    if _is_many(request):
        return _many(session, request)
    time_ms = None
    words = Words(request, 2, "MQ.OFFSETS")
    while words:
        match words.option():
            case "TIME":
                time_ms = words.time_ms("TIME")
            case other:
                raise words.unknown(other)
    return _Offsets(session, [existing_topic(session, request[1])], time_ms, named=False).begin()


def _is_many(request: list[bytes]) -> bool:
    """Whether the words are `[TIME t] TOPICS topic ...`, and not a topic that is called so."""
    words = [word.upper() for word in request[1:4]]
    if words[0] == b"TOPICS":
        return len(words) > 1 and not (words[1] == b"TIME" and len(request) == 4)
    return words[0] == b"TIME" and words[-1] == b"TOPICS" and len(request) > 3


def _many(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 1, "MQ.OFFSETS")
    time_ms = words.time_ms("TIME") if words.option() == "TIME" else None
    if time_ms is not None:
        words.option()
    names = words.rest()
    if not 1 <= len(names) <= MQ_TOPICS_MAX:
        raise words.problem(f"TOPICS needs 1 to {MQ_TOPICS_MAX} topics after it, not {len(names)}")
    return _Offsets(session, [existing_topic(session, name) for name in names], time_ms, named=True).begin()


class _Offsets:
    """One MQ.OFFSETS: a time is looked up in some topics, and in the next ones in the next turn."""

    def __init__(self, session: "RespSession", topics: list[Topic], time_ms: int | None, named: bool) -> None:
        self._session = session
        self._core = session.service.core
        self._topics = topics
        self._time_ms = time_ms
        self._named = named
        """Whether each row tells its topic."""
        self._places: dict[int, list[int]] = {}
        """Where the time lies in the partitions of the topics that it was looked up in, by their place in the list."""
        self._asked = 0
        self._answer = Answer(session, replies.EMPTY_ARRAY)

    def begin(self) -> bytes:
        if self._time_ms is None:
            self._answer.give(self._reply())
        else:
            self._look_up()
        return self._answer.reply()

    def _look_up(self) -> None:
        first, self._asked = self._asked, self._portion_end()
        for index in range(first, self._asked):
            topic = self._topics[index]
            if self._core.topics.by_id(topic.id) is not topic:
                self._answer.fail(NotFound(f"topic {topic.name!r} was deleted in the meantime"))
                return
            positions(self._core.log, topic, Start("time", self._time_ms or 0), partial(self._found, index))

    def _portion_end(self) -> int:
        """How far to go in this turn; in a transaction to the end."""
        end, partitions = self._asked, 0
        while end < len(self._topics) and (partitions < _LOOKED_UP_PER_TURN or self._session.atomic):
            partitions += len(self._topics[end].partitions)
            end += 1
        return end

    def _found(self, index: int, places: list[int]) -> None:
        self._places[index] = places
        if len(self._places) == len(self._topics):
            self._answer.give(self._reply())
        elif len(self._places) == self._asked:
            core = self._core
            self._answer.stop = core.waiting.wait([], core.stage.now_ms + 1, self._look_up).cancel

    def _reply(self) -> bytes:
        return replies.array([row for index, topic in enumerate(self._topics) for row in self._rows(index, topic)])

    def _rows(self, index: int, topic: Topic) -> list[bytes]:
        lead = [replies.text(topic.name), replies.integer(topic.id)] if self._named else []
        rows = [[*lead, *map(replies.integer, (each.number, each.start, each.end))] for each in topic.partitions]
        for row, place in zip(rows, self._places.get(index, ()), strict=False):
            row.append(replies.integer(place))
        return [replies.array(row) for row in rows]
