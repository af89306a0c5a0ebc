"""examples/demo, with few orders and without Spark. With Spark: tests/spark/test_demo.py."""

import json
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo"


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--no-spark", "--folder", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def test_every_order_is_accounted_for(tmp_path: Path) -> None:
    """F10 without Spark: failures, a killed instance and a killed broker."""
    done = run(tmp_path / "results", "--orders", "1000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every order is accounted for." in done.stdout
    report = json.loads((tmp_path / "results" / "report.json").read_text())
    points, push = report["services"]["points"], report["services"]["push"]
    assert (report["sent"], report["balanced"]) == (1000, True)
    assert points["dead"] == {"the order has no customer": 15, "the order has no amount": 5}
    assert push["dead"] == {"the customer has no device": 5}
    assert sum(points["by_instance"].values()) == points["handled"] == 980
    assert sum(push["by_instance"].values()) == push["handled"] == 995
    assert points["claimed"] > 0, "nobody took over from the killed instance"
    charts = [tmp_path / "results" / name for name in ("flow.png", "minutes.png", "books.png")]
    assert all(chart.stat().st_size > 10_000 for chart in charts)


def test_an_order_that_a_service_forgot_is_found_and_the_exit_status_is_1(tmp_path: Path) -> None:
    done = run(tmp_path / "results", "--orders", "100", "--forget", "42")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "The books do not balance." in done.stdout
    report = json.loads((tmp_path / "results" / "report.json").read_text())
    assert report["services"]["push"]["lost"] == [42]
    assert report["services"]["points"]["lost"] == []


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    done = run(tmp_path)
    assert done.returncode == 1
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_its_help_names_what_can_be_chosen() -> None:
    done = subprocess.run([sys.executable, str(DEMO), "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert all(option in done.stdout for option in ("--orders", "--folder", "--no-spark", "--forget"))
