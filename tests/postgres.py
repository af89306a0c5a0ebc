"""A PostgreSQL server for tests that ask for one, in a folder of its own; None where it is not installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.process import free_port

ACCOUNT = "postgres"


def programs() -> Path | None:
    """The folder with initdb and pg_ctl: in the PATH, or where Debian keeps it."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    usable = [each for each in folders if (each / "initdb").exists() and (each / "pg_ctl").exists()]
    return usable[-1] if usable else None


@contextmanager
def running() -> Iterator[str]:
    """Yields how to connect to it. It refuses to run as root, so it runs as its own account there."""
    bin_folder, home = programs(), Path(tempfile.mkdtemp(prefix="onemq-postgres-"))
    assert bin_folder is not None
    as_account: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(home, ACCOUNT)
        as_account = ["runuser", "-u", ACCOUNT, "--"]

    def call(*arguments: str) -> None:
        subprocess.run([*as_account, *arguments], check=True, capture_output=True, timeout=60, cwd="/")

    data, port = str(home / "data"), free_port()
    control = [str(bin_folder / "pg_ctl"), "-D", data, "-w"]
    options = f"-c listen_addresses= -c fsync=off -c unix_socket_directories={home} -c port={port}"
    try:
        call(str(bin_folder / "initdb"), "-D", data, "-U", "onemq", "-A", "trust", "--no-sync")
        call(*control, "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"host={home} port={port} user=onemq dbname=postgres"
        finally:
            call(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home)
