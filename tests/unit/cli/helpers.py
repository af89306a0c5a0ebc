"""The command line in this process: its real entry point, against a broker in this process."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from onemq.cli.main import main
from onemq.testing import Broker


class Shell:
    """Runs `onemq` with arguments and keeps what it printed."""

    def __init__(self, broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker = broker
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("ONEMQ_URL", broker.url)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """(status, standard output, standard error)"""
        self._monkeypatch.setattr(sys, "argv", ["onemq", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
            raise SystemExit(0)
        printed = self._capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    def ok(self, *arguments: str) -> str:
        """What it printed; it must succeed."""
        status, out, err = self.run(*arguments)
        assert (status, err) == (0, ""), (arguments, out, err)
        return out

    def json(self, *arguments: str) -> Any:
        """The document that it printed."""
        return json.loads(self.ok(*arguments, "--json"))

    def lines(self, *arguments: str) -> list[Any]:
        """The documents that it printed, one on each line."""
        return [json.loads(line) for line in self.ok(*arguments, "--json").splitlines()]

    def refused(self, *arguments: str) -> str:
        """The one line on standard error; it must fail with status 1."""
        status, out, err = self.run(*arguments)
        assert (status, out) == (1, ""), (arguments, out, err)
        (line,) = err.splitlines()
        assert line.startswith("onemq: ")
        return line.removeprefix("onemq: ")


@contextmanager
def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> Iterator[None]:
    """Standard input with these bytes."""
    import io

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        yield
