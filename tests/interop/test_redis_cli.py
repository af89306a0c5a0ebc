"""Every command typed into redis-cli, at OneMQ and at a real redis-server: the same is printed (D1)."""

import re
import subprocess

import pytest

from onemq.protocols.resp.commands import COMMANDS
from tests.interop.pair import needs_redis_server

pytestmark = needs_redis_server

SCRIPT = """\
flushall
set s hello
set s world px 100000 get
append s !
get s
getrange s 0 2
substr s 1 2
setrange s 1 O
strlen s
getset s again
getex s persist
getdel s
setnx s 1
incr s
incrby s 10
decr s
decrby s 3
incrbyfloat s 0.5
setex t 1000 a
psetex u 1000000 b
mset a 1 b 2
msetnx a 1 c 3
mget a b c
exists a b c
type a
expire a 1000
pexpire b 1000000
expireat a 4000000000
pexpireat b 4000000000000
expiretime a
pexpiretime b
persist a
ttl a
pttl nobody
touch a b
copy a d
rename d e
renamenx e f
keys [a]
scan 0 match a
object encoding a
randomkey_is_random
del a b
unlink f
dbsize
wait 0 0
rpush l a b c d
lpush l z
rpushx l e
lpushx nobody e
llen l
lrange l 0 -1
lindex l 1
lset l 1 A
linsert l before b B
lpos l b
lrem l 0 c
ltrim l 0 3
lpop l
rpop l 2
lmove l m left right
rpoplpush m n
lmpop 2 l n left count 2
rpush l 1 2 3 4 5
blpop l 1
brpop l 1
blmove l m left right 1
brpoplpush l m 1
blmpop 1 1 m left
blpop nobody 0.01
hset h f v g 1
hsetnx h f w
hmset h i 2
hget h f
hmget h f g nobody
hgetall h
hincrby h g 5
hincrbyfloat h g 0.5
hlen h
hexists h f
hkeys h
hvals h
hstrlen h f
hscan h 0
hdel h f g
hrandfield h
sadd x a b
sadd y b d
srem x c
scard x
sismember x a
smismember x a z
sinter x y
sintercard 2 x y
sinterstore w x y
sdiffstore w x y
smembers w
sdiff x y
sunionstore w y
smove y x d
srem x d b
sadd one a
sscan one 0
srandmember one
spop one
sunion nobody none
zadd z 1 a 2 b 3 c
zadd z2 10 b
zcard z
zscore z b
zmscore z a nobody
zincrby z 5 a
zcount z 1 5
zlexcount z - +
zrank z b
zrevrank z b
zrange z 0 -1 withscores
zrevrange z 0 0
zrangebyscore z 1 3
zrevrangebyscore z +inf 1 limit 0 1
zrangebylex z - +
zrevrangebylex z + -
zrangestore zr z 0 1
zunion 2 z z2 withscores
zinter 2 z z2
zdiff 2 z z2
zintercard 2 z z2
zunionstore zu 2 z z2
zinterstore zi 2 z z2
zdiffstore zd 2 z z2
zscan zi 0
zrandmember zi
zrem z a
zremrangebyscore zu 0 2
zremrangebyrank zu 0 0
zremrangebylex zd - +
zpopmin z
zpopmax zr
zmpop 1 z max
zadd z 1 a 2 b 3 c
bzpopmin z 1
bzpopmax z 1
bzmpop 1 1 z min
xadd st 1-1 f v
xadd st 1-2 f v g w
xadd st nomkstream maxlen 5 2-1 f v
xlen st
xrange st - +
xrevrange st + - count 1
xread count 1 streams st 0
xgroup create st grp 0
xgroup createconsumer st grp c
xreadgroup group grp c count 2 streams st >
xack st grp 1-1
xpending st grp
xclaim st grp d 0 1-2 justid
xautoclaim st grp e 0 0 justid
xinfo groups st
xdel st 1-1
xtrim st maxlen 1
xsetid st 9-9
xgroup destroy st grp
multi
set tx 1
incr tx
exec
multi
discard
watch tx
unwatch
publish ch message
spublish ch message
pubsub channels
subscribe_is_for_a_connection_of_its_own
echo hello
ping
select 0
client getname
config get nothing
config get save
command getkeys set a b
memory usage nobody
slowlog len
latency latest
acl whoami
object refcount_is_wrong s
flushdb
"""
NOT_TYPED = {
    "hello", "auth", "quit", "reset", "info", "time", "role", "lastsave", "randomkey",  # differ by nature
    "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "subscribe", "unsubscribe",  # test_resp_pubsub.py
    "eval", "evalsha", "script",  # test_celery_scripts.py
    "xackdel", "xcfgset", "xdelex", "xnack", "xpolicy",  # not in Redis 7.0
}  # fmt: skip


def typed(port: int, *options: str) -> list[str]:
    """What redis-cli prints for the script, line by line."""
    command = ["redis-cli", "-p", str(port), "--no-raw", *options]
    done = subprocess.run(command, input=SCRIPT, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-3",)], ids=["RESP2", "RESP3"])
def test_the_same_is_printed(onemq_port: int, redis_port: int, options: tuple[str, ...]) -> None:
    ours, theirs = typed(onemq_port, *options), typed(redis_port, *options)
    assert [_ageless(line) for line in ours] == [_ageless(line) for line in theirs]


def _ageless(line: str) -> str:
    """Remaining and idle times aside."""
    return re.sub(r"\(integer\) (\d{3,})$", "(integer) some", line)


def test_every_command_is_typed() -> None:
    words = {line.split()[0] for line in SCRIPT.splitlines()}
    in_redis = {command.name for command in COMMANDS if command.group != "mq"}
    assert in_redis - words - NOT_TYPED == set()
