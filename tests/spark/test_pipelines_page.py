"""docs/pipelines.md: its examples do what it says, on one broker and one Spark session."""

from pathlib import Path

import pytest

from onemq.testing import broker
from tests.docs.pipelines_page import Page


def call(words: list[str]) -> None:
    """`onemq` in this process."""
    from onemq.cli.main import app

    app(words, standalone_mode=False)


def test_the_examples_do_what_the_page_says(spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with broker() as running:
        monkeypatch.setenv("ONEMQ_URL", running.url)
        Page(running.url.removeprefix("onemq://"), tmp_path, call).run()
