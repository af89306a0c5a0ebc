"""What happens when messages that a query has still to read are gone: an error, or a report of the gap.

`failOnDataLoss` decides. The report is a warning of the logger `pyspark_onemq`, in the log of the driver or executor.
"""

import logging

from onemq.errors import OneMQError
from pyspark_onemq.catalog import Extent

logger = logging.getLogger("pyspark_onemq")
_CHOICE = (
    "start the query anew with another checkpointLocation (and startingOffsets), or set failOnDataLoss=false to go on "
    "with what is there"
)


class DataLoss(OneMQError):
    """Messages are gone before they were read."""

    code = "data-loss"


class Losses:
    """The rule of one query, or of one task of it; reports a gap once."""

    def __init__(self, fail: bool) -> None:
        self._fail = fail
        self._told: set[str] = set()

    def topic_made_again(self, topic: str, old_id: int, new_id: int) -> None:
        self._report(
            f"the topic {topic!r} was deleted and made again since this query last read it (its id was {old_id} and is "
            f"{new_id} now)", "reading goes on with the first message of the new one",
        )  # fmt: skip

    def topic_gone(self, topic: str) -> None:
        self._report(
            f"the topic {topic!r} was deleted, perhaps with messages that this query had still to read",
            "it is left out",
        )

    def first_readable(self, extent: Extent, wanted: int) -> int:
        """Where to go on in a partition that was read up to `wanted`."""
        where = f"{extent.topic}/{extent.number}"
        if wanted < extent.start:
            count = extent.start - wanted
            self._report(
                f"{count} messages of {where} (offsets {wanted} to {extent.start - 1}) were removed, by retention or "
                "by hand, before this query read them", f"reading goes on at offset {extent.start}",
            )  # fmt: skip
            return extent.start
        if wanted > extent.end:
            self._report(
                f"{where} ends at offset {extent.end}, but this query is to go on at {wanted}",
                f"reading goes on at offset {extent.end}",
            )
            return extent.end
        return wanted

    def unreadable(self, where: str, first: int, end: int, problem: Exception) -> None:
        self._report(
            f"the messages of {where} with offsets {first} to {end - 1} cannot be decoded, since their producer made "
            f"the batch wrong ({problem})", f"reading goes on at offset {end}",
        )  # fmt: skip

    def end_missing(self, extent: Extent, wanted: int) -> None:
        self._report(
            f"{extent.topic}/{extent.number} ends at offset {extent.end}, but messages up to {wanted} were there when "
            "this batch was planned", "the batch ends there",
        )  # fmt: skip

    def _report(self, what: str, consequence: str) -> None:
        if self._fail:
            raise DataLoss(f"{what}: {_CHOICE}")
        if what in self._told:
            return
        self._told.add(what)
        logger.warning("gap: %s; failOnDataLoss is false: %s", what, consequence)
