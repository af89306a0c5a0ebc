"""Users: names, and what proves that somebody knows the password.

A password is written as it is, or as its verifier, which proves a password and does not give it away, in the form that
PostgreSQL has, too (the parts are base64):

    SCRAM-SHA-256$4096:salt$stored key:server key

A verifier is good for its own mechanism and for those that send the password itself.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from os import urandom

SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The mechanisms by which a password is proved without being sent (RFC 5802, RFC 7677)."""
ITERATIONS = 4096
_ITERATIONS_MAX = 1_000_000
_SALT_BYTES = 16
_WRITTEN = re.compile(r"(SCRAM-SHA-(?:256|512))\$([0-9]{1,7}):([^$:]*)\$([^$:]*):([^$:]*)")


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server keeps of a password for one mechanism."""

    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, password: str, mechanism: str, salt: bytes, iterations: int = ITERATIONS) -> "Verifier":
        hash_name = SCRAM_HASHES[mechanism]
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        stored_key = hashlib.new(hash_name, client_key).digest()
        return cls(mechanism, iterations, salt, stored_key, hmac.digest(salted, b"Server Key", hash_name))

    @classmethod
    def parse(cls, text: str) -> "Verifier | None":
        """The verifier that is written so; None for any other text, ValueError for one that only begins so."""
        if not text.startswith("SCRAM-SHA-"):
            return None
        match = _WRITTEN.fullmatch(text)
        if match is None or not 0 < int(match[2]) <= _ITERATIONS_MAX:
            raise ValueError("no verifier")
        salt, stored_key, server_key = (b64decode(part, validate=True) for part in match.group(3, 4, 5))
        if not salt or not len(stored_key) == len(server_key) == hashlib.new(SCRAM_HASHES[match[1]]).digest_size:
            raise ValueError("no verifier")
        return cls(match[1], int(match[2]), salt, stored_key, server_key)

    def __str__(self) -> str:
        salt, stored_key, server_key = (
            b64encode(part).decode() for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"{self.mechanism}${self.iterations}:{salt}${stored_key}:{server_key}"

    def proves(self, password: str) -> bool:
        """Whether this is the password. Takes milliseconds, so that guessing does, too."""
        other = Verifier.of(password, self.mechanism, self.salt, self.iterations)
        return hmac.compare_digest(other.stored_key, self.stored_key)


class Users:
    """Everybody who may log in. Without any, nobody has to."""

    def __init__(self, passwords: Mapping[str, str] | None = None) -> None:
        """Passwords by name, each as it is or as its verifier."""
        self._passwords = dict(passwords or {})
        self._verifiers = {name: Verifier.parse(password) for name, password in self._passwords.items()}
        self._made: dict[tuple[str, str], Verifier] = {}
        self._proved: dict[str, bytes] = {}  # what a verifier has proved before, so that it is quick the next time
        self._secret = urandom(32)

    def __bool__(self) -> bool:
        return bool(self._passwords)

    @property
    def names(self) -> list[str]:
        """Everybody, in order."""
        return sorted(self._passwords)

    def check(self, name: str, password: str) -> bool:
        """Whether there is a user of this name and password."""
        if name not in self._passwords:
            return False
        verifier = self._verifiers[name]
        if verifier is None:
            return hmac.compare_digest(self._passwords[name].encode(), password.encode())
        digest = hmac.digest(self._secret, password.encode(), "sha256")
        if name in self._proved and hmac.compare_digest(self._proved[name], digest):
            return True
        if not verifier.proves(password):
            return False
        self._proved[name] = digest
        return True

    def is_slow(self, name: str) -> bool:
        """Whether it takes milliseconds to find out that a password is not this user's."""
        return self._verifiers.get(name) is not None

    def verifier(self, name: str, mechanism: str) -> Verifier | None:
        """What a proof by this mechanism is compared with; None if there is no such user, or only for another one."""
        verifier = self._verifiers.get(name)
        if verifier is not None:
            return verifier if verifier.mechanism == mechanism else None
        if name not in self._passwords:
            return None
        if (name, mechanism) not in self._made:
            salt = self.salt_of(name, mechanism)
            self._made[name, mechanism] = Verifier.of(self._passwords[name], mechanism, salt)
        return self._made[name, mechanism]

    def salt_of(self, name: str, mechanism: str) -> bytes:
        """The salt of a user whose password is known as it is, and of one who does not exist: nobody can tell."""
        return hmac.digest(self._secret, f"{mechanism} {name}".encode(), "sha256")[:_SALT_BYTES]
