"""Log lines, for people and for machines."""

import json
import logging
import re
import sys
from collections.abc import Iterator

import pytest

from onemq import logging as onemq_logging


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    logging.captureWarnings(False)


def test_a_readable_line_has_time_level_place_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    onemq_logging.configure("readable", "info")
    logging.getLogger("onemq.net.listener").info("%d listen", 3)
    logging.getLogger("onemq.net.listener").debug("not shown")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} info     net\.listener: 3 listen", lines[0])


def test_a_json_line_is_one_object_even_with_line_ends_and_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    onemq_logging.configure("json", "debug")
    try:
        raise ValueError("no\nluck")
    except ValueError:
        logging.getLogger("onemq.x").error("two\nlines", exc_info=sys.exc_info())
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert (found["level"], found["from"], found["text"]) == ("error", "x", "two\nlines")
    assert "ValueError: no\nluck" in found["traceback"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["time"])
