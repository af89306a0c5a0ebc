"""The entries that the keyspace writes to the log: their kinds and fields.

An entry is a tuple `(KIND, ...)` of integers, floats, booleans, bytes and lists; from the log it
comes back as a list with the same items. It says what became of the keys, not what was asked:
applying it needs no clock and makes no choice. Kinds 100 to 139 belong to the keyspace; a number
once given is never used for something else.

| kind | name               | fields                          | meaning                                      |
|------|--------------------|---------------------------------|----------------------------------------------|
| 100  | KEYS_DELETED       | keys                            | the keys are gone                            |
| 101  | KEYS_EXPIRED       | keys                            | the same, because their time had come        |
| 102  | EXPIRY_SET         | key, expires_at_ms              | the key goes at that time                    |
| 103  | EXPIRY_CLEARED     | key                             | the key stays                                |
| 104  | KEY_RENAMED        | key, target                     | value and expiry moved over the target       |
| 105  | KEYS_FLUSHED       |                                 | no key is left                               |
| 106  | KEY_COPIED         | key, target                     | the target holds the same until the same time|
| 110  | STRING_SET         | key, value                      | a string without expiry, whatever was there  |
| 111  | STRING_SET_UNTIL   | key, value, expires_at_ms       | a string with expiry, whatever was there     |
| 112  | STRING_REPLACED    | key, value                      | a string; an expiry of the key stays         |
| 113  | STRING_APPENDED    | key, tail                       | the string, or an empty one, grew by the tail|
| 114  | STRING_OVERWRITTEN | key, offset, part               | these bytes stand there, zeros before them   |
| 115  | LIST_PUSHED        | key, left, values               | pushed one after the other at that end       |
| 116  | LIST_POPPED        | key, left, count                | that many are gone from that end             |
| 117  | LIST_ITEM_SET      | key, index, value               | the item at the index was replaced           |
| 118  | LIST_ITEM_INSERTED | key, index, value               | the value now stands at the index            |
| 119  | LIST_VALUE_REMOVED | key, left, count, value         | the first count equal items from there left  |
| 120  | LIST_TRIMMED       | key, first, end                 | only the indexes first..end-1 are left       |
| 121  | LIST_ITEM_MOVED    | key, target, from_left, to_left | one item changed lists                       |
| 123  | HASH_SET           | key, [field, value, ...]        | the fields have these values                 |
| 124  | HASH_DELETED       | key, fields                     | the fields are gone                          |
| 126  | SET_ADDED          | key, members                    | the members are in, in this order of age     |
| 127  | SET_REMOVED        | key, members                    | the members are out                          |
| 128  | SET_STORED         | key, members                    | a set of exactly these, whatever was there   |
| 130  | SORTED_SET_ADDED   | key, scores, members            | the members have these scores                |
| 131  | SORTED_SET_REMOVED | key, members                    | the members are out                          |
| 132  | SORTED_SET_CUT     | key, first, end                 | the ranks first..end-1 are out               |
| 133  | SORTED_SET_STORED  | key, scores, members            | exactly these, whatever was there            |

A collection that loses its last element is gone with its expiry, without an entry of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any

KEYSPACE_KINDS = range(100, 140)

KEYS_DELETED = 100
KEYS_EXPIRED = 101
EXPIRY_SET = 102
EXPIRY_CLEARED = 103
KEY_RENAMED = 104
KEYS_FLUSHED = 105
KEY_COPIED = 106

STRING_SET = 110
STRING_SET_UNTIL = 111
STRING_REPLACED = 112
STRING_APPENDED = 113
STRING_OVERWRITTEN = 114

LIST_PUSHED = 115
LIST_POPPED = 116
LIST_ITEM_SET = 117
LIST_ITEM_INSERTED = 118
LIST_VALUE_REMOVED = 119
LIST_TRIMMED = 120
LIST_ITEM_MOVED = 121

HASH_SET = 123
HASH_DELETED = 124

SET_ADDED = 126
SET_REMOVED = 127
SET_STORED = 128

SORTED_SET_ADDED = 130
SORTED_SET_REMOVED = 131
SORTED_SET_CUT = 132
SORTED_SET_STORED = 133

Entry = Sequence[Any]
"""An entry as it is applied: a tuple when it is new, a list when it comes from the log."""

Appliers = dict[int, Callable[[Entry], object]]
"""For each kind the method that applies such an entry; what it returns is for its command only."""
