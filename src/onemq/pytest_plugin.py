"""The fixture that pytest finds by itself. Nothing of OneMQ is loaded before a test asks for it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from onemq.testing import Broker


@pytest.fixture
def onemq_broker() -> "Iterator[Broker]":
    """A fresh broker in memory, for this test alone: `.url`, `.port`, `.advance("1h")`."""
    from onemq.testing import broker

    with broker() as running:
        yield running
