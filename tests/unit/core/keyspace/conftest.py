"""A keyspace at a known time, and what it staged."""

from typing import Any

import pytest

from onemq.core.keyspace import Keyspace

NOW_MS = 1_000_000


@pytest.fixture
def staged() -> list[tuple[Any, ...]]:
    return []


@pytest.fixture
def keys(staged: list[tuple[Any, ...]]) -> Keyspace:
    keyspace = Keyspace(staged)
    keyspace.tick(NOW_MS)
    return keyspace


@pytest.fixture
def pushed(keys: Keyspace) -> list[bytes]:
    """The keys that `on_push` was called with."""
    pushed: list[bytes] = []
    keys.on_push = pushed.append
    return pushed
