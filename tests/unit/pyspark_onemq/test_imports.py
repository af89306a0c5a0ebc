"""What Spark's Python processes have to import."""

import subprocess
import sys

_SHOW = "import sys, pyspark_onemq; print(sorted({'numpy', 'pandas', 'pyarrow'} & sys.modules.keys()))"


def test_the_drivers_processes_import_neither_arrow_nor_pandas() -> None:
    """Spark starts four or five for a query, and each would take two seconds longer."""
    assert subprocess.check_output([sys.executable, "-c", _SHOW], text=True) == "[]\n"
