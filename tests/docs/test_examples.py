"""examples/: each program runs by itself, on a broker of its own or on the one that is named, and ends well.

examples/demo is run by tests/interop/test_demo.py and tests/spark/test_demo.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onemq.testing import broker

EXAMPLES = Path(__file__).parents[2] / "examples"
LAST_LINES = {
    "orders.py": "The books balance.",
    "reminders.py": "All reminders came, none too early, and the cancelled one did not.",
    "shop.py": "Orders [0, 2] are in the database, and the world was told of exactly these.",
    "request_reply.py": "100 questions, 100 right answers.",
    "exactly_once.py": "30 orders, 5 killed workers, and every order has its points exactly once.",
}


def last_line(name: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ONEMQ_URL"} | variables
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", sorted(LAST_LINES))
def test_it_runs_by_itself(name: str) -> None:
    assert last_line(name) == LAST_LINES[name]


@pytest.mark.parametrize("name", ["orders.py", "request_reply.py"])
def test_it_uses_the_broker_that_is_named_and_disturbs_nobody(name: str) -> None:
    with broker() as running:
        for _ in range(2):
            assert last_line(name, ONEMQ_URL=running.url) == LAST_LINES[name]


def test_every_program_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*LAST_LINES, "here.py"}
