"""The OneMQ model from node, through npm's redis client (`make test` installs it: scripts/node-client)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.process import Serve

FOLDER = Path(__file__).parent / "node"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
@pytest.mark.skipif(not (FOLDER / "node_modules").exists(), reason="run scripts/node-client first")
@pytest.mark.parametrize("version", [2, 3], ids=["RESP2", "RESP3"])
def test_a_node_program_uses_the_whole_model(tmp_path: Path, version: int) -> None:
    with Serve(tmp_path) as broker:
        broker.wait_until_serving()
        command = ["node", str(FOLDER / "calls.mjs"), f"redis://127.0.0.1:{broker.port}", str(version)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.returncode) == ("ok", 0), done.stderr
