"""CONFIG, CLIENT and what tools ask a server about itself: as Redis answers (D1)."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.raw import RawPair, RawPairs
from tests.process import Serve

pytestmark = needs_redis_server


def same_each(pair: Pair, *commands: str) -> None:
    for words in commands:
        pair.same(*words.split())


class TestConfig:
    def test_what_both_have_alike(self, pair: Pair) -> None:
        names = "save maxmemory maxmemory-policy timeout requirepass cluster-enabled notify-keyspace-events logfile"
        for name in names.split():
            pair.same("CONFIG", "GET", name)

    def test_patterns(self, pair: Pair) -> None:
        same_each(pair, "CONFIG GET sav*", "CONFIG GET SAV*", "CONFIG GET s?ve", "CONFIG GET [s]ave", "CONFIG GET nope")
        same_each(pair, "CONFIG GET nope*", "CONFIG GET Save", "CONFIG GET save SAVE Save")
        pair.same("CONFIG", "GET", "save", "maxmemory", alike=sorted)
        same_each(pair, "CONFIG GET \\save", "CONFIG GET \\sav*", "CONFIG GET save]")

    def test_mistakes_and_help(self, pair: Pair) -> None:
        same_each(pair, "CONFIG", "CONFIG GET", "CONFIG NOPE", "CONFIG SET save", "CONFIG SET nope 1", "CONFIG HELP")
        same_each(pair, "CONFIG SET timeout 0 save")
        same_each(pair, "CONFIG SET save x save y", "CONFIG SET timeout 0 nope 1", "CONFIG REWRITE x")
        same_each(pair, "CONFIG REWRITE", "CONFIG RESETSTAT")
        pair.same("CONFIG", "SET", "maxmemory", "0", "timeout", "0")
        pair.same("CONFIG", "SET", "save", "")

    def test_the_true_settings(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text('[server]\nmax_connections = 77\n[log]\nflush = "async"\n')
        with Serve(tmp_path / "data", "--config", str(file)) as broker:
            broker.wait_until_serving()
            with redis.Redis(port=broker.port, decode_responses=True) as client:
                found = client.config_get("*")
                assert found["maxclients"] == "77"
                assert found["port"] == str(broker.port)
                assert found["bind"] == "127.0.0.1"
                assert found["dir"] == str(tmp_path / "data")
                assert (found["appendonly"], found["appendfsync"], found["save"]) == ("yes", "no", "")
                assert (found["databases"], found["proto-max-bulk-len"]) == ("1", str(64 << 20))
                assert list(found) == sorted(found)
                with pytest.raises(redis.ResponseError, match=r"related to argument 'maxclients'.*can't set immutable"):
                    client.config_set("maxclients", 5)
                assert client.config_rewrite()

    def test_resetstat(self, onemq_port: int) -> None:
        with redis.Redis(port=onemq_port) as client:
            client.ping()
            client.config_resetstat()
            assert client.info("stats")["total_commands_processed"] < 3

    def test_redis_benchmark_is_pleased(self, onemq_port: int) -> None:
        tests = "ping,set,get,lpush"
        command = ["redis-benchmark", "-p", str(onemq_port), "-n", "200", "-c", "5", "-t", tests, "--csv"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert "LPUSH" in done.stdout
        assert "WARNING" not in done.stdout + done.stderr


class TestClient:
    def test_mistakes(self, pair: Pair) -> None:
        same_each(
            pair, "CLIENT", "CLIENT NOPE", "CLIENT HELP", "CLIENT LIST ID x", "CLIENT LIST ID 1 x",
            "CLIENT LIST TYPE nope", "CLIENT LIST nope", "CLIENT LIST ID", "CLIENT KILL nope", "CLIENT KILL ID x",
            "CLIENT KILL ID 0", "CLIENT KILL a b", "CLIENT KILL ID 99999", "CLIENT KILL TYPE nope",
            "CLIENT KILL SKIPME nope", "CLIENT KILL USER nope", "CLIENT KILL a b c", "CLIENT REPLY nope",
            "CLIENT NO-EVICT nope", "CLIENT PAUSE x", "CLIENT PAUSE -1", "CLIENT PAUSE 1 nope",
            "CLIENT PAUSE 1 ALL x", "CLIENT UNBLOCK x", "CLIENT UNBLOCK 1 nope", "CLIENT UNBLOCK 99999",
            "CLIENT UNBLOCK 1 ERROR x", "CLIENT CACHING yes", "CLIENT GETREDIR", "CLIENT TRACKINGINFO",
            "CLIENT TRACKING off", "CLIENT TRACKING nope", "CLIENT UNPAUSE", "CLIENT GETNAME", "CLIENT SETNAME a_b",
            "CLIENT GETNAME", "CLIENT NO-EVICT on", "CLIENT ID x", "CLIENT INFO x", "CLIENT LIST ID 0",
        )  # fmt: skip
        pair.same("CLIENT", "SETNAME", "a b")
        pair.same("CLIENT", "SETNAME", "")
        pair.same("CLIENT", "GETNAME")

    KEPT = ("name", "flags", "db", "sub", "psub", "ssub", "multi", "cmd", "user", "redir", "resp")

    def facts(self, line: bytes) -> dict[str, str]:
        words = re.findall(r"(\S+?)=(\S*)", line.decode())
        return {key: value for key, value in words if key in self.KEPT}

    def test_the_line_of_a_client(self, raw_pairs: RawPairs) -> None:
        def alike(came: bytes) -> dict[str, str]:
            return self.facts(came)

        client = raw_pairs.connect()
        client.same("CLIENT INFO", alike=alike)
        client.same("CLIENT SETNAME me", "CLIENT INFO", alike=alike)
        three = raw_pairs.connect(3)
        three.same("SUBSCRIBE a b", "PSUBSCRIBE c", "SSUBSCRIBE d", "CLIENT INFO", alike=alike)
        three.same("CLIENT NO-EVICT ON", "CLIENT INFO", alike=alike)

    def test_lists_by_type_and_id(self, raw_pairs: RawPairs) -> None:
        client, listener, waiting = raw_pairs.connect(), raw_pairs.connect(), raw_pairs.connect()
        listener.same("SUBSCRIBE a")
        waiting.same("CLIENT SETNAME waiter")
        waiting.send("BLPOP nothing 0")
        for side in (client.ours, client.theirs):
            while b"blocked_clients:1" not in side.talk("INFO clients"):
                pass

        def alike(came: bytes) -> list[list[tuple[str, str]]]:
            lines = [line for line in came.splitlines() if b"cmd=" in line]
            return sorted(sorted(self.facts(line).items()) for line in lines)

        client.same("CLIENT LIST TYPE pubsub", alike=alike)
        client.same("CLIENT LIST TYPE master", alike=alike)
        named = client.same("CLIENT LIST", alike=lambda came: b"flags=b" in came).splitlines()
        assert sum(b"name=waiter" in line and b"flags=b" in line for line in named) == 1

    def test_kill_by_type_and_id(self, raw_pairs: RawPairs) -> None:
        client, listener = raw_pairs.connect(), raw_pairs.connect()
        listener.same("SUBSCRIBE a")
        client.same("CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE pubsub")
        assert listener.same() == b"(end)"

    def test_kill_oneself(self, raw_pairs: RawPairs) -> None:
        for side, port_of in ((raw_pairs.connect(), "addr"),):
            for raw in (side.ours, side.theirs):
                line = raw.talk("CLIENT INFO").decode()
                address = re.search(rf" {port_of}=(\S+)", line)
                assert address is not None
                assert raw.talk(f"CLIENT KILL {address[1]}") == b"+OK\r\n(end)"

    def test_reply_modes(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect()
        client.same("CLIENT REPLY SKIP", "PING a", "PING b")
        client.same("CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "PING a", "PING b")
        client.same("CLIENT REPLY OFF", "PING", "NOPE", "CLIENT REPLY SKIP", "PING", "CLIENT REPLY ON", "PING")
        client.same("CLIENT REPLY SKIP", "CLIENT REPLY ON", "PING")
        client.same("CLIENT REPLY SKIP", "NOPE", "PING")

    def test_reset_ends_off_and_not_skip(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("CLIENT REPLY OFF", "PING", "RESET", "PING")
        raw_pairs.connect().same("CLIENT REPLY SKIP", "RESET", "PING")

    def test_a_blocked_command_after_reply_skip_or_off(self, raw_pairs: RawPairs) -> None:
        for before in ("CLIENT REPLY SKIP", "CLIENT REPLY OFF"):
            client, other = raw_pairs.connect(), raw_pairs.connect()
            client.send(before, "BLPOP l 0")
            wait_until_blocked(other)
            other.same("RPUSH l x")
            client.same("CLIENT REPLY ON", "PING")

    @pytest.mark.parametrize(
        "words", ["BLPOP k 0", "BLMOVE k l LEFT LEFT 0", "BZPOPMIN k 0", "XREAD BLOCK 0 STREAMS k $", "WAIT 1 0"]
    )
    @pytest.mark.parametrize("how", ["", " TIMEOUT", " ERROR"])
    def test_unblock(self, raw_pairs: RawPairs, words: str, how: str) -> None:
        client, other = raw_pairs.connect(), raw_pairs.connect()
        for waiting, asking in ((client.ours, other.ours), (client.theirs, other.theirs)):
            number = waiting.talk("CLIENT ID").decode().strip(":\r\n")
            waiting.send(words)
            wait_until_blocked_on(asking)
            assert asking.talk(f"CLIENT UNBLOCK {number}{how}", f"CLIENT UNBLOCK {number}") == b":1\r\n:0\r\n"
        client.same("PING")


def wait_until_blocked(pair: RawPair) -> None:
    wait_until_blocked_on(pair.ours)
    wait_until_blocked_on(pair.theirs)


def wait_until_blocked_on(side: Any) -> None:
    while b"blocked_clients:1" not in side.talk("INFO clients"):
        pass


class TestPause:
    def test_writes_wait_and_reads_do_not(self, raw_pairs: RawPairs) -> None:
        client, other = raw_pairs.connect(), raw_pairs.connect()
        client.same("SET a 1", "CLIENT PAUSE 100000 WRITE", "GET a", "MULTI", "GET a", "EXEC", "CONFIG GET save")
        other.send("SET a 2", "GET a", "PUBLISH c x")
        wait_until_blocked(client)
        client.same("GET a", "CLIENT UNPAUSE")
        other.same("GET a")

    def test_everything_waits_until_the_time_is_up(self, raw_pairs: RawPairs) -> None:
        client, other = raw_pairs.connect(), raw_pairs.connect()
        client.same("SUBSCRIBE c", "UNSUBSCRIBE c")
        other.send("CLIENT PAUSE 50", "PING a", "SET k v", "GET k")
        other.same("PING b")
        client.same("GET k")

    def test_the_rest_of_a_pipeline_waits_too(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("CLIENT PAUSE 30", "SET k v", "MULTI", "GET k", "EXEC", "NOPE")

    def test_a_pause_is_not_shortened(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect()
        started = time.monotonic()
        client.same("CLIENT PAUSE 200 WRITE", "CLIENT PAUSE 1 WRITE", "SET k v")
        assert time.monotonic() - started > 0.15

    def test_one_who_waits_and_leaves_is_forgotten(self, raw_pairs: RawPairs) -> None:
        client, other = raw_pairs.connect(), raw_pairs.connect()
        client.same("CLIENT PAUSE 100000 WRITE")
        other.send("SET k v")
        wait_until_blocked(client)
        other.close()
        for side in (client.ours, client.theirs):
            while b"blocked_clients:1" in side.talk("INFO clients"):
                pass
        client.same("CLIENT UNPAUSE", "EXISTS k")


class TestServer:
    def test_alike(self, pair: Pair) -> None:
        same_each(
            pair, "ROLE", "WAIT 0 0", "WAIT 1 1", "WAIT x 1", "WAIT 1 x", "WAIT 1 -1", "SLOWLOG", "SLOWLOG GET",
            "SLOWLOG GET 5", "SLOWLOG GET x", "SLOWLOG GET -2", "SLOWLOG GET 1 2", "SLOWLOG LEN", "SLOWLOG RESET",
            "SLOWLOG HELP", "LATENCY LATEST", "LATENCY RESET", "LATENCY RESET a", "LATENCY HISTORY a", "MEMORY",
            "MEMORY NOPE", "MEMORY USAGE nope", "MEMORY USAGE k SAMPLES", "MEMORY USAGE k SAMPLES x",
            "MEMORY USAGE k SAMPLES -1", "MEMORY USAGE k FOO 1", "MEMORY USAGE nope SAMPLES 1 SAMPLES x",
            "MEMORY USAGE nope SAMPLES 0 SAMPLES 1", "MEMORY USAGE nope SAMPLES 0 SAMPLES",
            "MEMORY PURGE", "ACL WHOAMI", "ACL LIST",
            "ACL USERS", "ACL CAT", "ACL CAT nope", "ACL CAT a b", "ACL GETUSER default", "ACL GETUSER nope",
            "TIME x", "LASTSAVE x", "ACL", "LATENCY",
        )  # fmt: skip
        pair.same("ACL", "CAT", "transaction", alike=sorted)
        pair.same("ACL", "CAT", "pubsub", alike=sorted)

    def test_times(self, pair: Pair) -> None:
        pair.same("TIME", alike=lambda found: (type(found), len(found), abs(int(found[0]) - time.time()) < 100))
        pair.same("LASTSAVE", alike=type)

    def test_memory_usage_is_about_right(self, pair: Pair) -> None:
        pair.same("SET", "string", "x" * 10_000)
        pair.same("RPUSH", "list", *["x" * 100] * 100)
        pair.same("HSET", "hash", *[f"{word}{number}" for number in range(100) for word in ("f", "v" * 100)])
        pair.same("SADD", "set", *["m" * 90 + str(number) for number in range(100)])
        pair.same("ZADD", "zset", *[word for number in range(100) for word in (str(number), "m" * 90 + str(number))])
        pair.same("XADD", "stream", "1-1", "f", "x" * 10_000)
        for key in ("string", "list", "hash", "set", "zset", "stream"):
            for samples in ("0", "5"):
                pair.same("MEMORY", "USAGE", key, "SAMPLES", samples, alike=lambda size: 10_000 <= size < 40_000)

    @pytest.mark.parametrize("name", ["MONITOR", "DEBUG", "SHUTDOWN", "SAVE", "REPLICAOF", "LOLWUT", "CLUSTER"])
    def test_what_is_not_there_says_so(self, onemq_port: int, name: str) -> None:
        problem = f"unknown command '{name}'"
        with redis.Redis(port=onemq_port) as client, pytest.raises(redis.ResponseError, match=problem):
            client.execute_command(name, "x")


class TestHandshake:
    def test_auth_hello_select(self, raw_pairs: RawPairs) -> None:
        def alike(came: bytes) -> bytes:
            return re.sub(rb"id\r\n:\d+", b"", came)

        requests = (
            "AUTH", "AUTH x", "AUTH default x", "AUTH nobody x", "AUTH a b c", "HELLO", "HELLO 1", "HELLO 4", "HELLO x",
            "HELLO 2", "HELLO 2 AUTH", "HELLO 2 AUTH default", "HELLO 2 AUTH default x", "HELLO 2 AUTH nobody x",
            "HELLO 2 SETNAME", "HELLO 2 SETNAME me", "CLIENT GETNAME", 'HELLO 2 SETNAME "a b"', "HELLO 2 NOPE",
            "HELLO 3 AUTH default x SETNAME you", "CLIENT GETNAME", "HELLO 3 SETNAME a NOPE b", "SELECT 0", "SELECT x",
            "SELECT 2147483648", "SELECT -2147483649",
            "SELECT -1", "SELECT", "RESET", "CLIENT GETNAME", "HELLO 3", "HELLO 2", "ECHO", "PING a b", "QUIT x",
        )  # fmt: skip
        for request in requests:
            raw_pairs.connect().same(request, alike=alike)
        raw_pairs.connect().same(*requests, alike=alike)


class TestCommand:
    def test_mistakes_and_help(self, pair: Pair) -> None:
        same_each(
            pair, "COMMAND HELP", "COMMAND NOPE", "COMMAND COUNT x", "COMMAND LIST x", "COMMAND LIST FILTERBY",
            "COMMAND LIST FILTERBY NOPE x", "COMMAND LIST FILTERBY MODULE x", "COMMAND LIST FILTERBY ACLCAT nope",
            "COMMAND LIST FILTERBY PATTERN geT", "COMMAND LIST FILTERBY PATTERN client|s[e]tname",
            "COMMAND INFO nope", "COMMAND INFO nope client|nope",
            "COMMAND INFO get| get|x | client|", "COMMAND DOCS nope", "COMMAND GETKEYS",
            "COMMAND GETKEYS nope", "COMMAND GETKEYS GET", "COMMAND GETKEYS PING a",
            "COMMAND GETKEYSANDFLAGS nope x",
        )  # fmt: skip

    @pytest.mark.parametrize(
        "words", ["GET, a", "MSET a 1 b 2", "DEL a b c", "WATCH a b", "LMPOP 2 a b LEFT", "BLMPOP 0 2 a b LEFT",
        "BLPOP a b 0", "LMOVE a b LEFT LEFT", "XREAD COUNT 1 STREAMS a b 0 0", "XREADGROUP GROUP g c STREAMS a >",
        "XGROUP CREATE k g 0", "MEMORY USAGE k", "OBJECT ENCODING k", "ZMPOP 1 z MIN", "ZUNIONSTORE d 2 a b",
        "SINTERCARD 2 a b", "ZDIFF 2 a b", "SET a 1", "XADD s * f v", "SUBSCRIBE a", "SSUBSCRIBE a", "PUBLISH a b",
        "CLIENT LIST", "LMPOP x a LEFT", "EVAL script 2 a b c", "EVALSHA sha 0 a", "EVAL script 3 a", "EVAL script x a",
        ],
    )  # fmt: skip
    def test_keys(self, pair: Pair, words: str) -> None:
        pair.same("COMMAND", "GETKEYS", *words.split())
        pair.same("COMMAND", "GETKEYSANDFLAGS", *words.split())

    def test_rows_are_those_of_redis(self, pair: Pair) -> None:
        """Flags, arity, categories, tips and keys of every command that both have."""
        tips_aside = {b"xinfo|consumers"}  # ours come in order
        scripting = {b"script"}  # little of that is there
        ours = {row[0]: row for row in pair.ours.execute_command("COMMAND") if row[0] not in scripting}
        theirs = {row[0]: row for row in pair.theirs.execute_command("COMMAND")}
        different = {}
        for name in sorted(ours.keys() & theirs.keys()):
            for mine, other in rows(ours[name], theirs[name]):
                if comparable(mine) != comparable(other) and mine[0] not in tips_aside:
                    different[mine[0]] = (comparable(mine), comparable(other))
        assert not different


@pytest.mark.parametrize("word", [b"a\x00b", b"\x00", b"a\r\n", b"a\r\nb\n", b"\n", b"\xff"])
def test_errors_quote_a_word_up_to_its_first_zero_byte_and_stay_on_one_line(pair: Pair, word: bytes) -> None:
    for words in (
        (word, "x"), ("NOPE", word, "x"), ("CLIENT", word), ("CLIENT", "KILL", "TYPE", word),
        ("CLIENT", "KILL", "USER", word), ("EXPIRE", "k", 1, word), ("HELLO", 3, word), ("ACL", "CAT", word),
        ("PUBSUB", "CHANNELS", word, "x"),
    ):  # fmt: skip
        pair.same(*words)


def rows(mine: list[Any], other: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    yield mine, other
    subcommands = {row[0]: row for row in other[9]}
    for row in mine[9]:
        if row[0] in subcommands:
            yield row, subcommands[row[0]]


def comparable(row: list[Any]) -> tuple[Any, ...]:
    name, arity, flags, first, last, step, categories, tips, specs, _ = row
    return name, arity, sorted(flags), first, last, step, sorted(categories), sorted(tips), key_specs(specs)


def key_specs(specs: list[Any]) -> list[Any]:
    """Key specifications with their flags in order; lists of pairs in RESP2, maps in RESP3."""
    found = []
    for spec in specs:
        facts = dict(spec) if isinstance(spec, dict) else dict(zip(spec[::2], spec[1::2], strict=True))
        facts[b"flags"] = sorted(facts[b"flags"])
        found.append(facts)
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--stat", "-i", "0.01", "-r", "3"], "keys"),
        (["--bigkeys"], "Sampled 6 keys"),
        (["--memkeys"], "Biggest string found"),
        (["--scan"], "list"),
        (["INFO"], "# Keyspace"),
        (["CONFIG", "GET", "appendonly"], "yes"),
    ],
)
def test_redis_cli(onemq_port: int, arguments: list[str], expected: str) -> None:
    with redis.Redis(port=onemq_port) as client:
        client.flushall()
        client.set("string", "x" * 100)
        client.rpush("list", "a", "b")
        client.hset("hash", "f", "v")
        client.sadd("set", "m")
        client.zadd("zset", {"m": 1})
        client.xadd("stream", {"f": "v"})
    done = subprocess.Popen(["redis-cli", "-p", str(onemq_port), *arguments], stdout=subprocess.PIPE, text=True)
    came = ""
    assert done.stdout is not None
    while expected not in came:
        line = done.stdout.readline()
        assert line, came
        came += line
    done.kill()
    done.stdout.close()
    done.wait()
