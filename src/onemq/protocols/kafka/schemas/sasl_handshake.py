"""SaslHandshake, key 17."""

from onemq.protocols.kafka.schema import NEVER, Int16, Message


class SaslHandshakeRequest(Message):
    api_key = 17
    versions = range(0, 2)
    flexible_since = NEVER

    mechanism: str = ""


class SaslHandshakeResponse(Message):
    api_key = 17
    versions = range(0, 2)
    flexible_since = NEVER

    error_code: Int16 = 0
    mechanisms: list[str] = []
