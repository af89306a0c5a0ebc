"""docs/guide: the examples of each page are run.

All Python blocks of a page are one program. If it defines tests, pytest runs them; else it must end well, and print
what the blocks marked `output` show, if there are any. A broker of its own stands at the address of the examples.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from onemq.testing import broker

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
ADDRESS = "onemq://localhost:6379"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", sorted(path.name for path in GUIDE.glob("*.md")))
def test_the_examples_do_what_the_page_says(name: str, tmp_path: Path) -> None:
    page = (GUIDE / name).read_text()
    program, printed = tmp_path / "test_page.py", "".join(blocks(page, "output"))
    with broker() as running:
        program.write_text("\n".join(blocks(page, "python")).replace(ADDRESS, running.url))
        is_test = "def test_" in program.read_text()
        pytest_or_not = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []
        command = [sys.executable, *pytest_or_not, str(program)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert is_test or not printed or done.stdout == printed


def anchors(page: Path) -> set[str]:
    """What its headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", sorted(path.name for path in GUIDE.glob("*.md")))
def test_every_link_leads_somewhere(name: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", (GUIDE / name).read_text()):
        page = GUIDE / (target or name)
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"
