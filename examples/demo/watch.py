"""The watch: how far everybody is, noted again and again; the curves of the first chart are drawn from it."""

import time
from dataclasses import dataclass

from orders import TOPIC
from service import RESULTS

import onemq


@dataclass(frozen=True, slots=True)
class Sample:
    """At one moment, in seconds since the first order."""

    at: float
    sent: int
    done: dict[str, int]
    """By service: orders handled, and dead letters."""


class Watch:
    """Looks at topics only, which disturbs nobody."""

    def __init__(self, mq: onemq.Client) -> None:
        self._mq = mq
        self._begun = time.perf_counter()
        self.samples = [Sample(0.0, 0, dict.fromkeys(RESULTS, 0))]
        self.marks: list[tuple[float, str]] = []
        """What happened when, for the chart."""

    def look(self) -> Sample:
        """A new sample; while the broker is away, the last one."""
        try:
            done = {
                service: self._count(results) + self._count(f"{TOPIC}.{service}.dead")
                for service, results in RESULTS.items()
            }
            self.samples.append(Sample(self.seconds, self._count(TOPIC), done))
        except onemq.OneMQError:
            pass
        return self.samples[-1]

    def mark(self, what: str) -> None:
        self.marks.append((self.seconds, what))

    def is_idle(self) -> bool:
        """Whether no group has anything left to do."""
        try:
            return all(self._mq.groups.info(TOPIC, service)["lag"] == 0 for service in RESULTS)
        except onemq.OneMQError:
            return False

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begun

    def _count(self, topic: str) -> int:
        try:
            return sum(end - first for _, first, end in self._mq.offsets(topic))
        except onemq.errors.NotFound:
            return 0
