"""Who waits for elements of lists and sorted sets, in order of arrival.

A command that adds elements marks its key as ready. When it is done, or the whole transaction that it is part of,
those who wait for ready keys take what they came for, the longest waiting first. What one takes may make
another key ready (BLMOVE): it is served in the same go. Only then they are answered and go on with their further
requests, so that nobody who waits longer is overtaken by these.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from onemq.errors import OneMQError
from onemq.protocols.resp.unnested import Unnested

if TYPE_CHECKING:
    from onemq.core.waiting import Wait
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession

Take = Callable[[bytes], bytes | None]
"""Takes what is wanted from under a key and returns the reply, None if there is nothing."""

_FOR_EVER_MS = 100 * 366 * 24 * 3600 * 1000


class Waiter:
    """A session in a blocking command. `empty` is its answer when the time is up; `until_ms` may be None."""

    __slots__ = ("empty", "forget", "keys", "session", "take", "timer", "type_name", "until_ms")

    def __init__(
        self, session: "RespSession", type_name: str, keys: list[bytes], take: Take, empty: bytes, until_ms: int | None
    ) -> None:
        self.session = session
        self.type_name = type_name
        self.keys = keys
        self.take = take
        self.empty = empty
        self.until_ms = until_ms
        self.timer: Wait | None = None
        self.forget: Callable[[], None] = lambda: None


class Blocked:
    """All who wait for keys."""

    def __init__(self, service: "RespService") -> None:
        self._service = service
        self._waiters: dict[bytes, dict[Waiter, None]] = {}
        self._ready: dict[bytes, None] = {}
        self._answers = Unnested()

    def wait(self, waiter: Waiter) -> bytes:
        """Lets the session wait; its command returns what this returns."""
        session = waiter.session
        for key in waiter.keys:
            self._waiters.setdefault(key, {})[waiter] = None
        self._listen(waiter)

        waiter.forget = partial(self._forget, waiter)
        session.on_lost[waiter.forget] = None
        session.unblock = partial(self._unblock, waiter)
        session.wait()
        return b""

    def _unblock(self, waiter: Waiter, error: OneMQError | None) -> None:
        self._answer(waiter, waiter.empty if error is None else waiter.session.refusal(error))

    def _listen(self, waiter: Waiter) -> None:
        core = self._service.core
        until_ms = core.stage.now_ms + _FOR_EVER_MS if waiter.until_ms is None else waiter.until_ms
        waiter.timer = core.waiting.wait([], until_ms, lambda: self._told(waiter))
        core.keys.on_push = self._pushed

    def _told(self, waiter: Waiter) -> None:
        """The time is up; or else the core has begun anew from the log, and there may be something again."""
        if waiter.until_ms is not None and waiter.until_ms <= self._service.now_ms:
            self._answer(waiter, waiter.empty)
            return
        self._listen(waiter)
        self._ready.update(dict.fromkeys(waiter.keys))
        self.serve()

    def _pushed(self, key: bytes) -> None:
        if key in self._waiters:
            self._ready[key] = None
            self._service.afterwards[self.serve] = None

    def serve(self) -> None:
        """Serves those who wait for keys that are ready."""
        if self._service.core.stage.refusal is not None:
            return
        while self._ready:
            key = next(iter(self._ready))
            del self._ready[key]
            self._serve_key(key)
        self._answers.run()

    def _serve_key(self, key: bytes) -> None:
        keys = self._service.core.keys
        while type_name := keys.type_of(key):
            waiters = self._waiters.get(key, ())
            waiter = next((waiter for waiter in waiters if waiter.type_name == type_name), None)
            if waiter is None:
                return
            try:
                reply = waiter.take(key)
            except OneMQError as error:  # the place to which it should go is of a wrong type
                reply = waiter.session.refusal(error)
            assert reply is not None, "there is a list or sorted set, and none is empty"
            self._forget(waiter)
            self._answers.add(partial(waiter.session.go_on, reply))

    def _answer(self, waiter: Waiter, reply: bytes) -> None:
        self._forget(waiter)
        waiter.session.go_on(reply)

    def _forget(self, waiter: Waiter) -> None:
        """It waits no more."""
        for key in waiter.keys:
            waiting = self._waiters.get(key)
            if waiting is not None:
                waiting.pop(waiter, None)
                if not waiting:
                    del self._waiters[key]
        if waiter.timer is not None:
            waiter.timer.cancel()
        waiter.session.unblock = None
        waiter.session.on_lost.pop(waiter.forget, None)
        if not self._waiters:
            self._service.core.keys.on_push = None
