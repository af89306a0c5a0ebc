"""Commands on sorted sets answer as Redis answers them."""

import re

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import same_contents, same_replies, unordered

pytestmark = needs_redis_server

ADD = """
    ZADD z 1 a 2 b 3 c
    ZADD z 1 a 2.5 b 4 d
    ZADD z CH 1 a 3 b 5 e
    ZADD z NX 9 a 9 f
    ZADD z XX 8 a 9 nothing
    ZADD z XX CH 7 a 9 nothing
    ZADD z GT 6 a 10 b
    ZADD z GT CH 6 a 11 b
    ZADD z LT CH 6 a 12 b
    ZADD z GT CH 1 new
    ZADD z LT XX CH 1 newer
    ZADD z gt xx ch 100 a
    ZADD z INCR 5 a
    ZADD z INCR -2.5 fresh
    ZADD z NX INCR 5 a
    ZADD z XX INCR 5 nothing
    ZADD z GT INCR -5 a
    ZADD z LT INCR -5 a
    ZADD z XX GT INCR 5 a
    ZADD z 1 x 2 x 3 x
    ZADD z CH 1 x 2 x 2 x
    ZADD nokey XX 1 a
    ZADD nokey XX INCR 1 a
    ZADD nokey XX CH 1 a
    ZADD z inf i -inf j +inf k infinity l
    ZADD z 1e400 m
    ZADD z 1e-400 m
    ZADD z 0x10 hex
    ZADD z 0e5 zero
    ZADD z -0 minus
    ZADD z 0 minus
    ZADD z .5 half
    ZADD z 5. five
    ZADD z 17976931348623157e292 big
    ZADD z 0.1 tenth 3.14159265358979 pi 1e21 e21 123456789012345678 long
    ZRANGE z 0 -1 WITHSCORES
    ZADD z nan m
    ZADD z abc m
    ZADD z "" m
    ZADD z " 1" m
    ZADD z "1 " m
    ZADD z 1_0 m
    ZADD z 1 m abc n
    ZADD z 1 a 2
    ZADD z NX
    ZADD z NX 1
    ZADD z XX NX 1 a
    ZADD z NX XX GT LT
    ZADD z GT LT 1 a
    ZADD z NX GT 1 a
    ZADD z NX LT 1 a
    ZADD z INCR 1 a 2 b
    ZADD z NX INCR 1 a 2 b
    ZADD z XX NX INCR 1 a 2
    ZADD z NOPE 1 a
    ZADD z INCR inf j
    ZADD z INCR -inf i
    ZADD z INCR nan i
    ZADD z 1
    ZADD z
    ZINCRBY z 1.5 a
    ZINCRBY z -1.5 newest
    ZINCRBY z abc a
    ZINCRBY z nan a
    ZINCRBY z -inf i
    ZINCRBY z inf a
    ZINCRBY nokey 1 a
    ZINCRBY z 1
    ZINCRBY z NX a
    ZINCRBY z incr nan
    ZINCRBY z -0 zero
    ZSCORE z zero
    ZADD z INCR -0 another
    ZINCRBY z -0 zero
    SET s v
    ZADD s 1 a
    ZADD s abc a
    ZADD s XX 1 a
    ZINCRBY s 1 a
"""

READ = """
    ZADD z 1 a 2 b 3 c 3 d -5.5 e
    ZCARD z
    ZCARD nokey
    ZSCORE z a
    ZSCORE z e
    ZSCORE z nothing
    ZSCORE nokey a
    ZMSCORE z a nothing e
    ZMSCORE nokey a b
    ZRANK z a
    ZRANK z e
    ZRANK z nothing
    ZRANK nokey a
    ZREVRANK z a
    ZREVRANK z e
    ZREVRANK z nothing
    ZCOUNT z -inf +inf
    ZCOUNT z 1 3
    ZCOUNT z (1 (3
    ZCOUNT z 3 1
    ZCOUNT z (1 1
    ZCOUNT z "" 3
    ZCOUNT z ( 3
    ZCOUNT z " 1" 3
    ZCOUNT z "1 " 3
    ZCOUNT z abc 3
    ZCOUNT z 1 nan
    ZCOUNT z 1 (abc
    ZCOUNT z -1e400 1e400
    ZCOUNT nokey abc 3
    ZCOUNT nokey 1 3
    ZREM z a nothing a
    ZREM nokey a
    ZREM z b c d e
    EXISTS z
    ZADD l 0 a 0 b 0 c 0 d
    ZLEXCOUNT l - +
    ZLEXCOUNT l [b [c
    ZLEXCOUNT l (b [c
    ZLEXCOUNT l (b (c
    ZLEXCOUNT l [b +
    ZLEXCOUNT l + -
    ZLEXCOUNT l + +
    ZLEXCOUNT l - -
    ZLEXCOUNT l b c
    ZLEXCOUNT l [b c
    ZLEXCOUNT l -x +
    ZLEXCOUNT l - +x
    ZLEXCOUNT l "" +
    ZLEXCOUNT l [ [b
    ZLEXCOUNT nokey b c
    ZLEXCOUNT nokey - +
    SET s v
    ZCARD s
    ZSCORE s a
    ZMSCORE s a
    ZRANK s a
    ZCOUNT s 1 2
    ZCOUNT s abc 2
    ZLEXCOUNT s - +
    ZREM s a
    ZSCORE z
    ZMSCORE z
    ZREM z
    ZRANK z a WITHSCORE
    ZCOUNT z 1
"""

RANGES = """
    ZADD z 1 a 2 b 3 c 4 d 5 e
    ZRANGE z 0 -1
    ZRANGE z 1 3 WITHSCORES
    ZRANGE z -2 -1
    ZRANGE z 3 1
    ZRANGE z 5 9
    ZRANGE z -100 100
    ZRANGE z 0 1 REV
    ZRANGE z 0 -1 REV WITHSCORES
    ZRANGE z -2 -1 rev
    ZRANGE z 2 4 BYSCORE
    ZRANGE z (2 4 BYSCORE WITHSCORES
    ZRANGE z -inf +inf BYSCORE LIMIT 1 2
    ZRANGE z -inf +inf BYSCORE LIMIT 0 -1
    ZRANGE z -inf +inf BYSCORE LIMIT -1 2
    ZRANGE z -inf +inf BYSCORE LIMIT 1 -5
    ZRANGE z -inf +inf BYSCORE LIMIT 10 2
    ZRANGE z -inf +inf BYSCORE LIMIT 1 0
    ZRANGE z 4 2 BYSCORE REV
    ZRANGE z 4 2 BYSCORE
    ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2 WITHSCORES
    ZRANGE z - + BYLEX
    ZRANGE z [b (d BYLEX
    ZRANGE z + - BYLEX REV
    ZRANGE z + - BYLEX REV LIMIT 1 2
    ZRANGE z - + BYLEX WITHSCORES
    ZRANGE z 0 1 LIMIT 0 1
    ZRANGE z 0 1 LIMIT 0 -1
    ZRANGE z 0 1 LIMIT 5 -1
    ZRANGE z 0 1 LIMIT 0
    ZRANGE z 0 1 LIMIT a b
    ZRANGE z 0 1 BYSCORE BYLEX
    ZRANGE z 0 1 BYSCORE BYSCORE
    ZRANGE z 0 1 REV REV
    ZRANGE z 0 1 WITHSCORES WITHSCORES
    ZRANGE z 0 1 NOPE
    ZRANGE z a 1
    ZRANGE z 0 1.5
    ZRANGE z a 1 BYSCORE
    ZRANGE z a + BYLEX
    ZRANGE nokey a 1
    ZRANGE nokey 0 -1
    ZRANGE nokey 0 -1 WITHSCORES
    ZREVRANGE z 0 1
    ZREVRANGE z 0 -1 WITHSCORES
    ZREVRANGE z a 1
    ZREVRANGE z 0 1 REV
    ZREVRANGE z 0 1 BYSCORE
    ZREVRANGE z 0 1 LIMIT 0 1
    ZRANGEBYSCORE z 2 4
    ZRANGEBYSCORE z (2 (4 WITHSCORES
    ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 1 2
    ZRANGEBYSCORE z -inf +inf LIMIT 1 2 WITHSCORES
    ZRANGEBYSCORE z -inf +inf LIMIT 1 -1
    ZRANGEBYSCORE z a 1
    ZRANGEBYSCORE z 1 2 REV
    ZRANGEBYSCORE z 1 2 BYLEX
    ZRANGEBYSCORE nokey 1 2
    ZREVRANGEBYSCORE z 4 2
    ZREVRANGEBYSCORE z +inf (2 WITHSCORES LIMIT 0 2
    ZREVRANGEBYSCORE z 2 4
    ZREVRANGEBYSCORE z 4 a
    ZRANGEBYLEX z - +
    ZRANGEBYLEX z [b [d LIMIT 1 1
    ZRANGEBYLEX z [b [d WITHSCORES
    ZRANGEBYLEX z b d
    ZRANGEBYLEX nokey - +
    ZREVRANGEBYLEX z + -
    ZREVRANGEBYLEX z [d (b
    ZREVRANGEBYLEX z [d (b LIMIT 0 1
    ZREVRANGEBYLEX z - +
    ZREVRANGEBYLEX z d b
    ZRANGE z 0
    ZRANGEBYSCORE z 0
    SET s v
    ZRANGE s 0 -1
    ZRANGE s a b
    ZREVRANGE s 0 -1
    ZRANGEBYSCORE s 1 2
    ZREVRANGEBYLEX s + -
"""

STORE_AND_REMOVE = """
    ZADD z 1 a 2 b 3 c 4 d 5 e
    ZRANGESTORE t z 0 2
    ZRANGE t 0 -1 WITHSCORES
    ZRANGESTORE t z 2 4 BYSCORE
    ZRANGE t 0 -1 WITHSCORES
    ZRANGESTORE t z + - BYLEX REV LIMIT 0 2
    ZRANGE t 0 -1 WITHSCORES
    ZRANGESTORE t z 0 1 REV
    ZRANGE t 0 -1
    ZRANGESTORE t z 7 9
    EXISTS t
    ZRANGESTORE t nokey 0 -1
    SET s v
    ZRANGESTORE s z 0 0
    TYPE s
    SET s v
    ZRANGESTORE t s 0 -1
    ZRANGESTORE s nokey 0 -1
    EXISTS s
    ZRANGESTORE z z 0 -2
    ZRANGE z 0 -1
    ZRANGESTORE t z 0 -1 WITHSCORES
    ZRANGESTORE t z 0 -1 LIMIT 0 1
    ZRANGESTORE t z a 1
    ZRANGESTORE t z 0
    ZREMRANGEBYRANK z 0 0
    ZREMRANGEBYRANK z -1 -1
    ZREMRANGEBYRANK z 5 9
    ZREMRANGEBYRANK z a 1
    ZREMRANGEBYRANK nokey 0 1
    ZRANGE z 0 -1
    ZADD z 1 a 2 b 3 c 4 d 5 e
    ZREMRANGEBYSCORE z (1 2
    ZREMRANGEBYSCORE z 9 10
    ZREMRANGEBYSCORE z a 1
    ZREMRANGEBYSCORE nokey 0 1
    ZREMRANGEBYLEX z [a (d
    ZREMRANGEBYLEX z x y
    ZREMRANGEBYLEX nokey - +
    ZRANGE z 0 -1
    ZREMRANGEBYSCORE z -inf +inf
    EXISTS z
    SET s v
    ZREMRANGEBYRANK s 0 1
    ZREMRANGEBYSCORE s 0 1
    ZREMRANGEBYLEX s - +
"""

POP = """
    ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g
    ZPOPMIN z
    ZPOPMAX z
    ZPOPMIN z 2
    ZPOPMAX z 2
    ZPOPMIN z 0
    ZPOPMAX z 0
    ZPOPMIN z 100
    EXISTS z
    ZPOPMIN z
    ZPOPMIN z 5
    ZPOPMIN z -1
    ZPOPMIN z abc
    ZPOPMAX z 1 2
    ZADD z 1 a 2 b 3 c
    ZADD y 4 d 5 e
    ZMPOP 1 z MIN
    ZMPOP 2 nokey z MAX COUNT 1
    ZMPOP 2 z y min count 100
    ZMPOP 2 z y MAX COUNT 2
    ZMPOP 2 z y MAX
    SET s v
    ZMPOP 2 nokey s MIN
    ZPOPMIN s
    ZPOPMAX s 1
    ZPOPMAX s -1
    ZMPOP 0 z MIN
    ZMPOP -1 z MIN
    ZMPOP a z MIN
    ZMPOP 2 z MIN
    ZMPOP 1 z LEFT
    ZMPOP 1 z MIN COUNT
    ZMPOP 1 z MIN COUNT 0
    ZMPOP 1 z MIN COUNT a
    ZMPOP 1 z MIN COUNT 1 COUNT 1
    ZMPOP 1 z MIN NOPE 1
    ZMPOP 1 z
    ZRANDMEMBER nokey
    ZRANDMEMBER nokey 3
    ZRANDMEMBER nokey 3 WITHSCORES
    ZADD r 1.5 a
    ZRANDMEMBER r
    ZRANDMEMBER r 0
    ZRANDMEMBER r 5
    ZRANDMEMBER r -3
    ZRANDMEMBER r 5 WITHSCORES
    ZRANDMEMBER r -2 withscores
    ZRANDMEMBER r abc
    ZRANDMEMBER r 1 NOPE
    ZRANDMEMBER r 1 WITHSCORES x
    ZRANDMEMBER r -9223372036854775808
    ZRANDMEMBER r -9223372036854775807 WITHSCORES
    ZRANDMEMBER r 9223372036854775807 WITHSCORES
    ZRANDMEMBER s
"""

COMBINED = """
    ZADD a 1 x 2 y 3 z
    ZADD b 10 x 20 y 30 w
    ZADD i inf x -inf y
    ZADD j -inf x inf y
    SADD m x q
    ZUNION 2 a b
    ZUNION 2 a b WITHSCORES
    ZUNION 3 a b nokey WITHSCORES
    ZUNION 2 a m WITHSCORES
    ZUNION 1 nokey
    ZUNION 2 a b WEIGHTS 2 0.5 WITHSCORES
    ZUNION 2 a b AGGREGATE MIN WITHSCORES
    ZUNION 2 a b AGGREGATE max WITHSCORES
    ZUNION 2 a b AGGREGATE SUM WEIGHTS 1 -1 WITHSCORES
    ZUNION 2 i j WITHSCORES
    ZUNION 1 i WEIGHTS 0 WITHSCORES
    ZUNION 2 a a WITHSCORES
    ZINTER 2 a b
    ZINTER 2 a b WITHSCORES
    ZINTER 2 a nokey
    ZINTER 2 a m WITHSCORES
    ZINTER 3 a b m WEIGHTS 1 2 3 AGGREGATE MAX WITHSCORES
    ZINTER 2 i j WITHSCORES
    ZINTER 2 a a WITHSCORES
    ZDIFF 2 a b
    ZDIFF 2 a b WITHSCORES
    ZDIFF 2 a nokey WITHSCORES
    ZDIFF 2 nokey a
    ZDIFF 2 a m WITHSCORES
    ZDIFF 1 m WITHSCORES
    ZDIFF 2 a a
    ZUNIONSTORE d 2 a b
    ZRANGE d 0 -1 WITHSCORES
    ZUNIONSTORE d 2 a b WEIGHTS 2 3 AGGREGATE MIN
    ZRANGE d 0 -1 WITHSCORES
    ZINTERSTORE d 2 a b
    ZRANGE d 0 -1 WITHSCORES
    ZINTERSTORE d 2 a nokey
    EXISTS d
    ZDIFFSTORE d 2 a b
    ZRANGE d 0 -1 WITHSCORES
    ZDIFFSTORE a 2 a b
    ZRANGE a 0 -1
    ZUNIONSTORE m 1 b
    TYPE m
    ZINTERCARD 2 a b
    ZINTERCARD 1 b
    ZINTERCARD 1 b LIMIT 2
    ZINTERCARD 1 b LIMIT 0
    ZINTERCARD 1 b LIMIT -1
    ZINTERCARD 1 b LIMIT a
    ZINTERCARD 1 b LIMIT
    ZINTERCARD 1 b WITHSCORES
    ZINTERCARD 1 b WEIGHTS 1
    ZINTERCARD 0 b
    ZINTERCARD 2 b
    ZUNION 0 a
    ZUNION -1 a
    ZUNION a a
    ZUNION 3 a b
    ZUNION 2 a b WEIGHTS 1
    ZUNION 2 a b WEIGHTS 1 abc
    ZUNION 2 a b WEIGHTS 1 nan
    ZUNION 2 a b WEIGHTS 1 1 1
    ZUNION 2 a b AGGREGATE
    ZUNION 2 a b AGGREGATE AVG
    ZUNION 2 a b NOPE
    ZUNION 2 a b LIMIT 1
    ZUNION 2 a b WITHSCORES WITHSCORES
    ZDIFF 2 a b WEIGHTS 1 2
    ZDIFF 2 a b AGGREGATE MIN
    ZDIFF 0 a
    ZINTER 0 a
    ZUNIONSTORE d 0 a
    ZINTERSTORE d 0 a
    ZDIFFSTORE d 0 a
    ZUNIONSTORE d 2 a b WITHSCORES
    ZINTERSTORE d 5 a b
    ZDIFFSTORE d 2 a b WEIGHTS 1 2
    ZUNIONSTORE d a a
    SET s v
    ZUNION 2 a s
    ZUNION 2 a s NOPE
    ZINTER 2 nokey s
    ZDIFF 2 nokey s
    ZUNIONSTORE d 1 s
    ZINTERCARD 1 s
    ZUNIONSTORE s 1 nokey
    EXISTS s
    ZUNION 1
    ZUNIONSTORE d 1
"""

SUMS = """
    ZADD few 0.1 a
    ZADD some 0.2 a 1 b
    ZADD many 0.3 a 1 b 2 c
    ZINTER 3 many some few WITHSCORES
    ZUNION 3 many some few WITHSCORES
    ZUNION 3 many few some WITHSCORES
    ZUNIONSTORE d 3 some many few WEIGHTS 3 7 0.1
    ZRANGE d 0 -1 WITHSCORES
    ZADD little inf a 1 b
    ZADD much inf a 3 c 4 d
    ZINTER 2 some much WEIGHTS 1 0 WITHSCORES
    ZINTER 2 some much WEIGHTS 1 0 AGGREGATE MIN WITHSCORES
    ZINTER 2 some much WEIGHTS -1 0 AGGREGATE MAX WITHSCORES
    ZINTER 2 much some WEIGHTS 0 1 AGGREGATE MIN WITHSCORES
    ZINTER 2 many little WEIGHTS 1 0 WITHSCORES
    ZINTER 2 many little WEIGHTS 1 0 AGGREGATE MIN WITHSCORES
    ZINTER 2 much much WEIGHTS 5 0 WITHSCORES
    ZINTER 2 much much WEIGHTS 0 5 WITHSCORES
    ZUNION 2 some much WEIGHTS 1 0 AGGREGATE MIN WITHSCORES
"""


@pytest.mark.parametrize("script", [ADD, READ, RANGES, STORE_AND_REMOVE, POP, COMBINED, SUMS])
def test_sorted_sets(pair: Pair, script: str) -> None:
    same_replies(pair, script)


def test_scores_are_told_with_seventeen_digits(pair: Pair) -> None:
    for score in ("0.1", "3", "1e20", "1e21", "1.7976931348623157e308", "5e-324", "-0", "123456.789", "1e-7", "1e8"):
        pair.same("ZADD", "z", score, "m")
        pair.same("ZSCORE", "z", "m")
        pair.same("ZINCRBY", "z", "0.1", "m")
        pair.same("ZRANGE", "z", 0, -1, "WITHSCORES")


def test_large_sorted_sets(pair: Pair) -> None:
    pair.same("ZADD", "z", *[word for number in range(5_000) for word in (number * 7 % 1_000, f"m{number}")])
    pair.same("ZRANGE", "z", 0, -1, "WITHSCORES")
    pair.same("ZRANGE", "z", "(100", "200", "BYSCORE", "LIMIT", 37, 100)
    pair.same("ZRANGE", "z", "500", "(300", "BYSCORE", "REV", "LIMIT", 5, 500, "WITHSCORES")
    pair.same("ZREVRANK", "z", "m1234")
    pair.same("ZREMRANGEBYRANK", "z", 1_000, 2_500)
    pair.same("ZPOPMAX", "z", 700)
    pair.same("ZREMRANGEBYSCORE", "z", 0, 50)
    same_contents(pair)
    pair.same("ZRANDMEMBER", "z", -3_000, alike=len)
    pair.same("ZRANDMEMBER", "z", 10, "WITHSCORES", alike=len, form=lambda node: re.sub(r",\d+", ",", str(node)))
    pair.same("ZRANDMEMBER", "z", 10_000, alike=unordered)
    assert len({reply(pair.ours, "ZRANDMEMBER", "z") for _ in range(20)}) > 1


def test_redis_py_gets_the_types_that_it_promises(onemq_port: int) -> None:
    for protocol in (2, 3):
        with redis.Redis(port=onemq_port, decode_responses=True, protocol=protocol) as client:
            client.flushall()
            assert client.zadd("z", {"a": 1, "b": 2.5}) == 2
            assert client.zadd("z", {"a": 1}, incr=True) == 2.0
            assert client.zscore("z", "b") == 2.5
            assert [tuple(pair) for pair in client.zrange("z", 0, -1, withscores=True)] == [("a", 2.0), ("b", 2.5)]
            assert client.zrevrangebyscore("z", "+inf", "-inf", start=0, num=1) == ["b"]
            assert client.zrank("z", "b") == 1
            assert client.zcount("z", "-inf", "+inf") == 2
