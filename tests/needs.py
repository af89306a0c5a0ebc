"""System programs that tests need, and scripts/system-packages installs.

Where one is missing, its tests are skipped and say so at the end. With ONEMQ_NEEDS_ALL=1, which .ci/run sets, they are
errors: nobody reads there what was skipped.
"""

import os
import shutil

import pytest


def needs(obstacle: str) -> pytest.MarkDecorator:
    """The mark of tests that cannot run because of an obstacle, if it is not empty."""
    if obstacle and os.environ.get("ONEMQ_NEEDS_ALL") == "1":
        pytest.fail(f"{obstacle} (ONEMQ_NEEDS_ALL=1)", pytrace=False)
    return pytest.mark.skipif(bool(obstacle), reason=obstacle)


needs_redis_cli = needs("" if shutil.which("redis-cli") else "redis-cli is missing: apt-get install redis-tools")
