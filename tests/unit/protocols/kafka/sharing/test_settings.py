"""The settings of share groups."""

import pytest

from onemq.core.redelivery import Backoff, Immediate, Ladder
from onemq.core.start import FIRST, LAST, Start
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.sharing.places import group_to_use
from onemq.protocols.kafka.sharing.settings import (
    DEFAULTS,
    DELIVERIES,
    HEARTBEAT,
    ISOLATION,
    LOCK,
    RESET,
    ShareSettings,
    limited,
)
from tests.unit.core.broker import NOW_MS, Broker, in_memory


@pytest.fixture
def broker() -> Broker:
    return in_memory()


@pytest.fixture
def settings(broker: Broker) -> ShareSettings:
    return ShareSettings(broker.core)


def change(broker: Broker, group: str = "g", **changes: str | None) -> None:
    """Names without dots: the words of a setting with underlines."""
    with broker.turn() as core:
        ShareSettings(core).change(group, {name.replace("_", "."): value for name, value in changes.items()})


def test_nothing_set_is_as_in_kafka(settings: ShareSettings) -> None:
    assert (settings.own("g"), settings.all("g")) == ({}, DEFAULTS)
    assert settings.start("g") == LAST
    assert settings.milliseconds("g", HEARTBEAT) == 5_000


def test_what_was_set_holds_for_one_group(broker: Broker, settings: ShareSettings) -> None:
    change(broker, share_auto_offset_reset="earliest", share_record_lock_duration_ms="60000")
    assert settings.own("g") == {RESET: "earliest", LOCK: "60000"}
    assert (settings.start("g"), settings.start("h")) == (FIRST, LAST)
    change(broker, share_auto_offset_reset=None)
    assert settings.own("g") == {LOCK: "60000"}


def test_a_group_may_begin_some_time_ago(broker: Broker, settings: ShareSettings) -> None:
    change(broker, share_auto_offset_reset="by_duration:P1DT2H3M4S")
    assert settings.start("g") == Start("time", NOW_MS - 93_784_000)


def test_new_groups_are_made_with_them(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"old")
    change(broker, share_auto_offset_reset="earliest", share_delivery_count_limit="2")
    with broker.turn() as core:
        group = group_to_use(core, topic, "g")
    assert group is not None
    assert (group.lag, group.policy, group.config.lease_ms) == (1, Immediate(2), 30_000)


def test_groups_that_are_there_are_changed_where_something_is_set(broker: Broker) -> None:
    broker.topic()
    group = broker.group(policy=Ladder((5,)))
    change(broker, share_record_lock_duration_ms="7000")
    assert (group.config.lease_ms, group.policy) == (7_000, Ladder((5,)))
    change(broker, share_delivery_count_limit="3")
    assert (group.config.lease_ms, group.policy) == (7_000, Ladder((5, 5)))
    change(broker, share_delivery_count_limit=None)
    assert (group.config.lease_ms, group.policy) == (7_000, Immediate(5))


def test_a_group_that_is_deleted_leaves_its_settings(broker: Broker, settings: ShareSettings) -> None:
    change(broker, share_auto_offset_reset="earliest")
    with broker.turn():
        settings.reserve("g")
        settings.reserve("h")
    assert (settings.names(), settings.own("g")) == (["g", "h"], {RESET: "earliest"})
    with broker.turn():
        settings.forget("g")
        settings.forget("h")
    assert (settings.names(), settings.own("g")) == ([], {RESET: "earliest"})
    assert broker.core.profiles.names() == ["g"]


def test_trying_changes_nothing(broker: Broker, settings: ShareSettings) -> None:
    with broker.turn():
        settings.change("g", {RESET: "earliest"}, dry=True)
    assert settings.own("g") == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (RESET, "first"), (RESET, "by_duration:"), (RESET, "by_duration:P"), (RESET, "by_duration:1h"), (LOCK, "0"),
        (LOCK, "-1"), (LOCK, "x"), (LOCK, "9" * 30), (DELIVERIES, "0"), (HEARTBEAT, ""), (ISOLATION, "serializable"),
        ("share.unknown", "1"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(settings: ShareSettings, name: str, value: str) -> None:
    with pytest.raises(Refused) as refused:
        settings.change("g", {name: value})
    assert refused.value.error == ErrorCode.INVALID_CONFIG


def test_a_limit_of_deliveries_keeps_the_waiting_times() -> None:
    assert limited(["ladder", [1, 2, 3]], 3) == Ladder((1, 2)).to_entry()
    assert limited(["ladder", [1, 2]], 5) == Ladder((1, 2, 2, 2)).to_entry()
    assert limited(Backoff().to_entry(), 3) == Backoff(max_redeliveries=2).to_entry()
    assert limited(["immediate", None], 4) == Immediate(4).to_entry()
