"""A shell for each test, with a broker of its own."""

import pytest

from onemq.testing import Broker
from tests.unit.cli.helpers import Shell


@pytest.fixture
def shell(
    onemq_broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    return Shell(onemq_broker, capsys, monkeypatch)
