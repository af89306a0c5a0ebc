"""Inclusive index ranges that may count from the end, as list and sorted set commands take them."""


def clip(start: int, stop: int, length: int) -> tuple[int, int]:
    """The half-open range `first, end` inside 0..length; `first == end` when nothing is in it.

    -1 is the last index, -2 the one before it. What reaches outside is cut off.
    """
    if start < 0:
        start = max(start + length, 0)
    if stop < 0:
        stop += length
    end = min(stop + 1, length)
    return (start, end) if start < end else (0, 0)
