"""The settings of a group as code gives them, and as MQ.GROUP takes them."""

from dataclasses import dataclass
from typing import Literal

from onemq.client.connection import Connection, Word
from onemq.client.replies import is_code, raised
from onemq.client.retry import Policy
from onemq.client.times import Duration, Time, duration_word, time_word
from onemq.errors import InvalidArgument

Start = Literal["first", "last"] | int | Time
"""Where a new group begins: at the first kept message, with what comes now, at an offset (int), or at a time."""
Order = Literal["none", "partition", "key"]
Assign = Literal["none", "average", "circle", "config", "room", "hash"]


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What was said; None: as it is, or by default."""

    start: Start | None = None
    retry: Policy | None = None
    dead_topic: str | None = None
    lease: Duration | Literal["none"] | None = None
    filter: str | None = None
    order: Order | None = None
    assign: Assign | None = None
    once_by: str | None = None
    """"key", "id", or the name of a header: messages of which one was handled already are passed over."""
    once_window: Duration | None = None

    def words(self) -> list[Word]:
        """All but the start."""
        words: list[Word] = []
        if self.retry is not None:
            words += ["RETRY", *self.retry.words()]
        if self.dead_topic is not None:
            words += ["DEAD", self.dead_topic]
        if self.lease is not None:
            words += ["LEASE", "NONE" if self.lease == "none" else duration_word(self.lease)]
        if self.filter is not None:
            words += ["FILTER", self.filter]
        if self.order is not None:
            words += ["ORDER", self.order.upper()]
        if self.assign is not None:
            words += ["ASSIGN", self.assign.upper()]
        if self.once_by is not None:
            words += ["ONCE", *_once(self.once_by)]
            if self.once_window is not None:
                words += ["WITHIN", duration_word(self.once_window)]
        return words


def start_words(start: Start) -> list[Word]:
    """Where to begin."""
    if isinstance(start, int):
        return ["OFFSET", start]
    if isinstance(start, str) and start.lower() in ("first", "last"):
        return [start.upper()]
    return ["TIME", time_word(start)]


def _once(by: str) -> list[Word]:
    if not by:
        raise InvalidArgument('once_by is "key", "id", or the name of a header')
    return [by.upper()] if by.lower() in ("key", "id", "none") else ["HEADER", by]


async def ensure_group(
    connection: Connection, topic: str, group: str, settings: GroupSettings, *, alter: bool = True
) -> None:
    """Makes the group, or alters it to what was said."""
    words = settings.words()
    start = ["FROM", *start_words(settings.start)] if settings.start is not None else []
    replies: list[object] = []
    connection.ask(("MQ.TOPIC", "CREATE", topic, "IFNOTEXISTS"), replies.append)
    connection.ask(("MQ.GROUP", "CREATE", topic, group, *start, *words), replies.append)
    await connection.request("PING")
    raised(replies[0])
    if is_code(replies[1], "EXISTS"):
        if words and alter:
            await connection.request("MQ.GROUP", "ALTER", topic, group, *words)
    else:
        raised(replies[1])
