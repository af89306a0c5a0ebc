"""A batch for where there is nothing: it tells a client of Kafka at which offset to go on.

A client asks next for what lies behind the last batch that it got. Where all messages of a stretch were deleted, or
are gone because they were not persistent, there is none, and it would ask for the same offset for ever. So it gets what
Kafka's logs have at such places, the mark of a transaction's end: every client passes over it, and none shows it.
"""

from struct import pack

from onemq.log.batch import CONTROL, TRANSACTIONAL
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS

_COMMIT = pack(">hh", 0, 1)
"""The key of such a mark: its version, and its kind."""
_COORDINATOR = pack(">hi", 0, 0)
"""Its body: a version, and an epoch."""


def gap_before(offset: int) -> bytes:
    """A batch that ends right before the offset."""
    builder = BatchBuilder(offset - 1, 0)
    builder.add(0, _COMMIT, _COORDINATOR, NO_HEADERS)
    return builder.seal(TRANSACTIONAL | CONTROL)
