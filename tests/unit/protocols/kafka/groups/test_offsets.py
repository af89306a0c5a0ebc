"""Offsets over the wire: committed, fetched and deleted in every version, and what other protocols see of them."""

import pytest

from onemq.core.marking import Place
from onemq.core.start import FIRST, LAST
from onemq.limits import KAFKA_REMARK_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from onemq.protocols.kafka.schemas.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from onemq.protocols.kafka.schemas.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from onemq.protocols.kafka.schemas.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.unit.protocols.kafka.groups.talk import House, Talk

COMMIT_VERSIONS = OffsetCommitRequest.versions
FETCH_VERSIONS = OffsetFetchRequest.versions
Places = dict[int, tuple[int, str | None, ErrorCode]]


@pytest.fixture
def house() -> House:
    """The topic `t` has five messages in its first partition, and two more partitions."""
    made = House()
    made.topic("t", messages=5)
    return made


@pytest.fixture
def talk(house: House) -> Talk:
    return house.connect()


def commit(
    house: House,
    talk: Talk,
    places: dict[int, int],
    version: int = 8,
    text: str | None = "",
    topic: str = "t",
    **who: object,
) -> list[ErrorCode]:
    found = house.service.topics.find(topic)
    wanted = OffsetCommitRequestTopic(
        name=topic,
        topic_id=house.service.topics.id_of(found) if found else b"x" * 16,
        partitions=[
            OffsetCommitRequestPartition(number, offset, committed_metadata=text) for number, offset in places.items()
        ],
    )
    request = OffsetCommitRequest(topics=[wanted], **({"group_id": "g"} | who))  # type: ignore[arg-type]
    (answer,) = talk.ask(request, OffsetCommitResponse, version).topics
    assert [each.partition_index for each in answer.partitions] == list(places)
    return [ErrorCode(each.error_code) for each in answer.partitions]


def fetch(house: House, talk: Talk, numbers: list[int], version: int = 8, group: str = "g", topic: str = "t") -> Places:
    found = house.service.topics.find(topic)
    topic_id = house.service.topics.id_of(found) if found else b"x" * 16
    if version < 8:
        old = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, numbers)])
        (rows,) = talk.ask(old, OffsetFetchResponse, version).topics
    else:
        wanted = OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics(topic, topic_id, numbers)])
        (answer,) = talk.ask(OffsetFetchRequest(groups=[wanted]), OffsetFetchResponse, version).groups
        (rows,) = answer.topics  # type: ignore[assignment]
    return {
        each.partition_index: (each.committed_offset, each.metadata, ErrorCode(each.error_code))
        for each in rows.partitions
    }


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_offsets_are_committed_in_every_version(house: House, talk: Talk, version: int) -> None:
    assert commit(house, talk, {0: 3, 2: 0}, version, "text") == [ErrorCode.NONE, ErrorCode.NONE]
    assert fetch(house, talk, [0, 1, 2]) == {
        0: (3, "text", ErrorCode.NONE),
        1: (-1, "", ErrorCode.NONE),
        2: (0, "text", ErrorCode.NONE),
    }


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_offsets_are_fetched_in_every_version(house: House, talk: Talk, version: int) -> None:
    assert commit(house, talk, {0: 3}, text=None) == [ErrorCode.NONE]
    assert fetch(house, talk, [0, 1, 7], version) == {
        0: (3, "", ErrorCode.NONE),
        1: (-1, "", ErrorCode.NONE),
        7: (-1, "", ErrorCode.NONE),
    }
    assert fetch(house, talk, [0], version, group="other") == {0: (-1, "", ErrorCode.NONE)}
    missing = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.NONE
    assert fetch(house, talk, [0], version, topic="missing") == {0: (-1, "", missing)}


@pytest.mark.parametrize("version", [2, 7])
def test_everything_that_a_group_has_committed_can_be_asked_for(house: House, talk: Talk, version: int) -> None:
    house.topic("u")
    commit(house, talk, {0: 3})
    commit(house, talk, {1: 0}, topic="u")
    answer = talk.ask(OffsetFetchRequest(group_id="g", topics=None), OffsetFetchResponse, version)
    topics = answer.topics
    found = {topic.name: [(row.partition_index, row.committed_offset) for row in topic.partitions] for topic in topics}
    assert found == {"t": [(0, 3)], "u": [(1, 0)]}


def test_several_groups_can_be_asked_for_at_once(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 3})
    commit(house, talk, {0: 4}, group_id="h")
    wanted = [OffsetFetchRequestGroup(name, topics=None) for name in ("g", "h", "i")]
    answer = talk.ask(OffsetFetchRequest(groups=wanted), OffsetFetchResponse, 8)
    assert [
        (each.group_id, [row.committed_offset for topic in each.topics for row in topic.partitions])
        for each in answer.groups
    ] == [("g", [3]), ("h", [4]), ("i", [])]


def test_what_cannot_be_committed_is_told_for_each_partition(house: House, talk: Talk) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(house, talk, {0: 1, 3: 1, -1: 1}) == [ErrorCode.NONE, unknown, unknown]
    assert commit(house, talk, {0: 1}, topic="missing") == [unknown]
    assert commit(house, talk, {0: 1}, version=10, topic="missing") == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert commit(house, talk, {0: 1}, text="x" * KAFKA_REMARK_BYTES_MAX) == [ErrorCode.NONE]
    too_large = commit(house, talk, {0: 1}, text="x" * (KAFKA_REMARK_BYTES_MAX + 1))
    assert too_large == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert commit(house, talk, {0: 1}, group_id="") == [ErrorCode.INVALID_GROUP_ID]
    assert commit(house, talk, {0: 1}, generation_id_or_member_epoch=3) == [ErrorCode.ILLEGAL_GENERATION]
    assert commit(house, talk, {0: 1}, version=9, generation_id_or_member_epoch=3) == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_any_offset_is_taken_as_the_nearest_that_there_is(house: House, talk: Talk) -> None:
    with house.turn() as core:
        topic = core.topics.get("t")
        core.topics.trim(topic, topic.partitions[0], 2)
    commit(house, talk, {0: 0})
    assert fetch(house, talk, [0])[0][0] == 2
    commit(house, talk, {0: 99})
    assert fetch(house, talk, [0])[0][0] == 5
    commit(house, talk, {0: -1})
    assert fetch(house, talk, [0])[0][0] == -1
    assert house.core.topics.get("t").groups == {}


def test_groups_of_other_protocols_are_where_they_have_acknowledged(house: House, talk: Talk) -> None:
    group = house.broker.group("t", "g", FIRST)
    assert fetch(house, talk, [0])[0][0] == 0
    house.broker.bodies(group, most=3)
    house.broker.acknowledge(group, 0, 2)
    assert fetch(house, talk, [0])[0][0] == 1
    with house.turn() as core:
        core.groups.seek(group, 0, 4)
    assert fetch(house, talk, [0])[0][0] == 4
    house.broker.group("t", "late", LAST)
    assert fetch(house, talk, [0], group="late")[0][0] == 5


def test_other_protocols_see_what_was_committed(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 3})
    group = house.core.groups.get("t", "g")
    assert group.lag == 2
    assert house.broker.bodies(group) == [b"3", b"4"]


def test_whoever_wants_settled_offsets_waits_for_the_end_of_a_transaction(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 1})
    with house.turn() as core:
        topic, owner = core.topics.get("t"), core.owners.open("owner", 60_000)
        identity = (owner.id, owner.epoch)
        core.owners.begin("owner", identity, groups=["g"])
        core.owners.commit_offsets("owner", identity, "g", topic, {0: Place(4)})
    for stable, expected in ((False, (1, ErrorCode.NONE)), (True, (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT))):
        wanted = OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t", partition_indexes=[0])])
        request = OffsetFetchRequest(groups=[wanted], require_stable=stable)
        row = talk.ask(request, OffsetFetchResponse, 9).groups[0].topics[0].partitions[0]
        assert (row.committed_offset, row.error_code) == expected
    with house.turn() as core:
        core.owners.end("owner", identity, committed=True)
    assert fetch(house, talk, [0])[0][0] == 4


def delete(talk: Talk, *numbers: int, group: str = "g", topic: str = "t") -> list[ErrorCode] | ErrorCode:
    wanted = OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(each) for each in numbers])
    answer = talk.ask(OffsetDeleteRequest(group, [wanted]), OffsetDeleteResponse, 0)
    if answer.error_code:
        return ErrorCode(answer.error_code)
    return [ErrorCode(each.error_code) for topic in answer.topics for each in topic.partitions]


def test_deleted_offsets_are_gone(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 3, 1: 0})
    assert delete(talk, 0, 7) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert {number: row[0] for number, row in fetch(house, talk, [0, 1]).items()} == {0: -1, 1: 0}
    assert delete(talk, 0, topic="missing") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert delete(talk, 1) == [ErrorCode.NONE]
    assert delete(talk, 1) is ErrorCode.GROUP_ID_NOT_FOUND


def test_share_consumers_keep_their_places(house: House, talk: Talk) -> None:
    """Neither may others move them, nor take them away."""
    talk.ask(ShareGroupHeartbeatRequest("g", "m", 0, None, ["t"]), ShareGroupHeartbeatResponse, 1)
    assert commit(house, talk, {0: 3}) == [ErrorCode.GROUP_ID_NOT_FOUND]
    wanted = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
    answer = talk.ask(OffsetDeleteRequest("g", wanted), OffsetDeleteResponse, 0)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    house.pass_ms(60_000, 1000)  # its member is gone
    assert commit(house, talk, {0: 3}) == [ErrorCode.NONE]


def test_offsets_are_not_deleted_while_other_protocols_read(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 3})
    with house.turn() as core:
        group = core.topics.get("t").groups["g"]
        core.groups.join(group, "worker", leased=True)
    wanted = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
    answer = talk.ask(OffsetDeleteRequest("g", wanted), OffsetDeleteResponse, 0)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert fetch(house, talk, [0]) == {0: (3, "", ErrorCode.NONE)}


def test_a_transaction_may_take_an_offset_away(house: House, talk: Talk) -> None:
    commit(house, talk, {0: 3, 1: 0})
    with house.turn() as core:
        topic = core.topics.get("t")
        producer = core.owners.open("owner", 60_000)
        identity = producer.id, producer.epoch
        core.owners.begin("owner", identity, groups=["g"])
        core.owners.commit_offsets("owner", identity, "g", topic, {0: Place(-1), 2: Place(0)})
    assert fetch(house, talk, [0])[0][0] == 3
    with house.turn() as core:
        core.owners.end("owner", identity, True)
    places = fetch(house, talk, [0, 1, 2])
    assert [places[number][0] for number in range(3)] == [-1, 0, 0]
