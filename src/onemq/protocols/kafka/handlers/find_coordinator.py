"""FindCoordinator: who looks after a group, a transactional id or a share of a partition. Always this broker."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.schemas.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_KEY_TYPES = (0, 1, 2)
"""Group, transaction, share."""
_MANY_SINCE = 4
"""From this version on a request asks for many keys."""


def find_coordinator(call: Call[FindCoordinatorRequest]) -> FindCoordinatorResponse:
    request = call.request
    host, port = call.service.address_for(call.session)
    is_known = request.key_type in _KEY_TYPES
    if call.version >= _MANY_SINCE:
        here = (NODE_ID, host, port) if is_known else (-1, "", -1, ErrorCode.INVALID_REQUEST, "unknown type of key")
        return FindCoordinatorResponse(coordinators=[Coordinator(key, *here) for key in request.coordinator_keys])
    if not is_known:
        return FindCoordinatorResponse(0, ErrorCode.INVALID_REQUEST, "unknown type of key", -1, "", -1)
    return FindCoordinatorResponse(node_id=NODE_ID, host=host, port=port)
