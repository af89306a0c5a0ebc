"""A crowd: very many connections to a broker, held by a process of its own that may open as many files.

    python -m tests.crowd PORT COUNT

Says `ready` when each of them had a PING answered, and holds them until its input ends.
"""

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RESERVED_FILES = 64


def file_limit() -> int:
    """How many files a process may open if it asks for it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if hard == resource.RLIM_INFINITY else hard


@contextmanager
def crowd(port: int, count: int) -> Iterator[None]:
    """So many connections, each of which has been answered once and is idle then."""
    command = [sys.executable, "-m", "tests.crowd", str(port), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", f"the crowd did not come together: {line!r}"
        yield
        process.stdin.close()


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def hold(port: int, count: int) -> None:
    """Opens the connections, and waits for the end of the input."""
    wanted = min(count + RESERVED_FILES, file_limit())
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(b"*1\r\n$4\r\nPING\r\n")
        connections.append(connection)
    for connection in connections:
        assert connection.recv(7) == b"+PONG\r\n"
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    hold(int(sys.argv[1]), int(sys.argv[2]))
