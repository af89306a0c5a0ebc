"""A real process under load, killed with -9 again and again (A2)."""

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

KILLS = 12


@pytest.mark.parametrize("seed", [1, 2])
def test_no_acknowledged_write_is_lost_when_the_process_is_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        acknowledged += run_and_kill(tmp_path / "data", acknowledged, random.randint(5, 400), last=kill == KILLS - 1)
    assert sum(line.startswith("sent") for line in acknowledged) > 100


def run_and_kill(folder: Path, acknowledged: list[str], lines_before_kill: int, last: bool) -> list[str]:
    """What one run acknowledged before it was killed; it has checked what the runs before it had."""
    command = [sys.executable, "-m", "tests.crash.writer", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(acknowledged))
        process.stdin.close()
        assert process.stdout.readline() == "checked\n", "acknowledged writes were lost; see the traceback above"
        told = [process.stdout.readline() for _ in range(0 if last else lines_before_kill)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().splitlines(keepends=True)
    return [line.strip() for line in told if line.endswith("\n") and line.strip()]
