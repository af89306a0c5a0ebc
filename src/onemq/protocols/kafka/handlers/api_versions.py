"""ApiVersions: what a client may ask for. The first request of every client but the oldest."""

from onemq.limits import NAME_BYTES_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.schemas.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse


def api_versions(call: Call[ApiVersionsRequest]) -> ApiVersionsResponse:
    """A version that we do not know is answered in version 0, with an error and the versions that we do (KIP-511)."""
    rows = [ApiVersion(api.key, api.shown_first, api.last) for api in call.service.apis.values()]
    if call.version < 0:
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=rows)
    request, service = call.request, call.service
    call.session.software_name = request.client_software_name[:NAME_BYTES_MAX]
    call.session.software_version = request.client_software_version[:NAME_BYTES_MAX]
    if request.cluster_id not in (None, service.cluster_id) or request.node_id not in (-1, NODE_ID):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED, api_keys=rows)
    return ApiVersionsResponse(api_keys=rows)
