"""docs/cli.md: its examples are run in their order, and print what stands there."""

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import redis

from onemq.cli.main import app
from onemq.testing import Broker, Clock, broker
from tests.unit.cli.helpers import Shell, typed

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
BLOCKS = "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
EXAMPLES = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", BLOCKS, re.MULTILINE)
"""Each command, and what it prints."""


@pytest.fixture
def eight_o_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """A broker whose clock stands still, and a machine in the zone of the examples."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    with broker(clock=Clock(datetime(2026, 11, 16, 8), frozen=True)) as running:
        yield running
    monkeypatch.undo()
    time.tzset()


def pattern(printed: str) -> str:
    """A line of three dots stands for any lines."""
    return "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in printed.splitlines())


def test_the_examples_print_what_the_page_shows(
    eight_o_clock: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(eight_o_clock, capsys, monkeypatch)
    assert len(EXAMPLES) > 20
    with redis.Redis(port=eight_o_clock.port) as client:
        for command, printed in EXAMPLES:
            if command.startswith("redis-cli"):
                client.execute_command(*shlex.split(command)[1:])
                continue
            before, _, after = command.rpartition("| ")
            given = subprocess.run(["sh", "-c", before], capture_output=True, check=True).stdout if before else b""
            with typed(monkeypatch, given):
                shown = shell.ok(*shlex.split(after)[1:])
            assert re.fullmatch(pattern(printed), shown), f"{command}\n{shown}"


def test_the_page_knows_every_command() -> None:
    import typer

    names = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert {name for name in names if f"onemq {name}" not in PAGE} <= {"log", "version", "trace"}


def test_a_program_reads_json() -> None:
    with broker() as running:
        command = [sys.executable, "-m", "onemq", "topic", "list", "--json", "--url", running.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
