"""Commands on lists answer as Redis answers them."""

import pytest
import redis

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.script import same_replies

pytestmark = needs_redis_server

PUSH_AND_POP = """
    LPUSH l a b c
    RPUSH l d e
    LRANGE l 0 -1
    LPUSHX l x
    RPUSHX l y z
    LPUSHX nokey x
    RPUSHX nokey x
    LLEN l
    LLEN nokey
    LPOP l
    RPOP l
    LPOP nokey
    RPOP nokey
    LPOP l 2
    RPOP l 2
    LPOP l 0
    RPOP nokey 0
    LPOP nokey 3
    LPOP l 100
    EXISTS l
    RPUSH l 1 2 3
    RPOP l 9223372036854775807
    LPOP l -1
    LPOP l abc
    RPOP nokey -1
    RPOP l 9223372036854775808
    LPOP l 1 2
    RPOP l 1 2
    LPOP
    LPUSH l
    LLEN
    LPUSHX l
    SET s v
    LPUSH s x
    RPUSHX s x
    LPOP s
    LPOP s 1
    LPOP s abc
    RPOP s 0
    LLEN s
    RPUSH e ""
    LPOP e
"""

RANGES = """
    RPUSH l a b c d e f g
    LRANGE l 0 0
    LRANGE l 2 4
    LRANGE l -3 -2
    LRANGE l -100 100
    LRANGE l 5 2
    LRANGE l 7 9
    LRANGE l -9223372036854775808 9223372036854775807
    LRANGE nokey 0 -1
    LRANGE l a 1
    LRANGE l 1 b
    LRANGE l 0
    LINDEX l 0
    LINDEX l -1
    LINDEX l 6
    LINDEX l 7
    LINDEX l -8
    LINDEX l abc
    LINDEX nokey abc
    LINDEX nokey 0
    LSET l 0 A
    LSET l -1 G
    LSET l 7 x
    LSET l -8 x
    LSET l abc x
    LSET nokey abc x
    LSET nokey 0 x
    LRANGE l 0 -1
    LTRIM l 1 -2
    LRANGE l 0 -1
    LTRIM l -3 100
    LRANGE l 0 -1
    LTRIM nokey 0 1
    LTRIM l x 1
    LTRIM l 5 2
    EXISTS l
    RPUSH l a b c
    LTRIM l 1 1
    LTRIM l 0 -1
    SET s v
    LRANGE s 0 -1
    LRANGE s a b
    LINDEX s 0
    LINDEX s abc
    LSET s 0 x
    LSET s abc x
    LTRIM s 0 1
"""

CONTENTS = """
    RPUSH l a b a c a b
    LINSERT l BEFORE b x
    LINSERT l after b y
    LINSERT l BEFORE nothing x
    LINSERT nokey BEFORE a x
    LINSERT l NEXT a x
    LINSERT nokey NEXT a x
    LINSERT l BEFORE a
    LRANGE l 0 -1
    LREM l 1 a
    LREM l -1 b
    LRANGE l 0 -1
    LREM l 0 a
    LREM l 0 a
    LREM l -9223372036854775808 y
    LREM nokey 0 a
    LREM l abc a
    LREM nokey abc a
    LRANGE l 0 -1
    LREM l 100 c
    LREM l 100 x
    LREM l -5 b
    EXISTS l
    SET s v
    LREM s 0 v
    LREM s abc v
    LINSERT s BEFORE a b
    LINSERT s NEXT a b
"""

POSITIONS = """
    RPUSH l a b c 1 2 3 c c
    LPOS l c
    LPOS l z
    LPOS l c RANK 2
    LPOS l c RANK -1
    LPOS l c RANK -3
    LPOS l c RANK -4
    LPOS l c RANK 4
    LPOS l c COUNT 2
    LPOS l c COUNT 0
    LPOS l c COUNT 100
    LPOS l z COUNT 0
    LPOS l c RANK -1 COUNT 2
    LPOS l c RANK 2 COUNT 0
    LPOS l c MAXLEN 2
    LPOS l c MAXLEN 3
    LPOS l c MAXLEN 0
    LPOS l c RANK -1 MAXLEN 1
    LPOS l a RANK -1 MAXLEN 7
    LPOS l c count 0 maxlen 7
    LPOS l c RANK 9223372036854775807
    LPOS l c RANK -9223372036854775807
    LPOS l c COUNT 9223372036854775807
    LPOS nokey c
    LPOS nokey c COUNT 0
    LPOS l c RANK 0
    LPOS l c RANK a
    LPOS l c COUNT -1
    LPOS l c COUNT a
    LPOS l c MAXLEN -1
    LPOS l c MAXLEN a
    LPOS l c RANK
    LPOS l c NOPE 1
    LPOS nokey c RANK 0
    LPOS l
    SET s v
    LPOS s v
    LPOS s v RANK 0
"""

MOVES = """
    RPUSH a 1 2 3 4
    LMOVE a b LEFT LEFT
    LMOVE a b RIGHT RIGHT
    LMOVE a b left right
    LMOVE a b RIGHT LEFT
    LMOVE a b LEFT LEFT
    EXISTS a
    LRANGE b 0 -1
    LMOVE b b LEFT RIGHT
    LMOVE b b LEFT LEFT
    LRANGE b 0 -1
    RPOPLPUSH b b
    RPOPLPUSH b c
    RPOPLPUSH nokey c
    LMOVE nokey c LEFT LEFT
    LMOVE b c UP LEFT
    LMOVE b c LEFT UP
    LMOVE nokey c UP LEFT
    LMOVE b c LEFT
    RPOPLPUSH b
    SET s v
    LMOVE b s LEFT LEFT
    LMOVE s b LEFT LEFT
    LMOVE nokey s LEFT LEFT
    RPOPLPUSH s b
    RPOPLPUSH b s
    RPUSH one x
    RPOPLPUSH one one
    LRANGE one 0 -1
    RPUSH l1 a b c
    RPUSH l2 d e
    LMPOP 1 l1 LEFT
    LMPOP 2 nokey l1 RIGHT COUNT 1
    LMPOP 2 l1 l2 left count 100
    LMPOP 2 l1 l2 RIGHT COUNT 2
    LMPOP 2 l1 l2 RIGHT
    LMPOP 2 nokey s LEFT
    LMPOP 0 l1 LEFT
    LMPOP -1 l1 LEFT
    LMPOP a l1 LEFT
    LMPOP 2 l1 LEFT
    LMPOP 1 l1 UP
    LMPOP 1 l1 LEFT COUNT
    LMPOP 1 l1 LEFT COUNT 0
    LMPOP 1 l1 LEFT COUNT -1
    LMPOP 1 l1 LEFT COUNT a
    LMPOP 1 l1 LEFT COUNT 1 COUNT 1
    LMPOP 1 l1 LEFT NOPE 1
    LMPOP 9223372036854775807 l1 LEFT
    LMPOP 1 l1
"""


@pytest.mark.parametrize("script", [PUSH_AND_POP, RANGES, CONTENTS, POSITIONS, MOVES])
def test_lists(pair: Pair, script: str) -> None:
    same_replies(pair, script)


def test_long_lists(pair: Pair) -> None:
    values = [str(number) for number in range(5_000)]
    pair.same("RPUSH", "l", *values)
    pair.same("LPUSH", "l", *values)
    for start, stop in ((0, 10), (4_995, 5_005), (-10, -1), (100, 4_000)):
        pair.same("LRANGE", "l", start, stop)
    pair.same("LTRIM", "l", 3_000, 7_000)
    pair.same("LREM", "l", -3, "1000")
    pair.same("LPOP", "l", 2_000)
    pair.same("LRANGE", "l", 0, -1)


def test_redis_py_gets_the_types_that_it_promises(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port, decode_responses=True) as client:
        client.flushall()
        assert client.rpush("l", "a", "b", "c") == 3
        assert client.lpop("l", 2) == ["a", "b"]
        assert client.lmove("l", "m", "LEFT", "RIGHT") == "c"
        assert client.lmpop(1, "m", direction="LEFT", count=3) == ["m", ["c"]]
        assert client.lmpop(1, "m", direction="LEFT") is None
        assert client.lpos("m", "a") is None
        assert client.lrange("m", 0, -1) == []
