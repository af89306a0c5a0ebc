"""Administration: topics, groups, the schedule, dead letters, and looking without changing anything.

Facts about topics, groups and timers are dictionaries with the broker's own names; messages are messages.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack, cast

from onemq.client.connection import Word
from onemq.client.grouping import Assign, GroupSettings, Order, Start, start_words
from onemq.client.link import Link
from onemq.client.message import Message, from_map
from onemq.client.replies import mapping, plain
from onemq.client.retry import Policy
from onemq.client.times import Duration, Time, duration_word, time_word
from onemq.errors import NotFound

Facts = dict[str, Any]
Rows = list[Facts]
Messages = list[Message]
ADMIN_SECONDS = 30.0
"""How long the broker may take to answer."""


class Asking:
    """Asks over a link."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def _ask(self, *words: Word) -> Any:
        return await self._link.request(*words, timeout=ADMIN_SECONDS)

    async def _facts(self, *words: Word) -> Facts:
        return _facts(await self._ask(*words))

    async def _rows(self, *words: Word) -> Rows:
        return [_facts(each) for each in await self._ask(*words)]

    async def _messages(self, *words: Word) -> Messages:
        return [from_map(mapping(each)) for each in await self._ask(*words) or ()]


def _facts(reply: Any) -> Facts:
    """A map with text in place of bytes; a body stays as it is."""
    fields = mapping(reply)
    return {name: value if name == "body" else plain(value) for name, value in fields.items()}


class TopicOptions(TypedDict, total=False):
    """The settings of a topic."""

    kind: Literal["stream", "queue"]
    flush: Literal["sync", "async"]
    retention: Duration | Literal["none"]
    retention_bytes: int | Literal["none"]
    """Per partition."""
    compact: bool
    """Keep the last message of each key."""
    max_bytes: int
    """Of a message."""
    expires: Duration | Literal["none"]
    """Of every message."""
    expired: Literal["drop", "dead"]
    """What becomes of a message that has expired."""
    trace: bool
    """Remember what happens to each message."""


class GroupOptions(TypedDict, total=False):
    """The settings of a group."""

    retry: Policy
    dead_topic: str
    lease: Duration | Literal["none"]
    filter: str
    order: Order
    assign: Assign
    once_by: str
    once_window: Duration


class AsyncTopics(Asking):
    """`client.topics`"""

    async def create(
        self, topic: str, partitions: int = 1, *, if_not_exists: bool = False, **options: Unpack[TopicOptions]
    ) -> None:
        """Makes a topic."""
        existing: tuple[Word, ...] = ("IFNOTEXISTS",) if if_not_exists else ()
        await self._ask("MQ.TOPIC", "CREATE", topic, "PARTITIONS", partitions, *_topic_words(options), *existing)

    async def alter(self, topic: str, *, partitions: int | None = None, **options: Unpack[TopicOptions]) -> None:
        """Changes what is given. The number of partitions can only grow."""
        more: tuple[Word, ...] = () if partitions is None else ("PARTITIONS", partitions)
        await self._ask("MQ.TOPIC", "ALTER", topic, *more, *_topic_words(options))

    async def info(self, topic: str) -> Facts:
        """Settings, sizes, groups and offsets of a topic."""
        return await self._facts("MQ.TOPIC", "INFO", topic)

    async def list(self, match: str | None = None) -> Rows:
        """All topics whose name fits a pattern, with * and ?."""
        return await self._rows("MQ.TOPIC", "LIST", *(() if match is None else ("MATCH", match)))

    async def delete(self, *topics: str) -> int:
        """Deletes topics with their messages and groups; how many there were."""
        return int(await self._ask("MQ.TOPIC", "DELETE", *topics))


class AsyncGroups(Asking):
    """`client.groups`"""

    async def create(
        self,
        topic: str,
        group: str,
        *,
        start: Start = "first",
        if_not_exists: bool = False,
        **options: Unpack[GroupOptions],
    ) -> None:
        """Makes a group."""
        existing: tuple[Word, ...] = ("IFNOTEXISTS",) if if_not_exists else ()
        words = (*start_words(start), *GroupSettings(**options).words(), *existing)
        await self._ask("MQ.GROUP", "CREATE", topic, group, "FROM", *words)

    async def alter(self, topic: str, group: str, **options: Unpack[GroupOptions]) -> None:
        """Changes what is given."""
        await self._ask("MQ.GROUP", "ALTER", topic, group, *GroupSettings(**options).words())

    async def info(self, topic: str, group: str) -> Facts:
        """Settings, lag, what is in flight, members, and the position on each partition."""
        return await self._facts("MQ.GROUP", "INFO", topic, group)

    async def list(self, topic: str) -> Rows:
        """All groups of a topic."""
        return await self._rows("MQ.GROUP", "LIST", topic)

    async def seek(self, topic: str, group: str, to: Start, partition: int | None = None) -> None:
        """Moves a group to the first message, behind the last, to an offset or a time."""
        where: tuple[Word, ...] = () if partition is None else ("PARTITION", partition)
        await self._ask("MQ.GROUP", "SEEK", topic, group, *start_words(to), *where)

    async def reset(self, topic: str, group: str) -> None:
        """Everything that is kept, again."""
        await self._ask("MQ.GROUP", "RESET", topic, group)

    async def delete(self, topic: str, group: str) -> bool:
        """Forgets a group; whether there was one."""
        return bool(await self._ask("MQ.GROUP", "DELETE", topic, group))

    async def pending(
        self, topic: str, group: str, *, member: str | None = None, count: int | None = None
    ) -> Rows:
        """What is in flight or waits for a retry: receipt, member, since, idle, deliveries, due, history."""
        words: list[Word] = []
        words += [] if member is None else ["MEMBER", member]
        words += [] if count is None else ["COUNT", count]
        return await self._rows("MQ.PENDING", topic, group, *words)

    async def claim(self, topic: str, group: str, member: str, idle: Duration, count: int = 100) -> Messages:
        """Takes over for a member what others have had for so long."""
        words = ("MQ.CLAIM", topic, group, member, "IDLE", duration_word(idle), "COUNT", count)
        return await self._messages(*words)


class AsyncSchedule(Asking):
    """`client.schedule`: delayed and repeated messages."""

    async def list(self, topic: str | None = None, count: int = 100, after: str | None = None) -> Rows:
        """Those that are due next."""
        return (await self.page(topic, count, after))[1]

    async def page(
        self, topic: str | None = None, count: int = 100, after: str | None = None
    ) -> tuple[str | None, Rows]:
        """The same, with what `after` takes to go on; None at the end."""
        words: list[Word] = ["COUNT", count]
        words += [] if topic is None else ["TOPIC", topic]
        words += [] if after is None else ["AFTER", after]
        cursor, rows = await self._ask("MQ.SCHEDULE", "LIST", *words)
        return (None if cursor is None else str(plain(cursor))), [_facts(each) for each in rows]

    async def get(self, id: str) -> Facts:
        """One of them. Raises `NotFound`."""
        found = await self._ask("MQ.SCHEDULE", "GET", id)
        if found is None:
            raise NotFound(f"nothing waits under {id}: it came, was cancelled, or never was")
        return _facts(found)

    async def cancel(self, *ids: str) -> int:
        """They are never sent; how many were there."""
        return int(await self._ask("MQ.SCHEDULE", "CANCEL", *ids))

    async def move(self, id: str, *, delay: Duration | None = None, at: Time | None = None) -> None:
        """Due after a delay from now, or at a time."""
        when: tuple[Word, Word] = ("DELAY", duration_word(delay or 0)) if at is None else ("AT", time_word(at))
        await self._ask("MQ.SCHEDULE", "MOVE", id, *when)


class AsyncDead(Asking):
    """`client.dead`: dead letters, named by the topic that they come from."""

    async def list(
        self, topic: str, *, group: str | None = None, filter: str | None = None, count: int | None = None
    ) -> Messages:
        """Dead letters; `message.dead` says why."""
        words = [*_which(group, filter, None), *(() if count is None else ("COUNT", count))]
        return await self._messages("MQ.DEAD", "LIST", topic, *words)

    async def get(self, topic: str, id: str) -> Message:
        """One of them. Raises `NotFound`."""
        found = await self._ask("MQ.DEAD", "GET", topic, id)
        if found is None:
            raise NotFound(f"there is no dead letter {id} of topic {topic!r}")
        return from_map(mapping(found))

    async def replay(
        self,
        topic: str,
        *,
        group: str | None = None,
        filter: str | None = None,
        ids: Sequence[str] | None = None,
        count: int | None = None,
        dry_run: bool = False,
    ) -> Facts:
        """Sends them back to where they come from: found, sent. With `dry_run` it only counts."""
        words: list[Word] = [] if count is None else ["COUNT", count]
        words += ["DRYRUN"] if dry_run else []
        return await self._facts("MQ.DEAD", "REPLAY", topic, *words, *_which(group, filter, ids))

    async def purge(
        self,
        topic: str,
        *,
        group: str | None = None,
        filter: str | None = None,
        ids: Sequence[str] | None = None,
    ) -> int:
        """Removes them for good; how many."""
        return int(await self._ask("MQ.DEAD", "PURGE", topic, *_which(group, filter, ids)))


class AsyncLooking(Asking):
    """Looks at messages and changes nothing."""

    async def search(
        self,
        topic: str,
        *,
        id: str | None = None,
        key: str | bytes | None = None,
        since: Time | None = None,
        until: Time | None = None,
        filter: str | None = None,
        partition: int | None = None,
        count: int = 10,
        newest: bool = False,
    ) -> Messages:
        """Messages by id, key, time or filter."""
        words: list[Word] = ["COUNT", count]
        words += [] if id is None else ["ID", id]
        words += [] if key is None else ["KEY", key]
        words += [] if since is None else ["FROM", time_word(since)]
        words += [] if until is None else ["TO", time_word(until)]
        words += [] if filter is None else ["FILTER", filter]
        words += [] if partition is None else ["PARTITION", partition]
        words += ["NEWEST"] if newest else []
        return await self._messages("MQ.SEARCH", topic, *words)

    async def trace(self, topic: str, id: str) -> Facts:
        """What happened to a message: its fields, and `events`."""
        return await self._facts("MQ.TRACE", topic, id)

    async def read(
        self,
        topic: str,
        *,
        partition: int | None = None,
        start: Start | None = None,
        count: int = 100,
        wait: Duration = 0,
        filter: str | None = None,
    ) -> Messages:
        """Messages from a place on."""
        words: list[Word] = ["COUNT", count]
        words += [] if partition is None else ["PARTITION", partition]
        if start is not None:
            words += start_words(start) if isinstance(start, int) else ["FROM", *start_words(start)]
        words += ["WAIT", duration_word(wait)] if wait else []
        words += [] if filter is None else ["FILTER", filter]
        return await self._messages("MQ.READ", topic, *words)

    async def offsets(self, topic: str, at: Time | None = None) -> list[tuple[int, ...]]:
        """(partition, first, end) of each partition, and with a time the offset there."""
        words: tuple[Word, ...] = () if at is None else ("TIME", time_word(at))
        return [tuple(row) for row in await self._ask("MQ.OFFSETS", topic, *words)]


    async def transactions(self, group: str | None = None) -> Rows:
        """Transactions of half messages that are neither committed nor rolled back."""
        return await self._rows("MQ.TX", "LIST", *(() if group is None else ("GROUP", group)))


def _which(group: str | None, filter: str | None, ids: Sequence[str] | None) -> list[Word]:
    words: list[Word] = []
    words += [] if group is None else ["GROUP", group]
    words += [] if filter is None else ["FILTER", filter]
    words += [] if ids is None else ["IDS", *ids]
    return words


def _topic_words(options: TopicOptions) -> list[Word]:
    words: list[Word] = []
    for name, value in options.items():
        word: Any = value
        if name in ("retention", "expires") and value != "none":
            word = duration_word(cast(Duration, value))
        elif isinstance(value, bool):
            word = "YES" if value else "NO"
        words += [name.replace("_", "").upper(), word]
    return words
