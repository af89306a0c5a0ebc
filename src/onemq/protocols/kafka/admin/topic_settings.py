"""The settings of a topic under Kafka's names: read from the core's, and made to the core's.

The value of a setting that acts is what the core has, whoever set it by whatever protocol. What a client of Kafka has
set is remembered in the topic's notes, so that it is told in the form that it was given, as is what has no effect.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from onemq.core.settings import TopicConfig
from onemq.errors import OneMQError
from onemq.protocols.kafka.admin.forms import parts
from onemq.protocols.kafka.admin.topic_table import COMPACT, DELETE, POLICY, SETTINGS, Setting
from onemq.protocols.kafka.errors import ErrorCode, Refused

_ACTING = [(name, setting.acting) for name, setting in SETTINGS.items() if setting.acting is not None]
_RETENTION = ("retention.ms", "retention.bytes")
_REMOTE = "remote.storage.enable"
_NO_TIERS = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)


def value_of(setting: Setting, config: TopicConfig) -> str:
    """What a setting is for a topic."""
    note = config.notes.get(setting.name)
    if setting.acting is None:
        return setting.default if note is None else note
    now = setting.acting.read(config)
    return note if note is not None and _still_holds(setting, note, now, config) else now


def _still_holds(setting: Setting, note: str, now: str, config: TopicConfig) -> bool:
    """Whether the core does what was set, and nobody has changed it in another way since."""
    keeps_all = (config.retention_ms, config.retention_bytes) == (None, None)
    if setting.name == POLICY:
        words = parts(note)
        return (COMPACT in words) == config.compact and (DELETE in words or keeps_all)
    if setting.name in _RETENTION and keeps_all and DELETE not in parts(value_of(SETTINGS[POLICY], config)):
        return True
    return setting.usual(note) == now


def was_set(config: TopicConfig, defaults: TopicConfig) -> dict[str, str]:
    """What a topic has of its own, by name."""
    found = {}
    for name, setting in SETTINGS.items():
        now = value_of(setting, config)
        if config.notes.get(name) == now or (setting.acting is not None and now != value_of(setting, defaults)):
            found[name] = now
    return found


def made_of(wanted: Mapping[str, str], config: TopicConfig, defaults: TopicConfig) -> TopicConfig:
    """The settings of a topic that has these of its own, and else the defaults; what has no name here stays as it is
    in `config`. Raises `Refused`."""
    checked = {name: _checked(name, text) for name, text in wanted.items()}
    fields: dict[str, Any] = {}
    for name, acting in _ACTING:
        fields |= acting.write(checked[name] if name in checked else acting.read(defaults))
    if DELETE not in parts(checked.get(POLICY, DELETE)):
        fields["retention_ms"] = fields["retention_bytes"] = None
    made = msgspec.structs.replace(config, notes=checked, **fields)
    try:
        made.check()
    except OneMQError as problem:
        raise Refused(ErrorCode.INVALID_CONFIG, problem.text) from None
    return made


def _checked(name: str, text: str) -> str:
    setting = SETTINGS.get(name)
    if setting is None:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    checked = setting.form.check(name, text)
    if name == _REMOTE and checked == "true":
        raise Refused(ErrorCode.INVALID_CONFIG, _NO_TIERS)
    return checked
