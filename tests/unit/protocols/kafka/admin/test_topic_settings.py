"""Kafka's names for the settings of topics."""

import msgspec
import pytest

from onemq.core.settings import DAY_MS, TopicConfig
from onemq.protocols.kafka.admin.forms import LONG_MAX
from onemq.protocols.kafka.admin.topic_settings import made_of, value_of, was_set
from onemq.protocols.kafka.admin.topic_table import SETTINGS
from onemq.protocols.kafka.errors import ErrorCode, Refused

DEFAULTS = TopicConfig()
OF = "for configuration"


def made(**wanted: str) -> TopicConfig:
    return made_of({name.replace("_", "."): text for name, text in wanted.items()}, DEFAULTS, DEFAULTS)


def told(config: TopicConfig, name: str) -> str:
    return value_of(SETTINGS[name], config)


def test_without_settings_a_topic_is_as_the_defaults() -> None:
    assert made() == DEFAULTS
    assert was_set(DEFAULTS, DEFAULTS) == {}


def test_every_default_is_a_value_that_can_be_set() -> None:
    for name, setting in SETTINGS.items():
        assert told(made_of({name: told(DEFAULTS, name)}, DEFAULTS, DEFAULTS), name) == told(DEFAULTS, name)
        assert setting.documentation.endswith(".")


@pytest.mark.parametrize(
    ("name", "text", "field", "expected"),
    [
        ("retention.ms", "60000", "retention_ms", 60_000),
        ("retention.ms", "-1", "retention_ms", None),
        ("retention.ms", "0", "retention_ms", 1),
        ("retention.bytes", "1000000", "retention_bytes", 1_000_000),
        ("cleanup.policy", "compact", "compact", True),
        ("max.message.bytes", "1000", "message_bytes_max", 1000),
        ("segment.bytes", "1048576", "segment_bytes", 1 << 20),
        ("segment.ms", "1000", "segment_ms_max", 1000),
        ("segment.ms", str(LONG_MAX), "segment_ms_max", 7 * DAY_MS),
        ("delete.retention.ms", "100", "tombstone_ms", 100),
        ("flush.messages", "1", "flush", "sync"),
        ("flush.messages", "10000", "flush", "async"),
        ("message.timestamp.type", "LogAppendTime", "message_time", "broker"),
        ("onemq.headers.compressed", "true", "look_inside", True),
        ("onemq.kind", "queue", "kind", "queue"),
        ("onemq.expires.ms", "500", "expires_ms", 500),
        ("onemq.expired", "dead", "expired", "dead"),
        ("onemq.trace", "true", "trace", True),
    ],
)
def test_what_acts_becomes_a_setting_of_the_core_and_is_told_as_it_was_set(
    name: str, text: str, field: str, expected: object
) -> None:
    config = made_of({name: text}, DEFAULTS, DEFAULTS)
    assert getattr(config, field) == expected
    assert told(config, name) == text
    assert was_set(config, DEFAULTS)[name] == text


def test_what_does_not_act_is_kept_and_told() -> None:
    config = made(min_insync_replicas="2", compression_type="lz4")
    assert msgspec.structs.replace(config, notes={}) == DEFAULTS
    assert was_set(config, DEFAULTS) == {"min.insync.replicas": "2", "compression.type": "lz4"}


def test_what_another_protocol_set_is_told_too() -> None:
    config = TopicConfig(retention_ms=5, flush="async", compact=True)
    assert told(config, "cleanup.policy") == "compact,delete"
    assert was_set(config, DEFAULTS) == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "5",
        "flush.messages": str(LONG_MAX),
    }


def test_what_another_protocol_changed_since_is_told_as_it_is() -> None:
    config = msgspec.structs.replace(made(retention_ms="60000"), retention_ms=5)
    assert told(config, "retention.ms") == "5"
    assert told(msgspec.structs.replace(config, retention_ms=None), "retention.ms") == "-1"


def test_only_compacted_topics_keep_their_messages_for_ever_but_remember_a_retention() -> None:
    config = made(cleanup_policy="compact", retention_ms="60000")
    assert (config.compact, config.retention_ms) == (True, None)
    assert told(config, "retention.ms") == "60000"
    both = made_of(was_set(config, DEFAULTS) | {"cleanup.policy": "compact,delete"}, config, DEFAULTS)
    assert (both.compact, both.retention_ms) == (True, 60_000)


def test_a_default_retention_does_not_hold_for_compacted_topics() -> None:
    defaults = TopicConfig(retention_ms=DAY_MS)
    assert made_of({"cleanup.policy": "compact"}, defaults, defaults).retention_ms is None
    assert made_of({"cleanup.policy": "compact,delete"}, defaults, defaults).retention_ms == DAY_MS


def test_no_policy_keeps_everything() -> None:
    config = made(cleanup_policy="", retention_ms="60000")
    assert (config.compact, config.retention_ms) == (False, None)
    assert told(config, "cleanup.policy") == ""


def test_what_is_taken_away_gets_its_default_and_the_rest_stays() -> None:
    config = made_of({"retention.ms": "5"}, TopicConfig(retention_bytes=7, dead=True), DEFAULTS)
    assert (config.retention_ms, config.retention_bytes, config.dead) == (5, None, True)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("foo", "1", "Unknown topic config name: foo"),
        ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ("segment.bytes", "3000000000", f"Invalid value 3000000000 {OF} segment.bytes: Not a number of type INT"),
        ("cleanup.policy", "a", f"Invalid value a {OF} cleanup.policy: String must be one of: compact, delete"),
        ("preallocate", "x", f"Invalid value x {OF} preallocate: Expected value to be either true or false"),
        ("remote.storage.enable", "true",
         "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_kafkas_words(name: str, text: str, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        made_of({name: text}, DEFAULTS, DEFAULTS)
    assert (refused.value.error, refused.value.text) == (ErrorCode.INVALID_CONFIG, problem)


def test_a_value_that_is_too_long_to_keep_is_refused() -> None:
    with pytest.raises(Refused):
        made_of({"leader.replication.throttled.replicas": "1:1," * 1000}, DEFAULTS, DEFAULTS)
