"""Addresses of brokers."""

import pytest

from onemq.client.address import Address, parse_address
from onemq.errors import InvalidArgument


def test_everything_can_be_named() -> None:
    found = parse_address("onemq://ann:p%40ss@example.org:7000?name=shop&connect_timeout=2s")
    assert found == Address("example.org", 7000, "ann", "p@ss", "shop", 2_000)


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("onemq://localhost", "localhost", 6379),
        ("localhost:7000", "localhost", 7000),
        ("onemq://[::1]:7000", "::1", 7000),
        ("onemq://host/", "host", 6379),
    ],
)
def test_what_is_left_out_is_usual(url: str, host: str, port: int) -> None:
    assert parse_address(url) == Address(host, port)


@pytest.mark.parametrize(
    "url", ["redis://localhost", "onemq://host:port", "onemq://host?color=red", "onemq://host/1",
            "onemq://host?connect_timeout=soon"]
)  # fmt: skip
def test_what_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(url)


def test_an_address_is_shown_without_its_password() -> None:
    assert str(parse_address("onemq://ann:secret@host:1")) == "onemq://host:1"
    assert str(parse_address("onemq://[::1]:1")) == "onemq://[::1]:1"
