"""examples/demo with Spark and few orders: what Spark finds is what the books say."""

import json
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo"


def test_spark_and_the_books_agree_that_every_order_is_accounted_for(tmp_path: Path) -> None:
    """F10."""
    command = [sys.executable, str(DEMO), "--orders", "1000", "--folder", str(tmp_path / "results")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every order is accounted for." in done.stdout
    report = json.loads((tmp_path / "results" / "report.json").read_text())
    assert report["balanced"]
    assert [finding for finding in report["spark"]["findings"] if finding["spark"] != finding["books"]] == []
    assert len(report["spark"]["findings"]) == 13
    assert list((tmp_path / "results" / "lake").rglob("*.parquet"))
