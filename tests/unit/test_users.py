"""Passwords as they are and as verifiers."""

from base64 import b64decode

import pytest

from onemq.users import SCRAM_HASHES, Users, Verifier

SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


@pytest.mark.parametrize("mechanism", SCRAM_HASHES)
def test_a_verifier_is_written_and_read(mechanism: str) -> None:
    made = Verifier.of("pencil", mechanism, SALT)
    assert Verifier.parse(str(made)) == made
    assert made.proves("pencil")
    assert not made.proves("pen")


def test_it_is_what_postgresql_writes() -> None:
    """The password of RFC 7677, as the parts of its example follow from it."""
    assert str(Verifier.of("pencil", "SCRAM-SHA-256", SALT)) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


@pytest.mark.parametrize(
    "text",
    [
        "SCRAM-SHA-256",
        "SCRAM-SHA-1$4096:aaaa$aaaa:aaaa",
        "SCRAM-SHA-256$0:aaaa$aaaa:aaaa",
        "SCRAM-SHA-256$4096:aaaa$aaaa:aaaa",
        "SCRAM-SHA-256$4096:!$aaaa:aaaa",
        "SCRAM-SHA-256$9999999:W22ZaJ0SNY7soEsUEjb6gQ==$"
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
    ],
)
def test_a_damaged_one_is_no_password(text: str) -> None:
    with pytest.raises(ValueError, match=r"verifier|base64|decoded|padding|base64-encoded"):
        Verifier.parse(text)


def test_users_are_known_by_either() -> None:
    users = Users({"ann": "secret", "bob": str(Verifier.of("pencil", "SCRAM-SHA-512", SALT))})
    assert users
    assert not Users()
    for _ in range(2):
        assert users.check("ann", "secret")
        assert users.check("bob", "pencil")
        for name, password in (("ann", "pencil"), ("bob", "secret"), ("eve", "secret"), ("ann", ""), ("bob", "größer")):
            assert not users.check(name, password)


def test_only_a_verifier_takes_long_to_find_a_password_wrong() -> None:
    users = Users({"ann": "secret", "bob": str(Verifier.of("pencil", "SCRAM-SHA-512", SALT))})
    assert [users.is_slow(name) for name in ("ann", "bob", "eve")] == [False, True, False]


def test_a_verifier_is_good_for_its_own_mechanism() -> None:
    users = Users({"ann": "secret", "bob": str(Verifier.of("pencil", "SCRAM-SHA-512", SALT))})
    for mechanism in SCRAM_HASHES:
        found = users.verifier("ann", mechanism)
        assert found is not None
        assert found.proves("secret")
        assert users.verifier("ann", mechanism) is found
    assert users.verifier("bob", "SCRAM-SHA-256") is None
    assert users.verifier("bob", "SCRAM-SHA-512") is not None
    assert users.verifier("eve", "SCRAM-SHA-256") is None
