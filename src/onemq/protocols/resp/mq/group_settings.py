"""The settings of a group as MQ.GROUP takes and shows them."""

from dataclasses import dataclass
from typing import Any

import msgspec

from onemq.core.deadletters import dead_topic_name
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import (
    FOR_EVER,
    LADDER_STEPS_MS,
    NO_MAXIMUM,
    ORDERED_POLICY,
    Backoff,
    Immediate,
    Ladder,
    Redelivery,
    from_entry,
)
from onemq.core.start import FIRST, LAST, Start
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, shown
from onemq.protocols.resp.mq.messages import optional_text
from onemq.protocols.resp.numbers import parse_float
from onemq.protocols.resp.replies import Replies
from onemq.units import format_duration

_ASSIGNMENTS = ("NONE", "AVERAGE", "CIRCLE", "CONFIG", "ROOM", "HASH")
_FACTOR_MAX = 1_000
_DELIVERIES_MAX = 1_000_000


@dataclass(slots=True)
class Settings:
    """What the options of CREATE and ALTER ask for."""

    config: GroupConfig
    start: Start = FIRST
    if_absent: bool = False


def settings_of(words: Words, config: GroupConfig | None, creating: bool) -> Settings:
    """The settings that are given, over those that there are."""
    settings = Settings(config or GroupConfig(policy=Ladder().to_entry()))
    changes: dict[str, Any] = {}
    while words:
        match words.option():
            case "FROM" if creating:
                settings.start = start_of(words, "FROM")
            case "IFNOTEXISTS" if creating:
                settings.if_absent = True
            case "RETRY":
                changes["policy"] = _policy(words).to_entry()
            case "DEAD":
                changes["dead_topic"] = words.text("DEAD")
            case "LEASE":
                changes["lease_ms"] = words.duration_or_none("LEASE") or 0
            case "FILTER":
                changes["filter"] = _filter(words)
            case "ORDER":
                changes["order"] = words.choice("ORDER", "NONE", "PARTITION", "KEY").lower()
            case "ASSIGN":
                changes["assign"] = words.choice("ASSIGN", *_ASSIGNMENTS).lower()
            case "ONCE":
                changes |= _once(words)
            case other:
                raise words.unknown(other)
    if creating and changes.get("order", "none") != "none":
        changes.setdefault("policy", ORDERED_POLICY.to_entry())
    settings.config = msgspec.structs.replace(settings.config, **changes)
    return settings


def _filter(words: Words) -> str | None:
    if words.peek() == "NONE":
        words.option()
        return None
    return words.filter().text


def _once(words: Words) -> dict[str, Any]:
    """KEY, ID, HEADER name or NONE, and for how long."""
    match words.choice("ONCE", "KEY", "ID", "HEADER", "NONE"):
        case "NONE":
            changes: dict[str, Any] = {"once": None}
        case "HEADER":
            changes = {"once": f"header:{words.text('ONCE HEADER')}"}
        case what:
            changes = {"once": what.lower()}
    if words.peek() == "WITHIN":
        words.option()
        changes["once_ms"] = words.duration_ms("WITHIN")
    return changes


def start_of(words: Words, option: str) -> Start:
    """FIRST, LAST, OFFSET n or TIME t."""
    match words.choice(option, "FIRST", "LAST", "OFFSET", "TIME"):
        case "FIRST":
            return FIRST
        case "LAST":
            return LAST
        case "OFFSET":
            return Start("offset", words.integer("OFFSET"))
        case _:
            return Start("time", words.time_ms("TIME"))


def _policy(words: Words) -> Redelivery:
    """LADDER, BACKOFF first factor most|NONE times|NONE, or NONE [times]."""
    match words.choice("RETRY", "LADDER", "BACKOFF", "NONE"):
        case "LADDER":
            return Ladder()
        case "NONE":
            times = words.integer("RETRY NONE", 0, _DELIVERIES_MAX) if words.peek().isdigit() else None
            return Immediate(None if times is None else times + 1)
        case _:
            return _backoff(words)


def _backoff(words: Words) -> Backoff:
    first_ms = words.duration_ms("RETRY BACKOFF, the first waiting time,")
    word = words.value("RETRY BACKOFF, the factor,")
    factor = parse_float(word)
    if factor is None or not 1 <= factor <= _FACTOR_MAX:
        raise words.problem(f"RETRY BACKOFF: the factor must be a number from 1 to {_FACTOR_MAX}, not {shown(word)}")
    most_ms = words.duration_or_none("RETRY BACKOFF, the longest waiting time or NONE,")
    if words.peek() == "NONE":
        words.option()
        times = FOR_EVER
    else:
        times = words.integer("RETRY BACKOFF, how many times or NONE,", 0, _DELIVERIES_MAX)
    return Backoff(first_ms, first_ms, factor, factor > 1, 0.0, NO_MAXIMUM if most_ms is None else most_ms, times)


def facts_of(form: Replies, group: Group) -> dict[str, bytes]:
    """The settings of a group, in the words in which they are given."""
    config = group.config
    return {
        "retry": replies.text(_policy_text(from_entry(config.policy) if config.policy else None)),
        "dead": replies.text(config.dead_topic or dead_topic_name(group)),
        "lease": replies.text(format_duration(config.lease_ms) if config.lease_ms else "none"),
        "filter": optional_text(form, config.filter),
        "order": replies.text(config.order),
        "assign": replies.text(config.assign),
        "once": replies.text((config.once or "none").replace(":", " ", 1)),
        "once_within": replies.text(format_duration(config.once_ms)),
    }


def _policy_text(policy: Redelivery | None) -> str:
    match policy:
        case None:
            return "none"
        case Immediate():
            return "none" if policy.max_deliveries is None else f"none {policy.max_deliveries - 1}"
        case Ladder():
            steps = policy.steps_ms
            return "ladder" if steps == LADDER_STEPS_MS else f"ladder {' '.join(map(format_duration, steps))}"
        case Backoff():
            most = "none" if policy.max_delay_ms == NO_MAXIMUM else format_duration(policy.max_delay_ms)
            times = "none" if policy.max_redeliveries == FOR_EVER else str(policy.max_redeliveries)
            factor = policy.multiplier if policy.exponential else 1
            return f"backoff {format_duration(policy.initial_delay_ms)} {factor:g} {most} {times}"
