"""Commands about when keys go."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import INTEGER_MAX, integer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.errors import CommandError, shown
from onemq.protocols.resp.rows import rows

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_CONDITIONS = {b"NX": "if_absent", b"XX": "if_present", b"GT": "if_greater", b"LT": "if_less"}


def expires_at_ms(session: "RespSession", word: bytes, unit_ms: int, from_now: bool, command: str) -> int:
    """The time in milliseconds that a word says in some unit, from now or since 1970."""
    time_ms = integer(word) * unit_ms
    base_ms = session.service.core.keys.now_ms if from_now else 0
    if not -INTEGER_MAX - 1 <= time_ms <= INTEGER_MAX - base_ms:
        raise CommandError(f"ERR invalid expire time in '{command}' command")
    return time_ms + base_ms


def expire(session: "RespSession", request: list[bytes]) -> bytes:
    return _expire(session, request, 1000, True, "expire")


def pexpire(session: "RespSession", request: list[bytes]) -> bytes:
    return _expire(session, request, 1, True, "pexpire")


def expireat(session: "RespSession", request: list[bytes]) -> bytes:
    return _expire(session, request, 1000, False, "expireat")


def pexpireat(session: "RespSession", request: list[bytes]) -> bytes:
    return _expire(session, request, 1, False, "pexpireat")


def _expire(session: "RespSession", request: list[bytes], unit_ms: int, from_now: bool, command: str) -> bytes:
    core = session.service.core
    core.check_writable()
    conditions = _conditions(request[3:])
    at_ms = expires_at_ms(session, request[2], unit_ms, from_now, command)
    return replies.ONE if core.keys.expire_at(request[1], at_ms, **conditions) else replies.ZERO


def _conditions(words: list[bytes]) -> dict[str, bool]:
    conditions = {}
    for word in words:
        name = _CONDITIONS.get(word.upper())
        if name is None:
            raise CommandError(f"ERR Unsupported option {shown(word)}")
        conditions[name] = True
    if "if_absent" in conditions and len(conditions) > 1:
        raise CommandError("ERR NX and XX, GT or LT options at the same time are not compatible")
    if "if_greater" in conditions and "if_less" in conditions:
        raise CommandError("ERR GT and LT options at the same time are not compatible")
    return conditions


def persist(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    return replies.ONE if core.keys.persist(request[1]) else replies.ZERO


def ttl(session: "RespSession", request: list[bytes]) -> bytes:
    now_ms = session.service.core.keys.now_ms
    return _expiry(session, request[1], lambda at_ms: (at_ms - now_ms + 500) // 1000)


def pttl(session: "RespSession", request: list[bytes]) -> bytes:
    now_ms = session.service.core.keys.now_ms
    return _expiry(session, request[1], lambda at_ms: at_ms - now_ms)


def expiretime(session: "RespSession", request: list[bytes]) -> bytes:
    return _expiry(session, request[1], lambda at_ms: (at_ms + 500) // 1000)


def pexpiretime(session: "RespSession", request: list[bytes]) -> bytes:
    return _expiry(session, request[1], lambda at_ms: at_ms)


def _expiry(session: "RespSession", key: bytes, shown: Callable[[int], int]) -> bytes:
    """-2 for a key that is not there, -1 for one that stays."""
    keys = session.service.core.keys
    at_ms = keys.expiry(key)
    if at_ms is not None:
        return replies.integer(shown(at_ms))
    return replies.integer(-1 if keys.holds(key) else -2)


COMMANDS: tuple[Command, ...] = rows(expire, expireat, expiretime, persist, pexpire, pexpireat, pexpiretime, pttl, ttl)
