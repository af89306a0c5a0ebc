"""The broker: `onemq serve` on a folder and a free port, as its users start it."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

START_SECONDS_MAX = 60


class Broker:
    """One process at a time; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"onemq://{self.address}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Returns when it serves, with the seconds that took."""
        begun = time.perf_counter()
        command = [sys.executable, "-m", "onemq", "serve", "--data", str(self.folder), "--resp", self.address]
        command += ["--kafka", "off"]
        with (self.folder.parent / "broker.log").open("ab") as output:
            process = self._process = subprocess.Popen(command, stdout=output, stderr=output)
        while time.perf_counter() - begun < START_SECONDS_MAX and process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port)):
                    return time.perf_counter() - begun
            except OSError:
                time.sleep(0.01)
        raise SystemExit(f"the broker did not start; {self.folder.parent / 'broker.log'} says why")

    def kill(self) -> None:
        """SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(START_SECONDS_MAX)
