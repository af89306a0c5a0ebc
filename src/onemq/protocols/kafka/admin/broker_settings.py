"""The broker's own settings under Kafka's names, as tools and consoles look for them; all are read only here."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.core.topics import TopicConfig
from onemq.protocols.kafka.admin.forms import BOOLEAN, INT, INT_MAX, LIST
from onemq.protocols.kafka.admin.topic_settings import value_of
from onemq.protocols.kafka.admin.topic_table import SETTINGS, Setting
from onemq.protocols.kafka.admin.topic_view import DEFAULT, STATIC, default_source
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService
    from onemq.protocols.kafka.session import KafkaSession


Read = Callable[["KafkaService", "KafkaSession"], str]


@dataclass(frozen=True, slots=True)
class BrokerSetting:
    """One name that is not the default of a topic's setting."""

    name: str
    type: int
    documentation: str
    read: Read
    source: int = STATIC


def _address(service: "KafkaService", session: "KafkaSession") -> str:
    host, port = service.address_for(session)
    return f"PLAINTEXT://{host}:{port}"


def _folder(service: "KafkaService", session: "KafkaSession") -> str:
    return service.facts.folder


def _makes_topics(service: "KafkaService", session: "KafkaSession") -> str:
    return str(service.topics.auto_create).lower()


def _partitions(service: "KafkaService", session: "KafkaSession") -> str:
    return str(service.topics.partitions)


def _always(text: str) -> Read:
    return lambda service, session: text


OWN = (
    BrokerSetting("advertised.listeners", LIST, "Where clients are told to connect.", _address),
    BrokerSetting("auto.create.topics.enable", BOOLEAN, "Whether a topic is made when it is asked for.", _makes_topics),
    BrokerSetting("broker.id", INT, "There is one broker.", _always(str(NODE_ID))),
    BrokerSetting("default.replication.factor", INT, "There is one copy of each partition.", _always("1"), DEFAULT),
    BrokerSetting("delete.topic.enable", BOOLEAN, "Topics can be deleted.", _always("true"), DEFAULT),
    BrokerSetting("listeners", LIST, "Where this client came in.", _address),
    BrokerSetting("log.dirs", LIST, "The data folder.", _folder),
    BrokerSetting("node.id", INT, "There is one broker.", _always(str(NODE_ID))),
    BrokerSetting("num.partitions", INT, "How many partitions a topic has if nothing is said.", _partitions),
    BrokerSetting("offsets.retention.minutes", INT, "Committed offsets stay.", _always(str(INT_MAX)), DEFAULT),
)
_OF_TOPICS = {setting.broker: setting for setting in SETTINGS.values() if setting.broker}
_NAMES = {each.name for each in OWN} | set(_OF_TOPICS)


def is_known(name: str) -> bool:
    return name in _NAMES


def describe_broker(
    service: "KafkaService", session: "KafkaSession", wanted: Collection[str] | None, with_texts: bool
) -> list[DescribeConfigsResourceResult]:
    """All settings of the broker, or those that are wanted."""
    defaults = service.topics.config
    results = [
        _own(setting, setting.read(service, session), with_texts)
        for setting in OWN
        if wanted is None or setting.name in wanted
    ]
    results += [
        _of_topics(name, setting, defaults, with_texts)
        for name, setting in _OF_TOPICS.items()
        if wanted is None or name in wanted
    ]
    return sorted(results, key=lambda each: each.name)


def _own(setting: BrokerSetting, now: str, with_texts: bool) -> DescribeConfigsResourceResult:
    return _result(setting.name, now, setting.source, setting.type, setting.documentation if with_texts else None)


def _of_topics(name: str, setting: Setting, defaults: TopicConfig, with_texts: bool) -> DescribeConfigsResourceResult:
    source = default_source(setting, defaults)
    text = f"What {setting.name} is for topics that say nothing of it: {setting.documentation}"
    return _result(name, value_of(setting, defaults), source, setting.form.type, text if with_texts else None)


def _result(name: str, now: str, source: int, type: int, text: str | None) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=name,
        value=now,
        read_only=True,
        config_source=source,
        synonyms=[DescribeConfigsSynonym(name, now, source)],
        config_type=type,
        documentation=text,
    )
