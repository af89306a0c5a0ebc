"""How clients log in: PLAIN (RFC 4616) sends the password; SCRAM (RFC 5802) proves it, and that the server knows it.

    client    n,,n=user,r=nonce
    server    r=nonce and more,s=salt,i=4096
    client    c=biws,r=nonce and more,p=proof
    server    v=signature
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from secrets import token_urlsafe

from onemq.errors import AccessDenied
from onemq.users import ITERATIONS, SCRAM_HASHES, Users, Verifier

_FIRST = re.compile(r"(?P<head>[ny],(?:a=[^,]*)?,)(?P<bare>n=(?P<name>[^,]*),r=(?P<nonce>[!-+\--~]+))")
_FINAL = re.compile(r"(?P<unproved>c=(?P<head>[^,]*),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[^,]*)")
_NAME = re.compile(r"(?:[^=]|=2C|=3D)+")


class Scram:
    """One exchange. `step` takes what the client sends and returns the answer; then `user` may be known."""

    def __init__(self, users: Users, mechanism: str, nonce: str | None = None) -> None:
        self.user: str | None = None
        self._users = users
        self._mechanism = mechanism
        self._hash_name = SCRAM_HASHES[mechanism]
        self._nonce = nonce or token_urlsafe(24)
        self._name = self._head = ""
        self._verifier: Verifier | None = None
        self._said = ""  # what both have said so far, without the head

    def step(self, data: bytes) -> bytes:
        """Raises `AccessDenied`."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise AccessDenied("what came is no SCRAM message") from None
        return (self._final(text) if self._said else self._first(text)).encode()

    def _first(self, text: str) -> str:
        match = _FIRST.fullmatch(text)
        if match is None or not _NAME.fullmatch(match["name"]):
            raise AccessDenied("the first SCRAM message is none that is supported; channel bindings are not")
        self._head, self._name = match["head"], match["name"].replace("=2C", ",").replace("=3D", "=")
        self._nonce = match["nonce"] + self._nonce
        self._verifier = verifier = self._users.verifier(self._name, self._mechanism)
        salt = verifier.salt if verifier else self._users.salt_of(self._name, self._mechanism)
        iterations = verifier.iterations if verifier else ITERATIONS
        answer = f"r={self._nonce},s={b64encode(salt).decode()},i={iterations}"
        self._said = f"{match['bare']},{answer}"
        return answer

    def _final(self, text: str) -> str:
        match = _FINAL.fullmatch(text)
        head = b64encode(self._head.encode()).decode()
        # librdkafka before 2.1 puts its part of the nonce there once more; Kafka lets that pass, too.
        if match is None or match["head"] != head or not match["nonce"].endswith(self._nonce):
            raise AccessDenied("the last SCRAM message does not belong to the first")
        said = f"{self._said},{match['unproved']}".encode()
        if self._verifier is None or not self._is_proof(self._verifier, match["proof"], said):
            raise AccessDenied("unknown user or wrong password")
        self.user = self._name
        signature = hmac.digest(self._verifier.server_key, said, self._hash_name)
        return f"v={b64encode(signature).decode()}"

    def _is_proof(self, verifier: Verifier, proof: str, said: bytes) -> bool:
        try:
            given = b64decode(proof, validate=True)
        except ValueError:
            return False
        signature = hmac.digest(verifier.stored_key, said, self._hash_name)
        client_key = bytes(one ^ other for one, other in zip(given, signature, strict=False))
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        return len(given) == len(signature) and hmac.compare_digest(stored_key, verifier.stored_key)


class Plain:
    """PLAIN (RFC 4616): the password as it is, in one message."""

    def __init__(self, users: Users) -> None:
        self.user: str | None = None
        self._users = users

    def step(self, data: bytes) -> bytes:
        """Raises `AccessDenied`."""
        try:
            asked_for, name, password = data.decode().split("\0")
        except ValueError:
            raise AccessDenied("what came is no PLAIN message") from None
        if asked_for not in ("", name) or not self._users.check(name, password):
            raise AccessDenied("unknown user or wrong password")
        self.user = name
        return b""
