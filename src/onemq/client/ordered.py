"""Lanes of an ordered consumer: messages of one partition, or of one key, are handled one after the other.

The broker hands them out in order. Here it is kept: while one is handled, those behind it wait. When one of a partition
fails or is given back, the broker takes back by itself everything behind it, and hands it out again after it. So the
lane is shut until the broker has confirmed: what waits in it, and what still comes before the confirmation, was taken
back. Of a key the broker hands out one at a time.
"""

import threading
from collections import deque
from collections.abc import Hashable
from typing import Literal

from onemq.client.message import Message


class Lanes:
    """Decides who may be handled. Used by several threads."""

    def __init__(self, order: Literal["partition", "key"]) -> None:
        self._by_key = order == "key"
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, deque[Message]] = {}
        """What waits behind the one that is handled, by lane; a lane that is not in here is free."""
        self._shut: dict[Hashable, int] = {}
        """Lanes of which one goes back, with how many the broker has not confirmed yet."""

    def lane(self, message: Message) -> Hashable | None:
        """What it is ordered by; None: by nothing, because it has no key."""
        return message.ordering_key if self._by_key else message.partition

    def enter(self, message: Message) -> Literal["now", "later", "back", "gone"]:
        """Whether it is handled now, later by what `leave` returns, goes back to the broker, or was taken back."""
        lane = self.lane(message)
        if lane is None:
            return "now"
        with self._lock:
            if lane in self._shut:
                return "back" if self._by_key else "gone"
            if lane in self._waiting:
                self._waiting[lane].append(message)
                return "later"
            self._waiting[lane] = deque()
            return "now"

    def leave(self, message: Message) -> Message | None:
        """Its handler has ended: the next one of its lane, if one waits."""
        lane = self.lane(message)
        if lane is None:
            return None
        with self._lock:
            waiting = self._waiting.get(lane)
            if waiting:
                return waiting.popleft()
            self._waiting.pop(lane, None)
            return None

    def shut(self, message: Message) -> None:
        """It will be handed out again. Said before the broker is told; the lane stays shut until `opened`."""
        lane = self.lane(message)
        if lane is not None:
            with self._lock:
                self._shut[lane] = self._shut.get(lane, 0) + 1
                if lane in self._waiting:
                    self._waiting[lane].clear()

    def opened(self, message: Message) -> None:
        """The broker knows: what comes from now on is in order again."""
        lane = self.lane(message)
        if lane is not None:
            with self._lock:
                self._shut[lane] -= 1
                if not self._shut[lane]:
                    del self._shut[lane]

    def clear(self) -> list[Message]:
        """Everything that waits, to be given back or forgotten; what is handled goes on."""
        with self._lock:
            found = [message for waiting in self._waiting.values() for message in waiting]
            for waiting in self._waiting.values():
                waiting.clear()
            return found
