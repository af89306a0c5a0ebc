"""The table of APIs: which versions are served, and by whom. ApiVersions and docs/protocols/kafka.md come from it."""


from onemq.protocols.kafka.admin.access import create_acls, delete_acls, describe_acls
from onemq.protocols.kafka.admin.configs import alter_configs, describe_configs, incremental_alter_configs
from onemq.protocols.kafka.admin.log_dirs import describe_log_dirs
from onemq.protocols.kafka.admin.reassignments import list_partition_reassignments
from onemq.protocols.kafka.admin.topics import create_partitions, create_topics, delete_topics
from onemq.protocols.kafka.api import Api
from onemq.protocols.kafka.api import api as _api
from onemq.protocols.kafka.handlers import describe_topic_partitions
from onemq.protocols.kafka.handlers.api_versions import api_versions
from onemq.protocols.kafka.handlers.consumer_groups import consumer_group_describe, consumer_group_heartbeat
from onemq.protocols.kafka.handlers.delete_records import delete_records
from onemq.protocols.kafka.handlers.describe_cluster import describe_cluster
from onemq.protocols.kafka.handlers.fetch import fetch
from onemq.protocols.kafka.handlers.find_coordinator import find_coordinator
from onemq.protocols.kafka.handlers.groups import delete_groups, describe_groups, list_groups
from onemq.protocols.kafka.handlers.list_offsets import list_offsets
from onemq.protocols.kafka.handlers.membership import heartbeat, join_group, leave_group, sync_group
from onemq.protocols.kafka.handlers.metadata import metadata
from onemq.protocols.kafka.handlers.offset_for_leader_epoch import offset_for_leader_epoch
from onemq.protocols.kafka.handlers.offsets import offset_commit, offset_delete, offset_fetch
from onemq.protocols.kafka.handlers.produce import produce
from onemq.protocols.kafka.handlers.producer_ids import init_producer_id
from onemq.protocols.kafka.handlers.sasl import sasl_authenticate, sasl_handshake
from onemq.protocols.kafka.handlers.transaction_states import (
    describe_producers,
    describe_transactions,
    list_transactions,
)
from onemq.protocols.kafka.handlers.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    txn_offset_commit,
)
from onemq.protocols.kafka.schemas.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from onemq.protocols.kafka.schemas.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from onemq.protocols.kafka.schemas.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from onemq.protocols.kafka.schemas.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from onemq.protocols.kafka.schemas.api_versions import ApiVersionsRequest, ApiVersionsResponse
from onemq.protocols.kafka.schemas.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from onemq.protocols.kafka.schemas.create_acls import CreateAclsRequest, CreateAclsResponse
from onemq.protocols.kafka.schemas.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from onemq.protocols.kafka.schemas.create_topics import CreateTopicsRequest, CreateTopicsResponse
from onemq.protocols.kafka.schemas.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from onemq.protocols.kafka.schemas.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from onemq.protocols.kafka.schemas.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from onemq.protocols.kafka.schemas.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from onemq.protocols.kafka.schemas.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from onemq.protocols.kafka.schemas.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from onemq.protocols.kafka.schemas.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from onemq.protocols.kafka.schemas.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from onemq.protocols.kafka.schemas.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from onemq.protocols.kafka.schemas.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from onemq.protocols.kafka.schemas.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from onemq.protocols.kafka.schemas.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from onemq.protocols.kafka.schemas.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from onemq.protocols.kafka.schemas.end_txn import EndTxnRequest, EndTxnResponse
from onemq.protocols.kafka.schemas.fetch import FetchRequest, FetchResponse
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from onemq.protocols.kafka.schemas.heartbeat import HeartbeatRequest, HeartbeatResponse
from onemq.protocols.kafka.schemas.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from onemq.protocols.kafka.schemas.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupResponse
from onemq.protocols.kafka.schemas.leave_group import LeaveGroupRequest, LeaveGroupResponse
from onemq.protocols.kafka.schemas.list_groups import ListGroupsRequest, ListGroupsResponse
from onemq.protocols.kafka.schemas.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from onemq.protocols.kafka.schemas.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from onemq.protocols.kafka.schemas.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataResponse
from onemq.protocols.kafka.schemas.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from onemq.protocols.kafka.schemas.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from onemq.protocols.kafka.schemas.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from onemq.protocols.kafka.schemas.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from onemq.protocols.kafka.schemas.produce import ProduceRequest, ProduceResponse
from onemq.protocols.kafka.schemas.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from onemq.protocols.kafka.schemas.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from onemq.protocols.kafka.schemas.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from onemq.protocols.kafka.schemas.share_fetch import (
    ShareFetchRequest,
    ShareFetchResponse,
)
from onemq.protocols.kafka.schemas.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from onemq.protocols.kafka.schemas.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse
from onemq.protocols.kafka.schemas.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from onemq.protocols.kafka.sharing.describing import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_group_describe,
)
from onemq.protocols.kafka.sharing.handlers import share_acknowledge, share_fetch, share_group_heartbeat

APIS = (
    _api(ProduceRequest, ProduceResponse, produce, shown_first=0),
    _api(FetchRequest, FetchResponse, fetch),
    _api(ListOffsetsRequest, ListOffsetsResponse, list_offsets),
    _api(MetadataRequest, MetadataResponse, metadata),
    _api(OffsetCommitRequest, OffsetCommitResponse, offset_commit),
    _api(OffsetFetchRequest, OffsetFetchResponse, offset_fetch),
    _api(FindCoordinatorRequest, FindCoordinatorResponse, find_coordinator),
    _api(JoinGroupRequest, JoinGroupResponse, join_group),
    _api(HeartbeatRequest, HeartbeatResponse, heartbeat),
    _api(LeaveGroupRequest, LeaveGroupResponse, leave_group),
    _api(SyncGroupRequest, SyncGroupResponse, sync_group),
    _api(DescribeGroupsRequest, DescribeGroupsResponse, describe_groups),
    _api(ListGroupsRequest, ListGroupsResponse, list_groups),
    _api(SaslHandshakeRequest, SaslHandshakeResponse, sasl_handshake),
    _api(ApiVersionsRequest, ApiVersionsResponse, api_versions),
    _api(CreateTopicsRequest, CreateTopicsResponse, create_topics),
    _api(DeleteTopicsRequest, DeleteTopicsResponse, delete_topics),
    _api(DeleteRecordsRequest, DeleteRecordsResponse, delete_records),
    _api(InitProducerIdRequest, InitProducerIdResponse, init_producer_id, last=5),
    _api(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, offset_for_leader_epoch),
    _api(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, add_partitions_to_txn, last=3),
    _api(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, add_offsets_to_txn),
    _api(EndTxnRequest, EndTxnResponse, end_txn, last=4),
    _api(TxnOffsetCommitRequest, TxnOffsetCommitResponse, txn_offset_commit, last=4),
    _api(DescribeAclsRequest, DescribeAclsResponse, describe_acls),
    _api(CreateAclsRequest, CreateAclsResponse, create_acls),
    _api(DeleteAclsRequest, DeleteAclsResponse, delete_acls),
    _api(DescribeConfigsRequest, DescribeConfigsResponse, describe_configs),
    _api(AlterConfigsRequest, AlterConfigsResponse, alter_configs),
    _api(DescribeLogDirsRequest, DescribeLogDirsResponse, describe_log_dirs),
    _api(SaslAuthenticateRequest, SaslAuthenticateResponse, sasl_authenticate),
    _api(CreatePartitionsRequest, CreatePartitionsResponse, create_partitions),
    _api(DeleteGroupsRequest, DeleteGroupsResponse, delete_groups),
    _api(IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, incremental_alter_configs),
    _api(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, list_partition_reassignments),
    _api(OffsetDeleteRequest, OffsetDeleteResponse, offset_delete),
    _api(DescribeClusterRequest, DescribeClusterResponse, describe_cluster),
    _api(DescribeProducersRequest, DescribeProducersResponse, describe_producers),
    _api(DescribeTransactionsRequest, DescribeTransactionsResponse, describe_transactions),
    _api(ListTransactionsRequest, ListTransactionsResponse, list_transactions),
    _api(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, consumer_group_heartbeat),
    _api(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, consumer_group_describe),
    _api(
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        describe_topic_partitions.describe_topic_partitions,
        refuse=describe_topic_partitions.refuse,
    ),
    _api(ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, share_group_heartbeat),
    _api(ShareGroupDescribeRequest, ShareGroupDescribeResponse, share_group_describe),
    _api(ShareFetchRequest, ShareFetchResponse, share_fetch),
    _api(ShareAcknowledgeRequest, ShareAcknowledgeResponse, share_acknowledge),
    _api(DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse, describe_share_group_offsets),
    _api(AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse, alter_share_group_offsets),
    _api(DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse, delete_share_group_offsets),
)
"""Sorted by key."""


def by_key(apis: tuple[Api, ...] = APIS) -> dict[int, Api]:
    return {api.key: api for api in apis}
