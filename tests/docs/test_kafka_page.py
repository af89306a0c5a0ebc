"""docs/protocols/kafka.md says what OneMQ does: its table is compared with the code, its examples are run."""

import subprocess
import sys
from pathlib import Path

import pytest

from onemq.limits import KAFKA_PARKED_BYTES_MAX, KAFKA_PRODUCE_BYTES_MAX, KAFKA_REQUEST_BYTES_MAX, MIB
from tests.docs.kafka_page import PAGE, api_table, examples, settings_table, written_settings, written_table
from tests.process import Serve

TEXT = PAGE.read_text()
DEFAULT_ADDRESS = "127.0.0.1:9092"


def test_the_table_is_that_of_the_code() -> None:
    assert written_table(TEXT) == api_table(), "python -m tests.docs.kafka_page writes it anew"


def test_the_table_of_settings_is_that_of_the_code() -> None:
    assert written_settings(TEXT) == settings_table(), "python -m tests.docs.kafka_page writes it anew"


def test_the_limits_are_those_of_the_code() -> None:
    produce, request, parked = (
        each // MIB for each in (KAFKA_PRODUCE_BYTES_MAX, KAFKA_REQUEST_BYTES_MAX, KAFKA_PARKED_BYTES_MAX)
    )
    words = " ".join(TEXT.split())
    assert f"A Produce request has at most {produce} MiB, as in Kafka, and any other request {request} MiB" in words
    assert f"is read up to {parked} MiB ahead" in words


@pytest.mark.parametrize(("code", "printed"), examples(TEXT))
def test_an_example_prints_what_the_page_says(code: str, printed: str, tmp_path: Path) -> None:
    with Serve(tmp_path / "data", kafka=True) as broker:
        broker.wait_until_serving()
        program = code.replace(DEFAULT_ADDRESS, f"127.0.0.1:{broker.kafka_port}")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == printed
