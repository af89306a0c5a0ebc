"""docs/protocols/mq.md says what OneMQ does: its examples are run, its reference is that of the code."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onemq.protocols.resp.mq.help import FACTS
from tests.docs.mq_page import OPTIONS, PAGE, reference
from tests.docs.resp_page import Example, alike, blocks, serve, steps
from tests.needs import needs_redis_cli
from tests.process import Serve

TEXT = PAGE.read_text()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with serve(tmp_path_factory.mktemp("page"), TEXT) as serving:
        serving.wait_until_serving()
        yield serving


@needs_redis_cli
def test_redis_cli_shows_what_the_page_shows(broker: Serve) -> None:
    example = Example(broker.port, *OPTIONS)
    for block in blocks("redis", TEXT):
        assert _ageless(example.replayed(block)) == _ageless(block)


def _ageless(text: str) -> str:
    return re.sub(r'("idle"|"bytes") => \(integer\) \d+', r"\1 => some", alike(text))


@pytest.mark.parametrize("example", blocks("python", TEXT))
def test_the_python_examples_run(broker: Serve, example: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(example.replace("6379", str(broker.port)))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_reference_is_that_of_the_code() -> None:
    written = re.search(r"<!-- reference -->\n(.*?)<!-- /reference -->", TEXT, re.DOTALL)
    assert written is not None
    assert written[1] == reference(), "run: python -m tests.docs.mq_page"


def test_every_command_has_an_example() -> None:
    typed = [command.upper() for block in blocks("redis", TEXT) for _, command, _ in steps(block)]
    typed += re.findall(r'"(MQ\.[A-Z]+)"', "".join(blocks("python", TEXT)))
    for name in FACTS:
        assert any(command.startswith(f"MQ.{name.upper()}") for command in typed), name
