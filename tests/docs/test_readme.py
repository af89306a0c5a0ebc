"""The examples in the README do what it says. Those for redis-cli are run by test_resp_page.py."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from onemq.testing import broker

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ADDRESS = "onemq://localhost:6379"
COMMANDS = re.findall(
    r"^\$ \.venv/bin/onemq (.*)\n((?:(?!\$ ).*\n)*)",
    "".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL)),
    re.MULTILINE,
)
"""Each call of the command line, and what it prints."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}")


def run(*command: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=os.environ | variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alike(shown: str, printed: str) -> bool:
    """Three dots stand for any lines; times differ."""
    return printed == "...\n" or _TIME.sub("(time)", shown) == _TIME.sub("(time)", printed)


def test_the_five_minutes_print_what_the_readme_shows(tmp_path: Path) -> None:
    ((example, printed),) = re.findall(r"```python\n(.*?)```.*?It prints:\n\n```\n(.*?)```", README, re.DOTALL)
    data = tmp_path / "onemq-data"
    assert len(COMMANDS) > 3
    with broker(data) as running:
        assert run("-c", example.replace(ADDRESS, running.url)) == printed
        for command, expected in COMMANDS:
            words = shlex.split(command.replace("onemq-data", str(data)))
            shown = run("-m", "onemq", *words, ONEMQ_URL=running.url)
            assert alike(shown, expected), f"{command}\n{shown}"


def test_the_two_commands_stand_on_lines_of_their_own() -> None:
    lines = README.splitlines()
    assert "make demo" in lines
    assert "make test" in lines


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
