"""What is said when messages are gone before they were read."""

import logging

import pytest

from pyspark_onemq.catalog import Extent
from pyspark_onemq.loss import DataLoss, Losses

EXTENT = Extent("orders", 7, 0, 10, 20)


def test_a_loss_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(DataLoss, match=r"6 messages of orders/0 \(offsets 4 to 9\) .* set failOnDataLoss=false"):
        Losses(True).first_readable(EXTENT, 4)
    with pytest.raises(DataLoss, match="ends at offset 20, but this query is to go on at 30"):
        Losses(True).first_readable(EXTENT, 30)
    assert Losses(True).first_readable(EXTENT, 15) == 15


def test_or_it_is_reported_once_and_reading_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses(False)
    with caplog.at_level(logging.WARNING, "pyspark_onemq"):
        assert [losses.first_readable(EXTENT, offset) for offset in (4, 4, 30)] == [10, 10, 20]
        losses.topic_gone("orders")
    first, second, third = caplog.messages
    assert first == (
        "gap: 6 messages of orders/0 (offsets 4 to 9) were removed, by retention or by hand, before this query read "
        "them; failOnDataLoss is false: reading goes on at offset 10"
    )
    assert "go on at 30" in second
    assert "it is left out" in third
