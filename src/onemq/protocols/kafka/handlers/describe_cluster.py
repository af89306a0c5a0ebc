"""DescribeCluster: the brokers, for tools. There is one."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.operations import CLUSTER_OPERATIONS
from onemq.protocols.kafka.schema import INT32_MIN
from onemq.protocols.kafka.schemas.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS, _CONTROLLERS = 1, 2


def describe_cluster(call: Call[DescribeClusterRequest]) -> DescribeClusterResponse:
    request, service = call.request, call.service
    if request.endpoint_type == _CONTROLLERS:
        raise Refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker; there are no controllers apart from it")
    if request.endpoint_type != _BROKERS:
        raise Refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"{request.endpoint_type} is no type of endpoint")
    host, port = service.address_for(call.session)
    may = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else INT32_MIN
    return DescribeClusterResponse(
        cluster_id=service.cluster_id,
        controller_id=NODE_ID,
        brokers=[DescribeClusterBroker(NODE_ID, host, port)],
        cluster_authorized_operations=may,
    )
