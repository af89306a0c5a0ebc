"""SaslAuthenticate, key 36."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int64, Message, since


class SaslAuthenticateRequest(Message):
    api_key = 36
    versions = range(0, 3)
    flexible_since = 2

    auth_bytes: bytes = b""


class SaslAuthenticateResponse(Message):
    api_key = 36
    versions = range(0, 3)
    flexible_since = 2

    error_code: Int16 = 0
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[Int64, since(1)] = 0
