"""How the process asks for memory: large blocks that come and go are kept, and not given back each time.

A fetch moves blocks of several megabytes. By default glibc returns such a block to the system when it is freed and gets
fresh pages for the next one, and clearing these took three times as long as everything else in the fetch.
"""

import ctypes
import sys

KEPT_BYTES = 64 << 20
"""So much free memory is kept at most."""
BLOCK_BYTES = 32 << 20
"""Blocks up to this size are taken from what is kept; the most that glibc allows."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_large_blocks() -> bool:
    """Whether it could be arranged: on Linux with glibc."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(
        mallopt(_M_MMAP_THRESHOLD, BLOCK_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
    )
