"""Share groups for administrators: who is in them, where they are, and where they go on."""

from typing import Any

import pytest

from onemq.core.start import FIRST
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.operations import GROUP_OPERATIONS
from onemq.protocols.kafka.schemas import alter_share_group_offsets as alter
from onemq.protocols.kafka.schemas import delete_share_group_offsets as delete
from onemq.protocols.kafka.schemas import describe_share_group_offsets as describe
from onemq.protocols.kafka.schemas.delete_groups import DeleteGroupsRequest
from onemq.protocols.kafka.schemas.list_groups import ListGroupsRequest
from onemq.protocols.kafka.schemas.share_group_describe import ShareGroupDescribeRequest
from onemq.protocols.kafka.schemas.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.protocols.kafka.fakes import Client


@pytest.fixture
def client() -> Client:
    """Of a broker with a topic of two partitions and two messages in each, and the group `g` at its beginning."""
    client = Client()
    client.core.tick(client.service.now_ms)
    client.core.topics.create("t", 2)
    client.core.create_group("t", "g", FIRST)
    for number in (0, 0, 1, 1):
        client.core.send("t", b"x", number=number)
    client.turn()
    return client


def places(client: Client, group: str = "g", topics: Any = None, version: int = 1) -> Any:
    asked = describe.DescribeShareGroupOffsetsRequestGroup(group, topics)
    (told,) = client.ask(describe.DescribeShareGroupOffsetsRequest([asked]), version).groups
    return told


def move(client: Client, group: str, topic: str, **offsets: int) -> Any:
    rows = [alter.AlterShareGroupOffsetsRequestPartition(int(number[1:]), offset) for number, offset in offsets.items()]
    topics = [alter.AlterShareGroupOffsetsRequestTopic(topic, rows)]
    return client.ask(alter.AlterShareGroupOffsetsRequest(group, topics))


def drop(client: Client, group: str, topic: str) -> Any:
    topics = [delete.DeleteShareGroupOffsetsRequestTopic(topic)]
    return client.ask(delete.DeleteShareGroupOffsetsRequest(group, topics))


def test_a_group_is_described_with_its_members(client: Client) -> None:
    client.ask(ShareGroupHeartbeatRequest("g", "m", 0, "rack", ["t"]))
    (group,) = client.ask(ShareGroupDescribeRequest(["g"], True)).groups
    assert (group.group_state, group.assignor_name) == ("Stable", "simple")
    assert group.authorized_operations == GROUP_OPERATIONS
    (member,) = group.members
    assert (member.member_id, member.rack_id) == ("m", "rack")
    assert (member.client_id, member.client_host) == ("tests", "/10.0.0.1")
    (row,) = member.assignment.topic_partitions
    assert (row.topic_name, row.partitions, member.subscribed_topic_names) == ("t", [0, 1], ["t"])


def test_a_group_without_members_is_empty_and_one_without_anything_is_unknown(client: Client) -> None:
    known, unknown = client.ask(ShareGroupDescribeRequest(["g", "x"])).groups
    assert (known.error_code, known.group_state) == (0, "Empty")
    assert (unknown.error_code, unknown.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "")


def listed(client: Client) -> list[tuple[str, str, str]]:
    return sorted((row.group_id, row.group_type, row.group_state) for row in client.ask(ListGroupsRequest()).groups)


def test_share_groups_are_listed_as_such(client: Client) -> None:
    client.core.create_group("t", "other", FIRST)
    client.ask(ShareGroupHeartbeatRequest("g", "m", 0, None, ["t"]))
    client.ask(ShareGroupHeartbeatRequest("h", "m", 0, None, ["later"]))
    assert listed(client) == [("g", "share", "Stable"), ("h", "share", "Stable"), ("other", "classic", "Empty")]
    client.ask(ShareGroupHeartbeatRequest("g", "m", -1))
    assert listed(client)[0] == ("g", "share", "Empty")
    drop(client, "g", "t")
    assert listed(client)[0] == ("g", "share", "Empty")


def test_a_share_group_is_deleted_when_its_members_are_gone(client: Client) -> None:
    client.ask(ShareGroupHeartbeatRequest("g", "m", 0, None, ["t"]))
    assert [row.error_code for row in client.ask(DeleteGroupsRequest(["g"])).results] == [ErrorCode.NON_EMPTY_GROUP]
    client.ask(ShareGroupHeartbeatRequest("g", "m", -1))
    assert [row.error_code for row in client.ask(DeleteGroupsRequest(["g"])).results] == [0]
    assert (listed(client), client.core.profiles.names()) == ([], [])
    assert [row.error_code for row in client.ask(DeleteGroupsRequest(["g"])).results] == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_offsets_tell_what_is_done_and_what_is_left(client: Client) -> None:
    group = client.core.groups.get("t", "g")
    client.core.receiving.receive(group, "m", 1, lambda got: None, number=0)
    client.core.groups.acknowledge(group, 0, [0])
    (topic,) = places(client).topics
    assert [(row.partition_index, row.start_offset, row.lag) for row in topic.partitions] == [(0, 1, 1), (1, 0, 2)]


def test_topics_can_be_named(client: Client) -> None:
    client.core.topics.create("u", 1)
    wanted = (("t", 9), ("u", 0), ("x", 0))
    asked = [describe.DescribeShareGroupOffsetsRequestTopic(name, [number]) for name, number in wanted]
    told = places(client, topics=asked, version=0)
    rows = [(row.start_offset, row.error_code) for topic in told.topics for row in topic.partitions]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rows == [(-1, missing), (-1, 0), (-1, missing)]


def test_the_offsets_of_an_unknown_group_are_refused(client: Client) -> None:
    assert places(client, "x").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_goes_on_where_it_is_told(client: Client) -> None:
    answer = move(client, "g", "t", p0=1, p1=99, p5=0)
    assert [row.error_code for row in answer.responses[0].partitions] == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [cursor.next for cursor in client.core.groups.get("t", "g").cursors] == [1, 2]


def test_a_new_group_can_be_placed(client: Client) -> None:
    move(client, "new", "t", p0=0)
    assert [cursor.next for cursor in client.core.groups.get("t", "new").cursors] == [0, 2]


def test_a_group_with_members_stays_where_it_is(client: Client) -> None:
    client.ask(ShareGroupHeartbeatRequest("g", "m", 0, None, ["t"]))
    assert move(client, "g", "t", p0=1).error_code == ErrorCode.NON_EMPTY_GROUP
    assert drop(client, "g", "t").error_code == ErrorCode.NON_EMPTY_GROUP


def test_deleting_offsets_deletes_the_group_of_the_topic(client: Client) -> None:
    assert [row.error_code for row in drop(client, "g", "t").responses] == [0]
    assert client.core.topics.get("t").groups == {}
    assert drop(client, "g", "t").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_deleting_offsets_of_an_unknown_topic_is_refused(client: Client) -> None:
    assert [row.error_code for row in drop(client, "g", "x").responses] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
