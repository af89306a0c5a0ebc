"""The settings of share groups, shown and changed by administrators."""

from typing import Any

import pytest

from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas import alter_configs as plain
from onemq.protocols.kafka.schemas import incremental_alter_configs as incremental
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from onemq.protocols.kafka.sharing.configs import GROUP
from onemq.protocols.kafka.sharing.settings import DEFAULTS, DELIVERIES, LOCK, RESET
from tests.unit.protocols.kafka.fakes import Client

SET, DELETE, APPEND = 0, 1, 2


@pytest.fixture
def client() -> Client:
    return Client()


def change(client: Client, *changes: tuple[str, int, str | None], name: str = "g", dry: bool = False) -> int:
    rows = [incremental.AlterableConfig(*each) for each in changes]
    resource = incremental.AlterConfigsResource(GROUP, name, rows)
    (answer,) = client.ask(incremental.IncrementalAlterConfigsRequest([resource], dry)).responses
    return int(answer.error_code)


def shown(client: Client, names: list[str] | None = None, name: str = "g") -> Any:
    (result,) = client.ask(DescribeConfigsRequest([DescribeConfigsResource(GROUP, name, names)], True)).results
    return result


def test_everything_is_shown_with_where_it_comes_from(client: Client) -> None:
    assert change(client, (RESET, SET, "earliest")) == ErrorCode.NONE
    rows = {row.name: row for row in shown(client).configs}
    assert {name: row.value for name, row in rows.items()} == DEFAULTS | {RESET: "earliest"}
    assert (rows[RESET].config_source, rows[LOCK].config_source) == (8, 5)
    assert [each.value for each in rows[RESET].synonyms] == ["earliest", "latest"]
    assert [row.name for row in shown(client, [LOCK]).configs] == [LOCK]


def test_single_settings_are_set_and_deleted(client: Client) -> None:
    change(client, (RESET, SET, "earliest"), (LOCK, SET, "1000"))
    assert change(client, (RESET, DELETE, None)) == ErrorCode.NONE
    assert client.service.sharing.settings.own("g") == {LOCK: "1000"}


def test_all_settings_are_replaced(client: Client) -> None:
    change(client, (RESET, SET, "earliest"), (LOCK, SET, "1000"))
    resource = plain.AlterConfigsResource(GROUP, "g", [plain.AlterableConfig(DELIVERIES, "3")])
    (answer,) = client.ask(plain.AlterConfigsRequest([resource])).responses
    assert (answer.error_code, client.service.sharing.settings.own("g")) == (0, {DELIVERIES: "3"})


def test_trying_changes_nothing(client: Client) -> None:
    assert change(client, (RESET, SET, "earliest"), dry=True) == ErrorCode.NONE
    assert client.service.sharing.settings.own("g") == {}


@pytest.mark.parametrize(
    ("changes", "name", "code"),
    [
        ([(RESET, SET, "soon")], "g", "INVALID_CONFIG"),
        ([("no.such", SET, "1")], "g", "INVALID_CONFIG"),
        ([(RESET, APPEND, "latest")], "g", "INVALID_CONFIG"),
        ([(RESET, SET, None)], "g", "INVALID_REQUEST"),
        ([(RESET, SET, "latest"), (RESET, SET, "latest")], "g", "INVALID_REQUEST"),
        ([(RESET, SET, "latest")], "", "INVALID_REQUEST"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, changes: Any, name: str, code: str) -> None:
    assert change(client, *changes, name=name) == ErrorCode[code]
