"""DescribeAcls, CreateAcls, DeleteAcls: there are no access rules, and Kafka's answer to that."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from onemq.protocols.kafka.schemas.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from onemq.protocols.kafka.schemas.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_DISABLED = ErrorCode.SECURITY_DISABLED
_TEXT = "No Authorizer is configured."


def describe_acls(call: Call[DescribeAclsRequest]) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=_DISABLED, error_message="No Authorizer is configured on the broker")


def create_acls(call: Call[CreateAclsRequest]) -> CreateAclsResponse:
    return CreateAclsResponse(results=[AclCreationResult(_DISABLED, _TEXT) for _ in call.request.creations])


def delete_acls(call: Call[DeleteAclsRequest]) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(_DISABLED, _TEXT) for _ in call.request.filters])
