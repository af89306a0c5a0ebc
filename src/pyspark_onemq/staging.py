"""What a task writes: half messages in transactions, which the driver commits when all tasks are done.

Each portion is a transaction of its own. If the connection breaks before its answer, nobody knows how much of it the
broker has heard, and perhaps hears yet: the portion is sent again under another name, and the first name is never
committed. So a broker may be restarted below a running task, and every row is committed once.
"""

import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from onemq.errors import OneMQError
from pyspark_onemq.connection import PATIENCE_S, Connection, Unreachable
from pyspark_onemq.sealing import Append

PRODUCER_GROUP = "spark"
_PAUSE_S = 0.2


class Staging:
    """The transactions of one attempt of a task. Sends in the background, one portion at a time, in order."""

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = f"{prefix}{uuid.uuid4().hex[:12]}."
        """Begins the names of this attempt, and of no other."""
        self._sender = ThreadPoolExecutor(1, "staging")
        self._under_way: Future[str] | None = None
        self._names: list[str] = []
        self._count = 0

    def put(self, portion: Sequence[Append]) -> None:
        """Stages batches; waits until those before them are staged."""
        self.wait()
        self._under_way = self._sender.submit(self._stage, portion)

    def finish(self) -> list[str]:
        """The names of the transactions that hold everything, in the order of the rows."""
        self.wait()
        self._sender.shutdown()
        return self._names

    def abandon(self) -> None:
        """Takes back what is staged, as far as the broker can be reached; what is left the driver takes back."""
        self._sender.shutdown(cancel_futures=True)
        with suppress(OneMQError):
            self._connection.call("MQ.TX", "ROLLBACK", "PREFIX", self._prefix)

    def wait(self) -> None:
        """Until what was put is staged."""
        if self._under_way is not None:
            staged, self._under_way = self._under_way, None
            self._names.append(staged.result())

    def _stage(self, portion: Sequence[Append]) -> str:
        give_up = time.monotonic() + PATIENCE_S
        while True:
            name = f"{self._prefix}{self._count}"
            self._count += 1
            words = ("TRANSACTION", name, "GROUP", PRODUCER_GROUP)
            try:
                self._connection.call_all([("MQ.APPEND", *each, *words) for each in portion])
                return name
            except Unreachable:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_PAUSE_S)
