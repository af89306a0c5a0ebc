"""SASL: who must log in, how, and what happens to those who cannot."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from struct import pack, unpack_from

import pytest

from onemq.errors import AccessDenied
from onemq.limits import KAFKA_LOGIN_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.login import Plain, Scram
from onemq.protocols.kafka.schemas.api_versions import ApiVersionsRequest
from onemq.protocols.kafka.schemas.metadata import MetadataRequest
from onemq.protocols.kafka.schemas.sasl_authenticate import SaslAuthenticateRequest
from onemq.protocols.kafka.schemas.sasl_handshake import SaslHandshakeRequest
from onemq.users import SCRAM_HASHES, Users, Verifier
from tests.unit.protocols.kafka.fakes import Client, framed, make_service

USERS = Users({"ann": "secret", "odd,na=me": "größer"})
LIST = MetadataRequest(topics=[])


def proved(mechanism: str, password: str, first_bare: str, server_first: bytes) -> bytes:
    """What a client says last."""
    hash_name = SCRAM_HASHES[mechanism]
    parts = dict(part.split("=", 1) for part in server_first.decode().split(","))
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), b64decode(parts["s"]), int(parts["i"]))
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    unproved = f"c=biws,r={parts['r']}"
    said = f"{first_bare},{server_first.decode()},{unproved}".encode()
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), said, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    return f"{unproved},p={b64encode(proof).decode()}".encode()


class TestScram:
    def test_the_example_of_rfc_7677(self) -> None:
        salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
        users = Users({"user": str(Verifier.of("pencil", "SCRAM-SHA-256", salt))})
        scram = Scram(users, "SCRAM-SHA-256", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
        assert scram.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        )
        assert (
            scram.step(
                b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
            )
            == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        )
        assert scram.user == "user"

    @pytest.mark.parametrize("mechanism", SCRAM_HASHES)
    @pytest.mark.parametrize(
        ("name", "written", "password"), [("ann", "ann", "secret"), ("odd,na=me", "odd=2Cna=3Dme", "größer")]
    )
    def test_a_password_is_proved(self, mechanism: str, name: str, written: str, password: str) -> None:
        scram = Scram(USERS, mechanism)
        bare = f"n={written},r=abc"
        answer = scram.step(f"n,,{bare}".encode())
        assert scram.user is None
        assert scram.step(proved(mechanism, password, bare, answer)).startswith(b"v=")
        assert scram.user == name

    @pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("eve", "secret")])
    def test_a_wrong_one_and_an_unknown_user_look_alike(self, name: str, password: str) -> None:
        scram = Scram(USERS, "SCRAM-SHA-256")
        answer = scram.step(f"n,,n={name},r=abc".encode())
        assert (
            Scram(USERS, "SCRAM-SHA-256").step(f"n,,n={name},r=abc".encode()).split(b",")[1:] == answer.split(b",")[1:]
        )
        with pytest.raises(AccessDenied, match="unknown user or wrong password"):
            scram.step(proved("SCRAM-SHA-256", password, f"n={name},r=abc", answer))
        assert scram.user is None

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\xff",
            b"n,,n=ann",
            b"p=tls-unique,,n=ann,r=abc",
            b"n,,n=,r=abc",
            b"n,,n=a=b,r=abc",
            b"n,,m=x,n=ann,r=a",
        ],
    )
    def test_what_is_no_first_message_is_refused(self, data: bytes) -> None:
        with pytest.raises(AccessDenied):
            Scram(USERS, "SCRAM-SHA-256").step(data)

    @pytest.mark.parametrize(
        "change", [(b"c=biws", b"c=eSws"), (b"r=abc", b"r=abd"), (b",p=", b",p=!"), (b",p=", b",q=")]
    )
    def test_what_is_no_last_message_is_refused(self, change: tuple[bytes, bytes]) -> None:
        scram = Scram(USERS, "SCRAM-SHA-256")
        answer = scram.step(b"n,,n=ann,r=abc")
        with pytest.raises(AccessDenied):
            scram.step(proved("SCRAM-SHA-256", "secret", "n=ann,r=abc", answer).replace(*change))


class TestPlain:
    def test_a_password_is_compared(self) -> None:
        plain = Plain(USERS)
        assert plain.step(b"\0ann\0secret") == b""
        assert plain.user == "ann"
        assert Plain(USERS).step(b"ann\0ann\0secret") == b""

    @pytest.mark.parametrize(
        "data", [b"", b"ann\0secret", b"\0ann\0wrong", b"bob\0ann\0secret", b"\0eve\0secret", b"\0\xff\0a"]
    )
    def test_others_are_refused(self, data: bytes) -> None:
        with pytest.raises(AccessDenied):
            Plain(USERS).step(data)


class TestSession:
    def client(self) -> Client:
        return Client(make_service(users=USERS))

    def log_in(self, client: Client, name: str = "ann", password: str = "secret") -> int:
        assert client.ask(SaslHandshakeRequest("PLAIN")).error_code == 0
        answer = client.ask(SaslAuthenticateRequest(f"\0{name}\0{password}".encode()))
        return int(answer.error_code)

    def test_everything_is_answered_after_logging_in(self) -> None:
        client = self.client()
        assert client.ask(ApiVersionsRequest()).error_code == 0
        assert self.log_in(client) == 0
        assert client.session.user == "ann"
        assert client.ask(LIST).controller_id == 1

    def test_nothing_but_logging_in_is_answered_before(self) -> None:
        client = self.client()
        client.session.receive(framed(LIST, 9))
        assert client.peer.sent == []
        assert client.peer.closed

    def test_nothing_is_answered_between_the_steps(self) -> None:
        client = self.client()
        client.ask(SaslHandshakeRequest("SCRAM-SHA-256"))
        client.ask(SaslAuthenticateRequest(b"n,,n=ann,r=abc"))
        client.session.receive(framed(LIST, 9))
        assert client.peer.closed

    def test_who_fails_is_told_so_and_disconnected(self) -> None:
        client = self.client()
        assert self.log_in(client, password="wrong") == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert client.peer.closed
        client.session.receive(framed(LIST, 9))
        assert client.peer.sent == []

    def test_an_unknown_mechanism_is_answered_with_those_that_are_known(self) -> None:
        client = self.client()
        answer = client.ask(SaslHandshakeRequest("GSSAPI"))
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        assert self.log_in(client) == 0

    def test_a_step_without_a_handshake_is_refused(self) -> None:
        answer = self.client().ask(SaslAuthenticateRequest(b"\0ann\0secret"))
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE

    def test_nobody_needs_to_log_in_where_there_are_no_users(self) -> None:
        client = Client()
        assert client.ask(SaslHandshakeRequest("PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(LIST).controller_id == 1

    def test_a_connection_stays_with_its_user(self) -> None:
        client = self.client()
        assert self.log_in(client) == 0
        assert self.log_in(client) == 0
        assert self.log_in(client, "odd,na=me", "größer") == ErrorCode.SASL_AUTHENTICATION_FAILED

    def test_requests_are_small_before(self) -> None:
        client = self.client()
        client.session.receive(pack(">ih", KAFKA_LOGIN_BYTES_MAX + 1, 0))
        assert client.peer.closed
        client = self.client()
        self.log_in(client)
        client.session.receive(pack(">ih", KAFKA_LOGIN_BYTES_MAX + 1, 0))
        assert not client.peer.closed


class TestTokens:
    """After SaslHandshake of version 0 there are no requests until the client has logged in."""

    def begun(self, mechanism: str) -> Client:
        client = Client(make_service(users=USERS))
        assert client.ask(SaslHandshakeRequest(mechanism), 0).error_code == 0
        return client

    def told(self, client: Client, token: bytes) -> bytes:
        """The token that answers one."""
        client.session.receive(pack(">i", len(token)) + token)
        data = b"".join(client.peer.sent)
        client.peer.sent.clear()
        assert unpack_from(">i", data) == (len(data) - 4,)
        return data[4:]

    def test_a_password_is_answered_with_nothing(self) -> None:
        client = self.begun("PLAIN")
        assert self.told(client, b"\0ann\0secret") == b""
        assert client.session.user == "ann"
        assert client.ask(LIST).controller_id == 1

    @pytest.mark.parametrize("mechanism", SCRAM_HASHES)
    def test_a_password_is_proved_in_two_steps(self, mechanism: str) -> None:
        client = self.begun(mechanism)
        first = self.told(client, b"n,,n=ann,r=abc")
        assert self.told(client, proved(mechanism, "secret", "n=ann,r=abc", first)).startswith(b"v=")
        assert client.ask(LIST).controller_id == 1

    @pytest.mark.parametrize("token", [b"\0ann\0wrong", b"", b"x", framed(LIST, 9)[4:]])
    def test_who_fails_is_disconnected_without_a_word(self, token: bytes) -> None:
        client = self.begun("PLAIN")
        client.session.receive(pack(">i", len(token)) + token)
        assert client.peer.sent == []
        assert client.peer.closed

    def test_everything_may_come_in_pieces_or_at_once(self) -> None:
        asked = framed(SaslHandshakeRequest("PLAIN"), 0) + pack(">i", 11) + b"\0ann\0secret" + framed(LIST, 9, 7)
        for size in (1, 3, len(asked)):
            client = Client(make_service(users=USERS))
            for at in range(0, len(asked), size):
                client.session.receive(asked[at : at + size])
            _, token, answer = client.peer.sent
            assert token == bytes(4)
            assert unpack_from(">ii", answer)[1] == 7

    def test_an_unknown_mechanism_is_told_and_requests_go_on(self) -> None:
        client = Client(make_service(users=USERS))
        assert client.ask(SaslHandshakeRequest("GSSAPI"), 0).error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
        assert client.ask(SaslAuthenticateRequest(b"\0ann\0secret")).error_code == 0

    def test_whoever_has_logged_in_may_do_it_again(self) -> None:
        client = self.begun("PLAIN")
        self.told(client, b"\0ann\0secret")
        assert client.ask(SaslHandshakeRequest("PLAIN"), 0).error_code == 0
        assert self.told(client, b"\0ann\0secret") == b""
        assert client.ask(LIST).controller_id == 1

    @pytest.mark.parametrize("size", [-1, KAFKA_LOGIN_BYTES_MAX + 1])
    def test_tokens_are_small(self, size: int) -> None:
        client = self.begun("PLAIN")
        client.session.receive(pack(">i", size))
        assert client.peer.closed
