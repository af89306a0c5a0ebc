"""SaslHandshake and SaslAuthenticate: logging in, where there are users."""

from onemq.errors import AccessDenied
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.login import Plain, Scram
from onemq.protocols.kafka.schemas.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from onemq.protocols.kafka.schemas.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from onemq.users import SCRAM_HASHES

_PLAIN = "PLAIN"
MECHANISMS = [_PLAIN, *SCRAM_HASHES]


def sasl_handshake(call: Call[SaslHandshakeRequest]) -> SaslHandshakeResponse:
    """Chooses the mechanism. Again on a connection that is logged in, it begins to do that anew (KIP-368)."""
    users, mechanism = call.service.users, call.request.mechanism
    if not users:
        raise Refused(ErrorCode.ILLEGAL_SASL_STATE, "there are no users: nobody needs to log in")
    if mechanism not in MECHANISMS:
        return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS)
    call.session.login = Plain(users) if mechanism == _PLAIN else Scram(users, mechanism)
    return SaslHandshakeResponse(mechanisms=MECHANISMS)


def sasl_authenticate(call: Call[SaslAuthenticateRequest]) -> SaslAuthenticateResponse | None:
    """One step of the exchange. Who fails is told so, and the connection ends."""
    session = call.session
    login = session.login
    if login is None:
        raise Refused(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake comes first")
    try:
        answer = login.step(call.request.auth_bytes)
        if login.user is not None:
            session.admit(login.user)
    except AccessDenied as denied:
        call.answer(SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, denied.text))
        session.end()
        return None
    return SaslAuthenticateResponse(auth_bytes=answer)
