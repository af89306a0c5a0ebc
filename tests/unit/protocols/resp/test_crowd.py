"""Requests of many connections that are alike are answered, and change things, as if each had come by itself."""

from random import Random

import pytest

from onemq.core.core import Core
from onemq.log.memory import MemoryLog
from onemq.protocols import Arrived
from onemq.protocols.resp.crowd import receive_alike
from onemq.protocols.resp.shape import shape_of
from tests.unit.protocols.resp.fakes import NOW_MS, Client, encode, make_service

CLIENTS = 6


class World:
    """Some clients of one service, and what arrives of them in one iteration of the loop."""

    def __init__(self, *before: tuple[str, ...]) -> None:
        self.service = make_service()
        self.service.core = Core(MemoryLog())
        self.service.core.recover(NOW_MS)
        self.service.core.tick(NOW_MS)
        self.clients = [Client(self.service) for _ in range(CLIENTS)]
        for words in before:
            self.clients[0].call(*words)
        for client in self.clients:
            client.peer.sent.clear()

    def together(self, *data: bytes) -> int:
        """What the first clients sent. Returns how many were served together."""
        arrived: Arrived = [(client.peer, each) for client, each in zip(self.clients, data, strict=False)]
        at = together = 0
        while at < len(arrived):
            count = receive_alike(arrived, at) if at + 1 < len(arrived) else 0
            single = max(-count, 1) if count <= 0 else 0
            for peer, each in arrived[at : at + single]:
                peer.session.receive(each)
            together += max(count, 0)
            at += single or count
        return together

    def apart(self, *data: bytes) -> None:
        for client, each in zip(self.clients, data, strict=False):
            client.session.receive(each)

    @property
    def sent(self) -> list[bytes]:
        return [b"".join(client.peer.sent) for client in self.clients]


STREAM = (("XADD", "s", "*", "f", "0"), ("XGROUP", "CREATE", "s", "g", "0"))
ALIKE = {
    "XADD": [("XADD", "s", "*", "f", str(number)) for number in range(CLIENTS)],
    "LPUSH": [("LPUSH", "l", str(number)) for number in range(CLIENTS)],
    "RPUSH": [("RPUSH", "l", "\r$") for _ in range(CLIENTS)],
    "RPOP": [("RPOP", "l")] * CLIENTS,
    "LPOP of nothing": [("LPOP", "none")] * CLIENTS,
    "GET": [("GET", "kkv"[number % 3]) for number in range(CLIENTS)],
    "INCR": [("INCR", "n")] * CLIENTS,
}
BEFORE = (*STREAM, ("RPUSH", "l", "a", "b", "c"), ("SET", "k", "value"))


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("depth", [1, 3])
def test_a_crowd_gets_what_each_would_get_by_itself(name: str, depth: int) -> None:
    crowd, single = World(*BEFORE), World(*BEFORE)
    data = [encode(*words) * depth for words in ALIKE[name]]
    assert crowd.together(*data) == CLIENTS
    single.apart(*data)
    assert crowd.sent == single.sent
    assert crowd.service.core.keys.dump() == single.service.core.keys.dump()
    assert crowd.service.commands_processed == single.service.commands_processed
    assert {client.session.last_command.name for client in crowd.clients} == {name.split()[0].lower()}


def test_as_many_values_as_clients_who_ask_for_more() -> None:
    before = ("RPUSH", "l", *map(str, range(CLIENTS)))
    crowd, single = World(before), World(before)
    data = [encode("LPOP", "l") * 2] * CLIENTS
    assert crowd.together(*data) == CLIENTS
    single.apart(*data)
    assert crowd.sent == single.sent


def test_acknowledgements_of_several_consumers_are_one() -> None:
    world = World(*STREAM, *[("XADD", "s", "*", "f", str(number)) for number in range(5)])
    found = world.clients[0].ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    world.clients[0].peer.sent.clear()
    data = [encode("XACK", "s", "g", id) for id, _ in found[0][1]]
    assert world.together(*data) == CLIENTS
    assert world.sent == [b":1\r\n"] * CLIENTS
    assert world.clients[0].ask("XPENDING", "s", "g")[0] == 0


def test_those_who_send_differently_many_requests_get_as_many_replies() -> None:
    world = World()
    assert world.together(*[encode("RPUSH", "l", "x") * count for count in (1, 3, 2)]) == 3
    assert world.sent[:3] == [b":1\r\n", b":2\r\n:3\r\n:4\r\n", b":5\r\n:6\r\n"]


class TestWhatKeepsThemApart:
    @pytest.mark.parametrize(
        "other",
        [
            encode("LPUSH", "m", "x"),
            encode("LPUSH", "l", "xy"),
            encode("RPUSH", "l", "x"),
            encode("LPUSH", "l", "x")[:-3],
            encode("LPUSH", "l", "x") + b"*",
            b"PING\r\n",
        ],
    )
    def test_another_request(self, other: bytes) -> None:
        world = World()
        like = encode("LPUSH", "l", "x")
        assert world.together(other, like, like) == 2
        world = World()
        assert world.together(like, like, other) == 2
        assert world.sent[:2] == [b":1\r\n", b":2\r\n"]

    def test_no_request_reaches_into_what_another_connection_sent(self) -> None:
        """The first announces a longer value, which the second one's request would just fill."""
        world = World()
        victim = encode("RPUSH", "l", "secret")
        thief = b"*3\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$%d\r\n" % (len(victim) - 2)
        assert world.together(thief, victim, victim) == 2
        assert world.sent[:3] == [b"", b":1\r\n", b":2\r\n"]
        assert world.clients[3].ask("LRANGE", "l", "0", "-1") == [b"secret", b"secret"]

    def test_a_value_that_looks_like_a_request(self) -> None:
        world = World()
        inner = encode("RPUSH", "l", "xx")
        outer = encode("RPUSH", "l", inner)
        world.together(outer, outer, outer)
        assert world.sent[:3] == [b":1\r\n", b":2\r\n", b":3\r\n"]
        assert world.clients[3].ask("LRANGE", "l", "0", "-1") == [inner] * 3

    @pytest.mark.parametrize("mode", [("MULTI",), ("SUBSCRIBE", "c"), ("CLIENT", "REPLY", "OFF"), ("HELLO", "3")])
    def test_a_session_in_another_mode(self, mode: tuple[str, ...]) -> None:
        crowd, single = World(), World()
        data = [encode("LPOP", "none")] * CLIENTS
        for world in (crowd, single):
            world.clients[2].call(*mode)
            world.clients[2].peer.sent.clear()
        assert crowd.together(*data) == CLIENTS - 1
        single.apart(*data)
        assert crowd.sent == single.sent

    def test_a_session_that_waits(self) -> None:
        world = World()
        world.clients[1].call("BLPOP", "nothing", "0")
        like = encode("RPUSH", "l", "x")
        world.together(like, like, like, like)
        assert world.sent[:4] == [b":1\r\n", b"", b":2\r\n", b":3\r\n"]

    def test_half_a_request_that_came_before(self) -> None:
        world = World()
        like = encode("RPUSH", "l", "x")
        world.clients[1].session.receive(encode("RPUSH", "l", like)[: -len(like) - 2])
        world.together(like, like, like, like)
        assert world.sent[:4] == [b":1\r\n", b"", b":2\r\n", b":3\r\n"]

    def test_a_key_of_another_type(self) -> None:
        crowd, single = World(("SET", "l", "x"), ("SET", "s", "x")), World(("SET", "l", "x"), ("SET", "s", "x"))
        for words in (("LPUSH", "l", "x"), ("LPOP", "l"), ("XADD", "s", "*", "f", "v"), ("XACK", "s", "g", "1-1")):
            data = [encode(*words)] * CLIENTS
            assert crowd.together(*data) == 0
            single.apart(*data)
        assert crowd.sent == single.sent


    @pytest.mark.parametrize("words", [("INCR",), ("RPOP",), ("LPUSH", "list", "x")])
    def test_those_that_only_seem_to_be_alike_are_told_once(self, words: tuple[str, ...]) -> None:
        world = World()
        if words[0] == "LPUSH":
            world.clients[-1].call("BLPOP", "elsewhere", "0")  # each push must be looked at
        data = [encode(*words) if words[0] == "LPUSH" else encode(words[0], f"key{number}") for number in range(5)]
        arrived: Arrived = [(client.peer, each) for client, each in zip(world.clients, data, strict=False)]
        assert receive_alike(arrived, 0) == -5

    @pytest.mark.parametrize("name", ["GET", "RPOP"])
    def test_values_that_are_much_together(self, name: str) -> None:
        large = "x" * 100_000
        world = World(("SET", "large", large), ("RPUSH", "list", *[large] * CLIENTS))
        key = "large" if name == "GET" else "list"
        assert world.together(*[encode(name, key)] * CLIENTS) == 0
        assert world.sent == [b"$100000\r\n%b\r\n" % large.encode()] * CLIENTS


def test_a_large_crowd_is_served_in_parts() -> None:
    world = World()
    counts = [800] * CLIENTS
    assert world.together(*[encode("RPUSH", "l", "x") * count for count in counts]) == CLIENTS
    assert [data.count(b"\r\n") for data in world.sent] == counts
    for client in world.clients:
        client.peer.sent.clear()
    assert world.together(*[encode("RPOP", "l") * count for count in counts]) == CLIENTS
    assert world.sent == [b"$1\r\nx\r\n" * count for count in counts]


class TestShapes:
    @pytest.mark.parametrize("words", [("RPOP", "key"), ("RPUSH", "key", "abc")])
    def test_data_of_the_right_size_that_is_framed_otherwise(self, words: tuple[str, ...]) -> None:
        one = encode(*words)
        shape = shape_of(one)
        assert shape is not None
        for at in range(len(one)):
            other = one[:at] + bytes([one[at] ^ 1]) + one[at + 1 :]
            found = shape.last_words(one + other)
            in_last_word = len(shape.head) <= at < len(one) - 2
            assert found == ([one[-5:-2], other[-5:-2]] if in_last_word else None)
            if not in_last_word:
                assert shape.last_words(other + other) is None
        assert shape.last_words(one + one[:-1]) is None

    def test_the_head_and_the_last_words(self) -> None:
        data = encode("LPUSH", "l", "ab") + encode("LPUSH", "l", "cd")
        shape = shape_of(data)
        assert shape is not None
        assert (shape.words, shape.head + b"ab\r\n") == ([b"LPUSH", b"l"], encode("LPUSH", "l", "ab"))
        assert shape.last_words(data) == [b"ab", b"cd"]

    @pytest.mark.parametrize("data", [
        b"", b"PING\r\n", encode("PING"), encode(*"0123456789"), b"*2\r\n$3\r\nGET\r\n", b"*2\r\n$3\r\nGET\r\n$1\r\nk",
        b"*2\r\n$3\r\nGET\r\n$01\r\nk\r\n", b"*2\r\n$3\r\nGET\r\n$2\r\nk\r\n", b"*02\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    ])  # fmt: skip
    def test_what_is_unusual_has_none(self, data: bytes) -> None:
        assert shape_of(data) is None

    def test_nothing_but_whole_requests_of_the_shape_fits(self) -> None:
        shape = shape_of(encode("LPUSH", "l", "ab"))
        assert shape is not None
        rng = Random(1)
        whole = b"".join(encode("LPUSH", "l", f"{number:02}") for number in range(5))
        for _ in range(2000):
            at = rng.randrange(len(whole))
            changed = whole[:at] + rng.choice((b"", b"x", b"\r", b"$", b"5")) + whole[at + rng.choice((0, 1)) :]
            found = shape.last_words(changed)
            if found is not None:
                assert b"".join(encode("LPUSH", "l", each) for each in found) == changed
