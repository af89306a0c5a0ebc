"""Share sessions: epochs, connections, and what happens to acquired messages when they end."""

from collections.abc import Callable

import pytest

from onemq.core.group import Group
from onemq.core.redelivery import Immediate
from onemq.errors import ReadOnly
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.sharing.sessions import ShareSession, ShareSessions
from tests.unit.core.broker import SECOND_MS, Broker, in_memory


class Connection:
    """A connection that can be lost."""

    def __init__(self) -> None:
        self.on_lost: dict[Callable[[], None], None] = {}

    def lose(self) -> None:
        for each in list(self.on_lost):
            each()


class Sessions:
    """Sessions on one topic with messages."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        broker.topic()
        self.group: Group = broker.group(policy=Immediate(5))
        broker.send(b"0", b"1", b"2")
        self.sessions = ShareSessions(broker.core)

    def open(self, connection: Connection, member: str = "m") -> ShareSession:
        with self.broker.turn():
            session = self.sessions.open("g", member, connection)
            self.sessions.join(session, self.group)
        return session

    def acquire(self, member: str = "m") -> list[int]:
        return [count for _, _, count in self.broker.receive(self.group, member)]

    def refusal(self, epoch: int, member: str = "m") -> ErrorCode:
        with pytest.raises(Refused) as refused:
            self.sessions.check("g", member, epoch)
        return refused.value.error


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(in_memory())


def test_the_epoch_goes_on_with_each_request(sessions: Sessions) -> None:
    session = sessions.open(Connection())
    for epoch in (1, 2, 3):
        assert sessions.sessions.check("g", "m", epoch) is session


def test_after_the_last_epoch_comes_the_first(sessions: Sessions) -> None:
    session = sessions.open(Connection())
    session.epoch = (1 << 31) - 1
    sessions.sessions.check("g", "m", session.epoch)
    assert session.epoch == 1


@pytest.mark.parametrize("epoch", [2, 5])
def test_a_wrong_epoch_is_refused(sessions: Sessions, epoch: int) -> None:
    sessions.open(Connection())
    assert sessions.refusal(epoch) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    sessions.sessions.check("g", "m", 1)
    assert sessions.refusal(1) == ErrorCode.INVALID_SHARE_SESSION_EPOCH


@pytest.mark.parametrize("epoch", [1, -1])
def test_without_a_session_there_is_nothing_to_go_on_with(sessions: Sessions, epoch: int) -> None:
    assert sessions.refusal(epoch) == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_there_are_so_many_sessions_only(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.protocols.kafka.sharing.sessions.SHARE_SESSIONS_MAX", 1)
    connection = Connection()
    sessions.open(connection)
    with pytest.raises(Refused) as refused:
        sessions.open(connection, "n")
    assert refused.value.error == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.open(connection)


def test_a_lost_connection_gives_everything_back_and_it_counts(sessions: Sessions) -> None:
    connection = Connection()
    sessions.open(connection)
    assert sessions.acquire() == [1, 1, 1]
    with sessions.broker.turn():
        connection.lose()
    assert len(sessions.sessions) == 0
    assert "m" not in sessions.group.members
    assert sessions.acquire("n") == [2, 2, 2]


def test_a_closed_session_gives_everything_back_untried(sessions: Sessions) -> None:
    connection = Connection()
    session = sessions.open(connection)
    sessions.acquire()
    with sessions.broker.turn():
        sessions.sessions.close(session)
    assert connection.on_lost == {}
    assert sessions.acquire("n") == [1, 1, 1]


def test_a_session_that_begins_anew_on_its_connection_keeps_what_was_acquired(sessions: Sessions) -> None:
    connection = Connection()
    sessions.open(connection)
    sessions.acquire()
    sessions.open(connection)
    assert sessions.group.members["m"].in_flight == 3
    with sessions.broker.turn():
        connection.lose()
    assert sessions.acquire("n") == [2, 2, 2]


def test_another_connection_takes_a_member_over_and_gives_back_what_it_had(sessions: Sessions) -> None:
    old, new = Connection(), Connection()
    sessions.open(old)
    sessions.acquire()
    sessions.open(new)
    assert sessions.group.members["m"].in_flight == 0
    assert sessions.acquire() == [2, 2, 2]
    with sessions.broker.turn():
        old.lose()
    assert sessions.group.members["m"].in_flight == 3


def test_while_nothing_can_be_written_messages_go_back_later(sessions: Sessions) -> None:
    connection = Connection()
    sessions.open(connection)
    sessions.acquire()
    sessions.broker.core.stage.refusal = ReadOnly("the disk is full")
    connection.lose()
    assert sessions.group.members["m"].in_flight == 3
    sessions.broker.pass_ms(SECOND_MS)
    sessions.broker.core.stage.refusal = None
    sessions.broker.pass_ms(SECOND_MS)
    assert "m" not in sessions.group.members


def test_a_session_without_a_group_ends_quietly(sessions: Sessions) -> None:
    connection = Connection()
    sessions.open(connection)
    with sessions.broker.turn() as core:
        core.topics.delete("t")
    with sessions.broker.turn():
        connection.lose()
    assert len(sessions.sessions) == 0


def test_topics_take_turns(sessions: Sessions) -> None:
    session = sessions.open(Connection())
    session.places = {(b"a", 0): None, (b"b", 1): None, (b"a", 2): None}
    assert [list(session.by_topic().items()) for _ in range(2)] == [
        [(b"b", [1]), (b"a", [0, 2])],
        [(b"a", [0, 2]), (b"b", [1])],
    ]
