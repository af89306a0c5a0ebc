"""The scripts that Celery, kombu and redis-py's locks send: OneMQ does the same as Redis does with Lua.

The texts come from the packages as installed, so a new release with another text fails here first.
"""

from collections.abc import Callable
from hashlib import sha1
from random import Random
from typing import Any

import pytest
import redis
from celery.backends import redis as celery_backend
from kombu.transport import redis as kombu_transport
from redis.lock import Lock

from tests.interop.pair import Pair, needs_redis_server

pytestmark = needs_redis_server

LOCKS = (Lock.LUA_RELEASE_SCRIPT, Lock.LUA_EXTEND_SCRIPT, Lock.LUA_REACQUIRE_SCRIPT)
CHORDS = (
    celery_backend.CHORD_PART_RETURN_LUA,
    celery_backend.CHORD_CLEANUP_LUA,
    celery_backend.CHORD_CLAIM_EXTEND_LUA,
)
BINDINGS = (kombu_transport.REFRESH_BINDING, kombu_transport.SWEEP_BINDINGS)


def digest(text: str) -> str:
    return sha1(text.encode()).hexdigest()


def close(answer: Any) -> Any:
    """Times that differ by what passes between two calls."""
    return answer if not isinstance(answer, int) or answer < 1000 else round(answer, -5)


def same_keys(pair: Pair) -> None:
    """What the keys hold, and when they go."""
    for key in sorted(pair.same("KEYS", "*", alike=sorted)):
        kind = pair.same("TYPE", key)
        read: dict[bytes, tuple[Any, ...]] = {
            b"string": ("GET", key),
            b"list": ("LRANGE", key, 0, -1),
            b"set": ("SMEMBERS", key),
            b"zset": ("ZRANGE", key, 0, -1),
        }
        pair.same(*read[kind], alike=sorted if kind == b"set" else lambda answer: answer)
        pair.same("PTTL", key, alike=close)


@pytest.mark.parametrize("text", [*LOCKS, *CHORDS, *BINDINGS])
def test_a_script_is_known_by_its_text_and_by_its_digest(pair: Pair, text: str) -> None:
    assert pair.same("SCRIPT", "LOAD", text) == digest(text).encode()
    assert pair.same("SCRIPT", "EXISTS", digest(text)) == [1]


def test_what_is_no_known_script(pair: Pair) -> None:
    pair.same("EVALSHA", "0" * 40, 0)
    for words in (("x",), (-1,), (2, "a"), ("",)):
        pair.same("EVAL", "return 1", *words)
        pair.same("EVALSHA", "0" * 40, *words)
        pair.same("EVALSHA", "0" * 39, *words)
    pair.same("SCRIPT", "EXISTS", "0" * 40)
    pair.same("EVALSHA", digest(LOCKS[0]))
    pair.same("EVAL", LOCKS[0], "x", "key")
    pair.same("EVAL", LOCKS[0], 2, "key")
    pair.same("EVAL", LOCKS[0], -1, "key")
    with pytest.raises(redis.ResponseError, match="runs no Lua"):
        pair.ours.execute_command("EVAL", "return 1", 0)


def run_random(pair: Pair, seed: int, calls: list[Callable[[Random], tuple[Any, ...]]], alike: Any = None) -> None:
    random = Random(seed)
    for _ in range(60):
        words = random.choice(calls)(random)
        pair.same(*words, alike=alike or (lambda answer: answer))
    same_keys(pair)


def test_locks(pair: Pair) -> None:
    def call(text: str) -> Callable[[Random], tuple[Any, ...]]:
        def words(random: Random) -> tuple[Any, ...]:
            rest = {LOCKS[0]: [], LOCKS[1]: [5_000_000, random.choice("01")], LOCKS[2]: [7_000_000]}[text]
            return ("EVAL", text, 1, random.choice("ab"), random.choice(("mine", "yours")), *rest)

        return words

    def acquire(random: Random) -> tuple[Any, ...]:
        expiry = random.choice(([], ["PX", 10_000_000]))
        return ("SET", random.choice("ab"), random.choice(("mine", "yours")), "NX", *expiry)

    run_random(pair, 1, [acquire, acquire, *map(call, LOCKS)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ordered", [1, 0])
def test_chords(pair: Pair, ordered: int, seed: int) -> None:
    results, difference, size, seen, group, claim = (f"chord{end}" for end in (".j", ".t", ".s", ".d", "", ".c"))

    def part(random: Random) -> tuple[Any, ...]:
        task = random.randrange(6)
        keys = (results, difference, size, seen, group, claim)
        expires, group_expires = random.choice(((0, 0), (100_000, 0), (100_000, 200_000)))
        score = random.choice((task, "+inf"))
        return (
            "EVAL", CHORDS[0], 6, *keys, f"task{task}", f"value{task}", ordered, score, expires, group_expires, 100_000,
            random.choice(("mine", "yours")),
        )  # fmt: skip

    def cleanup(random: Random) -> tuple[Any, ...]:
        keys = (claim, results, difference, size, seen)
        return ("EVAL", CHORDS[1], 5, *keys, random.choice(("mine", "yours", "nobody's")), random.choice((0, 300_000)))

    def extend(random: Random) -> tuple[Any, ...]:
        return ("EVAL", CHORDS[2], 2, claim, size, random.choice(("mine", "yours")), 400_000)

    def other(random: Random) -> tuple[Any, ...]:
        choices = (("SET", size, 4), ("SET", difference, 1), ("SET", group, "x"), ("DEL", claim), ("DEL", difference))
        return random.choice(choices)

    run_random(pair, seed, [part, part, part, part, cleanup, extend, other])


def test_bindings(pair: Pair) -> None:
    deadlines, table, permanent = "deadlines", "binding.", "permanent."

    def refresh(random: Random) -> tuple[Any, ...]:
        exchange = random.choice("abc")
        lifetime = random.choice((-1_000_000, 1_000_000, 5_000_000))
        return ("EVAL", BINDINGS[0], 2, table + exchange, deadlines, random.choice("xyz"), exchange, lifetime)

    def sweep(random: Random) -> tuple[Any, ...]:
        return ("EVAL", BINDINGS[1], 1, deadlines, table, permanent, random.choice((1, 100)))

    def other(random: Random) -> tuple[Any, ...]:
        exchange = random.choice("abc")
        return random.choice((("SADD", permanent + exchange, "x"), ("DEL", permanent + exchange)))

    run_random(pair, 1, [refresh, refresh, sweep, other])


def test_scripts_in_a_transaction(pair: Pair) -> None:
    for text in (LOCKS[0], BINDINGS[0]):
        pair.same("SCRIPT", "LOAD", text)
    pair.same("SET", "lock", "mine")
    pair.same("MULTI")
    pair.same("EVALSHA", digest(LOCKS[0]), 1, "lock", "mine")
    pair.same("EVALSHA", digest(BINDINGS[0]), 2, "table", "deadlines", "member", "exchange", 1_000_000)
    pair.same("EXEC")
    same_keys(pair)


def test_a_lock_of_redis_py_is_one(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port) as client:
        lock, other = client.lock("a lock", timeout=100), client.lock("a lock", timeout=100)
        assert lock.acquire(blocking=False)
        assert not other.acquire(blocking=False)
        assert lock.extend(50)
        assert 100_000 < client.pttl("a lock") <= 150_000
        assert lock.reacquire()
        assert client.pttl("a lock") <= 100_000
        lock.release()
        assert other.acquire(blocking=False)
        other.release()
