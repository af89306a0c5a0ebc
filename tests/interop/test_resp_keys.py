"""Commands on keys of any type answer as Redis answers them."""

import time

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import same_replies, text, unordered

pytestmark = needs_redis_server

A_KEY_OF_EACH_TYPE = """
    SET s v
    RPUSH l a b
    HSET h f v
    SADD m a b
    ZADD z 1 a 2 b
"""

KEYS = A_KEY_OF_EACH_TYPE + """
    TYPE s
    TYPE l
    TYPE h
    TYPE m
    TYPE z
    TYPE nokey
    EXISTS s l s nokey
    TOUCH s l s nokey
    DBSIZE
    DEL s s nokey l
    UNLINK h h nokey
    DBSIZE
    DEL nokey
    EXISTS h
    DEL
    UNLINK
    EXISTS
    TOUCH
    TYPE
    TYPE a b
    KEYS
    DBSIZE x
    RANDOMKEY x
    FLUSHDB x
    FLUSHDB SYNC ASYNC
    FLUSHALL x
    SELECT 0
    FLUSHDB ASYNC
    DBSIZE
    RANDOMKEY
    SET a 1
    RANDOMKEY
    FLUSHALL sync
    FLUSHALL
    RANDOMKEY
"""

RENAME_AND_COPY = A_KEY_OF_EACH_TYPE + """
    RENAME s t
    GET t
    EXISTS s
    RENAME t t
    RENAME nokey x
    RENAME nokey nokey
    RENAMENX t l
    RENAMENX t t
    RENAMENX t u
    RENAMENX nokey u
    RENAMENX nokey nokey
    EXPIRE u 100
    RENAME u l
    TTL l
    TYPE l
    RENAME l z
    TTL z
    RENAME a
    RENAMENX a
    SET s v EX 100
    COPY s s2
    TTL s2
    COPY s s2
    COPY s s2 REPLACE
    COPY h h2
    COPY m m2
    HSET h2 g w
    SADD m2 c
    HLEN h
    SCARD m
    COPY h m REPLACE
    TYPE m
    COPY nokey x
    COPY nokey x REPLACE
    COPY s s
    COPY nokey nokey
    COPY s x DB 0
    COPY s x DB
    COPY s x DB a
    COPY s x DB 0 REPLACE
    COPY s x NOPE
    COPY s x DB 99
    COPY s x DB 2147483648
    COPY s x DB -2147483649
    COPY s x DB -1
    COPY s
"""

EXPIRY = """
    SET k v
    TTL k
    PTTL k
    EXPIRETIME k
    PEXPIRETIME k
    TTL nokey
    PTTL nokey
    EXPIRETIME nokey
    PEXPIRETIME nokey
    EXPIRE k 100
    TTL k
    EXPIRE nokey 100
    PERSIST k
    PERSIST k
    PERSIST nokey
    PEXPIRE k 100000
    TTL k
    EXPIREAT k 99999999999
    EXPIRETIME k
    PEXPIREAT k 99999999999501
    EXPIRETIME k
    PEXPIRETIME k
    PEXPIREAT k 99999999999499
    EXPIRETIME k
    PEXPIREAT nokey -9223372036854775808
    PEXPIRE k -9223372036854775808
    SET k v PXAT 99999999999499
    EXPIRE k 100 NX
    EXPIRE k 100 XX
    EXPIRE k 50 GT
    EXPIRE k 200 GT
    EXPIRE k 300 LT
    EXPIRE k 150 LT
    EXPIRE k 160 XX GT
    EXPIRE k 140 XX LT
    EXPIRE k 150 gt gt
    TTL k
    PERSIST k
    EXPIRE k 100 XX
    EXPIRE k 100 GT
    EXPIRE k 100 XX LT
    EXPIRE k 100 LT
    PERSIST k
    EXPIRE k 100 NX
    EXPIRE k 100 NX XX
    EXPIRE k 100 NX GT
    EXPIRE k 100 NX LT
    EXPIRE k 100 GT LT
    EXPIRE k 100 GT XX LT
    EXPIRE k 100 NOPE
    EXPIRE k abc NOPE
    EXPIRE k abc
    EXPIRE k 1.5
    EXPIRE k 9223372036854775807
    EXPIRE k -9223372036854775808
    EXPIRE k 9223372036854775
    PEXPIRE k 9223372036854775807
    PEXPIREAT k 9223372036854775807
    EXPIREAT k 9223372036854775807
    EXPIREAT nokey 9223372036854775807
    PEXPIRETIME k
    EXPIRE k 0
    EXISTS k
    SET k v
    EXPIRE k -1
    EXISTS k
    SET k v
    PEXPIREAT k 1
    EXISTS k
    SET k v EX 100
    EXPIRE k -1 GT
    EXPIRE k -1 LT
    EXISTS k
    EXPIRE k
    TTL
    PERSIST
    RPUSH l a b
    EXPIRE l 100
    RPOP l
    TTL l
    RPOP l
    RPUSH l a
    TTL l
"""

OBJECTS = A_KEY_OF_EACH_TYPE + """
    OBJECT ENCODING s
    OBJECT ENCODING l
    OBJECT ENCODING h
    OBJECT ENCODING m
    OBJECT ENCODING z
    SET s 12
    OBJECT ENCODING s
    OBJECT REFCOUNT s
    SET s 123456
    OBJECT REFCOUNT s
    OBJECT REFCOUNT l
    SET s aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    OBJECT ENCODING s
    SADD ints 1 2 3
    OBJECT ENCODING ints
    HSET h f aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    OBJECT ENCODING h
    ZADD z 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    OBJECT ENCODING z
    OBJECT ENCODING nokey
    OBJECT REFCOUNT nokey
    OBJECT IDLETIME nokey
    OBJECT FREQ nokey
    OBJECT FREQ s
    OBJECT HELP
    OBJECT
    OBJECT NOPE s
    OBJECT ENCODING
    OBJECT ENCODING a b
"""


@pytest.mark.parametrize("script", [KEYS, RENAME_AND_COPY, EXPIRY, OBJECTS])
def test_keys(pair: Pair, script: str) -> None:
    same_replies(pair, script)


def test_idle_time_is_told_in_seconds(pair: Pair) -> None:
    pair.same("SET", "s", "v")
    # A slow machine may take a second between the two servers, so only the kind of the answer is the same.
    pair.same("OBJECT", "IDLETIME", "s", alike=lambda answer: isinstance(answer, int) and 0 <= answer < 60)


@pytest.mark.parametrize(
    "pattern", ["*", "a*", "?", "??", "[ab]", "[^ab]*", "[a-b]1", "\\*", "*1", "nothing", "", "[", "a[", "*[1-2]*"]
)
def test_keys_by_pattern(pair: Pair, pattern: str) -> None:
    pair.same("MSET", *[word for key in ("a", "b", "a1", "b1", "a2", "*", "[", "a[", "äö") for word in (key, "v")])
    pair.same("KEYS", pattern, alike=unordered)
    assert unordered(whole_scan(pair.ours, "SCAN", "MATCH", pattern)) == unordered(reply(pair.ours, "KEYS", pattern))


def whole_scan(client: redis.Redis, command: str, *options: object, key: str | None = None) -> list[bytes]:
    """All that a scan brings, page after page."""
    found: list[bytes] = []
    cursor: object = 0
    while True:
        cursor, page = reply(client, command, *([key] if key is not None else []), cursor, *options)
        found += page
        if cursor == b"0":
            return found


def test_a_scan_finds_every_key(pair: Pair) -> None:
    for number in range(300):
        pair.same("SET", f"k{number}", "v")
    pair.same("RPUSH", "list", "a")
    for options in ((), ("COUNT", 1), ("COUNT", 50), ("COUNT", 10_000), ("MATCH", "k1*"), ("TYPE", "list")):
        ours, theirs = (set(whole_scan(client, "SCAN", *options)) for client in (pair.ours, pair.theirs))
        assert ours == theirs
    assert whole_scan(pair.ours, "SCAN", "TYPE", "list", "MATCH", "l*", "COUNT", 7) == [b"list"]
    assert whole_scan(pair.ours, "SCAN", "TYPE", "nothing") == []


SCAN_ERRORS = """
    SCAN
    SCAN abc
    SCAN 1x
    SCAN ""
    SCAN " 0"
    SCAN 99999999999999999999999
    SCAN 0 MATCH
    SCAN 0 COUNT
    SCAN 0 COUNT a
    SCAN 0 COUNT 0
    SCAN 0 COUNT -1
    SCAN 0 NOPE x
    SCAN 0 TYPE
    HSCAN h
    HSCAN nokey 0
    HSCAN nokey abc
    HSCAN nokey 0 NOPE
    SSCAN nokey 0 COUNT abc
    ZSCAN nokey 5
    HSET h a 1 b 2
    SADD m a b
    ZADD z 1.5 a inf b -0.1 c
    HSCAN h 0
    HSCAN h 0 MATCH a*
    HSCAN h 0 COUNT 1
    HSCAN h 0 COUNT 0
    HSCAN h 0 COUNT a
    HSCAN h 0 NOPE
    HSCAN h 0 TYPE hash
    HSCAN h abc
    SSCAN m 0
    SSCAN m 0 MATCH b COUNT 5
    ZSCAN z 0
    ZSCAN z 0 MATCH [ab]
    HSCAN m 0
    SSCAN h 0
    ZSCAN h 0
    ZSCAN h abc
    ZSCAN h 0 NOPE
"""


def test_a_zero_byte_ends_a_cursor_and_the_bounds_of_a_range(pair: Pair) -> None:
    pair.same("ZADD", "z", 1, "a", 2, "b", 3, "c")
    pair.same("ZSCAN", "z", b"0\x00x")
    pair.same("ZSCAN", "z", b"\x000")
    for low, high in ((b"1\x00", b"2\x00x"), (b"(1\x00", b"inf\x00"), (b"\x00", b"(\x00"), (b"1x\x00", b"2")):
        pair.same("ZCOUNT", "z", low, high)
        pair.same("ZRANGEBYSCORE", "z", low, high)
    pair.same("ZADD", "z", b"1\x00", "d")


def test_scans_of_small_things_and_their_errors(pair: Pair) -> None:
    same_replies(pair, SCAN_ERRORS, in_order=False)


def test_a_scan_of_a_large_collection_finds_every_member_that_stays(pair: Pair) -> None:
    members = [f"member:{number}" for number in range(2_000)]
    pair.same("SADD", "m", *members)
    pair.same("HSET", "h", *[word for member in members for word in (member, "v")])
    pair.same("ZADD", "z", *[word for member in members for word in ("1", member)])
    for command, key in (("SSCAN", "m"), ("HSCAN", "h"), ("ZSCAN", "z")):
        for options in (("COUNT", 100), ("COUNT", 700, "MATCH", "member:1*"), ()):
            ours, theirs = (set(whole_scan(client, command, *options, key=key)) for client in (pair.ours, pair.theirs))
            assert ours == theirs


def test_members_that_come_and_go_during_a_scan(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port) as client:
        client.flushall()
        client.sadd("m", *range(3_000))
        found = set()
        cursor, first = client.sscan("m", 0, count=500)
        found.update(first)
        client.srem("m", *range(0, 3_000, 2))
        client.sadd("m", *range(10_000, 13_000))
        while cursor:
            cursor, page = client.sscan("m", cursor, count=500)
            found.update(page)
        stayed = {str(number).encode() for number in range(1, 3_000, 2)}
        assert stayed <= found
        gone = {str(number).encode() for number in range(0, 3_000, 2)}
        assert not (found - set(first)) & gone


def test_a_cursor_that_is_not_known_any_more_brings_everything(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port) as client:
        client.flushall()
        client.sadd("m", *range(3_000))
        assert client.sscan("m", (1 << 40) + 5)[0] == 0
        assert len(client.sscan("m", (1 << 40) + 5)[1]) == 3_000


def test_a_key_is_gone_when_its_time_has_come(pair: Pair) -> None:
    for client in (pair.ours, pair.theirs):
        reply(client, "SET", "k", "v", "PX", 30)
        reply(client, "RPUSH", "l", "a")
        reply(client, "PEXPIRE", "l", 30)
        give_up = time.monotonic() + 20
        while reply(client, "EXISTS", "k", "l"):
            assert time.monotonic() < give_up
        assert reply(client, "DBSIZE") == 0
        assert text(reply(client, "TYPE", "k")) == "none"
        assert reply(client, "SET", "k", "w", "XX") is None
        assert reply(client, "RPUSH", "l", "b") == 1


def test_random_keys_are_keys_and_not_always_the_same(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port) as client:
        client.flushall()
        client.mset({f"k{number}": "v" for number in range(50)})
        client.delete(*[f"k{number}" for number in range(40)])
        found = {client.randomkey() for _ in range(100)}
        assert found <= {b"k%d" % number for number in range(40, 50)}
        assert len(found) > 1


def test_redis_py_iterates(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port, decode_responses=True) as client:
        client.flushall()
        client.mset({f"k{number}": "v" for number in range(100)})
        client.hset("h", mapping={f"f{number}": number for number in range(1_000)})
        client.zadd("z", {f"m{number}": number for number in range(1_000)})
        assert set(client.scan_iter("k*", count=7)) == {f"k{number}" for number in range(100)}
        assert dict(client.hscan_iter("h")) == {f"f{number}": str(number) for number in range(1_000)}
        assert dict(client.zscan_iter("z", count=300)) == {f"m{number}": float(number) for number in range(1_000)}
        assert client.expiretime("h") == -1
        assert client.copy("h", "h2") is True
        assert client.rename("h2", "h3") is True
        assert client.object("encoding", "h") == "hashtable"
