"""A group: a named reading position on a topic, shared by its members. Per partition there is a cursor."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onemq.core.admission import Admission
from onemq.core.assignment import assign
from onemq.core.cursor import Cursor
from onemq.core.delivery import Member
from onemq.core.locks import Locks
from onemq.core.once import OnceKeys
from onemq.core.partition import Partition
from onemq.core.redelivery import Redelivery, from_entry
from onemq.core.settings import GroupConfig as GroupConfig

if TYPE_CHECKING:
    from onemq.core.receive import Receive
    from onemq.core.topics import Topic


class Group:
    """A named set of cursors on a topic."""

    __slots__ = (
        "_assignment", "admission", "config", "cursors", "id", "locks", "members", "name", "once_keys", "policy",
        "rotation", "topic", "waiting",
    )  # fmt: skip

    def __init__(self, id: int, topic: "Topic", name: str, config: GroupConfig) -> None:
        self.id = id
        self.topic = topic
        self.name = name
        self.cursors: list[Cursor] = []
        self.members: dict[str, Member] = {}
        self.waiting: OrderedDict[Receive, None] = OrderedDict()
        """Receivers that found nothing, longest waiting first."""
        self.rotation = 0
        self.config = GroupConfig()
        self.admission: Admission | None = None
        """What decides on each message before it is handed out, if any of the settings asks for that."""
        self.locks: Locks | None = None
        """Which messages wait for others of their keys, in groups where they do."""
        self.once_keys: OnceKeys | None = None
        """The keys of what was acknowledged, in groups that must not hand out a key again."""
        self.set_config(config)

    def set_config(self, config: GroupConfig) -> None:
        """Takes over settings. When those change by which messages wait for others, everything that was handed out
        before must be done before anything new is."""
        levels = [cursor.fresh_low for cursor in self.cursors]
        old, self.config = self.config, config
        if (old.order == "none") != (config.order == "none"):
            for cursor, offset in zip(self.cursors, levels, strict=True):
                cursor.level(offset)
        self.policy: Redelivery | None = from_entry(config.policy) if config.policy else None
        special = config.filter is not None or config.once is not None or config.order != "none"
        self.admission = Admission(config) if special or config.assign != "none" else None
        if self.admission is None or not self.admission.locking:
            if self.locks is not None:
                self.locks.release_all()
            self.locks = None
        elif self.locks is None or (old.order, old.once) != (config.order, config.once):
            self.locks = self.locks or Locks(self)
            self.locks.build_wall()
        self.once_keys = None if config.once is None else self.once_keys or OnceKeys()
        self.members_changed()
        self.look_anew()

    def look_anew(self) -> None:
        """Settings have changed: what was read ahead must be looked at again."""
        for cursor in self.cursors:
            cursor.forget_ahead()

    def members_changed(self) -> None:
        """Members or partitions came or went."""
        self._assignment: Sequence[str | None] | None = None

    @property
    def assignment(self) -> Sequence[str | None]:
        """The member of each partition, in groups that assign them."""
        if self._assignment is None:
            members = {member.name: member.attributes for member in self.members.values()}
            self._assignment = assign(self.config.assign, len(self.cursors), members)
        return self._assignment

    def add_cursor(self, partition: Partition, position: int, begun: bool = False) -> None:
        """The topic has one more partition."""
        cursor = Cursor(self, partition, position)
        cursor.begun = begun
        self.cursors.append(cursor)
        self.members_changed()

    @property
    def available(self) -> bool:
        """Whether any partition has something to hand out."""
        return any(cursor.available for cursor in self.cursors)

    @property
    def lag(self) -> int:
        """Messages not yet acknowledged, over all partitions."""
        return sum(cursor.lag for cursor in self.cursors)
