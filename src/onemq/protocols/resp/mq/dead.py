"""MQ.DEAD: the messages that failed for good; looking at them, sending them again, removing them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.core.deadletters import death_of
from onemq.core.filter import Filter
from onemq.core.topics import Topic
from onemq.limits import MQ_COUNT_MAX
from onemq.message import Record, id_of
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.messages import map_reply, message_reply
from onemq.protocols.resp.mq.places import existing_topic
from onemq.protocols.resp.mq.sweep import Act, Sweep
from onemq.protocols.resp.mq.waiting import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from onemq.protocols.resp.session import RespSession

_COUNT = 100
_ALL = 1 << 62


@dataclass(slots=True)
class _Choice:
    """Which dead letters are meant."""

    origin: str | None = None
    """The topic they came from; none: any."""
    group: str | None = None
    ids: frozenset[str] | None = None
    filter: Filter | None = None
    count: int = _ALL
    dry_run: bool = False

    def wants(self, topic: Topic, number: int, letter: Record) -> bool:
        death = death_of(letter)
        if death is None or (self.origin is not None and death.topic != self.origin):
            return False
        if self.group is not None and death.group != self.group:
            return False
        if self.filter is not None and not self.filter.at(topic.id, number).matches(letter):
            return False
        return self.ids is None or id_of(topic.id, number, letter) in self.ids


def list_(session: "RespSession", request: list[bytes]) -> bytes:
    choice = _choice(Words(request, 3, "MQ.DEAD LIST"), "COUNT")
    choice.count = min(choice.count, MQ_COUNT_MAX) if choice.count != _ALL else _COUNT
    found: list[bytes] = []

    def show(topic: Topic, number: int, letters: list[Record]) -> None:
        found.extend(message_reply(session, topic, number, letter) for letter in letters)

    return _sweep(session, request[2], choice, show, lambda: replies.array(found))


def get(session: "RespSession", request: list[bytes]) -> bytes:
    id = request[3].decode(errors="replace")
    choice = _Choice(ids=frozenset((id,)), count=1)
    found = [session.replies.null]

    def show(topic: Topic, number: int, letters: list[Record]) -> None:
        found[0] = message_reply(session, topic, number, letters[0])

    return _sweep(session, request[2], choice, show, lambda: found[0])


def replay(session: "RespSession", request: list[bytes]) -> bytes:
    choice = _choice(Words(request, 3, "MQ.DEAD REPLAY"), "COUNT", "DRYRUN", "IDS")
    core = session.service.core
    if not choice.dry_run:
        core.check_writable()
        core.sending.check()
    found = sent = 0

    def send_again(topic: Topic, number: int, letters: list[Record]) -> None:
        nonlocal found, sent
        found += len(letters)
        if not choice.dry_run:
            sent += core.dead_letters.replay(topic, number, letters)

    def told() -> bytes:
        return map_reply(session.replies, {"found": replies.integer(found), "sent": replies.integer(sent)})

    return _sweep(session, request[2], choice, send_again, told)


def purge(session: "RespSession", request: list[bytes]) -> bytes:
    choice = _choice(Words(request, 3, "MQ.DEAD PURGE"), "COUNT", "IDS")
    core = session.service.core
    core.check_writable()
    removed = 0

    def remove(topic: Topic, number: int, letters: list[Record]) -> None:
        nonlocal removed
        removed += core.dead_letters.delete(topic, number, [letter[0] for letter in letters])

    return _sweep(session, request[2], choice, remove, lambda: replies.integer(removed))


def _choice(words: Words, *allowed: str) -> _Choice:
    choice = _Choice()
    while words:
        match words.option():
            case "GROUP":
                choice.group = words.text("GROUP")
            case "FILTER":
                choice.filter = words.filter()
            case "COUNT" if "COUNT" in allowed:
                choice.count = words.integer("COUNT", 1)
            case "DRYRUN" if "DRYRUN" in allowed:
                choice.dry_run = True
            case "IDS" if "IDS" in allowed:
                choice.ids = frozenset(word.decode(errors="replace") for word in words.rest())
                if not choice.ids:
                    raise words.problem("after IDS come the ids of messages")
                choice.count = min(choice.count, len(choice.ids))
            case other:
                raise words.unknown(other)
    return choice


def _sweep(
    session: "RespSession", word: bytes, choice: _Choice, act: Act, finish: "Callable[[], bytes]"
) -> bytes:
    """Goes through the dead letters of a topic, or through a topic of dead letters."""
    topic = existing_topic(session, word)
    if topic.config.dead:
        topics = [topic]
    else:
        choice.origin = topic.name
        topics = session.service.core.dead_letters.topics_of(topic)
    answer = Answer(session, session.replies.null)
    Sweep(session, topics, choice.wants, choice.count, act, finish, answer).go_on()
    return answer.reply()
