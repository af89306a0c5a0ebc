"""Members of groups: each belongs to one connection, and its deliveries go back when that ends.

A connection that uses a name for the first time takes it over from whichever has it. The older one is told:
its subscriptions of that member end, and its further requests under that name are refused.
"""

from functools import partial
from typing import TYPE_CHECKING

from onemq.core.assignment import Attributes
from onemq.core.core import Core
from onemq.core.delivery import Member
from onemq.core.group import Group
from onemq.core.group_table import held_by
from onemq.limits import MQ_MEMBERS_MAX
from onemq.protocols.resp.errors import CommandError

if TYPE_CHECKING:
    from onemq.protocols.resp.mq.connection import MqConnection

Key = tuple[int, str]
"""(group, name of the member)"""

_RETRY_MS = 1_000


class Members:
    """Which connection each member belongs to."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._owners: dict[Key, MqConnection] = {}
        self._leaving: set[Key] = set()
        """Members that are gone, which could not be written yet."""

    def bind(
        self, connection: "MqConnection", group: Group, name: str, attributes: Attributes | None = None
    ) -> Member:
        """The member, which belongs to the connection from now on. Raises if another has taken the name over."""
        key = (group.id, name)
        owner = self._owners.get(key)
        if owner is not connection:
            self._take_over(connection, owner, group, key)
        return self._core.groups.join(group, name, leased=True, attributes=attributes)

    def release(self, connection: "MqConnection", key: Key, reason: str) -> None:
        """The member is gone; its deliveries go back and count."""
        if self._owners.get(key) is connection:
            del self._owners[key]
            self._leave(key, reason)

    def give_back(self, key: Key) -> None:
        """The deliveries of a member go back untried."""
        group = self._core.groups.find(key[0])
        member = group.members.get(key[1]) if group is not None else None
        if group is None or member is None:
            return
        offsets: dict[int, list[int]] = {}
        for cursor, offset in held_by(member):
            offsets.setdefault(cursor.partition.number, []).append(offset)
        for number, held in offsets.items():
            self._core.groups.give_back(group, number, held)

    def is_live(self, key: Key) -> bool:
        """Whether the group of a member is still there."""
        return self._core.groups.find(key[0]) is not None

    def _take_over(self, connection: "MqConnection", owner: "MqConnection | None", group: Group, key: Key) -> None:
        if key in connection.lost:
            raise CommandError(
                f"FENCED another connection is member {key[1]!r} of group {group.name!r} now: use another name, or "
                "connect again"
            )
        if len(connection.members) >= MQ_MEMBERS_MAX:
            connection.forget_gone()
            connection.check_room(len(connection.members))
        self._core.stage.check()
        if owner is not None:
            owner.lose(key, "another connection took the member over")
        if owner is not None or key in self._leaving:
            self._leave(key, "another connection took the member over")
        self._owners[key] = connection
        connection.members[key] = None

    def _leave(self, key: Key, reason: str) -> None:
        group = self._core.groups.find(key[0])
        self._leaving.discard(key)
        if group is None:
            return
        if self._core.stage.refusal is None:
            self._core.groups.leave(group, key[1], reason)
        else:
            self._leaving.add(key)
            self._core.waiting.wait([], self._core.stage.now_ms + _RETRY_MS, partial(self._leave_late, key, reason))

    def _leave_late(self, key: Key, reason: str) -> None:
        if key in self._leaving:
            self._leave(key, reason)
