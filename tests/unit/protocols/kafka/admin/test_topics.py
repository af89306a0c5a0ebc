"""CreateTopics, DeleteTopics, CreatePartitions over a session."""

from onemq.errors import ReadOnly
from onemq.limits import PARTITIONS_MAX
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from onemq.protocols.kafka.schemas.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from onemq.protocols.kafka.schemas.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.protocols.kafka.fakes import Client


def wanted(name: str, partitions: int = 1, **settings: str) -> CreatableTopic:
    configs = [CreatableTopicConfig(each.replace("_", "."), value) for each, value in settings.items()]
    return CreatableTopic(name, partitions, 1, configs=configs)


def codes(answer: object) -> dict[str, int]:
    """The codes of an answer by topic."""
    results = next(getattr(answer, name) for name in ("topics", "responses", "results") if hasattr(answer, name))
    return {each.name: each.error_code for each in results}


def test_a_topic_gets_its_partitions_and_settings() -> None:
    client = Client()
    asked = wanted("orders", 3, cleanup_policy="compact", flush_messages="9")
    (made,) = client.ask(CreateTopicsRequest([asked])).topics
    topic = client.core.topics.get("orders")
    assert (len(topic.partitions), topic.config.compact, topic.config.flush) == (3, True, "async")
    assert made.topic_id == client.service.topics.id_of(topic)
    told = {each.name: (each.value, each.config_source) for each in made.configs}
    assert told["cleanup.policy"] == ("compact", 1)
    assert told["retention.ms"] == ("-1", 5)


def test_nothing_is_made_to_validate() -> None:
    client = Client()
    assert codes(client.ask(CreateTopicsRequest([wanted("orders")], validate_only=True))) == {"orders": 0}
    assert client.core.topics.find("orders") is None


def test_what_redis_has_under_the_name_is_in_the_way() -> None:
    client = Client()
    client.core.keys.lists.push(b"list", [b"x"], left=True)
    refused = client.ask(CreateTopicsRequest([wanted("list"), wanted("__own"), wanted("fine")]))
    assert codes(refused) == {
        "list": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "__own": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "fine": 0,
    }


def test_a_topic_goes_by_name_or_by_id() -> None:
    client = Client()
    made = client.ask(CreateTopicsRequest([wanted("one"), wanted("two")])).topics
    assert codes(client.ask(DeleteTopicsRequest(topic_names=["one"]), 1)) == {"one": 0}
    assert codes(client.ask(DeleteTopicsRequest([DeleteTopicState(None, made[1].topic_id)]))) == {"two": 0}
    assert [topic.name for topic in client.core.topics if not topic.internal] == []


def test_a_topic_of_the_brokers_own_is_not_there() -> None:
    client = Client()
    client.core.topics.ensure_trace()
    refused = client.ask(DeleteTopicsRequest([DeleteTopicState("__trace")]))
    assert codes(refused) == {"__trace": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_grows() -> None:
    client = Client()
    client.ask(CreateTopicsRequest([wanted("orders")]))
    grow = CreatePartitionsRequest([CreatePartitionsTopic("orders", 4, None)])
    assert codes(client.ask(grow)) == {"orders": 0}
    assert len(client.core.topics.get("orders").partitions) == 4
    assert codes(client.ask(grow)) == {"orders": ErrorCode.INVALID_PARTITIONS}
    too_many = CreatePartitionsRequest([CreatePartitionsTopic("orders", 10_001, None)])
    assert codes(client.ask(too_many)) == {"orders": ErrorCode.INVALID_PARTITIONS}


def test_nothing_changes_while_nothing_can_be_written() -> None:
    client = Client()
    client.ask(CreateTopicsRequest([wanted("orders")]))
    client.turn()
    client.core.stage.refusal = ReadOnly("the disk is broken")
    for request in (
        CreateTopicsRequest([wanted("new")]),
        DeleteTopicsRequest([DeleteTopicState("orders")]),
        CreatePartitionsRequest([CreatePartitionsTopic("orders", 4, None)]),
    ):
        assert set(codes(client.ask(request)).values()) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert len(client.core.topics.get("orders").partitions) == 1


def test_a_request_makes_no_more_partitions_than_a_topic_may_have() -> None:
    """Else many topics of many partitions would be made before anybody else gets a turn."""
    asked = [wanted("a", PARTITIONS_MAX - 1), wanted("b", 2), wanted("c", 1)]
    told = codes(Client().ask(CreateTopicsRequest(asked)))
    assert told == {"a": 0, "b": ErrorCode.POLICY_VIOLATION, "c": 0}
