"""The Celery application of the Celery tests: the workers run it, and the tests send to it.

The environment says where the broker is and what a worker does differently:

    CELERY_TEST_URL           broker and result backend, e.g. redis://127.0.0.1:6379/0
    CELERY_TEST_VISIBILITY    seconds until what a lost worker had is given to another
"""

import os
import time

import redis
from celery import Celery, Task
from kombu import Queue
from kombu.common import Broadcast

URL = os.environ.get("CELERY_TEST_URL", "redis://127.0.0.1:6379/0")

app = Celery("tests", broker=URL, backend=URL)
app.conf.update(
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": float(os.environ.get("CELERY_TEST_VISIBILITY", "3600")),
        "unacked_restore_interval": 0.5,
        "unacked_restore_throttle": 1,
        "priority_steps": list(range(10)),
        "queue_order_strategy": "priority",
    },
    task_create_missing_queues=True,
    task_default_priority=5,
    task_queues=[Queue("celery"), Broadcast("everybody")],
    task_track_started=True,
    worker_hijack_root_logger=False,
    worker_prefetch_multiplier=1,
)


def notes() -> redis.Redis:
    """Where tasks tell the tests what they did: the same server, by keys of our own."""
    return redis.Redis.from_url(app.conf.broker_url)


def wait_for(key: str, count: int = 1, seconds: float = 60) -> None:
    """Returns when the counter `key` has reached `count`."""
    give_up = time.monotonic() + seconds
    with notes() as client:
        while int(client.get(key) or 0) < count:
            assert time.monotonic() < give_up, f"{key} did not reach {count}"
            time.sleep(0.02)


@app.task
def add(left: int, right: int) -> int:
    return left + right


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task
def listed(values: list[object]) -> list[object]:
    return values


@app.task
def fail(text: str) -> None:
    raise ValueError(text)


@app.task
def now() -> float:
    return time.time()


@app.task(bind=True, max_retries=3)
def succeed_at(self: Task, attempt: int) -> int:
    """Asks to be run again until this attempt; fails if there are fewer."""
    if self.request.retries < attempt:
        raise self.retry(countdown=0.1, exc=ValueError("not yet"))
    return int(self.request.retries)


@app.task
def note(key: str, text: str) -> None:
    """Adds a line under a key."""
    with notes() as client:
        client.rpush(key, text)


@app.task(bind=True, acks_late=True)
def meet(self: Task, key: str, count: int) -> str:
    """Returns only when so many of this task run at the same time; tells where this one ran.

    Acknowledged late, so that no worker takes one that it cannot run yet."""
    with notes() as client:
        client.incr(key)
    wait_for(key, count)
    return str(self.request.hostname)


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def careful(self: Task, key: str, number: int) -> int:
    """Says that it began and waits until it may end: for workers that are killed meanwhile."""
    with notes() as client:
        client.rpush(f"{key}:began", f"{number} {os.getpid()} {self.request.hostname}")
    wait_for(f"{key}:go")
    return number
