"""Commands on strings answer as Redis answers them."""

import subprocess

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import same_replies

pytestmark = needs_redis_server

SET_AND_GET = """
    SET k v
    GET k
    get k
    GET nokey
    SET k ""
    GET k
    STRLEN k
    STRLEN nokey
    GETSET k x
    GETSET fresh x
    GETDEL fresh
    GETDEL fresh
    SETNX k y
    SETNX n y
    MSET a 1 b 2 a 3
    MGET a b nokey
    MSETNX c 1 a 2
    MSETNX c 1 d 2
    LPUSH list x
    MGET a list
    SET list over
    GET
    GET k k
    SET k
    MSET a
    MSET a 1 b
    MSETNX a 1 b
    MGET
    SETNX k
"""

SET_OPTIONS = """
    SET k v NX
    SET k w NX
    SET k w XX
    SET other w XX
    GET k
    SET k x GET
    SET n x GET
    SET n y NX GET
    SET m y NX GET
    SET m z XX GET
    SET nokey z XX GET
    SET k v EX 100
    TTL k
    SET k v KEEPTTL
    TTL k
    SET k v
    TTL k
    SET k v PX 100000
    SET k v EXAT 99999999999
    EXPIRETIME k
    SET k v PXAT 99999999999000 NX
    SET k v PXAT 99999999999001
    PEXPIRETIME k
    SET gone v EXAT 1
    GET gone
    SET k v PXAT 1
    EXISTS k
    set k v ex 10 nx get
    SET k v EX 10 EX 20
    SET k v NX XX
    SET k v EX 10 PX 10
    SET k v EX 10 KEEPTTL
    SET k v EX
    SET k v NX NX
    SET k v WHAT
    SET k v PERSIST
    SET k v EX 0
    SET k v EX -1
    SET k v PX 0
    SET k v EXAT 0
    SET k v PXAT -5
    SET k v EX abc
    SET k v EX 1.5
    SET k v EX 9223372036854775807
    SET k v EX 9223372036854775
    SET k v PX 9223372036854775807
    SET k v EXAT 9223372036854775807
    SET k v EX 99999999999999999999
    SETEX k 10 v
    SETEX k 0 v
    SETEX k -1 v
    SETEX k x v
    SETEX k 9223372036854775807 v
    PSETEX k 10000 v
    PSETEX k 0 v
    PSETEX k x v
    PSETEX k 9223372036854775807 v
    SETEX k 10
    LPUSH list x
    SET list v GET
    SET list v NX GET
    SET list v NX
    GETSET list v
    GETDEL list
    SETNX list v
    SETEX list 10 v
"""

GETEX = """
    GETEX nokey
    GETEX nokey EX -1
    GETEX nokey EX
    SET k v
    GETEX k
    GETEX k EX 100
    TTL k
    GETEX k PERSIST
    TTL k
    GETEX k PX 100000
    GETEX k EXAT 99999999999
    GETEX k PXAT 99999999999000
    PEXPIRETIME k
    GETEX k NX
    GETEX k KEEPTTL
    GETEX k GET
    GETEX k EX 1 PERSIST
    GETEX k EX
    GETEX k EX abc
    GETEX k EX 0
    GETEX k EX -1
    GETEX k EX 9223372036854775807
    GETEX k PXAT 1
    EXISTS k
    LPUSH list x
    GETEX list
    GETEX list EX abc
"""

NUMBERS = """
    INCR n
    INCR n
    INCRBY n 10
    INCRBY n -3
    DECR n
    DECRBY n 4
    DECRBY n -4
    GET n
    DECR fresh
    INCRBY n 0
    SET n 9223372036854775806
    INCR n
    INCR n
    INCRBY n 1
    DECRBY n -1
    SET n -9223372036854775807
    DECR n
    DECR n
    DECRBY n 9223372036854775807
    DECRBY n -9223372036854775808
    INCRBY n -9223372036854775808
    INCRBY n 9223372036854775808
    INCRBY n abc
    INCRBY n 1.5
    INCRBY n ""
    INCRBY n " 1"
    INCRBY n +1
    INCRBY n 01
    INCRBY n -0
    SET s abc
    INCR s
    SET s " 1"
    INCR s
    SET s ""
    INCR s
    SET s 1.5
    INCR s
    SET s 007
    INCR s
    SET s +5
    INCR s
    SET s 99999999999999999999
    INCR s
    LPUSH list x
    INCR list
    INCRBY list x
    DECRBY list 1
    INCR
    INCR a b
    INCRBY n
    SET t 1 EX 100
    INCR t
    TTL t
"""

FLOATS = """
    INCRBYFLOAT f 10.5
    INCRBYFLOAT f 0.1
    INCRBYFLOAT f -5
    INCRBYFLOAT f 5.0e3
    INCRBYFLOAT f 1e-20
    SET f 3.0
    INCRBYFLOAT f 0
    SET f 5.0e3
    INCRBYFLOAT f 2.0e2
    INCRBYFLOAT f 1e300
    INCRBYFLOAT f -1e300
    SET f 0.1
    INCRBYFLOAT f 0.2
    SET f -0
    INCRBYFLOAT f 0
    INCRBYFLOAT f 1.5
    INCRBYFLOAT f 0x10
    INCRBYFLOAT f abc
    INCRBYFLOAT f ""
    INCRBYFLOAT f " 1"
    INCRBYFLOAT f "1 "
    INCRBYFLOAT f nan
    INCRBYFLOAT f inf
    INCRBYFLOAT f -inf
    INCRBYFLOAT f 1_0
    SET f abc
    INCRBYFLOAT f 1
    SET f inf
    INCRBYFLOAT f 1
    INCRBYFLOAT fresh inf
    SET t 1 EX 100
    INCRBYFLOAT t 1.25
    TTL t
    LPUSH list x
    INCRBYFLOAT list 1
    INCRBYFLOAT list abc
    INCRBYFLOAT f
"""

PARTS = """
    APPEND k hello
    APPEND k ", world"
    APPEND k ""
    GET k
    STRLEN k
    GETRANGE k 0 4
    GETRANGE k 0 -1
    GETRANGE k -5 -1
    GETRANGE k -1 -5
    GETRANGE k 5 2
    GETRANGE k 0 -100
    GETRANGE k -100 -100
    GETRANGE k -100 2
    GETRANGE k 100 200
    GETRANGE k 3 1000
    GETRANGE k 9223372036854775807 9223372036854775807
    GETRANGE k -9223372036854775808 9223372036854775807
    GETRANGE nokey 0 -1
    GETRANGE k a b
    GETRANGE k 0 b
    GETRANGE k 0
    SUBSTR k 1 3
    SUBSTR k x 3
    SETRANGE k 6 Redis
    GET k
    SETRANGE k 20 end
    GET k
    SETRANGE new 3 x
    GET new
    SETRANGE nokey 3 ""
    SETRANGE k 2 ""
    SETRANGE k -1 x
    SETRANGE k x x
    SETRANGE k 536870912 x
    SETRANGE k 9223372036854775807 x
    SETRANGE nokey 536870912 x
    SETRANGE k 0
    LPUSH list x
    APPEND list x
    STRLEN list
    GETRANGE list 0 1
    GETRANGE list a b
    SETRANGE list 0 x
    SETRANGE list 0 ""
    SETRANGE list -1 x
    SET t v EX 100
    APPEND t x
    SETRANGE t 0 x
    TTL t
"""


@pytest.mark.parametrize("script", [SET_AND_GET, SET_OPTIONS, GETEX, NUMBERS, FLOATS, PARTS])
def test_strings(pair: Pair, script: str) -> None:
    same_replies(pair, script)


def test_any_bytes_are_a_key_and_a_value(pair: Pair) -> None:
    everything = bytes(range(256))
    pair.same("SET", everything, everything * 1000)
    assert pair.same("GET", everything) == everything * 1000
    pair.same("GETRANGE", everything, 250, 260)


def test_redis_py_gets_the_types_that_it_promises(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port, decode_responses=True) as client:
        client.flushall()
        assert client.set("k", "v", ex=100, nx=True) is True
        assert client.set("k", "w", nx=True) is None
        assert client.set("k", "w", get=True, keepttl=True) == "v"
        assert client.ttl("k") == 100
        assert client.mget("k", "n") == ["w", None]
        assert client.incrbyfloat("f", 0.1) == 0.1
        assert client.incr("n", 5) == 5
        assert client.getex("k", persist=True) == "w"
        assert client.ttl("k") == -1


def test_redis_cli(onemq_port: int) -> None:
    def run(*words: str) -> str:
        command = ["redis-cli", "-p", str(onemq_port), "--no-raw", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()

    assert run("SET", "cli", "a b") == "OK"
    assert run("GET", "cli") == '"a b"'
    assert run("INCR", "cli") == "(error) ERR value is not an integer or out of range"
    assert run("GET", "cli-none") == "(nil)"


def test_a_large_append_stays_the_same(pair: Pair) -> None:
    for _ in range(10):
        pair.same("APPEND", "big", b"x" * 100_000)
    assert reply(pair.ours, "STRLEN", "big") == 1_000_000
