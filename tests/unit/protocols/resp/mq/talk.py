"""A broker that is talked to in MQ.* commands over several connections, one command in each turn."""

import shlex
from typing import Any

import hiredis

from onemq.protocols.resp.service import RespService, ServerFacts
from tests.unit.core.broker import Broker, simulated
from tests.unit.protocols.resp.fakes import FakePeer, encode

FACTS = ServerFacts("r" * 40, 77, 0, 6379, "", 50, lambda: 1, lambda: 1)


class Connection:
    """One client. What it is told, pushes included, is kept until it is looked at."""

    def __init__(self, talk: "Talk", resp3: bool = True) -> None:
        self._talk = talk
        self.peer = FakePeer()
        self.session = talk.service.connect(self.peer)
        self._reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
        self.pushes: list[list[Any]] = []
        if resp3:
            self("HELLO", "3")

    def __call__(self, *words: str | bytes) -> Any:
        """The reply to a command, given as words, or as one line to be split."""
        if len(words) == 1 and isinstance(words[0], str):
            words = tuple(shlex.split(words[0]))
        with self._talk.broker.turn():
            self.session.receive(encode(*words))
        return self.reply()

    def reply(self) -> Any:
        """The reply that came since, or None if there is none yet; pushes are put aside."""
        found = [None]
        for frame in self._frames():
            if isinstance(frame, hiredis.PushNotification):
                self.pushes.append(list(frame))
            else:
                found = [frame] if found == [None] else [*found, frame]
        assert len(found) == 1, found
        return found[0]

    def _frames(self) -> list[Any]:
        self._reader.feed(b"".join(self.peer.sent))
        self.peer.sent.clear()
        frames = []
        while (frame := self._reader.gets()) is not False:
            frames.append(frame)
        return frames

    def pushed(self) -> list[tuple[int, int, str]]:
        """(partition, offset, body) of the messages that were pushed since."""
        assert self.reply() is None
        pushes, self.pushes = self.pushes, []
        assert all(push[0] == "mq.messages" for push in pushes), pushes
        items = [item for push in pushes for item in push[2]]
        return [(items[at], items[at + 1], items[at + 5]) for at in range(0, len(items), 7)]

    def ended(self) -> list[tuple[int, str]]:
        """(subscription, reason) of those that ended by themselves."""
        assert self.reply() is None
        pushes, self.pushes = self.pushes, []
        return [(push[1], push[2]) for push in pushes if push[0] == "mq.ended"]

    def lose(self) -> None:
        """The connection ends."""
        with self._talk.broker.turn():
            self.session.lost()


class Talk:
    """A broker on a simulated disk; every turn is checked against what the log says."""

    def __init__(self, broker: Broker | None = None) -> None:
        self.broker = broker or simulated()
        self.service = RespService(self.broker.core, FACTS)

    def connect(self, resp3: bool = True) -> Connection:
        return Connection(self, resp3)

    def pass_ms(self, duration_ms: int) -> None:
        self.broker.pass_ms(duration_ms)

    def restart(self) -> None:
        """The broker is killed and started again; all connections are gone."""
        self.broker.restart()
        self.service = RespService(self.broker.core, FACTS)


def refused(reply: Any) -> str:
    """The text of an error reply."""
    assert isinstance(reply, hiredis.ReplyError), reply
    return str(reply)
