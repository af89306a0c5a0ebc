"""The crew: all instances of the services, and how one of them dies."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import onemq
from orders import TOPIC
from service import RESULTS

INSTANCES = 2
VICTIM = "points-2"
PENDING_MAX = 10_000
LOOKS_MAX = 50
LOOK_SECONDS = 0.02
"""An instance that has nothing in hand just then is looked at again, so many times."""


class Crew:
    """Processes, by the names of the instances."""

    def __init__(self, url: str, forgotten: int | None) -> None:
        self._url = url
        self._forgotten = forgotten
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> list[str]:
        """Two instances of each service; their names."""
        program = str(Path(__file__).with_name("service.py"))
        for service in RESULTS:
            forgotten = [str(self._forgotten)] if service == "push" and self._forgotten is not None else []
            for number in range(1, INSTANCES + 1):
                name = f"{service}-{number}"
                command = [sys.executable, program, service, name, self._url, *forgotten]
                self._processes[name] = subprocess.Popen(command)
        return list(self._processes)

    def are_ready(self, mq: onemq.Client) -> bool:
        """Whether every instance is a member of its group."""
        groups = {row["name"]: row["members"] for row in mq.groups.list(TOPIC)}
        return all(groups.get(service) == INSTANCES for service in RESULTS)

    def kill_one(self, mq: onemq.Client) -> set[str]:
        """SIGKILL for one instance in the middle of its work; the places (partition:offset) of what it had in hand."""
        victim = self._processes.pop(VICTIM)
        for _ in range(LOOKS_MAX):
            victim.send_signal(signal.SIGSTOP)  # so that we see what it has, while it can do nothing more
            held = mq.groups.pending(TOPIC, "points", member=VICTIM, count=PENDING_MAX)
            if held:
                break
            victim.send_signal(signal.SIGCONT)
            time.sleep(LOOK_SECONDS)
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
