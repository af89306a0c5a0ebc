"""Large blocks of memory are kept."""

import platform
import subprocess
import sys

import pytest

_FRESH_PAGES = """
import resource
from onemq.memory import keep_large_blocks

assert keep_large_blocks()
block = bytes(8 << 20)
del block
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    block = bytearray(b"x") * (8 << 20)
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this is for glibc")
def test_blocks_that_come_and_go_need_no_fresh_pages() -> None:
    done = subprocess.run([sys.executable, "-c", _FRESH_PAGES], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3 * (8 << 20) // 4096
