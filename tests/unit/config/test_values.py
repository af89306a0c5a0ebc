"""Values as people write them."""

import pytest

from onemq.config import Address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:6379", "127.0.0.1", 6379),
        ("localhost:0", "localhost", 0),
        ("[::1]:6379", "::1", 6379),
        ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535),
        ("*:6379", "", 6379),
        (":6379", "", 6379),
    ],
)
def test_an_address_has_a_host_and_a_port(text: str, host: str, port: int) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, text)


@pytest.mark.parametrize("text", ["", "6379", "host", "host:", "host:x", "host:65536", "::1:6379", "a b:1", "[::1]", 5])
def test_what_is_no_address_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="address"):
        Address.parse(text)
