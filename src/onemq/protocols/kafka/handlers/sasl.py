"""SaslHandshake and SaslAuthenticate: logging in, where there are users."""

from onemq.errors import AccessDenied
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.login import Plain, Scram
from onemq.protocols.kafka.schemas.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from onemq.protocols.kafka.schemas.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from onemq.users import SCRAM_HASHES

_PLAIN = "PLAIN"
_BY_TOKENS = 0
MECHANISMS = [_PLAIN, *SCRAM_HASHES]


def sasl_handshake(call: Call[SaslHandshakeRequest]) -> SaslHandshakeResponse:
    """Chooses the mechanism. Again on a connection that is logged in, it begins to do that anew (KIP-368). After
    version 0 there are no requests until that is done: each side sends tokens of SASL, with a size before them."""
    users, mechanism = call.service.users, call.request.mechanism
    if not users:
        raise Refused(ErrorCode.ILLEGAL_SASL_STATE, "there are no users: nobody needs to log in")
    if mechanism not in MECHANISMS:
        return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS)
    login = Plain(users) if mechanism == _PLAIN else Scram(users, mechanism)
    call.session.begin_login(login, by_tokens=call.version == _BY_TOKENS)
    return SaslHandshakeResponse(mechanisms=MECHANISMS)


def sasl_authenticate(call: Call[SaslAuthenticateRequest]) -> SaslAuthenticateResponse | None:
    """One step of the exchange. Who fails is told so, and the connection ends."""
    session = call.session
    if session.login is None:
        raise Refused(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake comes first")
    try:
        answer = session.step(call.request.auth_bytes)
    except AccessDenied as denied:
        call.answer(SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, denied.text))
        session.end()
        return None
    return SaslAuthenticateResponse(auth_bytes=answer)
