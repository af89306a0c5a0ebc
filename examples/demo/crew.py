"""The crew: all instances of the services, and how one of them dies."""

import os
import subprocess
import sys
from pathlib import Path

from orders import TOPIC, Evening
from service import RESULTS

import onemq

INSTANCES = 2
VICTIM = "points-2"
HANGS_AFTER = 0.12
"""The share of all orders that the victim handles before it hangs."""
PENDING_MAX = 10_000


class Crew:
    """Processes, by the names of the instances."""

    def __init__(self, url: str, evening: Evening, forgets: int | None) -> None:
        self._url = url
        self._hangs_after = int(evening.count * HANGS_AFTER)
        self._forgets = forgets
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> list[str]:
        """Two instances of each service; their names."""
        for service in RESULTS:
            for number in range(1, INSTANCES + 1):
                self._start(service, f"{service}-{number}")
        return list(self._processes)

    def are_ready(self, mq: onemq.Client) -> bool:
        """Whether every instance is a member of its group."""
        groups = {row["name"]: row["members"] for row in mq.groups.list(TOPIC)}
        return all(groups.get(service) == INSTANCES for service in RESULTS)

    def is_one_hanging(self) -> bool:
        """Whether the victim has stopped in the middle of its work."""
        victim = self._processes.get(VICTIM)
        return victim is not None and os.waitpid(victim.pid, os.WUNTRACED | os.WNOHANG)[0] != 0

    def kill_one(self, mq: onemq.Client) -> set[str]:
        """SIGKILL for the victim; the places (partition:offset) of what it had in hand."""
        held = mq.groups.pending(TOPIC, "points", member=VICTIM, count=PENDING_MAX)
        victim = self._processes.pop(VICTIM)
        victim.kill()
        victim.wait()
        return {str(row["receipt"]) for row in held}

    def stop(self) -> None:
        """SIGTERM for all: they finish what they have in hand."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(60)

    def kill(self) -> None:
        """SIGKILL for all that are left."""
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _start(self, service: str, name: str) -> None:
        program = str(Path(__file__).with_name("service.py"))
        mishaps = ["--hangs-after", str(self._hangs_after)] if name == VICTIM else []
        if service == "push" and self._forgets is not None:
            mishaps += ["--forgets", str(self._forgets)]
        command = [sys.executable, program, service, name, "--url", self._url, *mishaps]
        self._processes[name] = subprocess.Popen(command)
