"""What a protocol keeps about groups by their name."""

import pytest

from onemq.errors import InvalidArgument, TooLarge
from tests.unit.core.broker import Broker, simulated


def test_what_is_kept_survives_a_restart() -> None:
    broker = simulated()
    with broker.turn() as core:
        core.profiles.set("g", {"a": "1"})
        core.profiles.set("h", {"b": "2"})
    for how in ("kill", "stop"):
        broker.restart(how)
        assert {name: broker.core.profiles.get(name) for name in "ghi"} == {"g": {"a": "1"}, "h": {"b": "2"}, "i": {}}


def test_setting_it_again_costs_nothing(broker: Broker) -> None:
    with broker.turn() as core:
        core.profiles.set("g", {"a": "1"})
    with broker.turn() as core:
        core.profiles.set("g", {"a": "1"})
        assert core.stage.entries == []


def test_an_empty_profile_is_forgotten(broker: Broker) -> None:
    with broker.turn() as core:
        core.profiles.set("g", {"a": "1"})
        core.profiles.set("g", {})
    assert broker.core.profiles.names() == []


def test_there_is_a_limit_to_each_and_to_all(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.core.profiles.PROFILES_MAX", 1)
    with broker.turn() as core:
        with pytest.raises(InvalidArgument):
            core.profiles.set("g", {"a": "x" * 5_000})
        core.profiles.set("g", {"a": "1"})
        core.profiles.set("g", {"a": "2"})
        with pytest.raises(TooLarge):
            core.profiles.set("h", {"a": "1"})
