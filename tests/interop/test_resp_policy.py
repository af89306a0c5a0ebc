"""What OneMQ adds to streams, through redis-py: XPOLICY, and XADD with a delivery time.

Times are compared by the server's own clock only: those in the history of a dead letter, in ids and in TIME.
"""

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

from tests.process import Serve, run

SECONDS_MAX = 30
CONFIGURATION = """
[topics."all-of-it"]
max_deliveries = 2
retry_delay = "40ms"
retry_factor = 3.0
retry_delay_max = "100ms"
dead_letters = "buried"
lease = "connection"
kind = "queue"

[topics."steady"]
retry_delay = "1s"

[topics."growing"]
retry_delay = "1s"
retry_factor = 2.0

[topics."kept-until-done"]
kind = "queue"
segment_bytes = "4KiB"

[topics."kept"]
segment_bytes = "4KiB"

[topics."of-three"]
partitions = 3
"""
PLAIN = {"maxdeliveries": "none", "backoff": "none", "lease": "none", "retain": "all"}

_numbers = count(1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    folder = tmp_path_factory.mktemp("onemq")
    (folder / "onemq.toml").write_text(CONFIGURATION)
    with Serve(folder / "data", "--config", str(folder / "onemq.toml")) as serving:
        serving.wait_until_serving()
        yield serving


def connected(port: int, protocol: int = 2) -> redis.Redis:
    """A client of one connection, which it does not open again by itself."""
    return redis.Redis(
        port=port, protocol=protocol, single_connection_client=True, retry=Retry(NoBackoff(), 0),
        socket_timeout=SECONDS_MAX, decode_responses=True,
    )  # fmt: skip


@pytest.fixture
def client(broker: Serve) -> Iterator[redis.Redis]:
    with connected(broker.port) as client:
        yield client


@pytest.fixture
def stream(client: redis.Redis) -> str:
    """A new stream with one entry, `order 1`, and a group `g` that has not read it."""
    name = f"orders-{next(_numbers)}"
    client.xadd(name, {"order": "1"})
    client.xgroup_create(name, "g", 0)
    return name


def until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives, once that is true."""
    give_up = time.monotonic() + SECONDS_MAX
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < give_up, f"waited in vain for: {what}"


def policy(client: redis.Redis, name: str) -> dict[str, str]:
    shown = client.execute_command("XPOLICY", name)
    return shown if isinstance(shown, dict) else dict(zip(shown[::2], shown[1::2], strict=True))


def set_policy(client: redis.Redis, name: str, words: str) -> None:
    assert client.execute_command("XPOLICY", name, *words.split()) in ("OK", True)


def read(client: redis.Redis, name: str, consumer: str = "alice", block: int | None = None) -> list[Any]:
    """New entries, or those that came back, for a consumer."""
    answer = client.xreadgroup("g", consumer, {name: ">"}, block=block)
    return answer[0][1] if answer else []


def ids(entries: list[Any]) -> list[str]:
    return [id for id, _ in entries]


def deliveries(client: redis.Redis, name: str) -> dict[str, int]:
    """How often each pending entry was handed out."""
    return {row["message_id"]: row["times_delivered"] for row in client.xpending_range(name, "g", "-", "+", 100)}


def owners(client: redis.Redis, name: str) -> dict[str, str]:
    return {row["message_id"]: row["consumer"] for row in client.xpending_range(name, "g", "-", "+", 100)}


def nack(client: redis.Redis, name: str, mode: str, *which: str, count: int | None = None) -> int:
    options = () if count is None else ("RETRYCOUNT", count)
    return client.execute_command("XNACK", name, "g", mode, "IDS", len(which), *which, *options)


def dead_letter(client: redis.Redis, name: str, count: int = 1) -> tuple[dict[str, str], dict[str, Any]]:
    """The last of so many dead letters: its fields as they were, and what `_dead` tells."""
    found = until(lambda: found if len(found := client.xrange(name)) >= count else None, "a dead letter")
    assert len(found) == count
    fields = dict(found[-1][1])
    death = json.loads(fields.pop("_dead"))
    del fields["_id"]
    return fields, death


def clock_ms(client: redis.Redis) -> int:
    seconds, microseconds = client.time()
    return seconds * 1000 + microseconds // 1000


# How a connection ends.


def reset(client: redis.Redis, admin: redis.Redis) -> None:
    """As when a process is killed and its machine is gone: no farewell."""
    client.connection._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.connection._sock.close()
    client.connection._sock = None


def closed(client: redis.Redis, admin: redis.Redis) -> None:
    client.close()


def quit(client: redis.Redis, admin: redis.Redis) -> None:
    assert client.execute_command("QUIT") in ("OK", True)


def killed(client: redis.Redis, admin: redis.Redis) -> None:
    assert admin.client_kill_filter(_id=client.client_id()) == 1


class Waiter:
    """A consumer that waits in XREADGROUP BLOCK 0."""

    def __init__(self, broker: Serve, admin: redis.Redis, name: str, consumer: str) -> None:
        self._client = connected(broker.port)
        number = self._client.client_id()
        words = ("XREADGROUP", "GROUP", "g", consumer, "BLOCK", 0, "STREAMS", name, ">")
        self._client.connection.send_command(*words)
        until(lambda: "cmd=xreadgroup" in str(admin.execute_command("CLIENT", "LIST", "ID", number)), "it waits")

    @property
    def is_answered(self) -> bool:
        return bool(self._client.connection.can_read(timeout=0))

    def entries(self) -> list[Any]:
        """What it got, when it got something."""
        ((_, entries),) = self._client.connection.read_response()
        return [(id, dict(zip(fields[::2], fields[1::2], strict=True))) for id, fields in entries]

    def close(self) -> None:
        self._client.close()


class TestSettings:
    @pytest.mark.parametrize("protocol", [2, 3])
    def test_a_plain_stream_has_no_policy(self, broker: Serve, stream: str, protocol: int) -> None:
        with connected(broker.port, protocol) as client:
            assert policy(client, stream) == PLAIN | {"deadletter": f"{stream}.<group>.dead"}

    @pytest.mark.parametrize(
        ("words", "name", "shown"),
        [
            ("MAXDELIVERIES 5", "maxdeliveries", "5"),
            ("maxdeliveries 1", "maxdeliveries", "1"),
            ("BACKOFF 1s", "backoff", "1s"),
            ("BACKOFF 1500", "backoff", "1s500ms"),
            ("BACKOFF 1s 2 1m", "backoff", "1s 2 1m"),
            ("BACKOFF 1s 1.5 NONE", "backoff", "1s 1.5 none"),
            ("BACKOFF 1s 1 1m", "backoff", "1s"),
            ("DEADLETTER elsewhere", "deadletter", "elsewhere"),
            ("LEASE CONNECTION", "lease", "connection"),
            ("LEASE 1h30m", "lease", "1h30m"),
            ("RETAIN UNACKNOWLEDGED", "retain", "unacknowledged"),
        ],
    )
    def test_a_setting_is_shown_and_taken_back(
        self, client: redis.Redis, stream: str, words: str, name: str, shown: str
    ) -> None:
        before = policy(client, stream)
        set_policy(client, stream, words)
        assert policy(client, stream) == before | {name: shown}
        set_policy(client, stream, f"{name} {'ALL' if name == 'retain' else 'NONE'}")
        assert policy(client, stream) == before

    def test_several_settings_at_once_leave_the_others_as_they_are(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "DEADLETTER elsewhere LEASE 30s")
        set_policy(client, stream, "BACKOFF 1s 2 1m MAXDELIVERIES 5 RETAIN UNACKNOWLEDGED")
        everything = {
            "maxdeliveries": "5", "backoff": "1s 2 1m", "deadletter": "elsewhere", "lease": "30s",
            "retain": "unacknowledged",
        }  # fmt: skip
        assert policy(client, stream) == everything
        set_policy(client, stream, "BACKOFF NONE")
        assert policy(client, stream) == everything | {"backoff": "none"}

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            ("MAXDELIVERIES 0", "MAXDELIVERIES must be 1 or more, or NONE"),
            ("MAXDELIVERIES often", "value is not an integer or out of range"),
            ("BACKOFF soon", "BACKOFF: 'soon' is not a duration; accepted is .*"),
            ("BACKOFF 1s 0.5 1m", "the factor of BACKOFF must be from 1 to 1000"),
            ("BACKOFF 1s 2", "after the factor of BACKOFF comes the longest waiting time, or NONE"),
            ("BACKOFF 1s 2 LEASE", "BACKOFF: 'LEASE' is not a duration; accepted is .*"),
            ("DEADLETTER __own", "topic names that begin with __ are OneMQ's own: '__own'"),
            ("LEASE 0", "LEASE must be CONNECTION, a time above 0, or NONE"),
            ("LEASE long", "LEASE: 'long' is not a duration; accepted is .*"),
            ("RETAIN NONE", "RETAIN must be ALL or UNACKNOWLEDGED"),
            ("PRIORITY 5", "XPOLICY takes MAXDELIVERIES, BACKOFF, DEADLETTER, LEASE and RETAIN, not 'PRIORITY'"),
            ("MAXDELIVERIES", "syntax error"),
            ("MAXDELIVERIES 5 LEASE", "syntax error"),
        ],
    )
    def test_what_makes_no_sense_is_refused_and_changes_nothing(
        self, client: redis.Redis, stream: str, words: str, error: str
    ) -> None:
        before = policy(client, stream)
        with pytest.raises(ResponseError, match=f"^{error}$"):
            set_policy(client, stream, words)
        assert policy(client, stream) == before

    def test_dead_letters_cannot_go_to_the_stream_itself(self, client: redis.Redis, stream: str) -> None:
        with pytest.raises(ResponseError, match="cannot go to its own topic"):
            set_policy(client, stream, f"DEADLETTER {stream}")

    @pytest.mark.parametrize("command", ["RENAME", "RENAMENX"])
    def test_a_stream_cannot_take_the_name_of_its_dead_letters(
        self, client: redis.Redis, stream: str, command: str
    ) -> None:
        set_policy(client, stream, f"MAXDELIVERIES 1 DEADLETTER {stream}.later")
        with pytest.raises(ResponseError, match="cannot go to its own topic"):
            client.execute_command(command, stream, f"{stream}.later")
        ((id, _),) = read(client, stream)
        assert nack(client, stream, "FAIL", id) == 1
        with pytest.raises(ResponseError, match="cannot go to its own topic"):
            client.execute_command("RENAME", stream, f"{stream}.later")
        assert dead_letter(client, f"{stream}.later")[1]["topic"] == stream
        assert client.rename(stream, f"{stream}.other")

    def test_keys_that_are_no_streams(self, client: redis.Redis) -> None:
        client.set("a-string", "x")
        for name, error in (
            ("nowhere", "no such key"),
            ("a-string", "WRONGTYPE"),
            ("of-three", "has several partitions: stream commands need one"),
        ):
            for words in ("", "MAXDELIVERIES 5"):
                with pytest.raises(ResponseError, match=error):
                    client.execute_command("XPOLICY", name, *words.split())

    def test_it_holds_for_groups_that_come_later(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 1")
        client.xgroup_create(stream, "later", 0)
        client.xreadgroup("later", "bob", {stream: ">"})
        assert client.xautoclaim(stream, "later", "carol", 0)[1] == []
        assert dead_letter(client, f"{stream}.later.dead")[1]["group"] == "later"

    def test_it_can_be_set_in_a_transaction(self, client: redis.Redis, stream: str) -> None:
        with client.pipeline() as pipeline:
            pipeline.execute_command("XPOLICY", stream, "MAXDELIVERIES", 7)
            pipeline.execute_command("XPOLICY", stream, "LEASE", "CONNECTION")
            pipeline.execute()
        assert policy(client, stream)["maxdeliveries"] == "7"
        assert policy(client, stream)["lease"] == "connection"

    def test_it_survives_a_crash(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                client.xgroup_create("orders", "g", 0, mkstream=True)
                set_policy(client, "orders", "MAXDELIVERIES 5 BACKOFF 1s 2 1m DEADLETTER dead LEASE CONNECTION")
                before = policy(client, "orders")
            serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert policy(client, "orders") == before


class TestConfiguration:
    def test_every_setting_of_the_file_is_shown(self, client: redis.Redis) -> None:
        assert policy(client, "all-of-it") == {
            "maxdeliveries": "2", "backoff": "40ms 3 100ms", "deadletter": "buried", "lease": "connection",
            "retain": "unacknowledged",
        }  # fmt: skip
        assert policy(client, "steady")["backoff"] == "1s"
        assert policy(client, "growing")["backoff"] == "1s 2 none"
        assert policy(client, "kept") == PLAIN | {"deadletter": "kept.<group>.dead"}

    def test_a_lease_by_time(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text('[topics."orders"]\nlease = "30s"\n')
        with Serve(tmp_path / "data", "--config", str(file)) as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert policy(client, "orders")["lease"] == "30s"

    def test_what_the_file_sets_is_done(self, broker: Serve, client: redis.Redis) -> None:
        client.xadd("all-of-it", {"order": "1"})
        client.xgroup_create("all-of-it", "g", 0)
        (entry,) = read(client, "all-of-it")
        assert nack(client, "all-of-it", "FAIL", entry[0]) == 1
        with connected(broker.port) as other:
            assert read(other, "all-of-it", "bob", block=SECONDS_MAX * 1000) == [entry]
        fields, death = dead_letter(client, "buried")
        assert fields == {"order": "1"}
        assert [attempt[3] for attempt in death["history"]] == ["refused by its consumer", "the connection ended"]
        assert death["history"][1][0] - death["history"][0][2] >= 40

    def test_after_a_start_the_file_holds_again(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text('[topics."orders"]\nmax_deliveries = 5\n')
        for _ in range(2):
            with Serve(tmp_path / "data", "--config", str(file)) as serving:
                serving.wait_until_serving()
                with connected(serving.port) as client:
                    assert policy(client, "orders")["maxdeliveries"] == "5"
                    set_policy(client, "orders", "MAXDELIVERIES 9")
                assert serving.stop() == 0

    @pytest.mark.parametrize(
        "setting",
        [
            "max_deliveries = 0",
            'retry_delay = "soon"',
            "retry_factor = 0.5",
            'retry_delay_max = "-1s"',
            'lease = "0s"',
            'lease = "for ever"',
            'dead_letters = ""',
        ],
    )
    def test_a_wrong_setting_is_refused_with_its_place(self, tmp_path: Path, setting: str) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text(f'[topics."orders"]\n{setting}\n')
        done = run("serve", "--config", str(file), "--data", str(tmp_path / "data"))
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"onemq: {file}:2: topics.orders.{setting.split()[0]}: ")


class TestDeadLetters:
    """A poison entry is handed out exactly n times."""

    DELIVERIES = 3

    @pytest.fixture
    def limited(self, client: redis.Redis, stream: str) -> str:
        set_policy(client, stream, f"MAXDELIVERIES {self.DELIVERIES}")
        return stream

    def check(self, client: redis.Redis, name: str, reason: str) -> list[list[Any]]:
        """There is one dead letter, it is the entry, and the group has nothing left. Returns its history."""
        fields, death = dead_letter(client, f"{name}.g.dead")
        assert fields == {"order": "1"}
        history = death.pop("history")
        at_ms = death.pop("at_ms")
        assert death == {
            "reason": reason, "topic": name, "partition": 0, "offset": 0, "group": "g", "deliveries": self.DELIVERIES
        }  # fmt: skip
        assert history[-1][2:] == [at_ms, reason]
        assert all(handed_ms <= failed_ms for handed_ms, _, failed_ms, _ in history)
        assert all(before[2] <= after[0] for before, after in pairwise(history))
        assert read(client, name) == []
        assert deliveries(client, name) == {}
        assert client.xlen(name) == 1
        return history

    def test_by_lost_connections(self, broker: Serve, client: redis.Redis, limited: str) -> None:
        set_policy(client, limited, "LEASE CONNECTION")
        for number in range(1, self.DELIVERIES + 1):
            assert not client.exists(f"{limited}.g.dead")
            consumer = connected(broker.port)
            (entry,) = read(consumer, limited, f"consumer-{number}", block=SECONDS_MAX * 1000)
            assert deliveries(client, limited) == {entry[0]: number}
            reset(consumer, client)
        history = self.check(client, limited, "the connection ended")
        assert [attempt[1] for attempt in history] == ["consumer-1", "consumer-2", "consumer-3"]

    def test_by_leases_that_ran_out(self, client: redis.Redis, limited: str) -> None:
        set_policy(client, limited, "LEASE 50ms")
        for number in range(1, self.DELIVERIES + 1):
            (entry,) = read(client, limited, block=SECONDS_MAX * 1000)
            assert deliveries(client, limited) in ({entry[0]: number}, {})  # the time may be up already
        history = self.check(client, limited, "not acknowledged in time")
        assert all(failed_ms - handed_ms >= 50 for handed_ms, _, failed_ms, _ in history)

    def test_by_refusals(self, client: redis.Redis, limited: str) -> None:
        for number in range(1, self.DELIVERIES + 1):
            (entry,) = read(client, limited)
            assert deliveries(client, limited) == {entry[0]: number}
            assert nack(client, limited, "FAIL", entry[0]) == 1
        self.check(client, limited, "refused by its consumer")

    def test_by_one_rejection(self, client: redis.Redis, limited: str) -> None:
        (entry,) = read(client, limited)
        assert nack(client, limited, "FATAL", entry[0]) == 1
        fields, death = dead_letter(client, f"{limited}.g.dead")
        assert (fields, death["reason"], death["deliveries"]) == (entry[1], "rejected by its consumer", 1)
        assert deliveries(client, limited) == {}

    def test_not_by_giving_back_what_was_not_tried(self, client: redis.Redis, limited: str) -> None:
        for _ in range(2 * self.DELIVERIES):
            (entry,) = read(client, limited)
            assert deliveries(client, limited) == {entry[0]: 1}
            assert nack(client, limited, "SILENT", entry[0]) == 1
        assert not client.exists(f"{limited}.g.dead")

    def claims(self, claim: Callable[[str, str], list[Any]], client: redis.Redis, name: str) -> None:
        ((id, fields),) = read(client, name)
        for number in range(2, self.DELIVERIES + 1):
            assert claim(id, f"consumer-{number}") == [(id, fields)]
            assert deliveries(client, name) == {id: number}
        assert claim(id, "one-too-many") == []
        last = f"consumer-{self.DELIVERIES}"
        self.check(client, name, f"claimed from '{last}', but handed out as often as allowed")

    def test_by_xclaim(self, client: redis.Redis, limited: str) -> None:
        self.claims(lambda id, consumer: client.xclaim(limited, "g", consumer, 0, [id]), client, limited)

    def test_by_xautoclaim(self, client: redis.Redis, limited: str) -> None:
        self.claims(lambda id, consumer: client.xautoclaim(limited, "g", consumer, 0)[1], client, limited)

    def test_by_reading_with_claim(self, client: redis.Redis, limited: str) -> None:
        def claim(id: str, consumer: str) -> list[Any]:
            words = ("XREADGROUP", "GROUP", "g", consumer, "CLAIM", 0, "STREAMS", limited, ">")
            client.connection.send_command(*words)
            answer = client.connection.read_response()
            entries = answer[0][1] if answer else []
            return [(id, dict(zip(fields[::2], fields[1::2], strict=True))) for id, fields, _, _ in entries]

        self.claims(claim, client, limited)

    def test_by_reading_ones_own_entries_again(self, client: redis.Redis, limited: str) -> None:
        read(client, limited)
        for _ in range(self.DELIVERIES):
            client.xreadgroup("g", "alice", {limited: 0})
        assert client.exists(f"{limited}.g.dead")

    def test_looking_at_ids_only_is_no_delivery(self, client: redis.Redis, limited: str) -> None:
        ((id, _),) = read(client, limited)
        for _ in range(2 * self.DELIVERIES):
            assert client.xclaim(limited, "g", "bob", 0, [id], justid=True) == [id]
            assert client.xautoclaim(limited, "g", "bob", 0, justid=True) == [id]
        assert deliveries(client, limited) == {id: 1}

    def test_every_group_has_its_own_unless_they_share_one(self, client: redis.Redis, stream: str) -> None:
        client.xgroup_create(stream, "h", 0)
        set_policy(client, stream, "MAXDELIVERIES 1")
        second = client.xadd(stream, {"order": "2"})
        for group in ("g", "h"):
            for id, _ in client.xreadgroup(group, "alice", {stream: ">"}, count=1)[0][1]:
                assert client.execute_command("XNACK", stream, group, "FAIL", "IDS", 1, id) == 1
            assert dead_letter(client, f"{stream}.{group}.dead")[1]["group"] == group
        set_policy(client, stream, f"DEADLETTER {stream}-buried")
        for number, group in enumerate(("g", "h"), 1):
            client.xreadgroup(group, "alice", {stream: ">"})
            assert client.execute_command("XNACK", stream, group, "FATAL", "IDS", 1, second) == 1
            fields, death = dead_letter(client, f"{stream}-buried", number)
            assert (fields, death["group"], death["offset"]) == ({"order": "2"}, group, 1)

    def test_a_dead_letter_has_the_fields_as_they_were(self, client: redis.Redis, stream: str) -> None:
        client.xack(stream, "g", *ids(read(client, stream)))
        words = ["a", "1", "body", "text", "_odd", "3", "a", "4"]
        id = client.execute_command("XADD", stream, "*", *words)
        read(client, stream)
        set_policy(client, stream, "MAXDELIVERIES 1")
        nack(client, stream, "FAIL", id)
        client.connection.send_command("XRANGE", f"{stream}.g.dead", "-", "+")
        ((_, found),) = client.connection.read_response()
        assert found[: len(words)] == words
        assert found[len(words) :: 2] == ["_id", "_dead"]

    def test_dead_letters_are_a_stream_like_any_other(self, client: redis.Redis, limited: str) -> None:
        ((id, fields),) = read(client, limited)
        nack(client, limited, "FATAL", id)
        dead = f"{limited}.g.dead"
        client.xgroup_create(dead, "g", 0)
        ((dead_id, found),) = read(client, dead)
        assert fields.items() <= found.items()
        assert client.xack(dead, "g", dead_id) == 1
        assert client.delete(dead) == 1

    def test_dead_letters_survive_a_crash(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                client.xgroup_create("orders", "g", 0, mkstream=True)
                set_policy(client, "orders", "MAXDELIVERIES 2 LEASE CONNECTION")
                first, second = client.xadd("orders", {"order": "1"}), client.xadd("orders", {"order": "2"})
                read(client, "orders")
                nack(client, "orders", "FATAL", first)
                serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert dead_letter(client, "orders.g.dead")[0] == {"order": "1"}
                assert ids(read(client, "orders")) == [second]
                assert deliveries(client, "orders") == {second: 2}
                assert nack(client, "orders", "FAIL", second) == 1
                history = dead_letter(client, "orders.g.dead", 2)[1]["history"]
                assert [attempt[3] for attempt in history] == ["the broker restarted", "refused by its consumer"]


class TestBackoff:
    def refuse_until_dead(self, client: redis.Redis, name: str) -> list[int]:
        """Refuses an entry whenever it comes; returns how long it stayed away each time."""
        while not client.exists(f"{name}.g.dead"):
            for id, _ in read(client, name, block=SECONDS_MAX * 1000):
                assert nack(client, name, "FAIL", id) == 1
        history = dead_letter(client, f"{name}.g.dead")[1]["history"]
        return [after[0] - before[2] for before, after in pairwise(history)]

    def test_waiting_grows_up_to_the_longest(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 5 BACKOFF 50ms 2 150ms")
        waited = self.refuse_until_dead(client, stream)
        assert len(waited) == 4
        assert all(real >= least for real, least in zip(waited, (50, 100, 150, 150), strict=True))

    def test_waiting_that_does_not_grow(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 3 BACKOFF 60ms")
        waited = self.refuse_until_dead(client, stream)
        assert len(waited) == 2
        assert min(waited) >= 60

    def test_what_waits_is_pending_with_nobody_and_does_not_keep_others_back(
        self, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "BACKOFF 1h")
        ((first, _),) = read(client, stream)
        assert nack(client, stream, "FAIL", first) == 1
        second = client.xadd(stream, {"order": "2"})
        assert ids(read(client, stream)) == [second]
        assert owners(client, stream) == {first: "", second: "alice"}
        assert ids(client.xautoclaim(stream, "g", "bob", 0)[1]) == [first, second]  # who claims does not wait

    def test_a_lost_connection_costs_a_delivery_but_no_waiting(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "BACKOFF 1h LEASE CONNECTION")
        consumer = connected(broker.port)
        read(consumer, stream)
        waiter = Waiter(broker, client, stream, "bob")
        reset(consumer, client)
        assert ids(waiter.entries()) == list(deliveries(client, stream))
        assert list(deliveries(client, stream).values()) == [2]
        waiter.close()

    def test_it_waits_on_after_a_crash(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                client.xgroup_create("orders", "g", 0, mkstream=True)
                set_policy(client, "orders", "BACKOFF 2s")
                id = client.xadd("orders", {"order": "1"})
                read(client, "orders")
                before_ms = clock_ms(client)
                nack(client, "orders", "FAIL", id)
            serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert ids(read(client, "orders", block=SECONDS_MAX * 1000)) == [id]
                assert clock_ms(client) >= before_ms + 2000

    def test_refusing_twice_is_refusing_once(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "BACKOFF 10ms")
        ((id, _),) = read(client, stream)
        nack(client, stream, "FAIL", id)
        nack(client, stream, "FAIL", id)
        assert ids(read(client, stream, block=500)) == [id]


class TestRetryCount:
    """XNACK ... RETRYCOUNT says how often an entry was handed out, and the policy goes by that."""

    def test_a_failure_waits_as_long_as_after_so_many(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "BACKOFF 20ms 10 1h")
        ((id, _),) = read(client, stream)
        failed_ms = clock_ms(client)
        assert nack(client, stream, "FAIL", id, count=2) == 1
        assert deliveries(client, stream) == {id: 2}
        assert ids(read(client, stream, block=SECONDS_MAX * 1000)) == [id]
        assert clock_ms(client) - failed_ms >= 200
        assert deliveries(client, stream) == {id: 3}
        failed_ms = clock_ms(client)
        assert nack(client, stream, "FAIL", id, count=0) == 1
        assert deliveries(client, stream) == {id: 0}
        assert ids(read(client, stream, block=SECONDS_MAX * 1000)) == [id]
        assert clock_ms(client) - failed_ms >= 20
        assert deliveries(client, stream) == {id: 1}

    @pytest.mark.parametrize(("mode", "reason"), [
        ("FAIL", "refused by its consumer"), ("SILENT", "given back, but handed out as often as allowed"),
    ])  # fmt: skip
    def test_as_often_as_allowed_is_a_dead_letter(
        self, client: redis.Redis, stream: str, mode: str, reason: str
    ) -> None:
        set_policy(client, stream, "MAXDELIVERIES 5")
        ((id, fields),) = read(client, stream)
        assert nack(client, stream, mode, id, count=4) == 1
        assert ids(read(client, stream)) == [id]
        assert deliveries(client, stream) == {id: 5}
        assert nack(client, stream, mode, id, count=5) == 1
        found, death = dead_letter(client, f"{stream}.g.dead")
        assert (found, death["deliveries"], death["reason"]) == (fields, 5, reason)
        assert deliveries(client, stream) == {}

    def test_a_lower_count_gives_more_tries(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 2")
        for mode in ("FAIL", "SILENT") * 3:
            ((id, _),) = read(client, stream)
            assert nack(client, stream, mode, id, count=0) == 1
            assert deliveries(client, stream) == {id: 0}
        assert not client.exists(f"{stream}.g.dead")

    def test_a_rejection_is_one_whatever_the_count(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 5")
        ((id, _),) = read(client, stream)
        assert nack(client, stream, "FATAL", id, count=1) == 1
        assert dead_letter(client, f"{stream}.g.dead")[1]["deliveries"] == 1
        assert deliveries(client, stream) == {}

    def test_what_waits_already_is_left_alone(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "BACKOFF 1h MAXDELIVERIES 5")
        ((id, _),) = read(client, stream)
        assert nack(client, stream, "FAIL", id, count=3) == 1
        assert nack(client, stream, "FAIL", id, count=5) == 1
        assert deliveries(client, stream) == {id: 3}

    def test_it_is_kept_over_a_crash(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                client.xgroup_create("orders", "g", 0, mkstream=True)
                set_policy(client, "orders", "MAXDELIVERIES 50")
                id = client.xadd("orders", {"order": "1"})
                read(client, "orders")
                nack(client, "orders", "SILENT", id, count=41)
            serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert ids(read(client, "orders")) == [id]
                assert deliveries(client, "orders") == {id: 42}


class TestForce:
    """XNACK FORCE: of what is not pending, as far as the group has read it."""

    @pytest.fixture
    def done(self, client: redis.Redis, stream: str) -> str:
        """The id of an entry that was acknowledged, and must be done once more."""
        ((id, _),) = read(client, stream)
        assert client.xack(stream, "g", id) == 1
        return id

    def force(self, client: redis.Redis, name: str, mode: str, id: str) -> int:
        return client.execute_command("XNACK", name, "g", mode, "IDS", 1, id, "FORCE")

    @pytest.mark.parametrize("mode", ["FAIL", "SILENT"])
    @pytest.mark.parametrize("words", ["MAXDELIVERIES 3", "BACKOFF 50ms"])
    def test_it_is_handed_out_again(
        self, client: redis.Redis, stream: str, done: str, mode: str, words: str
    ) -> None:
        set_policy(client, stream, words)
        assert self.force(client, stream, mode, done) == 1
        assert ids(read(client, stream, "bob", block=SECONDS_MAX * 1000)) == [done]
        assert deliveries(client, stream) == {done: 1}

    def test_a_rejection_is_a_dead_letter(self, client: redis.Redis, stream: str, done: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 3")
        assert self.force(client, stream, "FATAL", done) == 1
        assert dead_letter(client, f"{stream}.g.dead")[0] == {"order": "1"}
        assert deliveries(client, stream) == {}

    def test_what_was_given_up_before_there_was_a_policy(self, client: redis.Redis, stream: str) -> None:
        ((id, _),) = read(client, stream)
        assert nack(client, stream, "FAIL", id) == 1
        set_policy(client, stream, "MAXDELIVERIES 3")
        assert read(client, stream) == []
        assert nack(client, stream, "FAIL", id) == 1
        assert ids(read(client, stream)) == [id]

    def test_what_the_group_has_still_to_read_is_read(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "MAXDELIVERIES 3")
        ((id, _),) = client.xrange(stream)
        assert self.force(client, stream, "FAIL", id) == 1
        assert ids(read(client, stream)) == [id]
        assert deliveries(client, stream) == {id: 1}


class TestLeaseOfAConnection:
    @pytest.mark.parametrize("end", [reset, closed, quit, killed])
    def test_who_waits_gets_what_a_lost_consumer_had(
        self, broker: Serve, client: redis.Redis, stream: str, end: Callable[[redis.Redis, redis.Redis], None]
    ) -> None:
        set_policy(client, stream, "LEASE CONNECTION")
        second = client.xadd(stream, {"order": "2"})
        consumer = connected(broker.port)
        entries = read(consumer, stream)
        assert len(entries) == 2
        assert consumer.xack(stream, "g", second) == 1
        waiter = Waiter(broker, client, stream, "bob")
        assert not waiter.is_answered
        end(consumer, client)
        assert waiter.entries() == entries[:1]
        assert owners(client, stream) == {entries[0][0]: "bob"}
        assert [each["name"] for each in client.xinfo_consumers(stream, "g")] == ["bob"]
        waiter.close()

    def test_a_consumer_that_waits_and_is_lost_takes_nothing_with_it(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "LEASE CONNECTION")
        client.xack(stream, "g", *ids(read(client, stream)))
        lost, kept = Waiter(broker, client, stream, "lost"), Waiter(broker, client, stream, "kept")
        lost.close()
        id = client.xadd(stream, {"order": "2"})
        assert ids(kept.entries()) == [id]
        kept.close()

    def test_claimed_entries_belong_to_the_connection_that_claimed_them(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "LEASE CONNECTION")
        ((id, _),) = read(client, stream)
        with connected(broker.port) as other:
            assert ids(other.xautoclaim(stream, "g", "bob", 0)[1]) == [id]
            assert owners(client, stream) == {id: "bob"}
        until(lambda: owners(client, stream) == {id: ""}, "it is given back")

    def test_without_it_entries_stay_with_their_consumer(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        with connected(broker.port) as other:
            ((id, _),) = read(other, stream)
            number = other.client_id()
        until(lambda: not client.execute_command("CLIENT", "LIST", "ID", number), "the connection is gone")
        assert owners(client, stream) == {id: "alice"}
        assert read(client, stream, "bob") == []

    def test_a_restart_of_the_broker_gives_back_too(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                client.xgroup_create("orders", "g", 0, mkstream=True)
                set_policy(client, "orders", "LEASE CONNECTION")
                id = client.xadd("orders", {"order": "1"})
                read(client, "orders")
                serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                assert ids(read(client, "orders", "bob")) == [id]

    def test_when_it_is_taken_back_entries_stay_with_their_consumer(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "LEASE CONNECTION")
        with connected(broker.port) as other:
            ((id, _),) = read(other, stream)
            set_policy(client, stream, "LEASE NONE")
            number = other.client_id()
        until(lambda: not client.execute_command("CLIENT", "LIST", "ID", number), "the connection is gone")
        assert owners(client, stream) == {id: "alice"}

    def test_it_holds_when_the_stream_is_renamed(self, broker: Serve, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "LEASE CONNECTION")
        with connected(broker.port) as other:
            ((id, _),) = read(other, stream)
            client.rename(stream, f"{stream}-renamed")
            number = other.client_id()
        until(lambda: not client.execute_command("CLIENT", "LIST", "ID", number), "the connection is gone")
        assert owners(client, f"{stream}-renamed") == {id: ""}


class TestLeaseByTime:
    def test_what_is_not_acknowledged_in_time_goes_to_who_waits(
        self, broker: Serve, client: redis.Redis, stream: str
    ) -> None:
        set_policy(client, stream, "LEASE 80ms MAXDELIVERIES 2")
        entries = read(client, stream)
        waiter = Waiter(broker, client, stream, "bob")
        assert waiter.entries() == entries
        waiter.close()
        history = dead_letter(client, f"{stream}.g.dead")[1]["history"]
        assert [attempt[1] for attempt in history] == ["alice", "bob"]
        assert all(failed_ms - handed_ms >= 80 for handed_ms, _, failed_ms, _ in history)

    def test_what_is_acknowledged_in_time_does_not_come_back(self, client: redis.Redis, stream: str) -> None:
        set_policy(client, stream, "LEASE 10s")
        ((first, _),) = read(client, stream)
        assert client.xack(stream, "g", first) == 1
        set_policy(client, stream, "LEASE 50ms")
        second = client.xadd(stream, {"order": "2"})
        read(client, stream)
        assert ids(read(client, stream, "bob", block=SECONDS_MAX * 1000)) == [second]
        assert client.xack(stream, "g", second) == 1
        assert deliveries(client, stream) == {}


class TestRetention:
    def test_what_all_groups_acknowledged_goes_and_nothing_else(self, client: redis.Redis) -> None:
        """By whole segments, some seconds later; the last segment stays."""
        by_command, by_file, no_groups = "kept", "kept-until-done", "kept-without-groups"
        set_policy(client, by_command, "RETAIN UNACKNOWLEDGED")
        client.xadd(no_groups, {"order": "1"})
        set_policy(client, no_groups, "RETAIN UNACKNOWLEDGED")
        added: dict[str, list[str]] = {}
        for name in (by_command, by_file):
            added[name] = [client.xadd(name, {"order": str(number), "filler": "x" * 500}) for number in range(40)]
            for group in ("g", "slow"):
                client.xgroup_create(name, group, 0)
                client.xreadgroup(group, "alice", {name: ">"})
            client.xack(name, "g", *added[name])
            client.xack(name, "slow", *added[name][:20], *added[name][30:])
        for name in (by_command, by_file):
            until(lambda name=name: client.xlen(name) < 40, "acknowledged entries are gone")
            left = ids(client.xrange(name))
            assert left == added[name][-len(left) :]
            assert set(added[name][20:]) <= set(left)
            pending = client.xreadgroup("slow", "alice", {name: 0})[0][1]
            assert ids(pending) == added[name][20:30]
            assert all(fields["filler"] for _, fields in pending)
            assert client.xack(name, "slow", *ids(pending)) == 10
        for name in (by_command, by_file):
            until(lambda name=name: client.xlen(name) < 20, "more are gone")
            assert client.xinfo_stream(name)["last-generated-id"] == added[name][-1]
            groups = client.xinfo_groups(name)
            assert [(each["last-delivered-id"], each["lag"], each["pending"]) for each in groups] == [
                (added[name][-1], 0, 0)
            ] * 2
        assert client.xlen(no_groups) == 1


class TestDelays:
    def test_an_entry_is_there_when_it_is_due_and_not_before(self, client: redis.Redis, stream: str) -> None:
        answer = client.execute_command("XADD", stream, "*", "_delay", "200ms", "order", "2")
        due_ms, _, number = answer.partition("-")
        assert number.isdigit()
        until(lambda: client.xlen(stream) == 2, "the entry is there")
        assert clock_ms(client) >= int(due_ms)
        (entry,) = client.xrevrange(stream, count=1)
        assert entry[1] == {"order": "2"}
        assert int(entry[0].partition("-")[0]) >= int(due_ms)

    def test_not_before(self, client: redis.Redis, stream: str) -> None:
        before_ms = clock_ms(client)
        due_ms = before_ms + 100_000
        by_time = client.execute_command("XADD", stream, "*", "_deliver_at", due_ms, "order", "2")
        by_delay = client.execute_command("XADD", stream, "*", "_delay", "1m40s", "order", "3")
        assert by_time.partition("-")[0] == str(due_ms)
        assert int(by_delay.partition("-")[0]) >= due_ms
        assert client.xlen(stream) == 1
        assert client.xinfo_stream(stream)["entries-added"] == 1
        assert ids(read(client, stream)) == ids(client.xrange(stream))

    @pytest.mark.parametrize(
        "words",
        [
            "order 2", "body text", "a 1 b 2", "a 1 body text c 3", "a 1 a 2", "_id mine", "a 1 _id mine",
            "_id mine body text", "_id mine a 1",
        ],
    )  # fmt: skip
    def test_an_entry_has_the_fields_that_were_given(self, client: redis.Redis, stream: str, words: str) -> None:
        with client.pipeline() as pipeline:
            pipeline.execute_command("XADD", stream, "*", *words.split())
            pipeline.execute_command("XADD", stream, "*", "_delay", "10ms", *words.split())
            pipeline.execute()
        until(lambda: client.xlen(stream) == 3, "the entry is there")
        client.connection.send_command("XRANGE", stream, "-", "+")
        _, (_, plain), (_, delayed) = client.connection.read_response()
        assert plain == delayed == words.split()

    def test_fields_with_names_that_the_schedule_uses(self, client: redis.Redis, stream: str) -> None:
        client.execute_command("XADD", stream, "*", "_delay", "10ms", "a", "1", "_to", "alice", "_part", "2")
        until(lambda: client.xlen(stream) == 2, "the entry is there")
        assert client.xrange(stream)[1][1] == {"a": "1", "_to": "alice", "_part": "2"}

    def test_who_waits_gets_it(self, broker: Serve, client: redis.Redis, stream: str) -> None:
        read(client, stream)
        waiter = Waiter(broker, client, stream, "bob")
        answer = client.execute_command("XADD", stream, "*", "_delay", "100ms", "order", "2")
        ((id, fields),) = waiter.entries()
        assert fields == {"order": "2"}
        assert int(id.partition("-")[0]) >= int(answer.partition("-")[0])
        waiter.close()

    def test_entries_come_in_the_order_of_their_times(self, client: redis.Redis, stream: str) -> None:
        with client.pipeline() as pipeline:
            for order, delay in (("4", "200ms"), ("3", "100ms"), ("2", "50ms")):
                pipeline.execute_command("XADD", stream, "*", "_delay", delay, "order", order)
            pipeline.execute()
        until(lambda: client.xlen(stream) == 4, "all are there")
        assert [fields["order"] for _, fields in client.xrange(stream)] == ["1", "2", "3", "4"]
        found = [tuple(map(int, id.split("-"))) for id in ids(client.xrange(stream))]
        assert found == sorted(found)

    def test_a_time_that_has_passed_is_now(self, client: redis.Redis, stream: str) -> None:
        for words in (("_deliver_at", 0), ("_deliver_at", clock_ms(client) - 1), ("_delay", 0)):
            id = client.execute_command("XADD", stream, "*", *words, "order", "2")
            assert client.xrevrange(stream, count=1) == [(id, {"order": "2"})]

    def test_only_the_first_field_says_when(self, client: redis.Redis, stream: str) -> None:
        id = client.xadd(stream, {"order": "2", "_delay": "1h", "_deliver_at": "9"})
        assert client.xrange(stream, id) == [(id, {"order": "2", "_delay": "1h", "_deliver_at": "9"})]

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            ("* _delay 1s", "an entry with _delay needs at least one more field"),
            ("* _deliver_at 1", "an entry with _deliver_at needs at least one more field"),
            ("* _delay soon order 1", "_delay: 'soon' is not a duration; accepted is .*"),
            ("* _delay -1 order 1", "_delay: '-1' is not a duration; accepted is .*"),
            ("* _deliver_at soon order 1", "_deliver_at must be a time in milliseconds since 1970"),
            ("* _deliver_at -1 order 1", "_deliver_at must be a time in milliseconds since 1970"),
            ("* _deliver_at 99999999999999 order 1", "a message can be scheduled for any time within .*"),
            ("99999999999999-1 _delay 1s order 1", "an entry that is due later gets its ID when it is added: .*"),
            ("99999999999999-* _delay 1s order 1", "an entry that is due later gets its ID when it is added: .*"),
            ("IDMP p 1 * _delay 1s order 1", "an entry that is due later gets its ID when it is added: .*"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, client: redis.Redis, stream: str, words: str, error: str) -> None:
        with pytest.raises(ResponseError, match=f"^{error}$"):
            client.execute_command("XADD", stream, *words.split())
        assert client.xlen(stream) == 1

    def test_a_stream_that_is_not_there_is_made_at_once_unless_forbidden(self, client: redis.Redis) -> None:
        name = f"later-{next(_numbers)}"
        words = ("*", "_delay", "1h", "order", "1")
        assert client.execute_command("XADD", name, "NOMKSTREAM", *words) is None
        assert not client.exists(name)
        assert client.execute_command("XADD", name, *words)
        assert (client.type(name), client.xlen(name)) == ("stream", 0)

    def test_in_a_transaction_all_or_nothing(self, client: redis.Redis, stream: str) -> None:
        with client.pipeline() as pipeline:
            pipeline.xadd(stream, {"order": "2"})
            pipeline.execute_command("XADD", stream, "*", "_delay", "100ms", "order", "3")
            now, later = pipeline.execute()
        assert client.xrange(stream, now, now) == [(now, {"order": "2"})]
        until(lambda: client.xlen(stream) == 3, "the entry is there")
        assert clock_ms(client) >= int(later.partition("-")[0])

    def test_delays_survive_a_crash(self, tmp_path: Path) -> None:
        """One is due while the broker is down, one after it is back, one much later."""
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                dues = [
                    int(client.execute_command("XADD", "orders", "*", "_delay", delay, "order", n).partition("-")[0])
                    for n, delay in enumerate(("1ms", "3s", "1h"), 1)
                ]
                serving.kill()
        with Serve(tmp_path / "data") as serving:
            serving.wait_until_serving()
            with connected(serving.port) as client:
                found = until(lambda: client.xlen("orders") == 2 and client.xrange("orders"), "two are there")
        assert [fields["order"] for _, fields in found] == ["1", "2"]
        assert all(int(id.partition("-")[0]) >= due for (id, _), due in zip(found, dues, strict=False))

    def test_of_a_stream_that_was_deleted_none_comes(self, client: redis.Redis, stream: str) -> None:
        with client.pipeline() as pipeline:
            pipeline.execute_command("XADD", stream, "*", "_delay", "50ms", "order", "2")
            pipeline.delete(stream)
            due_ms = int(pipeline.execute()[0].partition("-")[0])
        marker = f"marker-{next(_numbers)}"
        client.execute_command("XADD", marker, "*", "_deliver_at", due_ms + 1, "order", "3")
        until(lambda: client.xlen(marker), "later ones are there")
        assert not client.exists(stream)

    def test_a_stream_of_the_same_name_gets_them(self, client: redis.Redis, stream: str) -> None:
        """Deleting a stream does not cancel what is due later: it goes by the name."""
        with client.pipeline() as pipeline:
            pipeline.execute_command("XADD", stream, "*", "_delay", "100ms", "order", "2")
            pipeline.delete(stream)
            pipeline.xadd(stream, {"order": "1 again"})
            pipeline.execute()
        until(lambda: client.xlen(stream) == 2, "the entry is there")
        assert [fields["order"] for _, fields in client.xrange(stream)] == ["1 again", "2"]

    def test_they_follow_a_stream_that_is_renamed(self, client: redis.Redis, stream: str) -> None:
        with client.pipeline() as pipeline:
            pipeline.execute_command("XADD", stream, "*", "_delay", "50ms", "order", "2")
            pipeline.rename(stream, f"{stream}-renamed")
            due_ms = int(pipeline.execute()[0].partition("-")[0])
        marker = f"marker-{next(_numbers)}"
        client.execute_command("XADD", marker, "*", "_deliver_at", due_ms + 1, "order", "3")
        until(lambda: client.xlen(marker), "later ones are there")
        assert client.xlen(f"{stream}-renamed") == 2

    def test_who_watches_the_stream_is_told(self, broker: Serve, client: redis.Redis, stream: str) -> None:
        with connected(broker.port) as other, other.pipeline() as pipeline:
            pipeline.watch(stream)
            client.execute_command("XADD", stream, "*", "_delay", "50ms", "order", "2")
            until(lambda: client.xlen(stream) == 2, "the entry is there")
            pipeline.multi()
            pipeline.xlen(stream)
            with pytest.raises(redis.WatchError):
                pipeline.execute()

    def test_ids_grow_also_behind_an_id_of_the_future(self, client: redis.Redis) -> None:
        name = f"future-{next(_numbers)}"
        client.xadd(name, {"order": "1"}, id="9999999999999-0")
        client.execute_command("XADD", name, "*", "_delay", "10ms", "order", "2")
        until(lambda: client.xlen(name) == 2, "the entry is there")
        assert client.xread({name: "9999999999999-0"}) != []


class TestPlainStreams:
    """Who asks for nothing of this sees plain Redis."""

    def test_an_entry_is_handed_out_for_ever(self, client: redis.Redis, stream: str) -> None:
        ((id, fields),) = read(client, stream)
        for number in range(2, 40):
            assert client.xclaim(stream, "g", f"consumer-{number}", 0, [id]) == [(id, fields)]
        assert deliveries(client, stream) == {id: 39}
        assert client.keys(f"{stream}*") == [stream]

    def test_what_was_given_up_waits_for_who_claims_it(self, client: redis.Redis, stream: str) -> None:
        ((id, _),) = read(client, stream)
        assert nack(client, stream, "FAIL", id) == 1
        assert read(client, stream) == []
        assert ids(client.xautoclaim(stream, "g", "bob", 10_000)[1]) == [id]

    def test_nothing_is_removed(self, client: redis.Redis, stream: str) -> None:
        client.xack(stream, "g", *ids(read(client, stream)))
        assert client.xlen(stream) == 1
