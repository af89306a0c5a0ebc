"""The same requests to OneMQ and to a real Apache Kafka: the replies are the same where they should be."""

import socket
import struct
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from tests.apache_kafka import ApacheKafka, missing
from tests.kafka_raw import call
from tests.process import Serve

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]

NOBODY = UUID(int=0)
STRANGER = UUID(int=5)
OURS_ALONE = {"onemq.headers.compressed", "onemq.expired", "onemq.expires.ms", "onemq.kind", "onemq.trace"}
OTHER_DEFAULTS = {
    "flush.messages",
    "max.message.bytes",
    "min.insync.replicas",
    "retention.ms",
    "segment.bytes",
}
"""Settings of topics that are not by default what they are in Kafka: docs/protocols/kafka.md says why."""


class Both:
    """The two servers."""

    def __init__(self, ours: int, theirs: int) -> None:
        self.ports = (ours, theirs)

    def ask(self, name: str, version: int, **fields: Any) -> tuple[Any, Any]:
        """What OneMQ and what Kafka answers."""
        ours, theirs = (_plain(call(port, name, version, **fields)) for port in self.ports)
        return ours, theirs

    def agree(self, name: str, version: int, **fields: Any) -> Any:
        """The answer, which is the same."""
        ours, theirs = self.ask(name, version, **fields)
        assert ours == theirs
        return ours


def _plain(value: Any) -> Any:
    """Without what differs from run to run: ids of topics, and the order of lists."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name != "topic_id"}
    if isinstance(value, list):
        return sorted((_plain(each) for each in value), key=repr)
    return value


@pytest.fixture(scope="module")
def both(kafka: Serve) -> Iterator[Both]:
    """OneMQ and Kafka with the same topics."""
    with ApacheKafka() as theirs:
        both = Both(kafka.kafka_port, theirs.port)
        both.ask("CreateTopics", 7, timeout_ms=20_000, validate_only=False, topics=[
            new("beside"), new("beside-two", 2), new("beside-set", settings={"retention.ms": "5000"}),
        ])  # fmt: skip
        _wait_until_stored(theirs.port)
        yield both


def _wait_until_stored(port: int) -> None:
    """Kafka makes the files of a topic some time after it has answered."""
    end = time.monotonic() + 20
    asked = [{"topic": "beside-two", "partitions": [0, 1]}]
    while not call(port, "DescribeLogDirs", 1, topics=asked)["results"][0]["topics"]:
        assert time.monotonic() < end, "Kafka has not made the topic's files"
        time.sleep(0.02)


def new(name: str, partitions: int = 1, copies: int = 1, **more: Any) -> dict[str, Any]:
    """A topic for CreateTopics."""
    settings = [{"name": each, "value": value} for each, value in more.get("settings", {}).items()]
    places = [{"partition_index": number, "broker_ids": brokers} for number, brokers in more.get("places", [])]
    return {
        "name": name, "num_partitions": partitions, "replication_factor": copies, "assignments": places,
        "configs": settings,
    }  # fmt: skip


def create(both: Both, *topics: dict[str, Any], version: int = 7, validate_only: bool = False) -> tuple[Any, Any]:
    """CreateTopics; of the settings it is enough that there are some."""
    answers = both.ask("CreateTopics", version, timeout_ms=20_000, validate_only=validate_only, topics=list(topics))
    for answer in answers:
        for topic in answer["topics"]:
            topic["configs"] = bool(topic.get("configs"))
    return answers


@pytest.mark.parametrize(
    "topic",
    [
        new("beside"),
        new(""),
        new("."),
        new(".."),
        new("with a blank"),
        new("x" * 250),
        new("none", 0),
        new("none", -3),
        new("none", 1, 0),
        new("none", 1, -2),
        new("none", 1, 3),
        new("none", 2, 1, places=[(0, [1]), (1, [1])]),
        new("none", 2, -1, places=[(0, [1]), (1, [1])]),
        new("none", -1, -1, places=[(0, [1]), (2, [1])]),
        new("none", -1, -1, places=[(1, [1])]),
        new("none", -1, -1, places=[(0, [1]), (0, [1])]),
        new("none", -1, -1, places=[(0, [7])]),
        new("none", -1, -1, places=[(0, [])]),
        new("none", -1, -1, places=[(0, [1, 1])]),
        new("none", 20_000),
    ],
    ids=str,
)
def test_a_topic_that_cannot_be_made(both: Both, topic: dict[str, Any]) -> None:
    for version in (2, 7):
        ours, theirs = create(both, topic, version=version)
        assert ours == theirs
        assert ours["topics"][0]["error_code"] != 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("foo", "1"),
        ("cleanup.policy", "abc"),
        ("compression.type", "zip"),
        ("flush.messages", "0"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "x"),
        ("min.cleanable.dirty.ratio", "2"),
        ("min.cleanable.dirty.ratio", "-1"),
        ("min.cleanable.dirty.ratio", "x"),
        ("min.insync.replicas", "0"),
        ("preallocate", "maybe"),
        ("remote.storage.enable", "true"),
        ("retention.ms", "abc"),
        ("retention.ms", "-2"),
        ("retention.ms", None),
        ("retention.ms", ""),
        ("retention.ms", "99999999999999999999"),
        ("segment.bytes", "1"),
        ("segment.bytes", "99999999999"),
        ("segment.ms", "0"),
    ],
)
def test_a_setting_that_cannot_be(both: Both, name: str, value: str | None) -> None:
    ours, theirs = create(both, new("none", settings={name: value}))
    assert ours == theirs
    assert ours["topics"][0]["error_code"] != 0


@pytest.mark.parametrize(
    "topic",
    [
        new("fine", settings={"cleanup.policy": "compact,delete", "retention.ms": "0"}),
        new("fine", settings={"cleanup.policy": "", "min.insync.replicas": "2", "retention.bytes": "-7"}),
        new("fine", settings={"local.retention.ms": "5", "compression.type": "zstd", "segment.bytes": "2000000"}),
        new("fine", -1, -1),
        new("fine", -1, -1, places=[(1, [1]), (0, [1])]),
        new("a_name.with-all"),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", [2, 4, 5, 7])
def test_a_topic_that_could_be_made(both: Both, topic: dict[str, Any], version: int) -> None:
    ours, theirs = create(both, topic, version=version, validate_only=True)
    assert ours == theirs
    assert ours["topics"][0]["error_code"] == 0


def test_the_same_name_twice(both: Both) -> None:
    ours, theirs = create(both, new("twice"), new("twice"), new("beside"))
    assert ours == theirs


@pytest.mark.parametrize("version", range(1, 7))
def test_deleting(both: Both, version: int) -> None:
    names = [f"delete-{version}", f"delete-{version}-too", "nobody"]
    create(both, *map(new, names[:2]))
    wanted: dict[str, Any] = {"topic_names": names}
    if version >= 6:
        wanted = {"topics": [{"name": name, "topic_id": NOBODY} for name in names]}
    answer = both.agree("DeleteTopics", version, timeout_ms=20_000, **wanted)
    assert {each["name"]: each["error_code"] for each in answer["responses"]} == {names[0]: 0, names[1]: 0, "nobody": 3}


@pytest.mark.parametrize(
    "topics",
    [
        [{"name": None, "topic_id": STRANGER}],
        [{"name": "beside", "topic_id": STRANGER}],
        [{"name": None, "topic_id": NOBODY}],
        [{"name": "beside", "topic_id": NOBODY}] * 2,
        [{"name": None, "topic_id": STRANGER}] * 2,
    ],
)
def test_deleting_what_cannot_be_deleted(both: Both, topics: list[dict[str, Any]]) -> None:
    both.agree("DeleteTopics", 6, timeout_ms=20_000, topics=topics)


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize(
    ("name", "count", "places"),
    [
        ("nobody", 2, None),
        ("beside", 1, None),
        ("beside-two", 1, None),
        ("beside-two", -1, None),
        ("beside", 3, [{"broker_ids": [1]}]),
        ("beside", 2, [{"broker_ids": [7]}]),
        ("beside", 2, [{"broker_ids": []}]),
        ("beside", 2, [{"broker_ids": [1]}]),
        ("beside", 2, None),
    ],
)
def test_more_partitions(both: Both, name: str, count: int, places: Any, version: int) -> None:
    topic = {"name": name, "count": count, "assignments": places}
    both.agree("CreatePartitions", version, topics=[topic], timeout_ms=20_000, validate_only=True)


def test_more_partitions_of_one_topic_twice(both: Both) -> None:
    topics = [{"name": "beside", "count": count, "assignments": None} for count in (2, 3)]
    both.agree("CreatePartitions", 3, topics=topics, timeout_ms=20_000, validate_only=True)


def described(both: Both, kind: int, name: str, keys: list[str] | None, version: int = 4) -> tuple[Any, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return both.ask(
        "DescribeConfigs", version, resources=[resource], include_synonyms=True, include_documentation=False
    )


@pytest.mark.parametrize(
    ("kind", "name"),
    [(2, "nobody"), (2, "with a blank"), (2, ""), (4, "2"), (4, "x"), (1, "1"), (3, "1"), (99, "1")],
)
@pytest.mark.parametrize("version", [1, 4])
def test_settings_of_what_is_not_there(both: Both, kind: int, name: str, version: int) -> None:
    ours, theirs = described(both, kind, name, None, version)
    for answer in (ours, theirs):
        if answer["results"][0]["error_code"] == 3:
            answer["results"][0]["error_message"] = ""  # Kafka has no text for it
    assert ours == theirs


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_setting_of_a_topic(both: Both, version: int) -> None:
    ours, theirs = described(both, 2, "beside-set", ["cleanup.policy", "nothing", "compression.type"], version)
    assert ours == theirs


def test_all_settings_of_a_topic(both: Both) -> None:
    """The same names and types, and the same values but for some defaults."""
    ours, theirs = (
        {each["name"]: each for each in answer["results"][0]["configs"]}
        for answer in described(both, 2, "beside-set", None)
    )
    assert set(ours) - set(theirs) == OURS_ALONE
    assert set(theirs) - set(ours) == set()
    for name, setting in theirs.items():
        assert ours[name]["config_type"] == setting["config_type"], name
        assert ours[name]["read_only"] == setting["read_only"], name
    differ = {name for name, setting in theirs.items() if ours[name]["value"] != setting["value"]}
    assert differ == OTHER_DEFAULTS - {"retention.ms", "min.insync.replicas"}
    assert ours["retention.ms"]["config_source"] == theirs["retention.ms"]["config_source"] == 1


def test_the_brokers_settings_have_kafkas_names_and_types(both: Both) -> None:
    ours, theirs = (
        {each["name"]: each for each in answer["results"][0]["configs"]} for answer in described(both, 4, "1", None)
    )
    assert set(ours) - set(theirs) == set()
    assert {name for name in ours if ours[name]["config_type"] != theirs[name]["config_type"]} == set()


def altered(both: Both, name: str, version: int, resource: dict[str, Any], validate_only: bool = False) -> Any:
    return both.agree(name, version, resources=[resource], validate_only=validate_only)


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(
    ("kind", "name", "configs"),
    [
        (2, "nobody", [("retention.ms", "7")]),
        (2, "beside-set", [("foo", "7")]),
        (2, "beside-set", [("retention.ms", None)]),
        (2, "beside-set", [("retention.ms", "x")]),
        (2, "beside-set", []),
        (3, "1", [("retention.ms", "7")]),
    ],
)
def test_settings_that_are_replaced(both: Both, kind: int, name: str, configs: list[Any], version: int) -> None:
    changes = [{"name": each, "value": value} for each, value in configs]
    resource = {"resource_type": kind, "resource_name": name, "configs": changes}
    altered(both, "AlterConfigs", version, resource, validate_only=True)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("kind", "name", "configs"),
    [
        (2, "nobody", [("retention.ms", 0, "7")]),
        (2, "beside-set", [("foo", 0, "7")]),
        (2, "beside-set", [("foo", 1, None)]),
        (2, "beside-set", [("retention.ms", 0, None)]),
        (2, "beside-set", [("retention.ms", 0, "x")]),
        (2, "beside-set", [("retention.ms", 0, "-2")]),
        (2, "beside-set", [("retention.ms", 2, "5")]),
        (2, "beside-set", [("retention.ms", 3, "5")]),
        (2, "beside-set", [("retention.ms", 0, "5"), ("retention.ms", 0, "6")]),
        (2, "beside-set", [("cleanup.policy", 2, "compact")]),
        (2, "beside-set", [("cleanup.policy", 2, "abc")]),
        (3, "1", [("retention.ms", 0, "7")]),
        (4, "7", [("log.retention.ms", 0, "7")]),
        (4, "1", [("log.dirs", 0, "/x")]),
    ],
)
def test_settings_that_are_changed(both: Both, kind: int, name: str, configs: list[Any], version: int) -> None:
    changes = [{"name": each, "config_operation": how, "value": value} for each, how, value in configs]
    resource = {"resource_type": kind, "resource_name": name, "configs": changes}
    altered(both, "IncrementalAlterConfigs", version, resource, validate_only=True)


def test_settings_change_alike(both: Both) -> None:
    """Set, taken away, added to a list, taken from it, replaced: after each step both tell the same."""
    create(both, new("steps"))
    names = ["retention.ms", "cleanup.policy", "segment.ms", "delete.retention.ms", "compression.type"]
    steps: list[list[tuple[str, int, str | None]]] = [
        [("retention.ms", 0, "60000"), ("compression.type", 0, "gzip")],
        [("cleanup.policy", 2, "compact")],
        [("cleanup.policy", 3, "delete"), ("segment.ms", 0, "1000")],
        [("compression.type", 1, None), ("delete.retention.ms", 0, "100")],
        [("cleanup.policy", 0, "delete,compact")],
        [("cleanup.policy", 1, None), ("segment.ms", 1, None)],
    ]
    for step in steps:
        changes = [{"name": name, "config_operation": how, "value": value} for name, how, value in step]
        altered(both, "IncrementalAlterConfigs", 1, {"resource_type": 2, "resource_name": "steps", "configs": changes})
        assert _settled(both, "steps", names), step
    replaced = [{"name": "retention.ms", "value": "7000"}]
    altered(both, "AlterConfigs", 2, {"resource_type": 2, "resource_name": "steps", "configs": replaced})
    assert _settled(both, "steps", names) == {"retention.ms": "7000"}


def _settled(both: Both, topic: str, names: list[str]) -> dict[str, str]:
    """What both tell of a topic; Kafka tells what was changed a little later."""
    give_up = time.monotonic() + 60
    while True:
        ours, theirs = (_own(answer) for answer in described(both, 2, topic, names))
        if ours == theirs or time.monotonic() > give_up:
            assert ours == theirs
            return ours
        time.sleep(0.02)


def _own(answer: Any) -> dict[str, str]:
    """What was set for the topic itself."""
    return {each["name"]: each["value"] for each in answer["results"][0]["configs"] if each["config_source"] == 1}


def test_there_are_no_access_rules(both: Both) -> None:
    anything = {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}
    rule = {"principal": "User:x", "host": "*", "operation": 3, "permission_type": 3, "resource_pattern_type": 3}
    for version in (1, 3):
        all_rules = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, **anything}
        both.agree("DescribeAcls", version, **all_rules)
        both.agree("CreateAcls", version, creations=[{"resource_type": 2, "resource_name": "x", **rule}])
        wanted = {"resource_type_filter": 2, "resource_name_filter": "x", "pattern_type_filter": 3, **anything}
        both.agree("DeleteAcls", version, filters=[wanted])


@pytest.mark.parametrize("version", [1, 3, 4])
def test_sizes_on_disk(both: Both, version: int) -> None:
    asked = [{"topic": "beside-two", "partitions": [0, 1, 5]}, {"topic": "nobody", "partitions": [0]}]
    answers = both.ask("DescribeLogDirs", version, topics=asked)
    for answer in answers:
        (folder,) = answer["results"]
        for name in ("log_dir", "total_bytes", "usable_bytes"):
            folder.pop(name, None)
    assert answers[0] == answers[1]


def test_nothing_is_moved(both: Both) -> None:
    for asked in (None, [{"name": "beside", "partition_indexes": [0]}]):
        both.agree("ListPartitionReassignments", 0, timeout_ms=1000, topics=asked)


LATER_HERE = {18, 42}
"""ApiVersions and DeleteGroups have one version more than Kafka 4.3: that of 4.4."""
FEWER_HERE = {24, 26, 28}
"""Transactions in which partitions need not be named before (KIP-890) are not offered."""


def test_versions_are_kafkas(both: Both) -> None:
    """What is offered is offered as far as Kafka does, so that a client chooses the same version for both."""
    ours, theirs = (
        {each["api_key"]: (each["min_version"], each["max_version"]) for each in answer["api_keys"]}
        for answer in both.ask("ApiVersions", 3, client_software_name="raw", client_software_version="1")
    )
    assert set(ours) - set(theirs) == set()
    assert {key for key in ours if ours[key][0] != theirs[key][0]} == set()
    assert {key for key in ours if ours[key][1] > theirs[key][1]} == LATER_HERE
    assert {key for key in ours if ours[key][1] < theirs[key][1]} == FEWER_HERE


def test_a_version_of_the_future(both: Both) -> None:
    """ApiVersions is answered in version 0, with the code for it."""
    header = struct.pack(">hhi", 18, 99, 1) + struct.pack(">h", 3) + b"raw" + b"\0"
    codes = []
    for port in both.ports:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(struct.pack(">i", len(header)) + header)
            codes.append(struct.unpack(">h", connection.recv(100)[8:10])[0])
    assert codes == [35, 35]


@pytest.mark.parametrize("version", range(4, 13))
def test_metadata_of_topics_that_are_and_are_not(both: Both, version: int) -> None:
    """The topics alone: brokers and clusters are others."""
    asked = [{"name": name, "topic_id": NOBODY} for name in ("beside-two", "nobody-here", "with a blank")]
    answers = both.ask("Metadata", version, topics=asked, allow_auto_topic_creation=False)
    assert answers[0]["topics"] == answers[1]["topics"]


def produced(key: bytes | None, value: bytes, timestamp_ms: int) -> bytes:
    """A batch with one record, made by kafka-python."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 20)
    assert builder.append(0, timestamp_ms, key, value, []) is not None
    return bytes(builder.build())


def produce(both: Both, topic: str, number: int, records: bytes | None, version: int = 9, acks: int = -1) -> list[Any]:
    """The code, first offset and time of the one batch, from both."""
    data = [{"name": topic, "partition_data": [{"index": number, "records": records}]}]
    answers = both.ask("Produce", version, transactional_id=None, acks=acks, timeout_ms=20_000, topic_data=data)
    found = [answer["responses"][0]["partition_responses"][0] for answer in answers]
    return [{name: each[name] for name in ("error_code", "base_offset", "log_append_time_ms")} for each in found]


@pytest.mark.parametrize("version", [3, 7, 9, 12])
def test_a_batch_that_is_stored_or_not(both: Both, version: int) -> None:
    topic = f"produce-{version}"
    create(both, new(topic), version=7)
    _settled(both, topic, ["cleanup.policy"])
    good = produced(b"k", b"v", 1_000)
    broken = good[:-1] + bytes([good[-1] ^ 1])
    steps: list[tuple[int, bytes | None, int]] = [
        (0, good, -1), (0, good, 1), (0, broken, -1), (7, good, -1), (0, good, 5), (0, good + good, -1), (0, b"", -1),
        (0, good[:30], -1), (0, good, -1),
    ]  # fmt: skip
    for number, records, acks in steps:
        ours, theirs = produce(both, topic, number, records, version, acks)
        assert ours == theirs, (number, records and len(records), acks)


@pytest.mark.parametrize("version", [1, 4, 7, 9])
def test_offsets_by_time(both: Both, version: int) -> None:
    topic = f"times-{version}"
    create(both, new(topic))
    _settled(both, topic, ["cleanup.policy"])
    for timestamp_ms in (1_000, 3_000, 2_000, 5_000):
        produce(both, topic, 0, produced(None, b"v", timestamp_ms))
    for wanted in (-1, -2, 0, 1_000, 1_001, 2_500, 5_000, 5_001) + ((-3,) if version >= 7 else ()):
        asked = [{"partition_index": 0, "timestamp": wanted, "current_leader_epoch": -1}]
        answers = both.ask(
            "ListOffsets", version, replica_id=-1, isolation_level=0, topics=[{"name": topic, "partitions": asked}]
        )
        found = [answer["topics"][0]["partitions"][0] for answer in answers]
        told = [{name: each.get(name) for name in ("error_code", "timestamp", "offset")} for each in found]
        assert told[0] == told[1], wanted
    asked = [{"partition_index": 9, "timestamp": -1, "current_leader_epoch": -1}]
    topics = [{"name": name, "partitions": asked} for name in (topic, "nobody")]
    answers = both.ask("ListOffsets", version, replica_id=-1, isolation_level=0, topics=topics)
    codes = [[each["partitions"][0]["error_code"] for each in answer["topics"]] for answer in answers]
    assert codes == [[3, 3], [3, 3]]
