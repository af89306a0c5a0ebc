"""Commands on hashes answer as Redis answers them."""

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import same_replies, unordered

pytestmark = needs_redis_server

FIELDS = """
    HSET h a 1
    HSET h a 2 b 3 c 4
    HSET h a 2 a 3
    HGET h a
    HGET h nothing
    HGET nokey a
    HMSET h d 5 e 6
    HMGET h a b nothing c
    HMGET nokey a b
    HSETNX h a x
    HSETNX h f x
    HSETNX new f x
    HLEN h
    HLEN nokey
    HEXISTS h a
    HEXISTS h nothing
    HEXISTS nokey a
    HSTRLEN h f
    HSTRLEN h nothing
    HSTRLEN nokey f
    HGETALL h
    HKEYS h
    HVALS h
    HGETALL nokey
    HKEYS nokey
    HVALS nokey
    HDEL h a a nothing
    HDEL h b c
    HDEL nokey a
    HDEL h d e f
    EXISTS h
    HSET h "" ""
    HGET h ""
    HSET h
    HSET h a
    HSET h a 1 b
    HMSET h a
    HMSET h a 1 b
    HGET h
    HMGET h
    HDEL h
    HSETNX h a
    HLEN
    HEXISTS h
    SET s v
    HSET s a 1
    HMSET s a 1
    HSETNX s a 1
    HGET s a
    HMGET s a
    HGETALL s
    HKEYS s
    HVALS s
    HDEL s a
    HLEN s
    HEXISTS s a
    HSTRLEN s a
    HINCRBY s a 1
    HINCRBYFLOAT s a 1
    HRANDFIELD s
    HRANDFIELD s 1
"""

NUMBERS = """
    HINCRBY h n 5
    HINCRBY h n -7
    HINCRBY h n 0
    HINCRBY h n abc
    HINCRBY h n 1.5
    HSET h n 9223372036854775807
    HINCRBY h n 1
    HSET h n -9223372036854775808
    HINCRBY h n -1
    HSET h n abc
    HINCRBY h n 1
    HSET h n " 1"
    HINCRBY h n 1
    HSET h n ""
    HINCRBY h n 1
    HINCRBY h n 9223372036854775808
    HINCRBY h n
    HINCRBYFLOAT h f 10.5
    HINCRBYFLOAT h f 0.1
    HINCRBYFLOAT h f -5e3
    HINCRBYFLOAT h f abc
    HINCRBYFLOAT h f inf
    HINCRBYFLOAT h f -inf
    HINCRBYFLOAT h f nan
    HSET h f abc
    HINCRBYFLOAT h f 1
    HSET h f inf
    HINCRBYFLOAT h f 1
    HSET h f 3.0
    HINCRBYFLOAT h f 0
    HINCRBYFLOAT h f
"""

RANDOM = """
    HRANDFIELD nokey
    HRANDFIELD nokey 5
    HRANDFIELD nokey 5 WITHVALUES
    HSET h a 1
    HRANDFIELD h
    HRANDFIELD h 0
    HRANDFIELD h 5
    HRANDFIELD h -3
    HRANDFIELD h 5 WITHVALUES
    HRANDFIELD h -2 withvalues
    HRANDFIELD h abc
    HRANDFIELD h 1 NOPE
    HRANDFIELD h 1 WITHVALUES x
    HRANDFIELD h WITHVALUES
    HRANDFIELD h -9223372036854775808
    HRANDFIELD h -9223372036854775807 WITHVALUES
    HRANDFIELD h -9223372036854775808 WITHVALUES
    HRANDFIELD h 9223372036854775807
    HRANDFIELD h 9223372036854775807 WITHVALUES
    HRANDFIELD h
    HRANDFIELD
"""


@pytest.mark.parametrize("script", [FIELDS, NUMBERS, RANDOM])
def test_hashes(pair: Pair, script: str) -> None:
    same_replies(pair, script)


def test_large_hashes(pair: Pair) -> None:
    pair.same("HSET", "h", *[word for number in range(1_000) for word in (f"f{number}", f"v{number}")])
    pair.same("HGETALL", "h", alike=unordered)
    pair.same("HRANDFIELD", "h", 1_000, alike=unordered)
    pair.same("HRANDFIELD", "h", 2_000, "WITHVALUES", alike=unordered)
    pair.same("HRANDFIELD", "h", 10, alike=len)
    pair.same("HRANDFIELD", "h", -1_500, alike=len)
    pair.same("HRANDFIELD", "h", -1_500, "WITHVALUES", alike=len)
    assert len(set(reply(pair.ours, "HRANDFIELD", "h", 500))) == 500
    assert len({reply(pair.ours, "HRANDFIELD", "h") for _ in range(20)}) > 1


def test_redis_py_gets_the_types_that_it_promises(onemq_port: int) -> None:
    for protocol in (2, 3):
        with redis.Redis(port=onemq_port, decode_responses=True, protocol=protocol) as client:
            client.flushall()
            assert client.hset("h", mapping={"a": 1, "b": 2}) == 2
            assert client.hgetall("h") == {"a": "1", "b": "2"}
            assert client.hmget("h", "a", "x") == ["1", None]
            assert client.hincrbyfloat("h", "a", 0.5) == 1.5
            assert client.hexists("h", "a") is True
            assert sorted(client.hkeys("h")) == ["a", "b"]
