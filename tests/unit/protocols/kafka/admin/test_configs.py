"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, DescribeLogDirs over a session."""

from onemq.core.settings import TopicConfig
from onemq.protocols.kafka.admin.topic_table import SETTINGS
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas import alter_configs as plain
from onemq.protocols.kafka.schemas import incremental_alter_configs as incremental
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from onemq.protocols.kafka.schemas.describe_log_dirs import DescribeLogDirsRequest
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from tests.unit.protocols.kafka.fakes import Client, make_core

TOPIC, BROKER = 2, 4


def make_client(**settings: object) -> Client:
    client = Client()
    client.core.topics.create("orders", 2, TopicConfig(**settings))  # type: ignore[arg-type]
    return client


def told(client: Client, kind: int, name: str, *keys: str) -> dict[str, tuple[str, int]]:
    asked = DescribeConfigsResource(kind, name, list(keys) or None)
    (result,) = client.ask(DescribeConfigsRequest([asked], include_synonyms=True)).results
    assert result.error_code == 0
    return {each.name: (each.value, each.config_source) for each in result.configs}


def change(client: Client, *changes: tuple[str, int, str | None], kind: int = TOPIC, name: str = "orders") -> int:
    wanted = [incremental.AlterableConfig(*each) for each in changes]
    resource = incremental.AlterConfigsResource(kind, name, wanted)
    (result,) = client.ask(incremental.IncrementalAlterConfigsRequest([resource])).responses
    return int(result.error_code)


def test_all_settings_are_told() -> None:
    assert list(told(make_client(), TOPIC, "orders")) == list(SETTINGS)


def test_who_decided_is_told() -> None:
    defaults = TopicConfig(retention_ms=5000)
    client = Client(KafkaService(make_core(), KafkaFacts(b"test" * 4), defaults))
    client.core.topics.create("orders", 1, TopicConfig(retention_ms=5000, flush="async"))
    found = told(client, TOPIC, "orders", "retention.ms", "flush.messages", "segment.ms")
    assert found == {
        "flush.messages": (str((1 << 63) - 1), 1),
        "retention.ms": ("5000", 4),
        "segment.ms": ("604800000", 5),
    }
    assert told(client, BROKER, "1", "log.retention.ms") == {"log.retention.ms": ("5000", 4)}


def test_what_would_be_without_is_told() -> None:
    client = make_client(retention_ms=5)
    asked = DescribeConfigsResource(TOPIC, "orders", ["retention.ms"])
    ((setting,),) = (each.configs for each in client.ask(DescribeConfigsRequest([asked], True, True)).results)
    synonyms = [(each.name, each.value, each.source) for each in setting.synonyms]
    assert synonyms == [("retention.ms", "5", 1), ("log.retention.ms", "-1", 5)]
    assert setting.documentation == SETTINGS["retention.ms"].documentation
    ((setting,),) = (each.configs for each in client.ask(DescribeConfigsRequest([asked])).results)
    assert (setting.synonyms, setting.documentation) == ([], None)


def test_settings_change_one_by_one() -> None:
    client = make_client(flush="async", dead=True)
    assert change(client, ("retention.ms", 0, "60000"), ("cleanup.policy", 2, "compact")) == 0
    config = client.core.topics.get("orders").config
    assert (config.retention_ms, config.compact, config.flush, config.dead) == (60_000, True, "async", True)
    assert change(client, ("retention.ms", 1, None), ("cleanup.policy", 3, "delete")) == 0
    config = client.core.topics.get("orders").config
    assert (config.retention_ms, config.compact, config.flush) == (None, True, "async")
    assert change(client, ("retention.ms", 9, "1")) == ErrorCode.INVALID_REQUEST


def test_settings_are_replaced() -> None:
    client = make_client(flush="async", retention_ms=5)
    resource = plain.AlterConfigsResource(TOPIC, "orders", [plain.AlterableConfig("retention.bytes", "1000")])
    client.ask(plain.AlterConfigsRequest([resource]))
    config = client.core.topics.get("orders").config
    assert (config.flush, config.retention_ms, config.retention_bytes) == ("sync", None, 1000)


def test_a_wrong_change_changes_nothing() -> None:
    client = make_client()
    before = client.core.topics.get("orders").config
    assert change(client, ("retention.ms", 0, "1"), ("foo", 0, "1")) == ErrorCode.INVALID_CONFIG
    assert client.core.topics.get("orders").config == before


def test_what_is_set_already_writes_nothing() -> None:
    client = make_client()
    change(client, ("retention.ms", 0, "5"))
    client.turn()
    change(client, ("retention.ms", 0, "5"))
    assert client.core.stage.take() is None


def test_the_broker_cannot_be_changed() -> None:
    client = make_client()
    assert change(client, ("log.retention.ms", 0, "5"), kind=BROKER, name="1") == ErrorCode.INVALID_REQUEST
    assert change(client, ("log.retention.ms", 0, "5"), kind=BROKER, name="") == ErrorCode.INVALID_REQUEST
    assert change(client, ("foo", 0, "5"), kind=BROKER, name="1") == ErrorCode.INVALID_CONFIG


def test_the_brokers_settings_are_told() -> None:
    found = told(make_client(), BROKER, "1")
    assert found["log.dirs"] == ("/data", 4)
    assert found["node.id"] == ("1", 4)
    assert found["listeners"] == ("PLAINTEXT://10.0.0.9:9092", 4)
    assert told(make_client(), BROKER, "") == {}


def test_sizes_on_disk_are_told_of_topics_that_have_just_come_too() -> None:
    client = make_client()
    (folder,) = client.ask(DescribeLogDirsRequest(None)).results
    (topic,) = folder.topics
    assert [(each.partition_index, each.partition_size) for each in topic.partitions] == [(0, 0), (1, 0)]
    client.core.send("orders", b"x" * 1000, number=1)
    client.turn()
    (folder,) = client.ask(DescribeLogDirsRequest(None)).results
    assert folder.topics[0].partitions[0].partition_size == 0
    assert folder.topics[0].partitions[1].partition_size > 1000
