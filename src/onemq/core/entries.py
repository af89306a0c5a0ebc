"""The entries of the log: every change of durable state, in the order in which they are applied.

An entry is a tuple whose first item is one of these numbers; it comes back from the log as a list.
Entries state what happened, with all offsets and times in them: applying one decides nothing.
Numbers are part of the storage format and are never used again for something else. 100 to 139
belong to the keyspace (core/keyspace/entries.py). Stream ids take 16 bytes.

    kind             fields
    TOPIC_CREATE     id, name, number of partitions, settings
    TOPIC_ALTER      id, number of partitions, settings
    TOPIC_DELETE     id
    TRIM             topic, partition, first kept offset
    TOPIC_RENAME     id, name
    GROUP_CREATE     id, topic, name, position per partition, settings, partitions not begun if any
    GROUP_ALTER      id, settings
    GROUP_DELETE     id
    SEEK             group, partition, offset           forgets what was in flight
    PASS             group, partition, next offset      there was nothing to hand out before it
    MOVE             group, partition, offset           what is in flight stays in flight
    JOIN             group, member, leased, attributes or nil
    LEAVE            group, member, now, reason         gives its deliveries back
    MARK             group, partition, offset, remark or nil     forgets what was in flight
    PROFILE          name of groups, texts: key -> value          nothing is kept if there are none
    DELIVER          group, partition, member, now, next offset, runs
    HAND             group, partition, member, since, offsets, added to the count
    ACKNOWLEDGE      group, partition, runs
    CLAIM            group, partition, member, since, offsets, counts       makes in flight what is not
    RETURN           group, partition, offsets, due (0: at once), now, reason, taken from the count
    HOLD             group, partition, now, next offset, offsets, order keys, once keys     makes unacknowledged
    ONCE             group, keys, until, now            keys of acknowledged messages
    SCHEDULE         first id, due times                the messages lie at these offsets of the schedule
    UNSCHEDULE       ids                                fired or cancelled
    RESCHEDULE       id, due
    SERIES           id, due, period or nil, cron expression or nil, time zone, how often or nil
    SERIES_NEXT      came: [id, next due, how often still or nil]
    PRODUCER         id, epoch, name or nil, now
    PRODUCED         id, epoch, topic, partition, first sequence, last sequence, offset, now
    PRODUCERS_FORGET ids
    STREAM_SET       topic, last id, highest deleted id, entries added before offset 0, end of the partition
    STREAM_DELETED   topic, offsets, partition if it is not 0
    STREAM_TRIMMED   ghosts: [group, offset, id], marks: [group, offset, id]
    STREAM_MARK      group, offset, last id, entries read before offset 0
    STREAM_PRODUCED  topic, producer, name of the message, its id, now
    STREAM_WINDOW    topic, how long names are remembered in ms, most names of a producer
    STREAM_FLOOR     topic, highest time of what is not kept any more
    HALF_ADD         transaction, producer group, offset, size, next check, now
    HALF_CHECK       transaction, how often it was checked, next check
    HALF_COMMIT      transaction                        its messages are to be moved
    HALF_MOVED       transaction, number of runs        these first ones of its messages are where they go
    HALF_END         transaction, committed, now
    HALF_STAGE       transaction, producer group, offset, count, size, topic, name, partition, ranked, next check, now
    HALF_COMMIT_ALL  transactions, unit or nil, its number, now     all of them are to be moved, in this order
    COMMIT_UNIT      unit, now                          it was named again, with a number that is committed already
    OWNER            owner, timeout, id and epoch of its producer before or nil     it has no transaction
    OWNER_BEGIN      owner, transaction, places: topic, partition, ..., groups, now     it begins, or has more places
    OWNER_OFFSETS    owner, group, topic, rows: partition, offset, remark
    OWNER_END        owner, committed
    SENT_ONCE        topic, digest of a key, until, partition or place, offset, now
    RANK             topic, partition, pairs: offset, priority, offset, priority, ...
    UNRANK           topic, partition, offset           priorities of messages before it are forgotten
    DELIVER_LANE     group, partition, member, now, priority, position in its lane, next offset, offsets

Runs are flat pairs: first, last, first, last, ...
The order keys of HOLD are hashes of 32 bits (0: none), the once keys digests of 16 bytes (empty: none); either list
is empty where the group has no use for it.
"""

from collections.abc import Sequence

TOPIC_CREATE = 1
TOPIC_ALTER = 2
TOPIC_DELETE = 3
TRIM = 4
TOPIC_RENAME = 5
GROUP_CREATE = 10
GROUP_ALTER = 11
GROUP_DELETE = 12
SEEK = 13
MOVE = 14
JOIN = 15
LEAVE = 16
MARK = 17
PROFILE = 18
DELIVER = 20
HAND = 21
ACKNOWLEDGE = 22
RETURN = 23
CLAIM = 24
PASS = 25
HOLD = 26
ONCE = 27
SCHEDULE = 30
UNSCHEDULE = 31
RESCHEDULE = 32
SERIES = 33
SERIES_NEXT = 34
PRODUCER = 40
PRODUCED = 41
PRODUCERS_FORGET = 42
STREAM_SET = 50
STREAM_DELETED = 51
STREAM_TRIMMED = 52
STREAM_MARK = 53
STREAM_PRODUCED = 54
STREAM_WINDOW = 55
STREAM_FLOOR = 56
HALF_ADD = 70
HALF_CHECK = 71
HALF_COMMIT = 72
HALF_MOVED = 73
HALF_END = 74
SENT_ONCE = 75
HALF_STAGE = 76
HALF_COMMIT_ALL = 77
COMMIT_UNIT = 78
OWNER = 80
OWNER_BEGIN = 81
OWNER_OFFSETS = 82
OWNER_END = 83
RANK = 60
UNRANK = 61
DELIVER_LANE = 62


def runs_of(offsets: Sequence[int]) -> list[int]:
    """Ascending offsets as runs."""
    first, last = offsets[0], offsets[-1]
    if last - first == len(offsets) - 1:
        return [first, last]
    runs = [first]
    last = first
    for offset in offsets[1:]:
        if offset != last + 1:
            runs += (last, offset)
        last = offset
    runs.append(last)
    return runs


def offsets_of(runs: list[int]) -> range | list[int]:
    """The reverse of `runs_of`."""
    if len(runs) == 2:
        return range(runs[0], runs[1] + 1)
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [offset for first, last in pairs for offset in range(first, last + 1)]
