"""InitProducerId: who a producer is, so that what it sends again is stored once and its former self is fenced off."""

from onemq.errors import OneMQError
from onemq.limits import OWNER_TIMEOUT_MS_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.handlers.transactions import transaction_code
from onemq.protocols.kafka.schemas.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_FENCED_SINCE = 4
_NONE = -1


def init_producer_id(call: Call[InitProducerIdRequest]) -> InitProducerIdResponse:
    """A producer that has no transactions is a new one each time, whoever it was."""
    request, core = call.request, call.service.core
    try:
        if request.transactional_id is None:
            producer = core.producers.open()
        else:
            _check(request)
            former = (request.producer_id, request.producer_epoch) if request.producer_id != _NONE else None
            producer = core.owners.open(request.transactional_id, request.transaction_timeout_ms, former)
    except OneMQError as error:
        code = transaction_code(error, call.version >= _FENCED_SINCE)
        return InitProducerIdResponse(error_code=code, producer_epoch=_NONE)
    return InitProducerIdResponse(producer_id=producer.id, producer_epoch=producer.epoch)


def _check(request: InitProducerIdRequest) -> None:
    if not 0 < request.transaction_timeout_ms <= OWNER_TIMEOUT_MS_MAX:
        raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise Refused(ErrorCode.INVALID_REQUEST, "a producer that says who it was has an id and an epoch")
