"""Real processes for tests and measurements: a broker as its users run it."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

START_SECONDS_MAX = 60
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Serve:
    """`onemq serve` on a folder and a free port, or a given one; with `kafka`, on another for that protocol."""

    def __init__(
        self, folder: Path, *options: str, port: int | None = None, kafka: bool = False, kafka_port: int | None = None
    ) -> None:
        self.port = port or free_port()
        self.kafka_port = kafka_port or free_port()
        kafka_address = f"127.0.0.1:{self.kafka_port}" if kafka or kafka_port else "off"
        command = [sys.executable, "-m", "onemq", "serve", "--data", str(folder)]
        command += ["--resp", f"127.0.0.1:{self.port}", "--kafka", kafka_address]
        self._process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_serving(self) -> None:
        """Returns when PING is answered, if only with the wish for a password."""
        give_up = time.monotonic() + START_SECONDS_MAX
        while True:
            if self._process.poll() is not None:
                raise AssertionError(f"the broker ended with {self._process.returncode}: {self.output()}")
            try:
                if self.command("PING") in (b"+PONG\r\n", b"-NOAUTH Authentication required.\r\n"):
                    return
            except OSError:
                assert time.monotonic() < give_up, "the broker does not answer"
                time.sleep(0.01)  # a machine with few processors has the broker to start

    def command(self, line: str) -> bytes:
        """The raw reply to one inline command."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(line.encode() + b"\r\n")
            reply = connection.recv(1 << 16)
            while reply.startswith(b"$") and len(reply) < int(reply[1 : reply.index(b"\r\n")]):
                reply += connection.recv(1 << 16)
            return reply

    def info(self) -> dict[str, str]:
        """INFO as a dictionary."""
        lines = self.command("INFO").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def kill(self) -> None:
        """SIGKILL, and waits."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(30)

    def output(self) -> str:
        """What it printed; only after it ended."""
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()


def run(
    *arguments: str,
    env: dict[str, str] | None = None,
    before: Callable[[], None] | None = None,
    input: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """`onemq` with arguments, to its end; `before` is called in its process first, and `input` is what it reads."""
    command = [sys.executable, "-m", "onemq", *arguments]
    environment = os.environ | (env or {})
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
        preexec_fn=before,
        input=input,
    )


def obey_file_modes() -> None:
    """Makes what this process executes next obey the modes of files even if root runs it (Linux)."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def may_write(folder: Path) -> bool:
    """Whether a process that obeys the modes of files may still write into a folder."""
    code = f"import os, sys; sys.exit(os.access({str(folder)!r}, os.W_OK))"
    return bool(subprocess.run([sys.executable, "-c", code], preexec_fn=obey_file_modes, check=False).returncode)
