"""Stream commands that came with Redis 7.4 and 8, which the redis-server of the tests (7.0) lacks.

So the expected replies stand here. Their sources, in redis/redis: the tests `tests/unit/type/stream.tcl`
(IDMP, XCFGSET, XDELEX, trimming, `XREAD last element ...`) and `tests/unit/type/stream-cgroups.tcl` (XACKDEL, CLAIM,
XNACK), pull requests 13117 (XREAD +), 14615 (IDMP) and 14797 (XNACK), issue 13628 (XREAD + behind a deleted entry), and
https://redis.io/docs/latest/commands/. All of it but XNACK and XREAD + was also checked against a redis-server 8.6.3.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from redis.exceptions import ResponseError

from tests.interop.pair import connection, reply
from tests.interop.streams import facts

BAD_ID = ("error", "Invalid stream ID specified as stream command argument")
SYNTAX = ("error", "syntax error")
WRONG_TYPE = ("error", "WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_AN_INTEGER = ("error", "value is not an integer or out of range")
LONG_MAX = 2**63 - 1


class Client:
    """One connection to OneMQ; commands are written as one line."""

    def __init__(self, connected: redis.Redis, port: int, protocol: int) -> None:
        self._connected = connected
        self._port = port
        self._protocol = protocol

    def __call__(self, line: str, *more: Any) -> Any:
        return reply(self._connected, *line.split(), *more)

    def fill(self, last: int, *groups: str) -> None:
        """A stream `s` of 1-0, 2-0 and so on, with groups at its beginning."""
        for number in range(1, last + 1):
            self(f"XADD s {number}-0 f v{number}")
        for group in groups:
            assert self(f"XGROUP CREATE s {group} 0") == b"OK"

    def read(self, line: str) -> dict[bytes, Any]:
        """What XREAD or XREADGROUP gives, by stream, in both versions of RESP."""
        answer = self(line)
        assert not isinstance(answer, tuple), answer
        return dict(answer or {})

    def info(self, line: str = "XINFO STREAM s") -> dict[bytes, Any]:
        answer = self(line)
        return answer if isinstance(answer, dict) else dict(zip(answer[::2], answer[1::2], strict=True))

    def full_groups(self) -> list[dict[bytes, Any]]:
        """The groups of XINFO STREAM FULL."""
        groups = self.info("XINFO STREAM s FULL")[b"groups"]
        return [row if isinstance(row, dict) else dict(zip(row[::2], row[1::2], strict=True)) for row in groups]

    def pending(self, group: str = "g", more: str = "") -> list[tuple[str, str, int]]:
        """XPENDING's rows: id, consumer, count."""
        rows = self(f"XPENDING s {group} - + 100 {more}")
        return [(entry.decode(), consumer.decode(), count) for entry, consumer, _, count in rows]

    def ids(self) -> list[str]:
        return [entry.decode() for entry, _ in self("XRANGE s - +")]

    @contextmanager
    def blocked(self, line: str) -> Iterator["Blocked"]:
        """Another connection, in a command that waits."""
        with connection(self._port, self._protocol) as second:
            number = reply(second, "CLIENT", "ID")
            second.connection.send_command(*line.split())
            give_up = time.monotonic() + 30
            name = line.split()[0].lower()
            while b" cmd=%b " % name.encode() not in self("CLIENT LIST ID", number):
                assert time.monotonic() < give_up, f"{line} does not begin"
            yield Blocked(second)


class Blocked:
    def __init__(self, connected: redis.Redis) -> None:
        self._connected = connected

    def entries(self) -> list[tuple[str, int]]:
        """The ids and delivery counts that come, when they come."""
        return counted(self.plain_entries())

    def plain_entries(self) -> list[Any]:
        """What comes of stream `s`, as it comes."""
        try:
            answer = self._connected.connection.read_response()
        except ResponseError as error:
            raise AssertionError(str(error)) from error
        entries: list[Any] = dict(answer)[b"s"]
        return entries

    def error(self) -> str:
        """The error that comes."""
        with pytest.raises(ResponseError) as error:
            self._connected.connection.read_response()
        return str(error.value)

    def still_waits(self) -> bool:
        return not self._connected.connection.can_read(timeout=0)


def counted(entries: list[Any]) -> list[tuple[str, int]]:
    """Ids and delivery counts of XREADGROUP CLAIM's entries, of which each has four parts."""
    for entry in entries:
        _, fields, idle, count = entry
        assert (type(fields), type(idle), type(count)) == (list, int, int)
    return [(entry.decode(), count) for entry, _, _, count in entries]


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def client(onemq_port: int, request: pytest.FixtureRequest) -> Iterator[Client]:
    with connection(onemq_port, request.param) as connected:
        called = Client(connected, onemq_port, request.param)
        assert called("FLUSHALL") == b"OK"
        yield called


class TestXreadLastEntry:
    """Redis 7.4: `XREAD STREAMS key +` reads the last entry."""

    def test_the_last_one_whatever_the_count(self, client: Client) -> None:
        client.fill(3)
        for options in ("", "COUNT 3", "BLOCK 1000000"):
            assert client.read(f"XREAD {options} STREAMS s +") == {b"s": [[b"3-0", [b"f", b"v3"]]]}

    def test_the_one_that_is_last_then(self, client: Client) -> None:
        client.fill(1)
        for entry in (b"1-0", b"1-18446744073709551614", b"1-18446744073709551615", b"3-0"):
            client(f"XADD s {entry.decode()} f v1")
            assert client.read("XREAD STREAMS s +") == {b"s": [[entry, [b"f", b"v1"]]]}

    def test_behind_deleted_entries(self, client: Client) -> None:
        client.fill(3)
        client("XDEL s 3-0 1-0")
        assert client.read("XREAD STREAMS s +") == {b"s": [[b"2-0", [b"f", b"v2"]]]}

    def test_where_there_is_none(self, client: Client) -> None:
        assert client("XREAD STREAMS s +") is None
        client("XGROUP CREATE s g $ MKSTREAM")
        assert client("XREAD STREAMS s +") is None
        client.fill(1)
        client("XDEL s 1-0")
        assert client("XREAD STREAMS s +") is None
        assert client("XREAD BLOCK 1 STREAMS s +") is None

    def test_of_several_streams_those_that_have_one(self, client: Client) -> None:
        client.fill(3)
        client("XADD t 7-7 f v7")
        expected = {b"s": [[b"3-0", [b"f", b"v3"]]], b"t": [[b"7-7", [b"f", b"v7"]]]}
        assert client.read("XREAD STREAMS s missing t + + +") == expected
        mixed = client.read("XREAD STREAMS s t 1-0 +")
        assert [entry for entry, _ in mixed[b"s"]] == [b"2-0", b"3-0"]
        assert [entry for entry, _ in mixed[b"t"]] == [b"7-7"]

    @pytest.mark.parametrize("before", ["DEL s", "XGROUP CREATE s g $ MKSTREAM", "XDEL s 1-0"])
    def test_where_there_is_none_it_waits_for_one(self, client: Client, before: str) -> None:
        if before.startswith("XDEL"):
            client.fill(1)
        client(before)
        with client.blocked("XREAD BLOCK 0 STREAMS s +") as waiting:
            assert waiting.still_waits()
            client("XADD s 5-0 f v5")
            assert waiting.plain_entries() == [[b"5-0", [b"f", b"v5"]]]

    def test_xreadgroup_has_no_such_id(self, client: Client) -> None:
        client.fill(1, "g")
        kind, text = client("XREADGROUP GROUP g alice STREAMS s +")
        assert (kind, text.startswith("The + ID is meaningless in the context of XREADGROUP")) == ("error", True)


class TestXdelex:
    """Redis 8.2. -1: no such entry, 1: deleted, 2: still referenced."""

    def test_without_groups_it_deletes(self, client: Client) -> None:
        client.fill(4)
        assert client("XDELEX s IDS 2 1-0 9-9") == [1, -1]
        assert client("XDELEX s KEEPREF IDS 1 2-0") == [1]
        assert client("XDELEX s DELREF IDS 1 3") == [1]
        assert client("xdelex s acked ids 1 4-0") == [1]
        assert client("XDELEX s IDS 1 4-0") == [-1]
        assert client("XLEN s") == 0
        assert client("EXISTS s") == 1
        assert client.info()[b"max-deleted-entry-id"] == b"4-0"

    def test_a_missing_key(self, client: Client) -> None:
        assert client("XDELEX missing IDS 2 1-1 2-2") == [-1, -1]
        assert client("XDELEX missing IDS 1 x") == [-1]
        assert client("EXISTS missing") == 0

    def test_keepref_leaves_it_pending(self, client: Client) -> None:
        client.fill(2, "g", "h")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XREADGROUP GROUP h bob STREAMS s >")
        assert client("XDELEX s KEEPREF IDS 2 1-0 2-0") == [1, 1]
        assert client("XLEN s") == 0
        assert client("XPENDING s g") == [2, b"1-0", b"2-0", [[b"alice", b"2"]]]
        assert client("XPENDING s h") == [2, b"1-0", b"2-0", [[b"bob", b"2"]]]

    def test_delref_takes_it_from_all_groups(self, client: Client) -> None:
        client.fill(3, "g", "h")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XREADGROUP GROUP h bob STREAMS s >")
        assert client("XDELEX s DELREF IDS 2 1-0 2-0") == [1, 1]
        assert client.ids() == ["3-0"]
        assert client.pending("g") == [("3-0", "alice", 1)]
        assert client.pending("h") == [("3-0", "bob", 1)]

    def test_delref_of_an_entry_that_is_gone(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XDEL s 1-0")
        assert client("XDELEX s DELREF IDS 1 1-0") == [-1]
        assert client("XPENDING s g") == [0, None, None, None]

    def test_acked_deletes_what_every_group_has_read_and_acknowledged(self, client: Client) -> None:
        client.fill(2, "g", "h", "i")
        client("XREADGROUP GROUP g c STREAMS s >")
        client("XREADGROUP GROUP h c STREAMS s >")
        for line in ("XACK s g 1-0 2-0", "XACK s h 1-0 2-0", "XREADGROUP GROUP i c STREAMS s >"):
            client(line)
            assert client("XDELEX s ACKED IDS 2 1-0 2-0") == [2, 2], line
            assert client("XLEN s") == 2
        client("XACK s i 2-0")
        assert client("XDELEX s ACKED IDS 2 1-0 2-0") == [2, 1]
        client("XACK s i 1-0")
        assert client("XDELEX s ACKED IDS 2 1-0 2-0") == [1, -1]

    def test_a_new_group_has_not_read_it(self, client: Client) -> None:
        client.fill(3, "g")
        client("XREADGROUP GROUP g c STREAMS s >")
        client("XACK s g 1-0 2-0 3-0")
        assert client("XDELEX s ACKED IDS 1 1-0") == [1]
        client("XGROUP CREATE s h 0")
        assert client("XDELEX s ACKED IDS 1 2-0") == [2]
        client("XREADGROUP GROUP h c STREAMS s >")
        client("XACK s h 2-0 3-0")
        assert client("XDELEX s ACKED IDS 2 2-0 3-0") == [1, 1]

    def test_errors(self, client: Client) -> None:
        client.fill(2)
        arity = ("error", "wrong number of arguments for 'xdelex' command")
        assert client("XDELEX s DELREF") == arity
        assert client("XDELEX s IDS 1") == arity
        for number in ("abc", "0", "-5"):
            assert client(f"XDELEX s IDS {number} 1-0") == ("error", "Number of IDs must be a positive integer")
        too_few = ("error", "The `numids` parameter must match the number of arguments")
        assert client("XDELEX s IDS 3 1-0 2-0") == too_few
        assert client("XDELEX s IDS 1 1-0 2-0") == SYNTAX
        assert client("XDELEX s KEEPREF DELREF IDS 1 1-0") == SYNTAX
        assert client("XDELEX s ACKED ACKED IDS 1 1-0") == SYNTAX
        assert client("XDELEX s UNKNOWN IDS 1 1-0") == SYNTAX
        assert client("XDELEX s KEEPREF UNKNOWN IDS") == SYNTAX
        assert client("XDELEX s IDS 2 1-0 x") == BAD_ID
        assert client("XLEN s") == 2
        client("SET text a")
        assert client("XDELEX text IDS 1 1-0") == WRONG_TYPE
        assert client("XDELEX text UNKNOWN IDS 1 1-0") == WRONG_TYPE

    def test_the_strategy_may_stand_behind_the_ids(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g c STREAMS s >")
        assert client("XDELEX s IDS 1 1-0 DELREF") == [1]
        assert client.pending() == []


class TestXackdel:
    """Redis 8.2. -1: not pending in this group, 1: acknowledged and deleted, 2: acknowledged, still referenced."""

    @pytest.fixture
    def two_groups(self, client: Client) -> Client:
        client.fill(2, "g", "h")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XREADGROUP GROUP h bob STREAMS s >")
        return client

    def test_keepref_is_the_default(self, two_groups: Client) -> None:
        assert two_groups("XACKDEL s g IDS 1 1-0") == [1]
        assert two_groups("XACKDEL s g KEEPREF IDS 2 1-0 2-0") == [-1, 1]
        assert two_groups("XLEN s") == 0
        assert two_groups("XPENDING s g") == [0, None, None, None]
        assert two_groups("XPENDING s h") == [2, b"1-0", b"2-0", [[b"bob", b"2"]]]
        assert two_groups("XACKDEL s h IDS 2 1-0 2-0") == [1, 1], "pending, though the entries are gone"
        assert two_groups("XPENDING s h") == [0, None, None, None]

    def test_delref(self, two_groups: Client) -> None:
        assert two_groups("XACKDEL s g DELREF IDS 2 1-0 2-0") == [1, 1]
        assert two_groups("XLEN s") == 0
        assert two_groups("XPENDING s h") == [0, None, None, None]
        assert two_groups("XACKDEL s h DELREF IDS 2 1-0 2-0") == [-1, -1]

    def test_acked(self, two_groups: Client) -> None:
        assert two_groups("XACKDEL s g ACKED IDS 2 1-0 2-0") == [2, 2]
        assert two_groups("XLEN s") == 2
        assert two_groups("XPENDING s g") == [0, None, None, None]
        assert two_groups("XACKDEL s h ACKED IDS 2 1-0 2-0") == [1, 1]
        assert two_groups("XLEN s") == 0

    def test_what_is_not_pending_is_not_deleted(self, client: Client) -> None:
        client.fill(2, "g")
        assert client("XACKDEL s g IDS 2 1-0 9-9") == [-1, -1]
        assert client("XLEN s") == 2

    def test_a_missing_key_or_group(self, client: Client) -> None:
        assert client("XACKDEL s g IDS 2 1-1 2-2") == [-1, -1]
        client.fill(1)
        assert client("XACKDEL s g IDS 2 1-0 x") == [-1, -1]
        assert client("XLEN s") == 1

    def test_errors(self, client: Client) -> None:
        client.fill(1, "g")
        arity = ("error", "wrong number of arguments for 'xackdel' command")
        for line in ("XACKDEL", "XACKDEL s", "XACKDEL s g", "XACKDEL s g IDS 1"):
            assert client(line) == arity
        for number in ("abc", "0", "-5"):
            assert client(f"XACKDEL s g IDS {number} 1-1") == ("error", "Number of IDs must be a positive integer")
        too_few = ("error", "The `numids` parameter must match the number of arguments")
        assert client("XACKDEL s g IDS 3 1-1 2-2") == too_few
        assert client("XACKDEL s g IDS 1 1-1 2-2") == SYNTAX
        for two in ("KEEPREF DELREF", "KEEPREF ACKED", "DELREF ACKED"):
            assert client(f"XACKDEL s g {two} IDS 1 1-1") == SYNTAX
        client("XREADGROUP GROUP g c STREAMS s >")
        assert client("XACKDEL s g IDS 2 1-0 x") == BAD_ID
        assert client.pending() == [("1-0", "c", 1)]
        client("SET text a")
        assert client("XACKDEL text g IDS 1 1-0") == WRONG_TYPE


class TestTrimmingWithReferences:
    """Redis 8.2: KEEPREF, DELREF and ACKED of XADD and XTRIM."""

    def test_xadd_acked(self, client: Client) -> None:
        client.fill(5, "g")
        assert client("XADD s MAXLEN = 1 ACKED 6-0 f v") == b"6-0"
        assert client("XLEN s") == 6
        client("XREADGROUP GROUP g c COUNT 1 STREAMS s >")
        assert client("XADD s MAXLEN = 1 ACKED 7-0 f v") == b"7-0"
        assert client("XLEN s") == 7, "1-0 is pending"
        client("XACK s g 1-0")
        assert client("XADD s ACKED MAXLEN 1 8-0 f v") == b"8-0"
        assert client.ids() == ["2-0", "3-0", "4-0", "5-0", "6-0", "7-0", "8-0"]
        client("XREADGROUP GROUP g c STREAMS s >")
        client("XACK s g 3-0 5-0")
        client("XADD s MAXLEN = 1 ACKED 9-0 f v")
        assert client.ids() == ["2-0", "4-0", "6-0", "7-0", "8-0", "9-0"], "those still pending are passed over"

    def test_xadd_delref(self, client: Client) -> None:
        client.fill(5, "g")
        client("XREADGROUP GROUP g c COUNT 2 STREAMS s >")
        assert client("XADD s MAXLEN = 1 DELREF 6-0 f v") == b"6-0"
        assert client.ids() == ["6-0"]
        assert client.pending() == []

    def test_xtrim(self, client: Client) -> None:
        client.fill(6, "g")
        client("XREADGROUP GROUP g c COUNT 4 STREAMS s >")
        client("XACK s g 2-0")
        assert client("XTRIM s MAXLEN = 5 ACKED") == 1
        assert client.ids() == ["1-0", "3-0", "4-0", "5-0", "6-0"]
        assert client("XTRIM s ACKED MINID = 6-0") == 0
        assert client("XTRIM s MINID 4-0 KEEPREF") == 2
        assert client.pending() == [("1-0", "c", 1), ("3-0", "c", 1), ("4-0", "c", 1)]
        assert client("XTRIM s DELREF MAXLEN 1") == 2
        assert client.pending() == [("1-0", "c", 1), ("3-0", "c", 1)]
        assert client.ids() == ["6-0"]

    def test_delref_does_not_go_for_what_was_deleted_before(self, client: Client) -> None:
        """As in `streamTrim` of t_stream.c, which passes over deleted entries."""
        client.fill(5, "g")
        client("XREADGROUP GROUP g c STREAMS s >")
        client("XDEL s 2-0 3-0")
        assert client("XTRIM s MAXLEN 1 DELREF") == 2
        assert client.pending() == [("2-0", "c", 1), ("3-0", "c", 1), ("5-0", "c", 1)]
        assert client("XADD s MINID 9 DELREF 6-0 f v") == b"6-0"
        assert client.pending() == [("2-0", "c", 1), ("3-0", "c", 1)]

    def test_without_groups_all_is_free(self, client: Client) -> None:
        client.fill(5)
        assert client("XTRIM s MAXLEN 2 ACKED") == 3
        assert client("XADD s ACKED 6-0 f v") == b"6-0", "without trimming the word does nothing"
        assert client("XADD s KEEPREF NOMKSTREAM 7-0 f v") == b"7-0"
        assert client("XLEN s") == 4

    def test_errors(self, client: Client) -> None:
        client.fill(1)
        assert client("XADD s KEEPREF DELREF MAXLEN 1 2-0 f v") == BAD_ID
        assert client("XTRIM s MAXLEN 1 KEEPREF ACKED") == SYNTAX
        assert client("XTRIM s DELREF") == ("error", "wrong number of arguments for 'xtrim' command")
        without = ("error", "syntax error, XTRIM must be called with a trimming strategy")
        assert client("XTRIM s DELREF LIMIT 0") == without


class TestXreadgroupClaim:
    """Redis 8.4. Entries are id, fields, idle time and delivery count before this delivery."""

    @pytest.fixture
    def pending(self, client: Client) -> Client:
        """1-0, 2-0 and 3-0 pending for alice, of which 1-0 and 2-0 have been idle for long; 4-0 is new."""
        client.fill(3, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XCLAIM s g alice 0 1-0 IDLE 2000000 JUSTID")
        client("XCLAIM s g alice 0 2-0 IDLE 1000000 JUSTID")
        client("XADD s 4-0 f v4")
        return client

    def test_claimed_entries_come_first_then_new_ones(self, pending: Client) -> None:
        entries = pending.read("XREADGROUP GROUP g bob CLAIM 500000 STREAMS s >")[b"s"]
        assert counted(entries) == [("1-0", 1), ("2-0", 1), ("4-0", 0)]
        assert [fields for _, fields, _, _ in entries] == [[b"f", b"v1"], [b"f", b"v2"], [b"f", b"v4"]]
        idle = [idle for _, _, idle, _ in entries]
        assert 2_000_000 <= idle[0] < 2_100_000
        assert 1_000_000 <= idle[1] < 1_100_000
        assert idle[2] == 0
        assert pending.pending() == [("1-0", "bob", 2), ("2-0", "bob", 2), ("3-0", "alice", 1), ("4-0", "bob", 1)]
        assert pending.read("XREADGROUP GROUP g bob CLAIM 500000 STREAMS s >") == {}

    def test_the_oldest_delivery_comes_first(self, client: Client) -> None:
        client.fill(4, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        for entry, idle in (("3-0", 4), ("1-0", 3), ("4-0", 2), ("2-0", 1)):
            client(f"XCLAIM s g alice 0 {entry} IDLE {idle}000000 JUSTID")
        entries = client.read("XREADGROUP GROUP g bob CLAIM 1500000 STREAMS s >")[b"s"]
        assert [entry for entry, _ in counted(entries)] == ["3-0", "1-0", "4-0"]

    def test_count_is_for_both_together(self, pending: Client) -> None:
        line = "XREADGROUP GROUP g bob COUNT {} CLAIM 500000 STREAMS s >"
        assert counted(pending.read(line.format(1))[b"s"]) == [("1-0", 1)]
        assert counted(pending.read(line.format(2))[b"s"]) == [("2-0", 1), ("4-0", 0)]
        assert pending.read(line.format(2)) == {}

    def test_zero_claims_all_and_the_maximum_none(self, pending: Client) -> None:
        entries = pending.read(f"XREADGROUP GROUP g bob CLAIM {LONG_MAX} STREAMS s >")[b"s"]
        assert counted(entries) == [("4-0", 0)]
        entries = pending.read("XREADGROUP GROUP g alice CLAIM 0 STREAMS s >")[b"s"]
        assert sorted(counted(entries)) == [("1-0", 1), ("2-0", 1), ("3-0", 1), ("4-0", 1)]
        assert {count for _, _, count in pending.pending()} == {2}

    def test_nothing_to_give(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        assert client("XREADGROUP GROUP g bob CLAIM 100000 STREAMS s >") is None
        client("XACK s g 1-0")
        assert client("XREADGROUP GROUP g bob CLAIM 0 STREAMS s >") is None

    def test_new_entries_alone_have_four_parts_too(self, client: Client) -> None:
        client.fill(2, "g")
        entries = client.read("XREADGROUP GROUP g alice CLAIM 100 STREAMS s >")[b"s"]
        assert entries == [[b"1-0", [b"f", b"v1"], 0, 0], [b"2-0", [b"f", b"v2"], 0, 0]]

    def test_history_ignores_it(self, pending: Client) -> None:
        entries = pending.read("XREADGROUP GROUP g alice CLAIM 0 STREAMS s 0")[b"s"]
        assert [len(entry) for entry in entries] == [2, 2, 2]
        assert pending.read("XREADGROUP GROUP g bob CLAIM 0 STREAMS s 0") == {b"s": []}

    def test_noack(self, pending: Client) -> None:
        """New entries do not become pending; claimed ones stay so."""
        entries = pending.read("XREADGROUP GROUP g bob NOACK CLAIM 500000 STREAMS s >")[b"s"]
        assert counted(entries) == [("1-0", 1), ("2-0", 1), ("4-0", 0)]
        assert pending.pending() == [("1-0", "bob", 2), ("2-0", "bob", 2), ("3-0", "alice", 1)]

    def test_deleted_entries_stay_pending_and_do_not_come(self, pending: Client) -> None:
        pending("XDEL s 1-0 4-0")
        assert counted(pending.read("XREADGROUP GROUP g bob CLAIM 500000 STREAMS s >")[b"s"]) == [("2-0", 1)]
        assert pending.pending()[0] == ("1-0", "alice", 1)
        pending("XTRIM s MAXLEN 0")
        assert pending("XREADGROUP GROUP g bob CLAIM 0 STREAMS s >") is None

    def test_several_streams(self, pending: Client) -> None:
        for line in ("XADD t 1-0 f v", "XGROUP CREATE t g 0", "XADD u 1-0 f v", "XGROUP CREATE u g $"):
            pending(line)
        streams = pending.read("XREADGROUP GROUP g bob COUNT 1 CLAIM 500000 STREAMS s t u > > >")
        assert {key: counted(entries) for key, entries in streams.items()} == {b"s": [("1-0", 1)], b"t": [("1-0", 0)]}

    def test_after_setid_back_an_entry_comes_twice(self, client: Client) -> None:
        client.fill(2, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XREADGROUP GROUP g bob CLAIM 0 STREAMS s >")
        client("XGROUP SETID s g 0")
        entries = client.read("XREADGROUP GROUP g bob CLAIM 0 STREAMS s >")[b"s"]
        assert counted(entries) == [("1-0", 2), ("2-0", 2), ("1-0", 0), ("2-0", 0)]
        assert client.pending() == [("1-0", "bob", 1), ("2-0", "bob", 1)]

    def test_places_where_it_may_stand(self, pending: Client) -> None:
        for line in (
            "XREADGROUP CLAIM 500000 GROUP g bob STREAMS s >",
            "XREADGROUP GROUP g alice CLAIM 1 COUNT 1 claim 3000000 STREAMS s >",
        ):
            pending.read(line)
        assert pending.pending()[0] == ("1-0", "bob", 2)

    def test_errors(self, pending: Client) -> None:
        not_integer = ("error", "min-idle-time is not an integer or out of range")
        for value in ("test", "5.5", "+10", "-0", "10e", "99999999999999999999"):
            assert pending(f"XREADGROUP GROUP g bob CLAIM {value} STREAMS s >") == not_integer
        assert pending("XREADGROUP GROUP g bob CLAIM STREAMS s >") == not_integer
        negative = ("error", "min-idle-time must be a positive integer")
        assert pending("XREADGROUP GROUP g bob CLAIM -10 STREAMS s >") == negative
        for_groups = ("error", "The CLAIM option is only supported by XREADGROUP. You called XREAD instead.")
        assert pending("XREAD CLAIM 10 STREAMS s 0") == for_groups
        assert pending("XREAD COUNT 2 CLAIM 10 STREAMS s 0") == for_groups
        assert pending("XREADGROUP GROUP g CLAIM 50 bob STREAMS s >") == SYNTAX
        missing = "NOGROUP No such key 's' or consumer group 'missing' in XREADGROUP with GROUP option"
        assert pending("XREADGROUP GROUP missing bob CLAIM 50 STREAMS s >") == ("error", missing)

    def test_it_does_not_block_if_there_is_something(self, pending: Client) -> None:
        entries = pending.read("XREADGROUP GROUP g bob BLOCK 0 COUNT 1 CLAIM 500000 STREAMS s >")[b"s"]
        assert counted(entries) == [("1-0", 1)]

    def test_a_new_entry_wakes_it(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        with client.blocked("XREADGROUP GROUP g bob BLOCK 0 CLAIM 100000 STREAMS s >") as waiting:
            client("XADD s 2-0 f v")
            assert waiting.entries() == [("2-0", 0)]

    def test_a_pending_entry_wakes_it_when_it_is_old_enough(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        client("XCLAIM s g alice 0 1-0 IDLE 99800 JUSTID")
        with client.blocked("XREADGROUP GROUP g bob BLOCK 0 CLAIM 100000 STREAMS s >") as waiting:
            assert waiting.entries() == [("1-0", 1)]
        assert client.pending() == [("1-0", "bob", 2)]

    def test_two_that_wait_get_the_same_entry_one_after_the_other(self, client: Client) -> None:
        client("XGROUP CREATE s g 0 MKSTREAM")
        with (
            client.blocked("XREADGROUP GROUP g alice BLOCK 0 CLAIM 100 STREAMS s >") as alice,
            client.blocked("XREADGROUP GROUP g bob BLOCK 0 CLAIM 100 STREAMS s >") as bob,
        ):
            client("XADD s 1-0 f v")
            assert alice.entries() == [("1-0", 0)]
            assert bob.entries() == [("1-0", 1)]

    @pytest.mark.parametrize("end", ["DEL s", "RENAME s t", "SET s text"])
    def test_the_stream_goes(self, client: Client, end: str) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        with client.blocked("XREADGROUP GROUP g bob BLOCK 0 CLAIM 100000 STREAMS s >") as waiting:
            client(end)
            assert waiting.error()

    def test_the_time_is_over(self, client: Client) -> None:
        client.fill(1, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        assert client("XREADGROUP GROUP g bob BLOCK 20 CLAIM 100000 STREAMS s >") is None

    def test_in_a_transaction(self, pending: Client) -> None:
        pending("MULTI")
        pending("XREADGROUP GROUP g bob CLAIM 500000 STREAMS s >")
        pending("XREADGROUP GROUP g bob BLOCK 0 CLAIM 500000 STREAMS s >")
        first, second = pending("EXEC")
        assert counted(dict(first)[b"s"]) == [("1-0", 1), ("2-0", 1), ("4-0", 0)]
        assert second is None


class TestXaddIdmp:
    """Redis 8.6: an entry that was added is not added again."""

    def test_a_duplicate_answers_the_first_id(self, client: Client) -> None:
        first = client("XADD s IDMP p1 payment-abc * amount 100")
        assert client("XADD s IDMP p1 payment-abc * amount 200") == first
        assert client("XRANGE s - +") == [[first, [b"amount", b"100"]]]
        assert client("XADD s IDMP p1 payment-abd * amount 100") != first
        assert client("XLEN s") == 2

    def test_producers_have_their_own_ids(self, client: Client) -> None:
        first, second = client("XADD s IDMP p1 a * f v"), client("XADD s IDMP p2 a * f v")
        assert first != second
        assert client("XADD s IDMP p1 a * f v") == first
        assert client("XADD s IDMP p2 a * f v") == second
        other = client("XADD t IDMP p1 a * f v")
        assert client("XADD t IDMP p1 a * f v") == other
        assert client("XLEN s") == 2

    def test_ids_are_bytes(self, client: Client) -> None:
        for number, producer in enumerate((b"\x00\x01", b"\r\n", "世界".encode(), b"x" * 1_000)):
            for name in (b"\x00\xff", b"*", b"IDMP", b"1-1", b"y" * 65_536):
                first = client("XADD s IDMP", producer, name, "*", "n", number)
                assert client("XADD s IDMP", producer, name, "*", "n", number) == first
        assert client("XLEN s") == 20

    def test_an_entry_that_was_deleted_is_still_known(self, client: Client) -> None:
        first = client("XADD s IDMP p1 a * f v")
        client("XDEL s", first)
        assert client("XADD s IDMP p1 a * f v") == first
        assert client("XLEN s") == 0

    def test_beside_other_options(self, client: Client) -> None:
        assert client("XADD s NOMKSTREAM IDMP p1 a * f v") is None
        assert client("EXISTS s") == 0
        first = client("XADD s IDMP p1 a KEEPREF MAXLEN ~ 1000 LIMIT 10 * f v")
        assert client("XADD s MAXLEN 0 IDMP p1 a * f v") == first
        assert client("XLEN s") == 1, "a duplicate trims nothing"
        assert client("XADD s NOMKSTREAM idmp p1 b MINID 1 * f v") != first

    def test_auto_is_by_the_fields_in_any_order(self, client: Client) -> None:
        first = client("XADD s IDMPAUTO p1 * a 1 b 2 c 3")
        assert client("XADD s IDMPAUTO p1 * b 2 c 3 a 1") == first
        for fields in ("a 1 b 2 c 4", "a 1 b 2", "a 2 b 1 c 3", "a 1 b 2 d 3", "a1 b 2c 3", "a 1 b 2 c 3 c 3"):
            assert client(f"XADD s IDMPAUTO p1 * {fields}") != first, fields
        assert client("XADD s IDMPAUTO p2 * a 1 b 2 c 3") != first
        assert client("XLEN s") == 8

    def test_the_border_between_field_and_value_counts(self, client: Client) -> None:
        first = client("XADD s IDMPAUTO p1 *", "ab", "c")
        assert client("XADD s IDMPAUTO p1 *", "a", "bc") != first
        assert client("XADD s IDMPAUTO p1 *", "", "abc") != first

    def test_in_a_transaction(self, client: Client) -> None:
        client("MULTI")
        for name in ("a", "b", "a", "c"):
            client(f"XADD s IDMP p1 {name} * f v")
        ids = client("EXEC")
        assert ids[0] == ids[2]
        assert len(set(ids)) == client("XLEN s") == 3

    def test_the_oldest_is_forgotten_beyond_the_greatest_size(self, client: Client) -> None:
        client("XADD s IDMP p1 init * f v")
        client("XCFGSET s IDMP-MAXSIZE 3")
        first = [client(f"XADD s IDMP p1 {name} * f v") for name in "abc"]
        other = client("XADD s IDMP p2 a * f v")
        assert [client(f"XADD s IDMP p1 {name} * f v") for name in "abc"] == first
        client("XADD s IDMP p1 d * f v")
        assert client("XADD s IDMP p1 b * f v") == first[1]
        assert client("XADD s IDMP p1 a * f v") != first[0]
        assert client("XADD s IDMP p2 a * f v") == other

    def test_it_is_forgotten_after_its_time(self, client: Client) -> None:
        first = client("XADD s IDMP p1 a * f v")
        client("XCFGSET s IDMP-DURATION 1")
        second = client("XADD s IDMP p1 a * f v")
        assert second != first
        give_up = time.monotonic() + 30
        while client("XADD s IDMP p1 a * f v") == second:
            assert time.monotonic() < give_up, "it is not forgotten"

    def test_errors(self, client: Client) -> None:
        twice = ("error", "syntax error, IDMP/IDMPAUTO specified multiple times")
        assert client("XADD s IDMP p1 a IDMP p2 b * f v") == twice
        assert client("XADD s IDMPAUTO p1 IDMP p2 b * f v") == twice
        assert client("XADD s IDMPAUTO p1 IDMPAUTO p2 * f v") == twice
        assert client("XADD s IDMP p1 a IDMPAUTO p2 * f v") == twice
        only_auto = ("error", "syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs")
        assert client("XADD s IDMP p1 a 1-1 f v") == only_auto
        assert client("XADD s IDMPAUTO p1 1-1 f v") == only_auto
        assert client("XADD s IDMPAUTO p1 1-* f v") == only_auto
        no_producer = ("error", "syntax error, IDMP requires a non-empty producer ID")
        assert client("XADD s IDMP", "", "a", "*", "f", "v") == no_producer
        no_id = ("error", "syntax error, IDMP requires a non-empty idempotent ID")
        assert client("XADD s IDMP p1", "", "*", "f", "v") == no_id
        no_auto_producer = ("error", "syntax error, IDMPAUTO requires a non-empty producer ID")
        assert client("XADD s IDMPAUTO", "", "*", "f", "v") == no_auto_producer
        assert client("XADD s IDMP p1 * f v") == BAD_ID
        assert client("XADD s IDMP p1 a") == ("error", "wrong number of arguments for 'xadd' command")
        assert client("EXISTS s") == 0
        client("SET text a")
        assert client("XADD text IDMP p1 a * f v") == WRONG_TYPE


class TestXcfgset:
    """Redis 8.6."""

    COUNTS = (b"pids-tracked", b"iids-tracked", b"iids-added", b"iids-duplicates")

    def counts(self, client: Client) -> list[int]:
        info = client.info()
        return [info[name] for name in self.COUNTS]

    def test_defaults_and_changes(self, client: Client) -> None:
        client.fill(1)
        assert [client.info()[name] for name in (b"idmp-duration", b"idmp-maxsize")] == [100, 100]
        assert client("XCFGSET s IDMP-DURATION 5") == b"OK"
        assert client("xcfgset s idmp-maxsize 10000") == b"OK"
        assert [client.info()[name] for name in (b"idmp-duration", b"idmp-maxsize")] == [5, 10_000]
        assert client("XCFGSET s IDMP-MAXSIZE 1 IDMP-DURATION 86400") == b"OK"
        full = client.info("XINFO STREAM s FULL")
        assert [full[name] for name in (b"idmp-duration", b"idmp-maxsize")] == [86_400, 1]

    def test_what_xinfo_counts(self, client: Client) -> None:
        client.fill(1)
        assert self.counts(client) == [0, 0, 0, 0]
        for producer, name in (("p1", "a"), ("p1", "b"), ("p2", "a"), ("p1", "a"), ("p2", "a")):
            client(f"XADD s IDMP {producer} {name} * f v")
        assert self.counts(client) == [2, 3, 3, 2]
        assert client("XCFGSET s IDMP-MAXSIZE 50") == b"OK"
        assert self.counts(client) == [0, 0, 3, 2], "another value forgets the ids, not the counts"
        client("XADD s IDMP p1 a * f v")
        assert self.counts(client) == [1, 1, 4, 2]
        assert client("XCFGSET s IDMP-MAXSIZE 50 IDMP-DURATION 100") == b"OK"
        assert self.counts(client) == [1, 1, 4, 2], "the same value forgets nothing"

    def test_where_xinfo_shows_them(self, client: Client) -> None:
        client.fill(1, "g")
        for line, after in (("XINFO STREAM s", b"groups"), ("XINFO STREAM s FULL", b"entries")):
            names = list(client.info(line))
            start = names.index(b"recorded-first-entry-id") + 1
            assert names[start : start + 7] == [b"idmp-duration", b"idmp-maxsize", *self.COUNTS, after]

    def test_errors(self, client: Client) -> None:
        assert client("XCFGSET s IDMP-DURATION 5") == ("error", "no such key")
        client.fill(1)
        assert client("XCFGSET s") == ("error", "At least one parameter must be specified")
        assert client("XCFGSET") == ("error", "wrong number of arguments for 'xcfgset' command")
        duration = ("error", "IDMP-DURATION must be between 1 and 86400 seconds")
        size = ("error", "IDMP-MAXSIZE must be between 1 and 10000 entries")
        for value in ("0", "-100", "86401"):
            assert client(f"XCFGSET s IDMP-DURATION {value}") == duration
        for value in ("0", "-50", "10001"):
            assert client(f"XCFGSET s IDMP-MAXSIZE {value}") == size
        for value in ("A", "*", "-", "120-5", "3.14", "000000000", "IDMP-DURATION", "INVALID IDMP-MAXSIZE"):
            assert client(f"XCFGSET s IDMP-DURATION {value}") == NOT_AN_INTEGER
            assert client(f"XCFGSET s IDMP-MAXSIZE {value}") == NOT_AN_INTEGER
        for line in ("IDMP-DURATION", "IDMP-MAXSIZE", "INVALID", "IDMP-DURATION 5 INVALID"):
            assert client(f"XCFGSET s {line}") == SYNTAX
        twice = ("error", "IDMP-DURATION specified multiple times")
        assert client("XCFGSET s IDMP-DURATION 5 IDMP-DURATION 6") == twice
        assert client.info()[b"idmp-duration"] == 100
        client("SET text a")
        assert client("XCFGSET text IDMP-DURATION 5") == WRONG_TYPE


class TestXnack:
    """Redis 8.8: pending entries are given back to the group."""

    @pytest.fixture
    def three(self, client: Client) -> Client:
        """1-0, 2-0 and 3-0, pending for alice."""
        client.fill(3, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        return client

    def test_the_entry_has_no_owner_then(self, three: Client) -> None:
        assert three("XNACK s g FAIL IDS 2 1-0 3-0") == 2
        rows = three("XPENDING s g - + 10")
        assert rows[0] == [b"1-0", b"", -1, 1]
        assert rows[2] == [b"3-0", b"", -1, 1]
        assert three.pending() == [("1-0", "", 1), ("2-0", "alice", 1), ("3-0", "", 1)]
        assert three.pending(more="alice") == [("2-0", "alice", 1)]
        assert three("XPENDING s g") == [3, b"1-0", b"3-0", [[b"alice", b"1"]]]
        assert three("XNACK s g FAIL IDS 1 2-0") == 1
        assert three("XPENDING s g") == [3, b"1-0", b"3-0", []]

    def test_what_each_mode_does_to_the_count(self, three: Client) -> None:
        for mode, count in (("SILENT", 0), ("FAIL", 1), ("FATAL", LONG_MAX)):
            three("XCLAIM s g alice 0 1-0 RETRYCOUNT 1")
            assert three(f"XNACK s g {mode} IDS 1 1-0") == 1
            assert three.pending()[0] == ("1-0", "", count)
        three("XCLAIM s g alice 0 1-0 RETRYCOUNT 3")
        assert three("xnack s g silent ids 1 1-0") == 1
        assert three.pending()[0] == ("1-0", "", 2)
        three("XCLAIM s g alice 0 1-0 RETRYCOUNT 0")
        three("XNACK s g SILENT IDS 1 1-0")
        assert three.pending()[0] == ("1-0", "", 0), "not below 0"

    def test_retrycount_overrides_the_mode(self, three: Client) -> None:
        for mode, count in (("FATAL", 42), ("SILENT", 10), ("FAIL", 0), ("FAIL", 99)):
            assert three(f"XNACK s g {mode} IDS 1 1-0 RETRYCOUNT {count}") == 1
            assert three.pending()[0] == ("1-0", "", count)

    def test_what_it_counts(self, three: Client) -> None:
        assert three("XNACK s g FAIL IDS 1 9-9") == 0
        assert three("XNACK s g FAIL IDS 5 1-0 9-9 2-0 8-8 3-0") == 3
        assert three("XNACK s g FAIL IDS 2 1-0 1-0") == 2, "again, and twice"
        three("XACK s g 1-0 2-0 3-0")
        assert three("XNACK s g FAIL IDS 1 1-0") == 0

    def test_many(self, client: Client) -> None:
        client.fill(50, "g")
        client("XREADGROUP GROUP g alice STREAMS s >")
        assert client("XNACK s g FAIL IDS 50", *[f"{number}-0" for number in range(1, 51)]) == 50
        assert {consumer for _, consumer, _ in client.pending()} == {""}

    def test_once_more_with_another_mode(self, three: Client) -> None:
        for mode, count in (("FAIL", 1), ("FAIL", 1), ("SILENT", 0), ("FATAL", LONG_MAX), ("FAIL", LONG_MAX)):
            assert three(f"XNACK s g {mode} IDS 1 1-0") == 1
            assert three.pending()[0] == ("1-0", "", count)

    def test_force_makes_pending_what_is_not(self, client: Client) -> None:
        client.fill(4, "g")
        assert client("XNACK s g FAIL IDS 1 1-0 FORCE") == 1
        assert client("XNACK s g FATAL IDS 2 2-0 9-9 FORCE") == 1
        assert client("XNACK s g SILENT IDS 1 3-0 RETRYCOUNT 7 FORCE") == 1
        assert client.pending() == [("1-0", "", 0), ("2-0", "", LONG_MAX), ("3-0", "", 7)]
        assert client("XNACK s g FAIL IDS 1 1-0 FORCE") == 1
        entries = client.read("XREADGROUP GROUP g alice STREAMS s >")[b"s"]
        assert len(entries) == 4, "the group has still read none"
        assert {row[1:] for row in client.pending()} == {("alice", 1)}
        assert client("XNACK s g FAIL IDS 1 4-0 FORCE") == 1
        assert client.pending()[3] == ("4-0", "", 1)

    def test_options_may_stand_before_and_behind_the_ids(self, client: Client) -> None:
        client.fill(1, "g")
        for options in (
            "FORCE IDS 1 1-0",
            "FORCE RETRYCOUNT 42 IDS 1 1-0",
            "RETRYCOUNT 5 IDS 1 1-0 FORCE",
            "force ids 1 1-0 retrycount 3",
            "IDS 1 1-0 RETRYCOUNT 20 FORCE",
        ):
            assert client(f"XNACK s g FAIL {options}") == 1, options
            assert client("XACK s g 1-0") == 1

    def test_it_is_not_in_the_history_and_not_new(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 2 1-0 3-0")
        entries = three.read("XREADGROUP GROUP g alice STREAMS s 0")[b"s"]
        assert [entry for entry, _ in entries] == [b"2-0"]
        assert three("XREADGROUP GROUP g bob STREAMS s >") is None

    def test_claims_take_it_at_once(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 3 1-0 2-0 3-0")
        assert three("XCLAIM s g bob 99999 1-0") == [[b"1-0", [b"f", b"v1"]]]
        assert three("XAUTOCLAIM s g bob 99999 0 COUNT 1") == [b"3-0", [[b"2-0", [b"f", b"v2"]]], []]
        entries = three.read("XREADGROUP GROUP g bob CLAIM 99999 STREAMS s >")[b"s"]
        assert counted(entries) == [("3-0", 1)]
        assert three.pending() == [("1-0", "bob", 2), ("2-0", "bob", 2), ("3-0", "bob", 2)]

    def test_claim_takes_them_in_the_order_of_giving_back_before_all_others(self, three: Client) -> None:
        three("XCLAIM s g alice 0 2-0 IDLE 1000000 JUSTID")
        three("XNACK s g FAIL IDS 2 3-0 1-0")
        entries = three.read("XREADGROUP GROUP g bob CLAIM 500000 STREAMS s >")[b"s"]
        assert [entry for entry, _ in counted(entries)] == ["3-0", "1-0", "2-0"]
        three("XNACK s g FAIL IDS 3 1-0 2-0 3-0")
        three("XNACK s g FAIL IDS 1 1-0")
        line = "XREADGROUP GROUP g bob COUNT 1 CLAIM 500000 STREAMS s >"
        order = [counted(three.read(line)[b"s"])[0][0] for _ in range(3)]
        assert order == ["2-0", "3-0", "1-0"], "given back once more, it is the last"

    def test_a_count_at_its_greatest_stays_there(self, three: Client) -> None:
        """As valkey-io/valkey#4734 has it: a claim must not overflow the count; nor must reading it again."""
        three("XNACK s g FATAL IDS 1 1-0")
        three("XCLAIM s g bob 0 1-0")
        assert three.pending()[0] == ("1-0", "bob", LONG_MAX)
        three("XREADGROUP GROUP g bob STREAMS s 0")
        assert three.pending()[0] == ("1-0", "bob", LONG_MAX)

    def test_idle_filters_let_it_pass(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 1 2-0")
        assert [row[0] for row in three("XPENDING s g IDLE 99999 - + 10")] == [b"2-0"]

    def test_it_wakes_those_who_wait_to_claim(self, three: Client) -> None:
        with (
            three.blocked("XREADGROUP GROUP g bob BLOCK 0 CLAIM 100000 STREAMS s >") as claiming,
            three.blocked("XREADGROUP GROUP g carol BLOCK 0 STREAMS s >") as waiting,
        ):
            assert three("XNACK s g FAIL IDS 2 1-0 2-0") == 2
            assert claiming.entries() == [("1-0", 1), ("2-0", 1)]
            assert waiting.still_waits()
        assert three.pending(more="bob") == [("1-0", "bob", 2), ("2-0", "bob", 2)]

    def test_entries_that_are_deleted(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 2 1-0 3-0")
        three("XDEL s 1-0")
        three("XTRIM s MAXLEN 0")
        assert three.pending() == [("1-0", "", 1), ("2-0", "alice", 1), ("3-0", "", 1)]
        assert three("XREADGROUP GROUP g bob CLAIM 0 STREAMS s >") is None
        assert three("XCLAIM s g bob 0 1-0") == []
        assert three("XAUTOCLAIM s g bob 99999 0") == [b"0-0", [], [b"2-0", b"3-0"]]
        assert three("XPENDING s g") == [0, None, None, None]

    def test_acknowledging(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 3 1-0 2-0 3-0")
        assert three("XACK s g 1-0") == 1
        assert three("XACKDEL s g IDS 1 2-0") == [1]
        assert three("XDELEX s ACKED IDS 1 3-0") == [2]
        assert three("XDELEX s DELREF IDS 1 3-0") == [1]
        assert three("XPENDING s g") == [0, None, None, None]

    def test_consumers_are_neither_made_nor_deleted(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 2 1-0 2-0")
        (alice,) = three("XINFO CONSUMERS s g")
        assert dict(facts(alice))[b"pending"] == 1
        (group,) = three("XINFO GROUPS s")
        counts = dict(facts(group))
        assert (counts[b"consumers"], counts[b"pending"]) == (1, 3)
        assert three("XGROUP DELCONSUMER s g alice") == 1
        assert three.pending() == [("1-0", "", 1), ("2-0", "", 1)]
        assert three("XCLAIM s g bob 0 1-0 JUSTID") == [b"1-0"]
        assert three("XGROUP DESTROY s g") == 1
        three("XGROUP CREATE s g 0")
        assert three("XPENDING s g") == [0, None, None, None]

    def test_what_xinfo_shows(self, three: Client) -> None:
        three("XNACK s g FAIL IDS 1 1-0")
        (group,) = three.full_groups()
        names = [b"name", b"last-delivered-id", b"entries-read", b"lag", b"pel-count", b"nacked-count", b"pending"]
        assert list(group) == [*names, b"consumers"]
        assert (group[b"pel-count"], group[b"nacked-count"]) == (3, 1)
        assert group[b"pending"][0] == [b"1-0", b"", 0, 1]
        for line, nacked, pending in (
            ("XNACK s g FAIL IDS 1 1-0", 1, 3),
            ("XNACK s g FAIL IDS 2 2-0 3-0", 3, 3),
            ("XCLAIM s g bob 0 1-0", 2, 3),
            ("XACK s g 2-0", 1, 2),
            ("XACK s g 3-0", 0, 1),
        ):
            three(line)
            (group,) = three.full_groups()
            assert (group[b"nacked-count"], group[b"pel-count"]) == (nacked, pending), line

    def test_groups_do_not_disturb_each_other(self, three: Client) -> None:
        three("XGROUP CREATE s h 0")
        three("XREADGROUP GROUP h bob STREAMS s >")
        three("XNACK s g FAIL IDS 1 1-0")
        assert three.pending("h")[0] == ("1-0", "bob", 1)
        assert [group[b"nacked-count"] for group in three.full_groups()] == [1, 0]

    def test_errors(self, three: Client) -> None:
        arity = ("error", "wrong number of arguments for 'xnack' command")
        for line in ("", "key", "key group", "key group SILENT", "key group SILENT IDS", "key group SILENT IDS 1"):
            assert three(f"XNACK {line}") == arity
        for key, group in (("missing", "g"), ("s", "missing")):
            missing = ("error", f"NOGROUP No such key '{key}' or consumer group '{group}'")
            assert three(f"XNACK {key} {group} SILENT IDS 1 1-0") == missing
        three("SET text a")
        assert three("XNACK text g FAIL IDS 1 1-0") == WRONG_TYPE
        assert three("XNACK s g BADMODE IDS 1 1-0") == ("error", "mode must be SILENT, FAIL, or FATAL")
        for options, word in (
            ("FAIL BADOPT IDS 1 1-0", "BADOPT"),
            ("FAIL IDS 1 1-0 BADOPT", "BADOPT"),
            ("SILENT FORCE BADOPT IDS 1 1-0", "BADOPT"),
            ("FAIL IDS 1 1-0 RETRYCOUNT 5 BADOPT", "BADOPT"),
            ("FAIL FATAL IDS 1 1-0", "FATAL"),
            ("SILENT NOTIDS 1 1-0", "NOTIDS"),
            ("FAIL IDS 1 1-0 RETRYCOUNT", "RETRYCOUNT"),
            ("FAIL IDS 1 1-0 2-0", "2-0"),
        ):
            assert three(f"XNACK s g {options}") == ("error", f"Unrecognized XNACK option '{word}'")
        assert three("XNACK s g SILENT FORCE RETRYCOUNT 5") == ("error", "syntax error, expected IDS keyword")
        for number in ("abc", "0", "-1"):
            assert three(f"XNACK s g SILENT IDS {number} 1-0") == ("error", "numids must be a positive integer")
        assert three("XNACK s g SILENT IDS 2 1-0") == ("error", "number of IDs doesn't match numids")
        assert three("XNACK s g FAIL IDS 1 not-a-valid-id") == BAD_ID
        assert three("XNACK s g FAIL IDS 2 1-0 x") == BAD_ID
        for number in ("abc", "99999999999999999999"):
            assert three(f"XNACK s g FAIL IDS 1 1-0 RETRYCOUNT {number}") == NOT_AN_INTEGER
        negative = ("error", "Invalid RETRYCOUNT value, must be >= 0")
        assert three("XNACK s g FAIL IDS 1 1-0 RETRYCOUNT -1") == negative
        assert {consumer for _, consumer, _ in three.pending()} == {"alice"}
