"""Commands on sets answer as Redis answers them."""

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import same_contents, same_replies, unordered

pytestmark = needs_redis_server

MEMBERS = """
    SADD m a b c a
    SADD m a d
    SADD m a
    SCARD m
    SCARD nokey
    SISMEMBER m a
    SISMEMBER m x
    SISMEMBER nokey x
    SMISMEMBER m a x b
    SMISMEMBER nokey a b
    SMEMBERS m
    SMEMBERS nokey
    SREM m a a x
    SREM nokey a
    SMOVE m n b
    SMOVE m n x
    SMOVE nokey n x
    SMOVE m m c
    SMOVE m m x
    SMEMBERS n
    SREM m c d
    EXISTS m
    SADD one x
    SMOVE one two x
    EXISTS one
    SADD m
    SREM m
    SMISMEMBER m
    SISMEMBER m
    SMOVE a b
    SET s v
    SADD s a
    SREM s a
    SCARD s
    SISMEMBER s a
    SMISMEMBER s a
    SMEMBERS s
    SMOVE s n a
    SMOVE n s b
    SMOVE nokey s b
    SMOVE n s nothing
    SPOP s
    SPOP s 1
    SRANDMEMBER s
    SRANDMEMBER s 1
"""

COMBINED = """
    SADD a 1 2 3 4 5
    SADD b 2 3 6
    SADD c 3 4 7
    SINTER a b
    SINTER a b c
    SINTER a nokey
    SINTER nokey a
    SINTER a
    SUNION a b c nokey
    SUNION nokey
    SDIFF a b c
    SDIFF a nokey
    SDIFF nokey a
    SDIFF a a
    SINTERSTORE d a b
    SMEMBERS d
    SUNIONSTORE d b c
    SMEMBERS d
    SDIFFSTORE d a b
    SMEMBERS d
    SINTERSTORE d a nokey
    EXISTS d
    SDIFFSTORE a a b
    SMEMBERS a
    SET s v
    SUNIONSTORE s b
    TYPE s
    SET s v
    SINTER a s
    SINTER nokey s
    SINTER s nokey
    SUNION a s
    SDIFF a s
    SDIFF nokey s
    SINTERSTORE x a s
    SUNIONSTORE x s
    SDIFFSTORE s nokey
    EXISTS s
    SINTERCARD 2 b c
    SINTERCARD 1 b
    SINTERCARD 1 b LIMIT 2
    SINTERCARD 2 b c LIMIT 0
    SINTERCARD 2 b nokey
    SINTERCARD 1 b LIMIT 1 LIMIT 2
    SINTERCARD 0 b
    SINTERCARD -1 b
    SINTERCARD a b
    SINTERCARD 3 b c
    SINTERCARD 1 b c
    SINTERCARD 1 b LIMIT
    SINTERCARD 1 b LIMIT -1
    SINTERCARD 1 b LIMIT a
    SINTERCARD 1 b NOPE 1
    SET s v
    SINTERCARD 2 b s
    SINTER
    SINTERSTORE x
    SUNION
    SDIFF
    SINTERCARD 1
"""

RANDOM = """
    SPOP nokey
    SPOP nokey 2
    SPOP nokey 0
    SRANDMEMBER nokey
    SRANDMEMBER nokey 3
    SRANDMEMBER nokey -3
    SADD m a
    SRANDMEMBER m
    SRANDMEMBER m 0
    SRANDMEMBER m 5
    SRANDMEMBER m -3
    SRANDMEMBER m abc
    SRANDMEMBER m 1 2
    SRANDMEMBER m -9223372036854775808
    SRANDMEMBER m 9223372036854775807
    SPOP m 0
    SPOP m -1
    SPOP m abc
    SPOP m 1 2
    SPOP m
    SPOP m
    SADD m a
    SPOP m 1
    SADD m a b c
    SPOP m 100
    EXISTS m
    SPOP
    SRANDMEMBER
"""


@pytest.mark.parametrize("script", [MEMBERS, COMBINED, RANDOM])
def test_sets(pair: Pair, script: str) -> None:
    same_replies(pair, script, in_order=False)


def test_random_members_of_larger_sets(pair: Pair) -> None:
    members = {f"m{number}".encode() for number in range(1_000)}
    pair.same("SADD", "m", *members)
    pair.same("SRANDMEMBER", "m", 100, alike=len)
    pair.same("SRANDMEMBER", "m", -1_500, alike=len)
    pair.same("SRANDMEMBER", "m", 2_000, alike=unordered)
    assert len({reply(pair.ours, "SRANDMEMBER", "m") for _ in range(20)}) > 1
    gone = set()
    for _ in range(100):
        gone.add(reply(pair.ours, "SPOP", "m"))
    gone.update(reply(pair.ours, "SPOP", "m", 300))
    assert len(gone) == 400
    assert gone <= members
    assert set(reply(pair.ours, "SMEMBERS", "m")) == members - gone


def test_large_sets(pair: Pair) -> None:
    pair.same("SADD", "a", *range(0, 3_000, 2))
    pair.same("SADD", "b", *range(0, 3_000, 3))
    pair.same("SINTER", "a", "b", alike=unordered)
    pair.same("SUNIONSTORE", "c", "a", "b")
    pair.same("SDIFFSTORE", "d", "b", "a")
    same_contents(pair)


def test_redis_py_gets_the_types_that_it_promises(onemq_port: int) -> None:
    for protocol in (2, 3):
        with redis.Redis(port=onemq_port, decode_responses=True, protocol=protocol) as client:
            client.flushall()
            assert client.sadd("m", "a", "b") == 2
            assert set(client.smembers("m")) == {"a", "b"}
            assert client.smismember("m", ["a", "x"]) == [1, 0]
            assert set(client.sunion("m", "n")) == {"a", "b"}
            assert client.smove("m", "n", "a") in (True, 1)
            assert client.spop("n") == "a"
