"""Where a message is that was sent."""

from typing import ClassVar, NamedTuple

TIMER = -1
"""Stands for the partition of a message that is scheduled and has no place yet: its offset is that of its timer."""
HALF = -2
"""Stands for the partition of a half message: its offset is the one that it has until its transaction ends."""


class _Place(NamedTuple):
    partition: int
    offset: int


class Placed(_Place):
    """(partition, offset) of a message; the partition may be `TIMER` or `HALF`."""

    __slots__ = ()
    duplicate: ClassVar[bool] = False
    """Whether it had been sent before, and this is where it is since then."""


class Duplicate(Placed):
    """The place of a message that had been sent before."""

    __slots__ = ()
    duplicate: ClassVar[bool] = True
