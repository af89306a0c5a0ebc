"""Pages with a batch that cannot be decoded."""

import logging
from struct import pack

import pytest

from onemq.log.batch import read_header
from pyspark_onemq.loss import DataLoss, Losses
from pyspark_onemq.planning import Range
from pyspark_onemq.reading import Page, decoded
from tests.unit.core.test_unreadable_batches import every_kind
from tests.unit.pyspark_onemq.test_decoding import SCHEMA, TIME_MS, sealed


def page_with(bad: bytes) -> Page:
    """That batch between good ones."""
    end = 2 + read_header(bad).next_offset
    before = sealed([(0, TIME_MS, None, b"a", ()), (1, TIME_MS, None, b"b", ())])
    after = sealed([(end, TIME_MS, None, b"c", ()), (end + 1, TIME_MS, None, b"d", ())])
    return Range("orders", 5, 3, 0, end + 2), 0, end + 2, before + pack(">q", 2) + bad[8:] + after


@every_kind
def test_it_is_an_error_that_names_the_offsets(bad: bytes) -> None:
    with pytest.raises(DataLoss, match=r"the messages of orders/3 with offsets 2 to \d+ cannot be decoded"):
        list(decoded(page_with(bad), SCHEMA, Losses(fail=True)))


@every_kind
def test_who_goes_on_gets_everything_else(bad: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "pyspark_onemq"):
        found = list(decoded(page_with(bad), SCHEMA, Losses(fail=False)))
    assert [body for rows in found for body in rows.column("value").to_pylist()] == [b"a", b"b", b"c", b"d"]
    assert "cannot be decoded" in caplog.text
