"""Random commands against the model, and what their entries and snapshots bring back."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from onemq.core.keyspace import Keyspace
from onemq.errors import OneMQError
from tests.unit.core.keyspace.commands import KEYS, Command, drawn, random_commands, run
from tests.unit.core.keyspace.model import Model

NOW_MS = 1000


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What the call returns, or the class of the error that it raises."""
    try:
        return call(*args)
    except OneMQError as error:
        return type(error)


def new_keyspace(staged: list[tuple[Any, ...]] | None = None) -> Keyspace:
    keyspace = Keyspace([] if staged is None else staged)
    keyspace.tick(NOW_MS)
    return keyspace


def logged(staged: list[tuple[Any, ...]]) -> list[Any]:
    """The entries as they come back from the log."""
    decoded: list[Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(staged))
    return decoded


def replayed(staged: list[tuple[Any, ...]]) -> Keyspace:
    """A keyspace made from entries as they come from the log, at another time."""
    keyspace = Keyspace([])
    keyspace.tick(10 * NOW_MS)
    appliers = keyspace.appliers()
    for entry in logged(staged):
        appliers[entry[0]](entry)
    return keyspace


def contents(keyspace: Keyspace) -> dict[str, Any]:
    """What a snapshot holds, without the numbers that go on counting."""
    snapshot = keyspace.dump()
    assert isinstance(snapshot, dict)
    del snapshot["next_number"]
    return snapshot


def assert_answers_like_the_model(commands: list[Command]) -> None:
    staged: list[tuple[Any, ...]] = []
    keyspace = new_keyspace(staged)
    model = Model(NOW_MS)
    for name, args in commands:
        expected = outcome(model.run, name, *copy.deepcopy(args))
        assert outcome(run, keyspace, (name, args)) == expected, (name, args)
    model.purge()
    assert sorted(keyspace.matching(b"*")) == model.keys()
    assert keyspace.count() == len(model.values)
    for key in KEYS:
        assert keyspace.expiry(key) == model.expiry(key)
        assert keyspace.type_of(key) == model.type_of(key)
    assert replayed(staged).dump() == keyspace.dump()


@settings(max_examples=50, deadline=None)
@given(random_commands)
def test_every_command_answers_like_the_model(commands: list[Command]) -> None:
    assert_answers_like_the_model(commands)


@pytest.mark.parametrize("seed", range(10))
def test_long_runs_answer_like_the_model_and_replay_to_the_same(seed: int) -> None:
    draw = Random(seed)
    assert_answers_like_the_model([drawn(draw) for _ in range(5_000)])


@settings(max_examples=50, deadline=None)
@given(random_commands)
def test_replaying_the_entries_leads_to_the_same_keyspace(commands: list[Command]) -> None:
    """Entries are taken at the end of a turn, which may have any number of commands: nothing may change them then."""
    staged: list[tuple[Any, ...]] = []
    taken: list[tuple[tuple[Any, ...], bytes]] = []
    keyspace = new_keyspace(staged)
    for number, command in enumerate(commands):
        outcome(run, keyspace, command)
        if number % 3 == 0:
            taken += [(entry, msgspec.msgpack.encode(entry)) for entry in staged]
            staged.clear()
    entries = [entry for entry, _ in taken] + staged
    assert replayed(entries).dump() == keyspace.dump()
    assert all(msgspec.msgpack.encode(entry) == encoded for entry, encoded in taken)


@settings(max_examples=50, deadline=None)
@given(random_commands, random_commands)
def test_a_snapshot_and_the_entries_after_it_lead_to_the_same_keyspace(
    before: list[Command], after: list[Command]
) -> None:
    staged: list[tuple[Any, ...]] = []
    keyspace = new_keyspace(staged)
    for command in before:
        outcome(run, keyspace, command)
    snapshot = msgspec.msgpack.decode(msgspec.msgpack.encode(keyspace.dump()))
    loaded = new_keyspace()
    loaded.load(snapshot)
    assert contents(loaded) == contents(keyspace)
    staged.clear()
    for command in after:
        outcome(run, keyspace, command)
    appliers = loaded.appliers()
    for entry in logged(staged):
        appliers[entry[0]](entry)
    assert contents(loaded) == contents(keyspace)


@settings(max_examples=50, deadline=None)
@given(random_commands)
def test_a_change_that_can_be_seen_changes_the_version(commands: list[Command]) -> None:
    keyspace, model = new_keyspace(), Model(NOW_MS)
    versions = {key: keyspace.watch(key) for key in KEYS}
    seen: dict[bytes, Any] = {}
    for name, args in commands:
        outcome(model.run, name, *copy.deepcopy(args))
        outcome(run, keyspace, (name, args))
        model.purge()
        now = {key: copy.deepcopy((model.values[key], model.expiries.get(key))) for key in model.values}
        for key in KEYS:
            version = keyspace.version(key)
            assert version != versions[key] or now.get(key) == seen.get(key), (name, args)
            versions[key] = version
        seen = now


@settings(max_examples=50, deadline=None)
@given(random_commands)
def test_waiters_hear_of_every_list_and_sorted_set_that_comes_to_be(commands: list[Command]) -> None:
    keyspace = new_keyspace()
    pushed: list[bytes] = []
    keyspace.on_push = pushed.append
    for command in commands:
        before = {key: keyspace.type_of(key) for key in KEYS}
        pushed.clear()
        outcome(run, keyspace, command)
        for key in KEYS:
            kind = keyspace.type_of(key)
            if kind in ("list", "zset") and kind != before[key] and command[0] not in ("pass_time", "tick"):
                assert key in pushed, command
