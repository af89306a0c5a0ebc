"""XACK of many ids at once, in whatever form they come."""

from random import Random

import pytest

from tests.unit.protocols.resp.fakes import Client, make_service

GIANT = "9" * 5000


@pytest.fixture
def client() -> Client:
    made = Client(make_service())
    made.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    return made


def read(client: Client, count: int) -> list[str]:
    """The ids of so many new entries, which are pending then."""
    for _ in range(count):
        client.ask("XADD", "s", "*", "f", "v")
    found = client.ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    return [id.decode() for id, _ in found[0][1]]


def pending(client: Client) -> int:
    return int(client.ask("XPENDING", "s", "g")[0])


@pytest.mark.parametrize("at", [0, 5, 95, 995])
def test_a_row_of_ids_is_acknowledged_whatever_its_numbers_have_for_digits(client: Client, at: int) -> None:
    before = read(client, at) if at else []
    ids = read(client, 10)
    assert client.ask("XACK", "s", "g", *ids) == 10
    assert client.ask("XACK", "s", "g", *ids) == 0
    assert pending(client) == len(before)


def test_ids_that_only_look_like_a_row_are_looked_at_one_by_one(client: Client) -> None:
    ids = read(client, 6)
    assert client.ask("XACK", "s", "g", ids[0], ids[3], ids[1], ids[3]) == 3
    assert client.ask("XACK", "s", "g", *ids) == 3
    assert pending(client) == 0


def test_a_row_of_another_time_is_nobodys(client: Client) -> None:
    ids = [id.replace("-", "0-") for id in read(client, 4)]
    assert client.ask("XACK", "s", "g", *ids) == 0
    assert pending(client) == 4


def test_a_row_over_several_deliveries(client: Client) -> None:
    ids = read(client, 3) + read(client, 3)
    assert client.ask("XACK", "s", "g", *ids) == 6


@pytest.mark.parametrize(
    "ids", [[f"1-{GIANT}"], [f"1-{GIANT}", f"1-{GIANT}"], [f"1-{GIANT}", *["1-1"] * 500], [f"{GIANT}-1", f"{GIANT}-2"]]
)
def test_a_giant_number_is_no_id(client: Client, ids: list[str]) -> None:
    read(client, 1)
    refused = client.ask("XACK", "s", "g", *ids)
    assert str(refused) == "ERR Invalid stream ID specified as stream command argument"


def test_random_parts_are_acknowledged_once(client: Client) -> None:
    draw, left = Random(3), read(client, 300)
    while left:
        first = draw.randrange(len(left))
        some = left[first : first + draw.choice([1, 2, 20])]
        again = [some[0]] if draw.random() < 0.3 else []
        assert client.ask("XACK", "s", "g", *some, *again) == len(some)
        left = [id for id in left if id not in some]
    assert pending(client) == 0


@pytest.mark.parametrize("written", ["0-{}", "0-0{}", "00-+{}"])
def test_ids_of_their_own_are_known_however_they_are_written(client: Client, written: str) -> None:
    for number in (3, 4, 5, 70, 800):
        client.ask("XADD", "s", f"0-{number}", "f", "v")
    client.ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    assert client.ask("XACK", "s", "g", *map(written.format, (2, 3, 6))) == 1
    for number in (4, 5, 70, 800):
        assert [client.ask("XACK", "s", "g", written.format(number)) for _ in range(2)] == [1, 0]
    assert pending(client) == 0
