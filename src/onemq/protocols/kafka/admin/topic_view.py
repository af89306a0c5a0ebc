"""The settings of a topic as DescribeConfigs tells them: the value, who decided on it, and what would be without."""

from collections.abc import Collection

from onemq.core.topics import TopicConfig
from onemq.protocols.kafka.admin.topic_settings import value_of, was_set
from onemq.protocols.kafka.admin.topic_table import SETTINGS, Setting
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym

OF_TOPIC, STATIC, DEFAULT = 1, 4, 5
"""Kafka's numbers for where a value comes from: set for the topic, in the broker's file, nowhere."""


def source_of(setting: Setting, config: TopicConfig, defaults: TopicConfig) -> int:
    """Who decided on a value: the topic's own setting, the server's, or nobody."""
    return OF_TOPIC if setting.name in was_set(config, defaults) else default_source(setting, defaults)


def default_source(setting: Setting, defaults: TopicConfig) -> int:
    return DEFAULT if value_of(setting, defaults) == value_of(setting, TopicConfig()) else STATIC


def describe_topic(
    config: TopicConfig, defaults: TopicConfig, wanted: Collection[str] | None, with_texts: bool
) -> list[DescribeConfigsResourceResult]:
    """All settings of a topic, or those that are wanted; `with_texts` adds what they mean."""
    own = was_set(config, defaults)
    return [
        _described(setting, value_of(setting, config), name in own, defaults, with_texts)
        for name, setting in SETTINGS.items()
        if wanted is None or name in wanted
    ]


def _described(
    setting: Setting, now: str, is_own: bool, defaults: TopicConfig, with_texts: bool
) -> DescribeConfigsResourceResult:
    source = default_source(setting, defaults)
    synonyms = [DescribeConfigsSynonym(setting.name, now, OF_TOPIC)] if is_own else []
    if setting.broker:
        synonyms.append(DescribeConfigsSynonym(setting.broker, value_of(setting, defaults), source))
    return DescribeConfigsResourceResult(
        name=setting.name,
        value=now,
        config_source=OF_TOPIC if is_own else source,
        synonyms=synonyms,
        config_type=setting.form.type,
        documentation=setting.documentation if with_texts else None,
    )
