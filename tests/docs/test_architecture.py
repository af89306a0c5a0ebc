"""docs/architecture.md: its example does what it says, and it names what is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "architecture.md").read_text()
SOURCE = DOCS.parent / "src" / "onemq"


def test_the_core_by_itself_prints_what_the_page_shows() -> None:
    ((example, printed),) = re.findall(r"```python\n(.*?)```.*?It prints:\n\n```\n(.*?)```", PAGE, re.DOTALL)
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == ""
    assert result.stdout == printed


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:client|cli|core|log|net)/[a-z_/]+\.py)`", PAGE))))
def test_every_module_that_it_names_is_there(name: str) -> None:
    assert (SOURCE / name).exists()
