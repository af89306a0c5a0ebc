"""XPOLICY: what Redis lacks, on any stream that asks for it.

    XPOLICY orders MAXDELIVERIES 5                       so many attempts; then an entry is a dead letter
    XPOLICY orders BACKOFF 1s 2 1m                       the waiting after XNACK FAIL: 1 s, doubled up to 1 min
    XPOLICY orders DEADLETTER orders.dead                where entries go after that; else <stream>.<group>.dead
    XPOLICY orders LEASE CONNECTION                      entries of a lost connection go to others at once
    XPOLICY orders LEASE 30s                             entries go to others if not acknowledged in time
    XPOLICY orders RETAIN UNACKNOWLEDGED                 the stream forgets what all groups acknowledged
    XPOLICY orders                                       shows what holds

It holds for all groups of the stream, present and future; NONE takes a setting back. What comes back to a
group is handed out by the next XREADGROUP with `>`.
"""

from typing import TYPE_CHECKING

import msgspec

from onemq.core.group import GroupConfig
from onemq.core.redelivery import FOR_EVER, NO_MAXIMUM, Backoff, Immediate, Redelivery, from_entry
from onemq.core.stream import Stream
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.numbers import parse_float
from onemq.protocols.resp.streams.arguments import existing_stream, text_of
from onemq.units import format_duration, parse_duration_ms

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_RETAIN = {b"all": "stream", b"unacknowledged": "queue"}
_NONE = b"none"


def xpolicy(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    stream = existing_stream(session, request[1])
    if len(request) == 2:
        return _shown(session, stream)
    core.check_writable()
    config, kind = _changed(stream.topic.config.group, stream.topic.config.kind, request[2:])
    core.set_policy(stream.topic.name, config, kind)
    return replies.OK


def _changed(config: GroupConfig, kind: str, words: list[bytes]) -> tuple[GroupConfig, str]:
    most, backoff = _parts(config)
    while words:
        name, *words = words
        if not words:
            raise syntax_error()
        match name.lower():
            case b"maxdeliveries":
                most = None if words[0].lower() == _NONE else _at_least_one(words[0])
                words = words[1:]
            case b"backoff":
                backoff, words = _backoff(words)
            case b"deadletter":
                target = None if words[0].lower() == _NONE else text_of(words[0])
                config, words = msgspec.structs.replace(config, dead_topic=target), words[1:]
            case b"lease":
                config, words = _leased(config, words[0]), words[1:]
            case b"retain":
                if words[0].lower() not in _RETAIN:
                    raise CommandError("ERR RETAIN must be ALL or UNACKNOWLEDGED")
                kind, words = _RETAIN[words[0].lower()], words[1:]
            case _:
                raise CommandError(
                    "ERR XPOLICY takes MAXDELIVERIES, BACKOFF, DEADLETTER, LEASE and RETAIN, not "
                    f"'{name.decode(errors='replace')}'"
                )
    policy = _policy(most, backoff)
    return msgspec.structs.replace(config, policy=policy.to_entry() if policy is not None else None), kind


def _parts(config: GroupConfig) -> tuple[int | None, Backoff | None]:
    """The largest number of deliveries, and the waiting between them, of a policy."""
    policy = from_entry(config.policy) if config.policy else None
    return (None, None) if policy is None else (policy.max_deliveries, policy if isinstance(policy, Backoff) else None)


def _policy(most: int | None, backoff: Backoff | None) -> Redelivery | None:
    if backoff is None:
        return None if most is None else Immediate(most)
    return Backoff(
        backoff.initial_delay_ms,
        backoff.redelivery_delay_ms,
        backoff.multiplier,
        backoff.exponential,
        backoff.collision_avoidance,
        backoff.max_delay_ms,
        FOR_EVER if most is None else most - 1,
    )


def _backoff(words: list[bytes]) -> tuple[Backoff | None, list[bytes]]:
    """NONE, or the first waiting time, and then if it grows: by how much, and up to what or NONE."""
    if words[0].lower() == _NONE:
        return None, words[1:]
    first_ms = _duration("BACKOFF", words[0])
    factor = parse_float(words[1]) if len(words) > 1 else None
    if factor is None:
        return Backoff(first_ms, first_ms, 1.0), words[1:]
    if not 1 <= factor <= 1000:
        raise CommandError("ERR the factor of BACKOFF must be from 1 to 1000")
    if len(words) == 2:
        raise CommandError("ERR after the factor of BACKOFF comes the longest waiting time, or NONE")
    longest_ms = NO_MAXIMUM if words[2].lower() == _NONE else _duration("BACKOFF", words[2])
    return Backoff(first_ms, first_ms, factor, factor > 1, 0.0, longest_ms), words[3:]


def _leased(config: GroupConfig, word: bytes) -> GroupConfig:
    match word.lower():
        case b"connection":
            return msgspec.structs.replace(config, lease_connection=True, lease_ms=0)
        case b"none":
            return msgspec.structs.replace(config, lease_connection=False, lease_ms=0)
        case _:
            lease_ms = _duration("LEASE", word)
            if not lease_ms:
                raise CommandError("ERR LEASE must be CONNECTION, a time above 0, or NONE")
            return msgspec.structs.replace(config, lease_connection=False, lease_ms=lease_ms)


def _duration(what: str, word: bytes) -> int:
    try:
        return parse_duration_ms(word.decode(errors="replace"))
    except ValueError as problem:
        raise CommandError(f"ERR {what}: {problem}") from None


def _at_least_one(word: bytes) -> int:
    number = integer(word)
    if number < 1:
        raise CommandError("ERR MAXDELIVERIES must be 1 or more, or NONE")
    return number


def _shown(session: "RespSession", stream: Stream) -> bytes:
    config = stream.topic.config.group
    most, backoff = _parts(config)
    waits = "none"
    if backoff is not None:
        waits = format_duration(backoff.initial_delay_ms)
        if backoff.exponential:
            longest_ms = backoff.max_delay_ms
            waits += f" {backoff.multiplier:g} {'none' if longest_ms == NO_MAXIMUM else format_duration(longest_ms)}"
    lease = "connection" if config.lease_connection else format_duration(config.lease_ms) if config.lease_ms else "none"
    facts = {
        "maxdeliveries": "none" if most is None else str(most),
        "backoff": waits,
        "deadletter": config.dead_topic or f"{stream.topic.name}.<group>.dead",
        "lease": lease,
        "retain": "unacknowledged" if stream.topic.config.kind == "queue" else "all",
    }
    return session.replies.map((replies.text(name), replies.text(value)) for name, value in facts.items())
