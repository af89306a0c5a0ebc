"""The rush: orders come in, services work on them, an instance is killed and then the broker itself."""

import time

from broker import Broker
from crew import VICTIM, Crew
from orders import Evening
from rich.progress import Progress
from service import RESULTS
from shops import Shops
from story import Story
from watch import Sample, Watch

import onemq

LOOK_SECONDS = 0.1
STALL_SECONDS = 90
"""Without any progress for so long, the demo goes on to the books, which will say what is missing."""
BROKER_DIES_AT = 0.55
"""The share of orders that the slower service has done."""


class Rush:
    """From the first order until nobody has anything left to do."""

    def __init__(self, story: Story, mq: onemq.Client, broker: Broker, crew: Crew, evening: Evening) -> None:
        self._story = story
        self._mq = mq
        self._broker = broker
        self._crew = crew
        self._evening = evening
        self._was_broker_killed = False
        self.watch = Watch(mq)
        self.held: set[str] = set()
        """The places of the orders that the killed instance had in hand."""

    def run(self) -> None:
        shops = Shops(self._broker.url, self._broker.port, self._evening)
        shops.open()
        with self._story.bars() as bars:
            while not (shops.are_done and self.watch.is_idle()) and not self._is_stalled():
                sample = self.watch.look()
                self._show(bars, sample)
                if self._crew.is_one_hanging():
                    self._kill_instance()
                elif not self._was_broker_killed and shops.are_done and self._share(sample) >= BROKER_DIES_AT:
                    self._kill_broker()
                time.sleep(LOOK_SECONDS)
            self._show(bars, self.watch.look())

    def _share(self, sample: Sample) -> float:
        return min(sample.done.values()) / self._evening.count

    def _is_stalled(self) -> bool:
        last = self.watch.samples[-1]
        since = next(sample.at for sample in self.watch.samples if (sample.sent, sample.done) == (last.sent, last.done))
        return self.watch.seconds - since > STALL_SECONDS

    def _show(self, bars: Progress, sample: Sample) -> None:
        if not bars.tasks:
            for name in ("orders sent", *(f"{service}: handled or dead" for service in RESULTS)):
                bars.add_task(name, total=self._evening.count)
        for task, done in zip(bars.tasks, (sample.sent, *sample.done.values()), strict=True):
            bars.update(task.id, completed=done)

    def _kill_instance(self) -> None:
        self.held = self._crew.kill_one(self._mq)
        self.watch.mark(f"{VICTIM} killed")
        self._story.say(
            f"[red]{VICTIM} hangs, and is killed with -9.[/] "
            f"It had {len(self.held):,} orders in hand; they go to points-1 at once."
        )

    def _kill_broker(self) -> None:
        """When all orders are in: a plain Redis client could not know what became of its last ones."""
        self._was_broker_killed = True
        self.watch.mark("broker killed")
        self._broker.kill()
        seconds = self._broker.start()
        self._story.say(
            f"[red]The broker is killed with -9,[/] and serves again {seconds:.1f} s later. "
            "Nobody had to do anything: the services went on by themselves."
        )
