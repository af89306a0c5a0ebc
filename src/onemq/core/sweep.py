"""The sweep: what groups do with messages although nobody asks for any.

A message that expires becomes a dead letter where its topic wants that, also if no receiver ever comes: the sweep
looks at the next messages of each group. And the keys that groups remember are forgotten when their time is up.
"""

from onemq.core.cursor import Cursor
from onemq.core.groups import Groups
from onemq.core.screening import Screening
from onemq.core.supply import Supply
from onemq.core.topics import Topics
from onemq.limits import EXPIRED_PER_ROUND_MAX


class Sweep:
    """Rounds of the housekeeping."""

    def __init__(self, topics: Topics, groups: Groups, supply: Supply, screening: Screening) -> None:
        self._topics = topics
        self._groups = groups
        self._supply = supply
        self._screening = screening

    def bury_expired(self, now_ms: int) -> None:
        """Makes dead letters of expired messages at the heads of groups."""
        left = EXPIRED_PER_ROUND_MAX
        for topic in self._topics:
            if topic.config.expired == "dead" and not topic.internal:
                for group in list(topic.groups.values()):
                    for cursor in group.cursors:
                        left -= self._bury_heads(cursor, left)

    def _bury_heads(self, cursor: Cursor, most: int) -> int:
        buried = 0
        for lane in cursor.waiting_lanes() if not cursor.busy else ():
            cursor.turn_to(lane)
            buried += self._bury_head(cursor, most - buried)
        return buried

    def _bury_head(self, cursor: Cursor, most: int) -> int:
        buried = 0
        while buried < most and cursor.has_fresh and self._supply.look_ahead(cursor):
            found = self._screening.bury_expired(cursor, most - buried)
            buried += found
            if not found:
                break
        return buried

    def forget_once(self, now_ms: int) -> None:
        """Groups forget keys whose time is up."""
        for topic in self._topics:
            for group in topic.groups.values():
                if group.once_keys is not None and group.once_keys.is_stale(now_ms):
                    self._groups.forget_once(group)
