"""Administration, for programs without asyncio. What each does is told in `onemq.client.admin`."""

from collections.abc import Sequence
from typing import Unpack

from onemq.client.admin import (
    AsyncDead,
    AsyncGroups,
    AsyncSchedule,
    AsyncTopics,
    Facts,
    GroupOptions,
    Messages,
    Rows,
    TopicOptions,
)
from onemq.client.grouping import Start
from onemq.client.message import Message
from onemq.client.sync.portal import Portal
from onemq.client.times import Duration, Time


class Topics:
    """`client.topics`"""

    def __init__(self, portal: Portal, made: AsyncTopics) -> None:
        self._call, self._async = portal.call, made

    def create(
        self, topic: str, partitions: int = 1, *, if_not_exists: bool = False, **options: Unpack[TopicOptions]
    ) -> None:
        """Makes a topic."""
        self._call(self._async.create(topic, partitions, if_not_exists=if_not_exists, **options))

    def alter(self, topic: str, *, partitions: int | None = None, **options: Unpack[TopicOptions]) -> None:
        """Changes what is given. The number of partitions can only grow."""
        self._call(self._async.alter(topic, partitions=partitions, **options))

    def info(self, topic: str) -> Facts:
        """Settings, sizes, groups and offsets of a topic."""
        return self._call(self._async.info(topic))

    def list(self, match: str | None = None) -> Rows:
        """All topics whose name fits a pattern, with * and ?."""
        return self._call(self._async.list(match))

    def delete(self, *topics: str) -> int:
        """Deletes topics with their messages and groups; how many there were."""
        return self._call(self._async.delete(*topics))


class Groups:
    """`client.groups`"""

    def __init__(self, portal: Portal, made: AsyncGroups) -> None:
        self._call, self._async = portal.call, made

    def create(
        self,
        topic: str,
        group: str,
        *,
        start: Start = "first",
        if_not_exists: bool = False,
        **options: Unpack[GroupOptions],
    ) -> None:
        """Makes a group."""
        self._call(self._async.create(topic, group, start=start, if_not_exists=if_not_exists, **options))

    def alter(self, topic: str, group: str, **options: Unpack[GroupOptions]) -> None:
        """Changes what is given."""
        self._call(self._async.alter(topic, group, **options))

    def info(self, topic: str, group: str) -> Facts:
        """Settings, lag, what is in flight, members, and the position on each partition."""
        return self._call(self._async.info(topic, group))

    def list(self, topic: str) -> Rows:
        """All groups of a topic."""
        return self._call(self._async.list(topic))

    def seek(self, topic: str, group: str, to: Start, partition: int | None = None) -> None:
        """Moves a group to the first message, behind the last, to an offset or a time."""
        self._call(self._async.seek(topic, group, to, partition))

    def reset(self, topic: str, group: str) -> None:
        """Everything that is kept, again."""
        self._call(self._async.reset(topic, group))

    def delete(self, topic: str, group: str) -> bool:
        """Forgets a group; whether there was one."""
        return self._call(self._async.delete(topic, group))

    def pending(self, topic: str, group: str, *, member: str | None = None, count: int | None = None) -> Rows:
        """What is in flight or waits for a retry."""
        return self._call(self._async.pending(topic, group, member=member, count=count))

    def claim(self, topic: str, group: str, member: str, idle: Duration, count: int = 100) -> Messages:
        """Takes over for a member what others have had for so long."""
        return self._call(self._async.claim(topic, group, member, idle, count))


class Schedule:
    """`client.schedule`: delayed and repeated messages."""

    def __init__(self, portal: Portal, made: AsyncSchedule) -> None:
        self._call, self._async = portal.call, made

    def list(self, topic: str | None = None, count: int = 100, after: str | None = None) -> Rows:
        """Those that are due next."""
        return self._call(self._async.list(topic, count, after))

    def page(self, topic: str | None = None, count: int = 100, after: str | None = None) -> tuple[str | None, Rows]:
        """The same, with what `after` takes to go on; None at the end."""
        return self._call(self._async.page(topic, count, after))

    def get(self, id: str) -> Facts:
        """One of them."""
        return self._call(self._async.get(id))

    def cancel(self, *ids: str) -> int:
        """They are never sent; how many were there."""
        return self._call(self._async.cancel(*ids))

    def move(self, id: str, *, delay: Duration | None = None, at: Time | None = None) -> None:
        """Due after a delay from now, or at a time."""
        self._call(self._async.move(id, delay=delay, at=at))


class Dead:
    """`client.dead`: dead letters, named by the topic that they come from."""

    def __init__(self, portal: Portal, made: AsyncDead) -> None:
        self._call, self._async = portal.call, made

    def list(
        self, topic: str, *, group: str | None = None, filter: str | None = None, count: int | None = None
    ) -> Messages:
        """Dead letters; `message.dead` says why."""
        return self._call(self._async.list(topic, group=group, filter=filter, count=count))

    def get(self, topic: str, id: str) -> Message:
        """One of them."""
        return self._call(self._async.get(topic, id))

    def replay(
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
        return self._call(
            self._async.replay(topic, group=group, filter=filter, ids=ids, count=count, dry_run=dry_run)
        )

    def purge(
        self,
        topic: str,
        *,
        group: str | None = None,
        filter: str | None = None,
        ids: Sequence[str] | None = None,
    ) -> int:
        """Removes them for good; how many."""
        return self._call(self._async.purge(topic, group=group, filter=filter, ids=ids))
