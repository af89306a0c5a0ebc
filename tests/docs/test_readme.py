"""The examples in the README do what it says."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_python_example_prints_what_the_readme_shows() -> None:
    example, printed = re.findall(r"```python\n(.*?)```.*?It prints:\n\n```\n(.*?)```", README, re.DOTALL)[0]
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == ""
    assert result.stdout == printed


def test_the_two_commands_stand_on_lines_of_their_own() -> None:
    lines = README.splitlines()
    assert "make demo" in lines
    assert "make test" in lines


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_demo_tells_its_story_and_succeeds() -> None:
    result = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "Every order is accounted for" in result.stdout
