# ruff: noqa: E501
"""What COMMAND tells about the commands on keys: a line for each, as Redis 7.0 has them.

    [group]
    name ; arity ; flags and @categories ; first, last key and step ; since ; usage ; summary ; complexity ; tips

The last two may be left out: O(1), none. rows.py reads this, and usage.py the usage.
"""

FACTS = """
[generic]
copy ; -3 ; write denyoom ; 1 2 1 ; 6.2.0 ; source:key destination:key [DB destination-db:integer] [REPLACE] ; Copy a key ; O(N)
del ; -2 ; write ; 1 -1 1 ; 1.0.0 ; key ... ; Delete a key ; O(N) ; request_policy:multi_shard response_policy:agg_sum
exists ; -2 ; readonly fast ; 1 -1 1 ; 1.0.0 ; key ... ; Determine if a key exists ; O(N) where N is the number of keys to check ; request_policy:multi_shard response_policy:agg_sum
expire ; -3 ; write fast ; 1 1 1 ; 1.0.0 ; key seconds:integer [condition=(NX | XX | GT | LT)] ; Set a key's time to live in seconds
expireat ; -3 ; write fast ; 1 1 1 ; 1.2.0 ; key unix-time-seconds:unix-time [condition=(NX | XX | GT | LT)] ; Set the expiration for a key as a UNIX timestamp
expiretime ; 2 ; readonly fast ; 1 1 1 ; 7.0.0 ; key ; Get the expiration Unix timestamp for a key
keys ; 2 ; readonly @dangerous ; 0 0 0 ; 1.0.0 ; pattern ; Find all keys matching the given pattern ; O(N) ; nondeterministic_output_order request_policy:all_shards
persist ; 2 ; write fast ; 1 1 1 ; 2.2.0 ; key ; Remove the expiration from a key
pexpire ; -3 ; write fast ; 1 1 1 ; 2.6.0 ; key milliseconds:integer [condition=(NX | XX | GT | LT)] ; Set a key's time to live in milliseconds
pexpireat ; -3 ; write fast ; 1 1 1 ; 2.6.0 ; key unix-time-milliseconds:unix-time [condition=(NX | XX | GT | LT)] ; Set the expiration for a key as a UNIX timestamp specified in milliseconds
pexpiretime ; 2 ; readonly fast ; 1 1 1 ; 7.0.0 ; key ; Get the expiration Unix timestamp for a key in milliseconds
pttl ; 2 ; readonly fast ; 1 1 1 ; 2.6.0 ; key ; Get the time to live for a key in milliseconds ; O(1) ; nondeterministic_output
randomkey ; 1 ; readonly ; 0 0 0 ; 1.0.0 ;  ; Return a random key from the keyspace ; O(1) ; nondeterministic_output request_policy:all_shards
rename ; 3 ; write ; 1 2 1 ; 1.0.0 ; key newkey:key ; Rename a key
renamenx ; 3 ; write fast ; 1 2 1 ; 1.0.0 ; key newkey:key ; Rename a key, only if the new key does not exist
scan ; -2 ; readonly ; 0 0 0 ; 2.8.0 ; cursor:integer [MATCH pattern] [COUNT count:integer] [TYPE type] ; Incrementally iterate the keys space ; O(1) ; nondeterministic_output request_policy:special
touch ; -2 ; readonly fast ; 1 -1 1 ; 3.2.1 ; key ... ; Alters the last access time of a key(s). Returns the number of existing keys specified ; O(N) where N is the number of keys that will be touched ; request_policy:multi_shard response_policy:agg_sum
ttl ; 2 ; readonly fast ; 1 1 1 ; 1.0.0 ; key ; Get the time to live for a key in seconds ; O(1) ; nondeterministic_output
type ; 2 ; readonly fast ; 1 1 1 ; 1.0.0 ; key ; Determine the type stored at key
unlink ; -2 ; write fast ; 1 -1 1 ; 4.0.0 ; key ... ; Delete a key asynchronously in another thread. Otherwise it is just as DEL, but non blocking ; O(1) ; request_policy:multi_shard response_policy:agg_sum
[server]
dbsize ; 1 ; readonly fast @keyspace ; 0 0 0 ; 1.0.0 ;  ; Return the number of keys in the selected database ; O(1) ; request_policy:all_shards response_policy:agg_sum
flushall ; -1 ; write @dangerous @keyspace ; 0 0 0 ; 1.0.0 ; [async=(ASYNC | SYNC)] ; Remove all keys from all databases ; O(N) where N is the total number of keys in all databases ; request_policy:all_shards response_policy:all_succeeded
flushdb ; -1 ; write @dangerous @keyspace ; 0 0 0 ; 1.0.0 ; [async=(ASYNC | SYNC)] ; Remove all keys from the current database ; O(N) where N is the number of keys in the selected database ; request_policy:all_shards response_policy:all_succeeded
[string]
append ; 3 ; write denyoom fast ; 1 1 1 ; 2.0.0 ; key value ; Append a value to a key
decr ; 2 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key ; Decrement the integer value of a key by one
decrby ; 3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key decrement:integer ; Decrement the integer value of a key by the given number
get ; 2 ; readonly fast ; 1 1 1 ; 1.0.0 ; key ; Get the value of a key
getdel ; 2 ; write fast ; 1 1 1 ; 6.2.0 ; key ; Get the value of a key and delete the key
getex ; -2 ; write fast ; 1 1 1 ; 6.2.0 ; key [expiration=(EX seconds:integer | PX milliseconds:integer | EXAT unix-time-seconds:unix-time | PXAT unix-time-milliseconds:unix-time | PERSIST)] ; Get the value of a key and optionally set its expiration
getrange ; 4 ; readonly ; 1 1 1 ; 2.4.0 ; key start:integer end:integer ; Get a substring of the string stored at a key ; O(N)
getset ; 3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key value ; Set the string value of a key and return its old value
incr ; 2 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key ; Increment the integer value of a key by one
incrby ; 3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key increment:integer ; Increment the integer value of a key by the given amount
incrbyfloat ; 3 ; write denyoom fast ; 1 1 1 ; 2.6.0 ; key increment:double ; Increment the float value of a key by the given amount
mget ; -2 ; readonly fast ; 1 -1 1 ; 1.0.0 ; key ... ; Get the values of all the given keys ; O(N) where N is the number of keys to retrieve ; request_policy:multi_shard
mset ; -3 ; write denyoom ; 1 -1 2 ; 1.0.1 ; key_value={key value} ... ; Set multiple keys to multiple values ; O(N) where N is the number of keys to set ; request_policy:multi_shard response_policy:all_succeeded
msetnx ; -3 ; write denyoom ; 1 -1 2 ; 1.0.1 ; key_value={key value} ... ; Set multiple keys to multiple values, only if none of the keys exist ; O(N) where N is the number of keys to set ; request_policy:multi_shard response_policy:agg_min
psetex ; 4 ; write denyoom ; 1 1 1 ; 2.6.0 ; key milliseconds:integer value ; Set the value and expiration in milliseconds of a key
set ; -3 ; write denyoom ; 1 1 1 ; 1.0.0 ; key value [condition=(NX | XX)] [GET] [expiration=(EX seconds:integer | PX milliseconds:integer | EXAT unix-time-seconds:unix-time | PXAT unix-time-milliseconds:unix-time | KEEPTTL)] ; Set the string value of a key
setex ; 4 ; write denyoom ; 1 1 1 ; 2.0.0 ; key seconds:integer value ; Set the value and expiration of a key
setnx ; 3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key value ; Set the value of a key, only if the key does not exist
setrange ; 4 ; write denyoom ; 1 1 1 ; 2.2.0 ; key offset:integer value ; Overwrite part of a string at key starting at the specified offset
strlen ; 2 ; readonly fast ; 1 1 1 ; 2.2.0 ; key ; Get the length of the value stored in a key
substr ; 4 ; readonly ; 1 1 1 ; 1.0.0 ; key start:integer end:integer ; Get a substring of the string stored at a key ; O(N)
[list]
blmove ; 6 ; write denyoom noscript blocking ; 1 2 1 ; 6.2.0 ; source:key destination:key wherefrom=(LEFT | RIGHT) whereto=(LEFT | RIGHT) timeout:double ; Pop an element from a list, push it to another list and return it; or block until one is available
blmpop ; -5 ; write blocking movablekeys ; 0 0 0 ; 7.0.0 ; timeout:double numkeys:integer key ... where=(LEFT | RIGHT) [COUNT count:integer] ; Pop elements from a list, or block until one is available ; O(N+M)
blpop ; -3 ; write noscript blocking ; 1 -2 1 ; 2.0.0 ; key ... timeout:double ; Remove and get the first element in a list, or block until one is available ; O(N) where N is the number of provided keys
brpop ; -3 ; write noscript blocking ; 1 -2 1 ; 2.0.0 ; key ... timeout:double ; Remove and get the last element in a list, or block until one is available ; O(N) where N is the number of provided keys
brpoplpush ; 4 ; write denyoom noscript blocking ; 1 2 1 ; 2.2.0 ; source:key destination:key timeout:double ; Pop an element from a list, push it to another list and return it; or block until one is available
lindex ; 3 ; readonly ; 1 1 1 ; 1.0.0 ; key index:integer ; Get an element from a list by its index ; O(N)
linsert ; 5 ; write denyoom ; 1 1 1 ; 2.2.0 ; key where=(BEFORE | AFTER) pivot element ; Insert an element before or after another element in a list ; O(N)
llen ; 2 ; readonly fast ; 1 1 1 ; 1.0.0 ; key ; Get the length of a list
lmove ; 5 ; write denyoom ; 1 2 1 ; 6.2.0 ; source:key destination:key wherefrom=(LEFT | RIGHT) whereto=(LEFT | RIGHT) ; Pop an element from a list, push it to another list and return it
lmpop ; -4 ; write movablekeys ; 0 0 0 ; 7.0.0 ; numkeys:integer key ... where=(LEFT | RIGHT) [COUNT count:integer] ; Pop elements from a list ; O(N+M)
lpop ; -2 ; write fast ; 1 1 1 ; 1.0.0 ; key [count:integer] ; Remove and get the first elements in a list ; O(N) where N is the number of elements returned
lpos ; -3 ; readonly ; 1 1 1 ; 6.0.6 ; key element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len:integer] ; Return the index of matching elements on a list ; O(N)
lpush ; -3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key element ... ; Prepend one or multiple elements to a list
lpushx ; -3 ; write denyoom fast ; 1 1 1 ; 2.2.0 ; key element ... ; Prepend an element to a list, only if the list exists
lrange ; 4 ; readonly ; 1 1 1 ; 1.0.0 ; key start:integer stop:integer ; Get a range of elements from a list ; O(S+N)
lrem ; 4 ; write ; 1 1 1 ; 1.0.0 ; key count:integer element ; Remove elements from a list ; O(N+M)
lset ; 4 ; write denyoom ; 1 1 1 ; 1.0.0 ; key index:integer element ; Set the value of an element in a list by its index ; O(N)
ltrim ; 4 ; write ; 1 1 1 ; 1.0.0 ; key start:integer stop:integer ; Trim a list to the specified range ; O(N)
rpop ; -2 ; write fast ; 1 1 1 ; 1.0.0 ; key [count:integer] ; Remove and get the last elements in a list ; O(N) where N is the number of elements returned
rpoplpush ; 3 ; write denyoom ; 1 2 1 ; 1.2.0 ; source:key destination:key ; Remove the last element in a list, prepend it to another list and return it
rpush ; -3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key element ... ; Append one or multiple elements to a list
rpushx ; -3 ; write denyoom fast ; 1 1 1 ; 2.2.0 ; key element ... ; Append an element to a list, only if the list exists
[hash]
hdel ; -3 ; write fast ; 1 1 1 ; 2.0.0 ; key field ... ; Delete one or more hash fields ; O(N) where N is the number of fields to be removed
hexists ; 3 ; readonly fast ; 1 1 1 ; 2.0.0 ; key field ; Determine if a hash field exists
hget ; 3 ; readonly fast ; 1 1 1 ; 2.0.0 ; key field ; Get the value of a hash field
hgetall ; 2 ; readonly ; 1 1 1 ; 2.0.0 ; key ; Get all the fields and values in a hash ; O(N) where N is the size of the hash ; nondeterministic_output_order
hincrby ; 4 ; write denyoom fast ; 1 1 1 ; 2.0.0 ; key field increment:integer ; Increment the integer value of a hash field by the given number
hincrbyfloat ; 4 ; write denyoom fast ; 1 1 1 ; 2.6.0 ; key field increment:double ; Increment the float value of a hash field by the given amount
hkeys ; 2 ; readonly ; 1 1 1 ; 2.0.0 ; key ; Get all the fields in a hash ; O(N) where N is the size of the hash ; nondeterministic_output_order
hlen ; 2 ; readonly fast ; 1 1 1 ; 2.0.0 ; key ; Get the number of fields in a hash
hmget ; -3 ; readonly fast ; 1 1 1 ; 2.0.0 ; key field ... ; Get the values of all the given hash fields ; O(N) where N is the number of fields being requested
hmset ; -4 ; write denyoom fast ; 1 1 1 ; 2.0.0 ; key field_value={field value} ... ; Set multiple hash fields to multiple values ; O(N) where N is the number of fields being set
hrandfield ; -2 ; readonly ; 1 1 1 ; 6.2.0 ; key [options={count:integer [WITHVALUES]}] ; Get one or multiple random fields from a hash ; O(N) where N is the number of fields returned ; nondeterministic_output
hscan ; -3 ; readonly ; 1 1 1 ; 2.8.0 ; key cursor:integer [MATCH pattern] [COUNT count:integer] ; Incrementally iterate hash fields and associated values ; O(1) ; nondeterministic_output
hset ; -4 ; write denyoom fast ; 1 1 1 ; 2.0.0 ; key field_value={field value} ... ; Set the string value of a hash field
hsetnx ; 4 ; write denyoom fast ; 1 1 1 ; 2.0.0 ; key field value ; Set the value of a hash field, only if the field does not exist
hstrlen ; 3 ; readonly fast ; 1 1 1 ; 3.2.0 ; key field ; Get the length of the value of a hash field
hvals ; 2 ; readonly ; 1 1 1 ; 2.0.0 ; key ; Get all the values in a hash ; O(N) where N is the size of the hash ; nondeterministic_output_order
[set]
sadd ; -3 ; write denyoom fast ; 1 1 1 ; 1.0.0 ; key member ... ; Add one or more members to a set
scard ; 2 ; readonly fast ; 1 1 1 ; 1.0.0 ; key ; Get the number of members in a set
sdiff ; -2 ; readonly ; 1 -1 1 ; 1.0.0 ; key ... ; Subtract multiple sets ; O(N) ; nondeterministic_output_order
sdiffstore ; -3 ; write denyoom ; 1 -1 1 ; 1.0.0 ; destination:key key ... ; Subtract multiple sets and store the resulting set in a key ; O(N)
sinter ; -2 ; readonly ; 1 -1 1 ; 1.0.0 ; key ... ; Intersect multiple sets ; O(N*M) ; nondeterministic_output_order
sintercard ; -3 ; readonly movablekeys ; 0 0 0 ; 7.0.0 ; numkeys:integer key ... [LIMIT limit:integer] ; Intersect multiple sets and return the cardinality of the result ; O(N*M)
sinterstore ; -3 ; write denyoom ; 1 -1 1 ; 1.0.0 ; destination:key key ... ; Intersect multiple sets and store the resulting set in a key ; O(N*M)
sismember ; 3 ; readonly fast ; 1 1 1 ; 1.0.0 ; key member ; Determine if a given value is a member of a set
smembers ; 2 ; readonly ; 1 1 1 ; 1.0.0 ; key ; Get all the members in a set ; O(N) where N is the set cardinality ; nondeterministic_output_order
smismember ; -3 ; readonly fast ; 1 1 1 ; 6.2.0 ; key member ... ; Returns the membership associated with the given elements for a set ; O(N)
smove ; 4 ; write fast ; 1 2 1 ; 1.0.0 ; source:key destination:key member ; Move a member from one set to another
spop ; -2 ; write fast ; 1 1 1 ; 1.0.0 ; key [count:integer] ; Remove and return one or multiple random members from a set ; O(N) ; nondeterministic_output
srandmember ; -2 ; readonly ; 1 1 1 ; 1.0.0 ; key [count:integer] ; Get one or multiple random members from a set ; O(N) ; nondeterministic_output
srem ; -3 ; write fast ; 1 1 1 ; 1.0.0 ; key member ... ; Remove one or more members from a set ; O(N) where N is the number of members to be removed
sscan ; -3 ; readonly ; 1 1 1 ; 2.8.0 ; key cursor:integer [MATCH pattern] [COUNT count:integer] ; Incrementally iterate Set elements ; O(1) ; nondeterministic_output
sunion ; -2 ; readonly ; 1 -1 1 ; 1.0.0 ; key ... ; Add multiple sets ; O(N) ; nondeterministic_output_order
sunionstore ; -3 ; write denyoom ; 1 -1 1 ; 1.0.0 ; destination:key key ... ; Add multiple sets and store the resulting set in a key ; O(N)
[sorted-set]
bzmpop ; -5 ; write blocking movablekeys ; 0 0 0 ; 7.0.0 ; timeout:double numkeys:integer key ... where=(MIN | MAX) [COUNT count:integer] ; Remove and return members with scores in a sorted set or block until one is available ; O(K) + O(M*log(N))
bzpopmax ; -3 ; write noscript blocking fast ; 1 -2 1 ; 5.0.0 ; key ... timeout:double ; Remove and return the member with the highest score from one or more sorted sets, or block until one is available ; O(log(N))
bzpopmin ; -3 ; write noscript blocking fast ; 1 -2 1 ; 5.0.0 ; key ... timeout:double ; Remove and return the member with the lowest score from one or more sorted sets, or block until one is available ; O(log(N))
zadd ; -4 ; write denyoom fast ; 1 1 1 ; 1.2.0 ; key [condition=(NX | XX)] [comparison=(GT | LT)] [change=CH] [increment=INCR] score_member={score:double member} ... ; Add one or more members to a sorted set, or update its score if it already exists ; O(log(N))
zcard ; 2 ; readonly fast ; 1 1 1 ; 1.2.0 ; key ; Get the number of members in a sorted set
zcount ; 4 ; readonly fast ; 1 1 1 ; 2.0.0 ; key min:double max:double ; Count the members in a sorted set with scores within the given values ; O(log(N))
zdiff ; -3 ; readonly movablekeys ; 0 0 0 ; 6.2.0 ; numkeys:integer key ... [WITHSCORES] ; Subtract multiple sorted sets ; O(L + (N-K)log(N))
zdiffstore ; -4 ; write denyoom movablekeys ; 1 1 1 ; 6.2.0 ; destination:key numkeys:integer key ... ; Subtract multiple sorted sets and store the resulting sorted set in a new key ; O(L + (N-K)log(N))
zincrby ; 4 ; write denyoom fast ; 1 1 1 ; 1.2.0 ; key increment:integer member ; Increment the score of a member in a sorted set ; O(log(N))
zinter ; -3 ; readonly movablekeys ; 0 0 0 ; 6.2.0 ; numkeys:integer key ... [WEIGHTS weight:integer ...] [AGGREGATE aggregate=(SUM | MIN | MAX)] [WITHSCORES] ; Intersect multiple sorted sets ; O(N*K)+O(M*log(M))
zintercard ; -3 ; readonly movablekeys ; 0 0 0 ; 7.0.0 ; numkeys:integer key ... [LIMIT limit:integer] ; Intersect multiple sorted sets and return the cardinality of the result ; O(N*K)
zinterstore ; -4 ; write denyoom movablekeys ; 1 1 1 ; 2.0.0 ; destination:key numkeys:integer key ... [WEIGHTS weight:integer ...] [AGGREGATE aggregate=(SUM | MIN | MAX)] ; Intersect multiple sorted sets and store the resulting sorted set in a new key ; O(N*K)+O(M*log(M))
zlexcount ; 4 ; readonly fast ; 1 1 1 ; 2.8.9 ; key min max ; Count the number of members in a sorted set between a given lexicographical range ; O(log(N))
zmpop ; -4 ; write movablekeys ; 0 0 0 ; 7.0.0 ; numkeys:integer key ... where=(MIN | MAX) [COUNT count:integer] ; Remove and return members with scores in a sorted set ; O(K) + O(M*log(N))
zmscore ; -3 ; readonly fast ; 1 1 1 ; 6.2.0 ; key member ... ; Get the score associated with the given members in a sorted set ; O(N) where N is the number of members being requested
zpopmax ; -2 ; write fast ; 1 1 1 ; 5.0.0 ; key [count:integer] ; Remove and return members with the highest scores in a sorted set ; O(log(N)*M)
zpopmin ; -2 ; write fast ; 1 1 1 ; 5.0.0 ; key [count:integer] ; Remove and return members with the lowest scores in a sorted set ; O(log(N)*M)
zrandmember ; -2 ; readonly ; 1 1 1 ; 6.2.0 ; key [options={count:integer [WITHSCORES]}] ; Get one or multiple random elements from a sorted set ; O(N) where N is the number of elements returned ; nondeterministic_output
zrange ; -4 ; readonly ; 1 1 1 ; 1.2.0 ; key start stop [sortby=(BYSCORE | BYLEX)] [REV] [LIMIT offset_count={offset:integer count:integer}] [WITHSCORES] ; Return a range of members in a sorted set ; O(log(N)+M)
zrangebylex ; -4 ; readonly ; 1 1 1 ; 2.8.9 ; key min max [LIMIT offset_count={offset:integer count:integer}] ; Return a range of members in a sorted set, by lexicographical range ; O(log(N)+M)
zrangebyscore ; -4 ; readonly ; 1 1 1 ; 1.0.5 ; key min:double max:double [WITHSCORES] [LIMIT offset_count={offset:integer count:integer}] ; Return a range of members in a sorted set, by score ; O(log(N)+M)
zrangestore ; -5 ; write denyoom ; 1 2 1 ; 6.2.0 ; dst:key src:key min max [sortby=(BYSCORE | BYLEX)] [REV] [LIMIT offset_count={offset:integer count:integer}] ; Store a range of members from sorted set into another key ; O(log(N)+M)
zrank ; 3 ; readonly fast ; 1 1 1 ; 2.0.0 ; key member ; Determine the index of a member in a sorted set ; O(log(N))
zrem ; -3 ; write fast ; 1 1 1 ; 1.2.0 ; key member ... ; Remove one or more members from a sorted set ; O(M*log(N))
zremrangebylex ; 4 ; write ; 1 1 1 ; 2.8.9 ; key min max ; Remove all members in a sorted set between the given lexicographical range ; O(log(N)+M)
zremrangebyrank ; 4 ; write ; 1 1 1 ; 2.0.0 ; key start:integer stop:integer ; Remove all members in a sorted set within the given indexes ; O(log(N)+M)
zremrangebyscore ; 4 ; write ; 1 1 1 ; 1.2.0 ; key min:double max:double ; Remove all members in a sorted set within the given scores ; O(log(N)+M)
zrevrange ; -4 ; readonly ; 1 1 1 ; 1.2.0 ; key start:integer stop:integer [WITHSCORES] ; Return a range of members in a sorted set, by index, with scores ordered from high to low ; O(log(N)+M)
zrevrangebylex ; -4 ; readonly ; 1 1 1 ; 2.8.9 ; key max min [LIMIT offset_count={offset:integer count:integer}] ; Return a range of members in a sorted set, by lexicographical range, ordered from higher to lower strings ; O(log(N)+M)
zrevrangebyscore ; -4 ; readonly ; 1 1 1 ; 2.2.0 ; key max:double min:double [WITHSCORES] [LIMIT offset_count={offset:integer count:integer}] ; Return a range of members in a sorted set, by score, with scores ordered from high to low ; O(log(N)+M)
zrevrank ; 3 ; readonly fast ; 1 1 1 ; 2.0.0 ; key member ; Determine the index of a member in a sorted set, with scores ordered from high to low ; O(log(N))
zscan ; -3 ; readonly ; 1 1 1 ; 2.8.0 ; key cursor:integer [MATCH pattern] [COUNT count:integer] ; Incrementally iterate sorted sets elements and associated scores ; O(1) ; nondeterministic_output
zscore ; 3 ; readonly fast ; 1 1 1 ; 1.2.0 ; key member ; Get the score associated with the given member in a sorted set
zunion ; -3 ; readonly movablekeys ; 0 0 0 ; 6.2.0 ; numkeys:integer key ... [WEIGHTS weight:integer ...] [AGGREGATE aggregate=(SUM | MIN | MAX)] [WITHSCORES] ; Add multiple sorted sets ; O(N)+O(M*log(M))
zunionstore ; -4 ; write denyoom movablekeys ; 1 1 1 ; 2.0.0 ; destination:key numkeys:integer key ... [WEIGHTS weight:integer ...] [AGGREGATE aggregate=(SUM | MIN | MAX)] ; Add multiple sorted sets and store the resulting sorted set in a new key ; O(N)+O(M log(M))
[stream]
xack ; -4 ; write fast ; 1 1 1 ; 5.0.0 ; key group id ... ; Acknowledge entries: they are no longer pending in the group ; O(1) for each entry
xackdel ; -6 ; write fast ; 1 1 1 ; 8.2.0 ; key group [condition=(KEEPREF | DELREF | ACKED)] ids={IDS numids:integer id ...} ; Acknowledge entries and delete them ; O(1) for each entry
xadd ; -5 ; write denyoom fast ; 1 1 1 ; 5.0.0 ; key [NOMKSTREAM] [condition=(KEEPREF | DELREF | ACKED)] [idmp=(IDMPAUTO producer | IDMP producer)] [trim={strategy=(MAXLEN | MINID) threshold [LIMIT count:integer]}] id data={field value} ... ; Append an entry to a stream ; O(1), O(N) for N entries that are trimmed ; nondeterministic_output
xautoclaim ; -6 ; write fast ; 1 1 1 ; 6.2.0 ; key group consumer min-idle-time start [COUNT count:integer] [JUSTID] ; Take over entries that others have had for too long, from an ID on ; O(1) if COUNT is small ; nondeterministic_output
xcfgset ; -2 ; write fast ; 1 1 1 ; 8.6.0 ; key [IDMP-DURATION seconds:integer] [IDMP-MAXSIZE ids:integer] ; Set how long and how many idempotent IDs a stream remembers
xclaim ; -6 ; write fast ; 1 1 1 ; 5.0.0 ; key group consumer min-idle-time id ... [IDLE ms:integer] [TIME unix-time-milliseconds:unix-time] [RETRYCOUNT count:integer] [FORCE] [JUSTID] [LASTID lastid] ; Take over entries that others have had for too long ; O(log N) for N pending entries ; nondeterministic_output
xdel ; -3 ; write fast ; 1 1 1 ; 5.0.0 ; key id ... ; Delete entries ; O(1) for each entry
xdelex ; -5 ; write fast ; 1 1 1 ; 8.2.0 ; key [condition=(KEEPREF | DELREF | ACKED)] ids={IDS numids:integer id ...} ; Delete entries, and what groups hold of them ; O(1) for each entry
xlen ; 2 ; readonly fast ; 1 1 1 ; 5.0.0 ; key ; Return the number of entries in a stream
xnack ; -7 ; write fast ; 1 1 1 ; 8.8.0 ; key group mode=(SILENT | FAIL | FATAL) ids={IDS numids:integer id ...} [RETRYCOUNT count:integer] [FORCE] ; Give pending entries up, for others to take ; O(1) for each entry
xpending ; -3 ; readonly ; 1 1 1 ; 5.0.0 ; key group [filters={[IDLE min-idle-time:integer] start end count:integer [consumer]}] ; Return the entries that were handed out and not acknowledged ; O(N) for N entries returned ; nondeterministic_output
xpolicy ; -2 ; write ; 1 1 1 ; 0.2.0 ; key [MAXDELIVERIES count:integer] [BACKOFF backoff={first [growth={factor:double most}]}] [DEADLETTER stream] [LEASE lease] [RETAIN retain=(ALL | UNACKNOWLEDGED)] ; Set how often and when entries are delivered again, and what becomes of them then (OneMQ)
xrange ; -4 ; readonly ; 1 1 1 ; 5.0.0 ; key start end [COUNT count:integer] ; Return the entries whose IDs lie in an interval ; O(N) for N entries returned
xread ; -4 ; readonly blocking movablekeys ; 0 0 0 ; 5.0.0 ; [COUNT count:integer] [BLOCK milliseconds:integer] streams={STREAMS key ... id ...} ; Return entries with IDs greater than the given ones, or wait for them ; O(N) for N entries returned
xreadgroup ; -7 ; write blocking movablekeys ; 0 0 0 ; 5.0.0 ; group_consumer={GROUP group consumer} [COUNT count:integer] [BLOCK milliseconds:integer] [CLAIM min-idle-time:integer] [NOACK] streams={STREAMS key ... id ...} ; Return new entries for a consumer of a group, or those it has ; O(N) for N entries returned
xrevrange ; -4 ; readonly ; 1 1 1 ; 5.0.0 ; key end start [COUNT count:integer] ; Return the entries whose IDs lie in an interval, the last one first ; O(N) for N entries returned
xsetid ; -3 ; write denyoom fast ; 1 1 1 ; 5.0.0 ; key last-id [ENTRIESADDED entries_added:integer] [MAXDELETEDID max_deleted_entry_id] ; Set the last ID of a stream
xtrim ; -4 ; write ; 1 1 1 ; 5.0.0 ; key trim={strategy=(MAXLEN | MINID) threshold [LIMIT count:integer]} [condition=(KEEPREF | DELREF | ACKED)] ; Remove the oldest entries of a stream ; O(N) for N entries that are removed ; nondeterministic_output
"""
