"""ListPartitionReassignments: nothing ever moves, and tools that describe topics ask."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.schemas.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def list_partition_reassignments(call: Call[ListPartitionReassignmentsRequest]) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse()
