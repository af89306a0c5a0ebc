"""What is typed into redis-cli by test_redis_cli.py: every command, subcommand and option, scene by scene.

A line is one command as one types it; those with `#` are remarks. Each scene begins with an empty server. In
`SCENES` a real redis-server answers the same. What redis-server 7.0 does not know stands in `TRANSCRIPTS` with the
replies that are expected and their source: a line with `>` is typed, and what follows it is the reply. A reply that
RESP3 shapes in another way stands there twice, the second time behind `RESP3`.
"""

import json
from hashlib import sha1

from redis.lock import Lock

_SCRIPT = Lock.LUA_RELEASE_SCRIPT
_QUOTED = json.dumps(_SCRIPT)
_DIGEST = sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()

SCENES = {
    "strings": """
        set s hello
        set s hello nx
        set nobody hello xx
        set s world px 100000 get
        set s v ex 1000
        set s v keepttl
        ttl s
        set s v exat 4000000000
        expiretime s
        set s v pxat 4000000000000
        pexpiretime s
        set s v ex 0
        set s v nx xx
        append s !
        get s
        get nobody
        getrange s 0 2
        substr s 1 2
        setrange s 1 O
        strlen s
        getset s again
        getex s ex 100
        getex s px 100000
        getex s exat 4000000000
        getex s pxat 4000000000000
        pexpiretime s
        getex s persist
        ttl s
        getdel s
        setnx s 1
        incr s
        incrby s 10
        decr s
        decrby s 3
        incrbyfloat s 0.5
        incr s
        setex t 1000 a
        psetex u 1000000 b
        mset a 1 b 2
        mset a
        msetnx a 1 c 3
        mget a b c
        lpush a x
    """,
    "keys": """
        mset a 1 b 2
        exists a b c
        type a
        expire a 1000
        expire a 2000 nx
        expire a 2000 xx
        expire a 1000 gt
        expire a 1000 lt
        pexpire b 1000000
        pexpire b 1000000 nx
        pexpire b 1000000 xx
        pexpire b 9000000 gt
        pexpire b 1000000 lt
        expireat a 4000000000
        expireat a 4000000000 nx
        expireat a 4000000000 xx
        expireat a 4000000001 gt
        expireat a 4000000000 lt
        pexpireat b 4000000000000
        pexpireat b 4000000000000 nx
        pexpireat b 4000000000000 xx
        pexpireat b 4000000000001 gt
        pexpireat b 4000000000000 lt
        expiretime a
        pexpiretime b
        persist a
        ttl a
        pttl nobody
        pttl b
        touch a b
        copy a d
        copy b d
        copy b d replace
        copy a e db 0
        rename d f
        rename d f
        renamenx f b
        renamenx f g
        keys [ag]
        keys *
        scan 0 match a
        scan 0 match * count 100 type string
        object encoding a
        object freq a
        object idletime a
        mset number 5 word hello
        object refcount number
        object refcount word
        object help
        del a b number word
        unlink g nobody
        randomkey
        dbsize
        flushdb async
        randomkey
        flushdb sync
        flushall async
        flushall sync
        flushall
        flushdb
    """,
    "lists": """
        rpush l a b c d
        lpush l z
        rpushx l e
        lpushx l y
        lpushx nobody e
        rpushx nobody e
        llen l
        lrange l 0 -1
        lrange l -3 100
        lindex l 1
        lindex l 100
        lset l 1 A
        lset l 100 A
        lset nobody 0 A
        linsert l before b B
        linsert l after b C
        linsert l after nothing C
        rpush l b b
        lpos l b
        lpos l b rank -1
        lpos l b count 0
        lpos l b rank 2 count 2 maxlen 100
        lrem l 0 c
        lrem l -1 b
        lrange l 0 -1
        ltrim l 0 5
        lpop l
        lpop l 2
        rpop l
        rpop l 2
        lpop nobody
        lpop nobody 2
        rpush l 1 2 3 4 5 6
        lmove l m left right
        lmove l m right left
        lmove nobody m left left
        rpoplpush m n
        lmpop 2 l n left count 2
        lmpop 2 l n right
        lmpop 1 nobody left
        lrange l 0 -1
        lrange m 0 -1
        lrange n 0 -1
        llen
        lpush
    """,
    "blocking": """
        rpush l 1 2 3 4 5 6 7 8
        blpop l 1
        brpop l 1.5
        blpop nobody l 0.01
        blmove l m left right 1
        blmove l m right left 1
        brpoplpush l m 1
        blmpop 1 1 m left
        blmpop 1 2 nobody m right count 2
        blpop nobody 0.01
        brpop nobody 0.01
        blmove nobody m left right 0.01
        brpoplpush nobody m 0.01
        blmpop 0.01 1 nobody left
        zadd z 1 a 2 b 3 c 4 d 5 e 6 f
        bzpopmin z 1
        bzpopmax z 1
        bzmpop 1 1 z min
        bzmpop 1 1 z max count 2
        bzpopmin nobody 0.01
        bzpopmax nobody 0.01
        bzmpop 0.01 1 nobody max
        blpop l -1
        blpop l x
        multi
        blpop nobody 0
        blmove nobody m left right 0
        brpop l 0
        exec
    """,
    "hashes": """
        hset h f v g 1
        hsetnx h f w
        hmset h i 2
        hget h f
        hget h nobody
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
        hscan h 0 match f count 10
        hdel h f g
        hrandfield h
        hrandfield h 5 withvalues
        hrandfield nobody
        hgetall nobody
        hset h f
    """,
    "sets": """
        sadd x a b c
        sadd y b d
        srem x c
        scard x
        sismember x a
        smismember x a z
        sinter x y
        sintercard 2 x y
        sintercard 2 x y limit 1
        sinterstore w x y
        sdiffstore w x y
        smembers w
        sdiff x y
        sunion x y
        sunionstore w y
        smove y x d
        srem x d b
        sadd one a
        sscan one 0
        sscan one 0 match a count 10
        srandmember one
        srandmember one 2
        spop one
        spop one 2
        sunion nobody none
    """,
    "sorted sets": """
        zadd z 1 a 2 b 3 c
        zadd z nx 5 a
        zadd z xx ch 5 a
        zadd z gt ch 4 a
        zadd z lt ch 1 a
        zadd z incr 1.5 a
        zadd z incr -1.5 a
        zadd z nx gt 1 a
        zadd z2 10 b
        zcard z
        zscore z b
        zmscore z a nobody
        zincrby z 5 a
        zcount z 1 5
        zcount z (2 +inf
        zadd zl 0 a 0 b 0 c 0 d
        zlexcount zl - +
        zlexcount zl [a (c
        zrank z b
        zrevrank z b
        zrank z nobody
        zrange z 0 -1 withscores
        zrange z (2 +inf byscore
        zrange z 6 1 byscore rev limit 0 2 withscores
        zrange zl - + bylex
        zrevrange z 0 0
        zrevrange z 0 -1 withscores
        zrangebyscore z 1 3
        zrangebyscore z 1 3 withscores limit 0 1
        zrevrangebyscore z +inf 1 limit 0 1
        zrevrangebyscore z +inf 1 withscores
        zrangebylex zl - +
        zrangebylex zl [b + limit 0 1
        zrevrangebylex zl + -
        zrevrangebylex zl + [b limit 0 1
        zrangestore zr z 0 1
        zrangestore zr z 1 6 byscore limit 0 5
        zrangestore zd zl + - bylex rev
        zunion 2 z z2 withscores
        zunion 2 z z2 weights 1 2 aggregate max withscores
        zinter 2 z z2
        zinter 2 z z2 weights 3 2 aggregate min withscores
        zinter 2 z z2 aggregate sum withscores
        zunion 2 z z2 aggregate min
        zunion 2 z z2 aggregate sum
        zinter 2 z z2 aggregate max
        zdiff 2 z z2
        zdiff 2 z z2 withscores
        zintercard 2 z z2
        zintercard 2 z z2 limit 1
        zunionstore zu 2 z z2
        zunionstore zu 2 z z2 weights 1 2 aggregate max
        zunionstore zu 2 z z2 aggregate min
        zunionstore zu 2 z z2 aggregate sum
        zinterstore zi 2 z z2
        zinterstore zi 2 z z2 weights 1 2 aggregate min
        zinterstore zi 2 z z2 aggregate max
        zinterstore zi 2 z z2 aggregate sum
        zdiffstore zd 2 z z2
        zscan zi 0
        zscan zi 0 match b count 10
        zrandmember zi
        zrandmember zi 5 withscores
        zrem z a
        zremrangebyscore zu 0 2
        zremrangebyrank zu 0 0
        zremrangebylex zl (a [b
        zremrangebylex zl - +
        zpopmin z
        zpopmin z 2
        zpopmax zr
        zpopmax zr 5
        zadd z 1 a 2 b 3 c 4 d
        zmpop 1 z max
        zmpop 2 nobody z min count 2
        zmpop 1 nobody min
    """,
    "streams: adding and trimming": """
        xadd st 1-1 f v
        xadd st 1-1 f v
        xadd st 0-0 f v
        xadd st 1-* f v g w
        xadd st 3-* f v
        xadd st 4 f v
        xadd st * f v
        xadd st nomkstream 9999999999999-1 f v
        xadd nobody nomkstream 1-1 f v
        exists nobody
        xlen st
        del st
        xadd st maxlen 3 1-1 f v
        xadd st maxlen = 3 2-1 f v
        xadd st maxlen ~ 3 3-1 f v
        xadd st maxlen ~ 3 limit 10 4-1 f v
        xadd st minid 2 5-1 f v
        xadd st minid = 2-1 6-1 f v
        xadd st minid ~ 3 7-1 f v
        xadd st nomkstream minid ~ 3-1 limit 5 8-1 f v
        xadd st maxlen 3 limit 10 9-1 f v
        xadd st maxlen x 9-1 f v
        xadd st maxlen 3 minid 3 9-1 f v
        xadd st 9-1 f
        xadd st x f v
        xlen st
        xtrim st maxlen 100
        xtrim st maxlen = 5
        xtrim st maxlen ~ 2
        xtrim st maxlen ~ 2 limit 10
        xtrim st minid 6
        xtrim st minid = 7-1
        xtrim st minid ~ 8-1 limit 0
        xtrim st limit 5
        xrange st - +
        xdel st 7-1 9-9
        xdel nobody 1-1
        xsetid st 20-5
        xsetid st 20-6 entriesadded 50 maxdeletedid 7-1
        xsetid st 1-1
        xsetid nobody 1-1
        xinfo stream st
        xlen nobody
        set s a
        xlen s
        xadd s * f v
        xtrim s maxlen 1
    """,
    "streams: ranges": """
        xadd st 1-1 a 1
        xadd st 1-2 a 2 b 2
        xadd st 2-1 a 3
        xadd st 3-1 a 4
        xrange st - +
        xrange st 1 1
        xrange st (1-1 +
        xrange st (1-1 (3-1
        xrange st - (2
        xrange st 1-2 3 count 2
        xrange st - + count 0
        xrange st (x +
        xrange nobody - +
        xrevrange st + -
        xrevrange st + - count 1
        xrevrange st (3-1 (1-1
        xrevrange st 2 1-2
        xrevrange st + (2-1 count 5
        xrange st + -
        xrange st - + count x
    """,
    "streams: reading": """
        xadd st 1-1 a 1
        xadd st 2-1 a 2
        xadd other 1-1 b 1
        xread streams st 0
        xread count 1 streams st 0
        xread count 1 streams st other 0 0
        xread streams st 1-1
        xread streams st $
        xread streams nobody 0
        xread block 10 streams st 0
        xread block 10 count 1 streams st other 1-1 $
        xread block 10 streams st $
        xread block 10 streams st nobody $ $
        xread block 10 streams nobody 0
        xread streams st
        xread streams st >
        xread block -1 streams st 0
        xread count x streams st 0
        multi
        xread block 0 streams st $
        exec
    """,
    "streams: groups": """
        xgroup create st grp 0
        xgroup create st grp 0 mkstream
        xgroup create st grp 0
        xadd st 1-1 f v
        xadd st 2-1 f v
        xadd st 3-1 f v
        xgroup create st end $
        xgroup create st counted 2-1 entriesread 2
        xgroup create st bad x
        xgroup createconsumer st grp alice
        xgroup createconsumer st grp alice
        xgroup createconsumer st nobody alice
        xinfo groups st
        xgroup setid st grp 2-1
        xreadgroup group grp alice streams st >
        xgroup setid st grp 0 entriesread 0
        xgroup setid st end $
        xgroup setid st nobody 0
        xreadgroup group grp alice count 1 streams st >
        xreadgroup group grp bob streams st >
        xgroup delconsumer st grp alice
        xgroup delconsumer st grp alice
        xpending st grp
        xgroup destroy st grp
        xgroup destroy st grp
        xgroup help
        xgroup nope st
        xgroup create
        xinfo help
    """,
    "streams: reading in a group": """
        xadd st 1-1 a 1
        xadd st 2-1 a 2
        xadd st 3-1 a 3
        xadd st 4-1 a 4
        xadd other 1-1 b 1
        xgroup create st grp 0
        xgroup create other grp 0
        xreadgroup group grp alice count 1 streams st >
        xreadgroup group grp alice count 1 streams st other > >
        xreadgroup group grp bob noack count 1 streams st >
        xreadgroup group grp bob block 10 streams st >
        xreadgroup group grp bob block 10 streams st >
        xreadgroup group grp bob streams st >
        # its history
        xreadgroup group grp alice streams st 0
        xreadgroup group grp alice count 1 streams st 0
        xreadgroup group grp alice streams st 1-1
        xreadgroup group grp alice block 10 streams st other 0 >
        xreadgroup group grp bob streams st 0
        xreadgroup group grp carol streams st 0
        xdel st 1-1
        xreadgroup group grp alice streams st 0
        xack st grp 1-1
        xack st grp 1-1 2-1 9-9
        xack nobody grp 1-1
        xack st grp x
        xreadgroup group grp alice streams st 0
        xreadgroup group nobody alice streams st >
        xreadgroup group grp alice streams st $
        xreadgroup group grp alice streams st
        xreadgroup grp alice streams st >
        multi
        xreadgroup group grp alice block 0 streams st >
        xack st grp 4-1
        exec
        xpending st grp
    """,
    "streams: pending entries": """
        xadd st 1-1 a 1
        xadd st 2-1 a 2
        xadd st 3-1 a 3
        xadd st 4-1 a 4
        xgroup create st grp 0
        xpending st grp
        xpending st grp - + 10
        xreadgroup group grp alice count 3 streams st >
        xreadgroup group grp bob streams st >
        xpending st grp
        xpending st grp - + 10
        xpending st grp - + 2
        xpending st grp 2 3 10
        xpending st grp (1-1 + 10
        xpending st grp (1-1 (4-1 10
        xpending st grp - + 10 alice
        xpending st grp - + 10 nobody
        xpending st grp idle 1000000 - + 10
        xclaim st grp alice 0 1-1 idle 5000000 justid
        xpending st grp idle 1000000 - + 10
        xpending st grp idle 1000000 - + 10 alice
        xpending st grp idle 1000000 - + 10 bob
        xpending st nobody
        xpending nobody grp
        xpending st grp - +
        xpending st grp idle x - + 10
        xpending st grp - + x
    """,
    "streams: claiming": """
        xadd st 1-1 a 1
        xadd st 2-1 a 2
        xadd st 3-1 a 3
        xadd st 4-1 a 4
        xadd st 5-1 a 5
        xgroup create st grp 0
        xreadgroup group grp alice count 4 streams st >
        xclaim st grp bob 0 1-1
        xclaim st grp bob 0 1-1 2-1 9-9
        xclaim st grp bob 1000000 3-1
        xclaim st grp bob 0 3-1 justid
        xclaim st grp bob 0 3-1 idle 5000000
        xclaim st grp carol 1000000 3-1 4-1
        xclaim st grp carol 0 4-1 time 1000000000000
        xclaim st grp carol 0 4-1 retrycount 7 justid
        xpending st grp - + 10
        xclaim st grp carol 0 5-1
        xclaim st grp carol 0 5-1 force
        xclaim st grp carol 0 5-1 force idle 1000 retrycount 3 lastid 5-1
        xclaim st grp carol 0 1-1 lastid 4-1 justid
        xinfo consumers st grp
        xpending st grp - + 10 carol
        xclaim st nobody carol 0 1-1
        xclaim nobody grp carol 0 1-1
        xclaim st grp carol x 1-1
        xclaim st grp carol 0 1-1 nope
        xclaim st grp carol 0 x
        xautoclaim st grp dora 0 0
        xautoclaim st grp erik 0 - count 2
        xautoclaim st grp erik 0 (2-1 count 1 justid
        xautoclaim st grp erik 0 3-1 justid
        xautoclaim st grp dora 1000000 0
        xdel st 2-1
        xautoclaim st grp erik 0 0 count 3
        xautoclaim st grp erik 0 0 count 0
        xautoclaim st nobody erik 0 0
        xautoclaim st grp erik x 0
        xclaim st grp bob 0 3-1
        xpending st grp
    """,
    "streams: information": """
        xadd st 1-1 a 1
        xadd st 2-1 a 2 b 2
        xadd st 3-1 a 3
        xinfo stream st
        xinfo stream st full
        xgroup create st grp 0
        xgroup create st idle 0
        xgroup createconsumer st grp bob
        xreadgroup group grp alice count 2 streams st >
        xinfo stream st
        xinfo stream st full
        xinfo stream st full count 1
        xinfo stream st full count 0
        xinfo groups st
        xinfo consumers st grp
        xinfo consumers st idle
        xack st grp 1-1
        xinfo groups st
        xinfo consumers st grp
        xinfo stream nobody
        xinfo groups nobody
        xinfo consumers nobody grp
        xinfo consumers st nobody
        xinfo stream st nope
        xinfo nope st
        type st
        object encoding st
        memory usage st
    """,
    "transactions": """
        multi
        set tx 1
        incr tx
        get nobody
        lrange nobody 0 -1
        hgetall nobody
        exec
        multi
        multi
        discard
        discard
        exec
        multi
        nope
        set tx 2
        exec
        multi
        set tx x
        incr tx
        exec
        watch tx other
        get tx
        multi
        set tx 5
        exec
        watch tx
        set tx 6
        multi
        set tx 7
        exec
        get tx
        watch tx
        set tx 8
        unwatch
        multi
        watch tx
        get tx
        exec
        # as one: a list, a stream and a group
        multi
        rpush l a b
        xadd st 1-1 f v
        xgroup create st grp 0
        xreadgroup group grp alice streams st >
        xack st grp 1-1
        lmove l m left right
        xlen st
        exec
    """,
    "publish and subscribe": """
        publish ch message
        spublish ch message
        publish ch
        pubsub channels
        pubsub channels c*
        pubsub numpat
        pubsub numsub ch other
        pubsub numsub
        pubsub shardchannels
        pubsub shardchannels c*
        pubsub shardnumsub ch
        pubsub help
        pubsub nope
        subscribe
        psubscribe
        ssubscribe
    """,
    "the connection": """
        ping
        ping hello
        ping a b
        echo hello
        select 0
        select x
        select -1
        auth
        auth x
        auth default x
        auth nobody x
        auth a b c
        hello
        hello 2
        hello 3
        hello 3 auth default x setname me
        hello 3 auth nobody x
        client getname
        hello 2 setname you
        client getname
        hello 4
        hello x
        hello 2 nope
        reset
        client getname
        get s
        multi
        set s 1
        reset
        exec
    """,
    "clients": """
        client getname
        client setname me
        client getname
        client setname "a b"
        client id
        client info
        client list
        client list type normal
        client list type pubsub
        client list type replica
        client list type nope
        client list id 999999
        client list id x
        client getredir
        client trackinginfo
        client tracking off
        client tracking nope
        client caching yes
        client caching no
        client no-evict on
        client no-evict off
        client no-evict nope
        client reply on
        client reply nope
        client pause 1
        client pause 1 all
        client pause 1 write
        client pause 1 nope
        client pause x
        client unpause
        client unblock 999999
        client unblock 999999 timeout
        client unblock 999999 error
        client unblock x
        client kill 127.0.0.1:1
        client kill addr 127.0.0.1:1
        client kill laddr 127.0.0.1:1
        client kill id 999999
        client kill id x
        client kill type pubsub
        client kill type nope
        client kill type normal skipme yes
        client kill type normal laddr 127.0.0.1:1 skipme no
        client kill user default addr 127.0.0.1:1
        client kill user nobody
        client kill skipme nope
        client help
        client nope
        client
    """,
    "commands": """
        command
        command count
        command count x
        command list
        command list filterby module nope
        command list filterby aclcat transaction
        command list filterby pattern hset*
        command list nope
        command info get
        command info get nope
        command info nope
        command docs get
        command docs nope
        command getkeys set a b
        command getkeys mset a 1 b 2
        command getkeys xreadgroup group g c streams a b > >
        command getkeys ping
        command getkeys nope
        command getkeysandflags set a b
        command getkeysandflags lmove a b left right
        command help
        command nope
    """,
    "scripts": f"""
        script load {_QUOTED}
        script exists {_DIGEST} 0000
        set lock token
        evalsha {_DIGEST} 1 lock wrong
        eval {_QUOTED} 1 lock token
        get lock
        script flush
        script flush async
        script flush sync
        script flush nope
        script kill
        eval
        evalsha
    """,
    "the server": """
        info server
        info
        config get save
        config get maxmemory appendfsyncs
        config get nothing
        config set save ""
        config set nothing 1
        config resetstat
        config rewrite
        config help
        config nope
        time
        role
        lastsave
        wait 0 0
        wait 1 10
        wait x 0
        set key value
        memory usage nobody
        memory usage key
        memory usage key samples 5
        memory usage key samples x
        memory purge
        memory help
        slowlog reset
        slowlog len
        slowlog get
        slowlog get 5
        slowlog get x
        slowlog help
        latency latest
        latency history command
        latency reset
        latency reset command
        latency help
        acl whoami
        acl users
        acl list
        acl cat
        acl cat pubsub
        acl cat nope
        acl getuser default
        acl getuser nobody
        acl help
        nope a b
    """,
}  # fmt: skip

LATEST = "https://redis.io/docs/latest/commands/"
TRANSCRIPTS = {
    f"XADD IDMP, IDMPAUTO, XCFGSET: Redis 8.6; tests/unit/type/stream.tcl, redis/redis#14615, {LATEST}xadd": """
        > xadd st idmp shop order-1 * amount 12
        "id 1"
        > xadd st idmp shop order-1 * amount 12
        "id 1"
        > xadd st idmp shop order-2 * amount 12
        "id 2"
        > xadd st idmpauto shop * amount 12 currency EUR
        "id 3"
        > xadd st idmpauto shop * currency EUR amount 12
        "id 3"
        > xlen st
        (integer) 3
        > xadd st idmp shop order-3 9-9 amount 12
        (error) ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs
        > xadd st idmp shop order-3 idmp shop order-4 * amount 12
        (error) ERR syntax error, IDMP/IDMPAUTO specified multiple times
        > xcfgset st idmp-duration 5 idmp-maxsize 10
        OK
        > xcfgset st idmp-duration 0
        (error) ERR IDMP-DURATION must be between 1 and 86400 seconds
        > xcfgset st
        (error) ERR At least one parameter must be specified
        > xcfgset nobody idmp-maxsize 10
        (error) ERR no such key
    """,
    f"XDELEX: Redis 8.2; tests/unit/type/stream.tcl, {LATEST}xdelex": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xadd st 3-1 f v
        "3-1"
        > xgroup create st grp 0
        OK
        > xreadgroup group grp alice count 2 streams st >
        1) 1) "st"
           2) 1) 1) "1-1"
                 2) 1) "f"
                    2) "v"
              2) 1) "2-1"
                 2) 1) "f"
                    2) "v"
        RESP3
        1# "st" =>
           1) 1) "1-1"
              2) 1) "f"
                 2) "v"
           2) 1) "2-1"
              2) 1) "f"
                 2) "v"
        > xdelex st acked ids 2 1-1 0-5
        1) (integer) 2
        2) (integer) -1
        > xdelex st keepref ids 1 1-1
        1) (integer) 1
        > xdelex st delref ids 1 2-1
        1) (integer) 1
        > xdelex st ids 1 3-1
        1) (integer) 1
        > xpending st grp
        1) (integer) 1
        2) "1-1"
        3) "1-1"
        4) 1) 1) "alice"
              2) "1"
        > xdelex st ids 2 1-1
        (error) ERR The `numids` parameter must match the number of arguments
        > xdelex st ids 0 1-1
        (error) ERR Number of IDs must be a positive integer
    """,
    f"XACKDEL: Redis 8.2; tests/unit/type/stream-cgroups.tcl, {LATEST}xackdel": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xadd st 3-1 f v
        "3-1"
        > xgroup create st grp 0
        OK
        > xgroup create st other 0
        OK
        > xreadgroup group grp alice streams st nobody > >
        (error) NOGROUP No such key 'nobody' or consumer group 'grp' in XREADGROUP with GROUP option
        > xclaim st grp alice 0 1-1 2-1 3-1 force justid
        1) "1-1"
        2) "2-1"
        3) "3-1"
        > xackdel st grp ids 2 1-1 9-9
        1) (integer) 1
        2) (integer) -1
        > xackdel st grp acked ids 1 2-1
        1) (integer) 2
        > xackdel st grp delref ids 1 3-1
        1) (integer) 1
        > xackdel st grp keepref ids 1 3-1
        1) (integer) -1
        > xrange st - +
        1) 1) "2-1"
           2) 1) "f"
              2) "v"
        > xackdel st grp ids 1 1-1 2-1
        (error) ERR syntax error
    """,
    f"KEEPREF, DELREF, ACKED: Redis 8.2; tests/unit/type/stream.tcl, {LATEST}xtrim": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xgroup create st grp 0
        OK
        > xclaim st grp alice 0 1-1 2-1 force justid
        1) "1-1"
        2) "2-1"
        > xadd st maxlen 1 acked 3-1 f v
        "3-1"
        > xlen st
        (integer) 3
        > xadd st keepref maxlen 3 4-1 f v
        "4-1"
        > xadd st delref maxlen = 3 5-1 f v
        "5-1"
        > xpending st grp
        1) (integer) 1
        2) "1-1"
        3) "1-1"
        4) 1) 1) "alice"
              2) "1"
        > xtrim st maxlen 1 acked
        (integer) 0
        > xgroup setid st grp 5-1
        OK
        > xtrim st maxlen 2 acked
        (integer) 1
        > xtrim st minid 5 delref
        (integer) 1
        > xtrim st maxlen 0 keepref
        (integer) 1
        > xtrim st maxlen 1 keepref acked
        (error) ERR syntax error
    """,
    f"XREADGROUP CLAIM: Redis 8.4; tests/unit/type/stream-cgroups.tcl, {LATEST}xreadgroup": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xgroup create st grp 0
        OK
        > xclaim st grp alice 0 1-1 force idle 2000000 retrycount 3 lastid 1-1 justid
        1) "1-1"
        > xreadgroup group grp bob claim 1000000 streams st >
        1) 1) "st"
           2) 1) 1) "1-1"
                 2) 1) "f"
                    2) "v"
                 3) (integer) some
                 4) (integer) 3
              2) 1) "2-1"
                 2) 1) "f"
                    2) "v"
                 3) (integer) some
                 4) (integer) 0
        RESP3
        1# "st" =>
           1) 1) "1-1"
              2) 1) "f"
                 2) "v"
              3) (integer) some
              4) (integer) 3
           2) 1) "2-1"
              2) 1) "f"
                 2) "v"
              3) (integer) some
              4) (integer) 0
        > xpending st grp - + 10
        1) 1) "1-1"
           2) "bob"
           3) (integer) some
           4) (integer) 4
        2) 1) "2-1"
           2) "bob"
           3) (integer) some
           4) (integer) 1
        > xreadgroup group grp bob count 1 block 10 claim 1000000 streams st >
        (nil)
        > xreadgroup group grp bob claim -1 streams st >
        (error) ERR min-idle-time must be a positive integer
        > xread claim 10 streams st 0
        (error) ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.
    """,
    f"XNACK: Redis 8.8; tests/unit/type/stream-cgroups.tcl, redis/redis#14797, {LATEST}xnack": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xadd st 3-1 f v
        "3-1"
        > xgroup create st grp 0
        OK
        > xclaim st grp alice 0 1-1 2-1 force retrycount 1 lastid 2-1 justid
        1) "1-1"
        2) "2-1"
        > xnack st grp fail ids 2 1-1 9-9
        (integer) 1
        > xnack st grp silent ids 1 2-1
        (integer) 1
        > xnack st grp fatal ids 1 3-1
        (integer) 0
        > xnack st grp fatal ids 1 3-1 force
        (integer) 1
        > xpending st grp - + 10
        1) 1) "1-1"
           2) ""
           3) (integer) -1
           4) (integer) 1
        2) 1) "2-1"
           2) ""
           3) (integer) -1
           4) (integer) 0
        3) 1) "3-1"
           2) ""
           3) (integer) -1
           4) (integer) 9223372036854775807
        > xnack st grp fail ids 1 1-1 retrycount 7
        (integer) 1
        > xpending st grp - 1-1 10
        1) 1) "1-1"
           2) ""
           3) (integer) -1
           4) (integer) 7
        > xnack st grp nope ids 1 1-1
        (error) ERR mode must be SILENT, FAIL, or FATAL
        > xnack st grp fail ids 1 1-1 nope
        (error) ERR Unrecognized XNACK option 'nope'
        > xnack nobody grp fail ids 1 1-1
        (error) NOGROUP No such key 'nobody' or consumer group 'grp'
    """,
    f"XREAD with the ID +: Redis 7.4; {LATEST}xread": """
        > xadd st 1-1 f v
        "1-1"
        > xadd st 2-1 f v
        "2-1"
        > xread streams st +
        1) 1) "st"
           2) 1) 1) "2-1"
                 2) 1) "f"
                    2) "v"
        RESP3
        1# "st" =>
           1) 1) "2-1"
              2) 1) "f"
                 2) "v"
    """,
    f"CLIENT SETINFO and NO-TOUCH: Redis 7.2; {LATEST}client-setinfo, {LATEST}client-no-touch": """
        > client setinfo lib-name mine
        OK
        > client setinfo lib-ver 1.0
        OK
        > client setinfo nope 1.0
        (error) ERR Unrecognized option 'nope'
        > client setinfo lib-name "a b"
        (error) ERR lib-name cannot contain spaces, newlines or special characters.
        > client no-touch on
        OK
        > client no-touch off
        OK
        > client no-touch nope
        (error) ERR syntax error
    """,
    "what OneMQ answers to what it does not do: docs/protocols/resp.md": """
        > client tracking on
        (error) ERR CLIENT TRACKING is not supported by OneMQ: switch client-side caching off
        > select 1
        (error) ERR DB index is out of range
        > acl setuser alice on
        (error) ERR unknown subcommand 'setuser'. Try ACL HELP.
        > pfadd visitors alice
        (error) ERR unknown command 'pfadd', with args beginning with: 'visitors' 'alice'
    """,
}  # fmt: skip
