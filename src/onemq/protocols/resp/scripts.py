"""EVAL, EVALSHA and SCRIPT, for the scripts that Python's task queues cannot do without.

OneMQ has no Lua. It knows some scripts by the SHA-1 of their text, which is how clients name them anyway, and
runs each as a function here: within one call, so within one turn, and a turn is one atomic set of the log. Any
other script is refused with an error that says so.

    redis-py 3.5 to 8.1    Lock: release, extend, reacquire (kombu restores unacknowledged messages under one)
    Celery 5.7             chords: count a part that returned, clean up, keep the claim
    kombu 5.7              bindings of queues that expire: refresh, sweep
"""

from collections.abc import Callable
from hashlib import sha1
from typing import TYPE_CHECKING

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.ranges import ScoreRange
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import INTEGER_MAX, double, integer
from onemq.protocols.resp.command import Argument, Command, container
from onemq.protocols.resp.errors import CommandError

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Value = int | bytes | None | list["Value"]
Script = Callable[[Keyspace, list[bytes], list[bytes]], Value]
"""Takes the keyspace, KEYS and ARGV; returns what the script returns."""


# Locks of redis-py.


def lock_release(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    if keys.strings.get(names[0]) != words[0]:
        return 0
    keys.delete(names[0])
    return 1


def lock_extend(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    """By the milliseconds, or to them if the third word says so. A lock without expiry cannot be extended."""
    until_ms = keys.expiry(names[0])
    if keys.strings.get(names[0]) != words[0] or until_ms is None:
        return 0
    from_ms = until_ms if words[2] == b"0" else keys.now_ms
    keys.expire_at(names[0], _later(from_ms, words[1], 1))
    return 1


def lock_reacquire(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    if keys.strings.get(names[0]) != words[0]:
        return 0
    keys.expire_at(names[0], _later(keys.now_ms, words[1], 1))
    return 1


# Chords of Celery.


def chord_part_return(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    """Keeps the result of a task once, and gives the claim to call the chord's body to who completes it."""
    results, difference, size, seen, group, claim = names
    task, value, ordered, score, expires, group_expires, claim_expires, token = words
    if keys.strings.get(claim) == b"done":
        return [-1, 0, 0, 0]
    member = task + b":" + score
    if keys.sets.add(seen, [member]):
        if ordered == b"1":
            keys.sorted_sets.add(results, [(double(score), value)])
        else:
            keys.lists.push(results, [value], left=False)
    ready = keys.sorted_sets.cardinality(results) if ordered == b"1" else keys.lists.length(results)
    if integer(expires) > 0:
        for key in (results, difference, size, seen):
            _expire(keys, key, expires)
        if integer(group_expires) > 0:
            _expire(keys, group, group_expires)
    total, more = keys.strings.get(size), keys.strings.get(difference)
    claimed = (
        total is not None
        and ready == integer(total) + integer(more or b"0")
        and keys.strings.set(claim, token, _later(keys.now_ms, claim_expires), if_absent=True)
    )
    return [ready, more, total, int(claimed)]


def chord_cleanup(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    claim, *rest = names
    if keys.strings.get(claim) != words[0]:
        return 0
    keys.delete(*rest)
    if integer(words[1]) > 0:
        keys.strings.set(claim, b"done", _later(keys.now_ms, words[1]))
    return 1


def chord_claim_extend(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    claim, size = names
    token = keys.strings.get(claim)
    if token == words[0]:
        _expire(keys, claim, words[1])
        return 1
    if token is None and keys.exists(size):
        keys.strings.set(claim, words[0], _later(keys.now_ms, words[1]))
        return 1
    return 0


def _expire(keys: Keyspace, key: bytes, seconds: bytes) -> None:
    keys.expire_at(key, _later(keys.now_ms, seconds))


def _later(from_ms: int, word: bytes, unit_ms: int = 1000) -> int:
    """So much later than a time. Refuses a time that the log cannot keep, as EXPIRE does."""
    time_ms = from_ms + integer(word) * unit_ms
    if not -INTEGER_MAX <= time_ms <= INTEGER_MAX:
        raise CommandError("ERR invalid expire time in script")
    return time_ms


# Bindings of kombu.


def refresh_binding(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    table, deadlines = names
    member, exchange, milliseconds = words
    keys.sets.add(table, [member])
    keys.sorted_sets.add(deadlines, [(float(keys.now_ms + integer(milliseconds)), exchange)], if_greater=True)
    return None


def sweep_bindings(keys: Keyspace, names: list[bytes], words: list[bytes]) -> Value:
    table, permanent, limit = words
    overdue = keys.sorted_sets.range(names[0], ScoreRange(high=keys.now_ms), count=integer(limit))
    for _, exchange in overdue:
        if not keys.exists(permanent + exchange):
            keys.delete(table + exchange)
        keys.sorted_sets.remove(names[0], [exchange])
    return len(overdue)


SCRIPTS: dict[bytes, tuple[int, int, Script]] = {
    b"c3f8721cbb97f72bc19e972846bd7aaf91901658": (1, 1, lock_release),
    b"a4e8783852e6b949f9ef3a97212805108459a890": (1, 3, lock_extend),
    b"1cac51482acf5858da00f6d685d68f886cd6b6b2": (1, 2, lock_reacquire),
    b"b8fc152c83a7e634103ccebd49dcd3146a8f4366": (6, 8, chord_part_return),
    b"59d7aab41242d82196947ba8926cab712416da4f": (5, 2, chord_cleanup),
    b"dc87180d6bcb7f73c7275eb0fe7a70baf0a8b7c7": (2, 2, chord_claim_extend),
    b"ef7a9e205fbaf46bf959e1522ff796622fc676c7": (2, 3, refresh_binding),
    b"9a2b966a0a2d2d0e36ec32bc30fc89342b94a4bf": (1, 3, sweep_bindings),
}
"""By the SHA-1 of the text: how many KEYS and ARGV each takes, and what runs it."""


# Commands.

_DIGEST_BYTES = 40


def eval_(session: "RespSession", request: list[bytes]) -> bytes:
    count = _keys_count(request)
    digest = _digest(request[1])
    if digest not in SCRIPTS:
        raise _unknown(digest)
    return _run(session, digest, request, count)


def evalsha(session: "RespSession", request: list[bytes]) -> bytes:
    digest = request[1].lower()
    count = _keys_count(request) if len(digest) == _DIGEST_BYTES else 0
    if digest not in SCRIPTS:
        raise CommandError("NOSCRIPT No matching script. Please use EVAL.")
    return _run(session, digest, request, count)


def _keys_count(request: list[bytes]) -> int:
    """How many keys there are. Redis looks at this before it looks for the script."""
    count = integer(request[2])
    if count > len(request) - 3:
        raise CommandError("ERR Number of keys can't be greater than number of args")
    if count < 0:
        raise CommandError("ERR Number of keys can't be negative")
    return count


def _run(session: "RespSession", digest: bytes, request: list[bytes], count: int) -> bytes:
    names, words = request[3 : 3 + count], request[3 + count :]
    names_wanted, words_wanted, script = SCRIPTS[digest]
    if (len(names), len(words)) != (names_wanted, words_wanted):
        raise CommandError(f"ERR this script takes {names_wanted} keys and {words_wanted} arguments")
    core = session.service.core
    core.check_writable()
    return _encoded(session, script(core.keys, names, words))


def _encoded(session: "RespSession", value: Value) -> bytes:
    if value is None:
        return session.replies.null
    if isinstance(value, int):
        return replies.integer(value)
    if isinstance(value, bytes):
        return replies.bulk(value)
    return replies.array([_encoded(session, item) for item in value])


def load(session: "RespSession", request: list[bytes]) -> bytes:
    digest = _digest(request[2])
    if digest not in SCRIPTS:
        raise _unknown(digest)
    return replies.bulk(digest)


def exists(session: "RespSession", request: list[bytes]) -> bytes:
    return replies.array([replies.integer(digest.lower() in SCRIPTS) for digest in request[2:]])


def flush(session: "RespSession", request: list[bytes]) -> bytes:
    """The scripts that are known stay known."""
    if len(request) > 3 or (len(request) == 3 and request[2].upper() not in (b"ASYNC", b"SYNC")):
        raise CommandError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
    return replies.OK


def kill(session: "RespSession", request: list[bytes]) -> bytes:
    raise CommandError("NOTBUSY No scripts in execution right now.")


def _digest(text: bytes) -> bytes:
    return sha1(text, usedforsecurity=False).hexdigest().encode()


def _unknown(digest: bytes) -> CommandError:
    return CommandError(
        f"ERR OneMQ runs no Lua, only the scripts of redis-py's locks, Celery and kombu; it does not know this one, "
        f"SHA1 {digest.decode()}"
    )


_FLAGS = ("noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys")
_LOADING = ("noscript",)
_KEYS_AND_ARGUMENTS = (
    Argument("numkeys", "integer"),
    Argument("key", "key", flags=("optional", "multiple")),
    Argument("arg", flags=("optional", "multiple")),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "eval", -3, eval_, "Execute a Lua script server side", "2.6.0", "scripting", flags=_FLAGS,
        categories=("scripting",), complexity="Depends on the script that is executed.",
        arguments=(Argument("script"), *_KEYS_AND_ARGUMENTS), may_write=True,
    ),
    Command(
        "evalsha", -3, evalsha, "Execute a Lua script server side", "2.6.0", "scripting", flags=_FLAGS,
        categories=("scripting",), complexity="Depends on the script that is executed.",
        arguments=(Argument("sha1"), *_KEYS_AND_ARGUMENTS), may_write=True,
    ),
    container("script", "A container for Lua scripts management commands", "2.6.0", "scripting", (
        Command(
            "script|exists", -3, exists, "Check existence of scripts in the script cache.", "2.6.0", "scripting",
            flags=_LOADING, categories=("scripting",), complexity="O(N) with N being the number of scripts to check",
            arguments=(Argument("sha1", flags=("multiple",)),),
        ),
        Command(
            "script|flush", -2, flush, "Remove all the scripts from the script cache.", "2.6.0", "scripting",
            flags=_LOADING, categories=("scripting",), complexity="O(N) with N being the number of scripts in cache",
        ),
        Command(
            "script|kill", 2, kill, "Kill the script currently in execution.", "2.6.0", "scripting",
            flags=(*_LOADING, "allow_busy"), categories=("scripting",),
        ),
        Command(
            "script|load", 3, load, "Load the specified Lua script into the script cache.", "2.6.0", "scripting",
            flags=(*_LOADING, "stale"), categories=("scripting",),
            complexity="O(N) with N being the length in bytes of the script body.", arguments=(Argument("script"),),
        ),
    )),
)  # fmt: skip
