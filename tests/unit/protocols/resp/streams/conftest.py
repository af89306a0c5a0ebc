"""For the tests of stream commands."""

from typing import Any

import pytest

from onemq.core.partition import Partition
from onemq.core.reading import Reading


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From where batches were read."""
    offsets: list[int] = []
    batches = Reading.batches

    def counted(reading: Reading, partition: Partition, offset: int, *more: Any) -> None:
        offsets.append(offset)
        batches(reading, partition, offset, *more)

    monkeypatch.setattr(Reading, "batches", counted)
    return offsets
