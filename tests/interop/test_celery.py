"""Celery with OneMQ as its broker and result backend, unchanged: real workers, every kind of task, and crashes.

`CELERY_TEST_AGAINST=redis` runs the same tests against a real redis-server, to see that they expect what Redis does.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery, chain, chord, group
from celery.exceptions import ChordError, TaskRevokedError
from celery.result import AsyncResult
from kombu import Exchange

from tests.interop.celery_app import (
    add,
    app,
    careful,
    fail,
    listed,
    meet,
    note,
    notes,
    now,
    succeed_at,
    total,
)
from tests.interop.pair import redis_server
from tests.process import Serve

# Celery still calls some methods of redis-py under their old names.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")

SECONDS_MAX = 60
"""How long anything may take on a busy machine."""


def until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives, once that is true."""
    give_up = time.monotonic() + SECONDS_MAX
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < give_up, f"waited in vain for: {what}"
        time.sleep(0.02)


class Worker:
    """`celery worker` in a process group of its own."""

    def __init__(self, name: str, url: str, folder: Path, *options: str, visibility: float = 3600) -> None:
        self.host = f"{name}@test"
        self._output = folder / f"{name}.log"
        command = [sys.executable, "-m", "celery", "-A", "tests.interop.celery_app", "worker"]
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                [*command, "-n", self.host, "--loglevel", "INFO", *options],
                env=os.environ | {"CELERY_TEST_URL": url, "CELERY_TEST_VISIBILITY": str(visibility)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def wait_until_ready(self) -> None:
        """Returns when it has connected and consumes."""
        until(lambda: f"{self.host} ready." in self.output or self._process.poll() is not None, f"{self.host} ready")
        assert self._process.poll() is None, self.output

    def kill(self) -> None:
        """SIGKILL to it and to its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """A warm shutdown; returns the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(SECONDS_MAX)


@contextmanager
def started(*workers: Worker) -> Iterator[None]:
    """The workers, ready, and killed afterwards; what they printed is shown if the test fails."""
    try:
        for worker in workers:
            worker.wait_until_ready()
        yield
    except BaseException:
        for worker in workers:
            print(f"--- {worker.host}\n{worker.output}")
        raise
    finally:
        for worker in workers:
            worker.kill()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server that Celery uses for everything."""
    with ExitStack() as stack:
        if os.environ.get("CELERY_TEST_AGAINST") == "redis":
            port = stack.enter_context(redis_server(tmp_path_factory.mktemp("redis")))
        else:
            broker = stack.enter_context(Serve(tmp_path_factory.mktemp("onemq") / "data"))
            broker.wait_until_serving()
            port = broker.port
        yield f"redis://127.0.0.1:{port}/0"


def use(url: str) -> None:
    """Makes the tests' own end of Celery talk to this server."""
    app.conf.update(broker_url=url, result_backend=url)


@pytest.fixture(scope="module")
def workers(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Worker, Worker]]:
    """Two workers on the same queues: one with child processes, one without."""
    folder = tmp_path_factory.mktemp("workers")
    use(url)
    first = Worker("first", url, folder, "--pool=prefork", "--concurrency=2", "-E")
    second = Worker("second", url, folder, "--pool=solo")
    with started(first, second):
        yield first, second
    app.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("more-workers")


def get(result: AsyncResult[Any]) -> Any:
    return result.get(timeout=SECONDS_MAX)


@pytest.mark.usefixtures("workers")
class TestTasks:
    def test_every_task_of_many_gives_its_result(self) -> None:
        results = [add.delay(number, 1) for number in range(100)]
        assert [get(result) for result in results] == list(range(1, 101))

    def test_an_error_reaches_the_caller(self) -> None:
        with pytest.raises(ValueError, match="broken"):
            get(fail.delay("broken"))

    def test_two_workers_work_at_the_same_time(self) -> None:
        key = f"meeting:{uuid4()}"
        hosts = [get(result) for result in [meet.delay(key, 3) for _ in range(3)]]
        assert sorted(hosts) == ["first@test", "first@test", "second@test"]

    def test_a_task_for_everybody_runs_on_each_worker(self) -> None:
        key = f"broadcast:{uuid4()}"
        exchange = Exchange("everybody", type="fanout")
        note.apply_async((key, "here"), exchange=exchange, routing_key="celery", declare=[exchange])
        with notes() as client:
            until(lambda: client.llen(key) == 2, "both workers ran it")

    def test_a_task_runs_no_sooner_than_its_eta_and_its_countdown(self) -> None:
        eta = datetime.now(UTC) + timedelta(seconds=1)
        by_eta, by_countdown = now.apply_async(eta=eta), now.apply_async(countdown=1.0)
        assert get(by_eta) >= eta.timestamp()
        assert get(by_countdown) >= eta.timestamp()

    def test_a_task_that_expired_before_it_was_taken_is_not_run(self) -> None:
        with pytest.raises(TaskRevokedError, match="expired"):
            get(now.apply_async(expires=datetime.now(UTC) - timedelta(seconds=1)))

    def test_a_task_is_tried_again_until_it_succeeds_or_has_failed_too_often(self) -> None:
        good, bad = succeed_at.delay(2), succeed_at.delay(9)
        assert get(good) == 2
        with pytest.raises(ValueError, match="not yet"):
            get(bad)


@pytest.mark.usefixtures("workers")
class TestWorkflows:
    def test_a_chain_hands_each_result_on(self) -> None:
        assert get(chain(add.s(1, 2), add.s(3), add.s(4))()) == 10

    def test_a_group_gives_all_results_in_order(self) -> None:
        assert get(group(add.s(number, number) for number in range(20))()) == [2 * number for number in range(20)]

    def test_a_chord_runs_its_body_once_with_all_results_in_order(self) -> None:
        assert get(chord((add.s(number, 0) for number in range(20)), listed.s())()) == list(range(20))

    def test_a_chord_of_chains_and_groups(self) -> None:
        inner = chord([add.s(1, 1), add.s(2, 2)], total.s())
        header = [inner, chain(add.s(3, 3), add.s(1)), group(add.s(5, 5), add.s(6, 6))]
        assert sorted(get(chord(header, listed.s())())) == [6, 7, 10, 12]

    def test_an_error_in_a_chord_is_the_error_of_its_body(self) -> None:
        error = chord([add.s(1, 1), fail.s("broken")], total.s())().get(timeout=SECONDS_MAX, propagate=False)
        assert isinstance(error, ChordError)
        assert "broken" in str(error)

    def test_chunks_and_maps(self) -> None:
        assert get(add.chunks([(1, 1), (2, 2), (3, 3)], 2)()) == [[2, 4], [6]]
        assert get(total.map([[1, 2], [3, 4]]).delay()) == [3, 7]


class TestPriorities:
    def test_what_is_more_urgent_runs_first(self, workers: tuple[Worker, Worker]) -> None:
        queue, key = f"ranked-{uuid4()}", f"ranks:{uuid4()}"
        for priority in (9, 5, 0, 7, 3, 0, 9):
            note.apply_async((key, str(priority)), queue=queue, priority=priority)
        host = workers[1].host
        (reply,) = app.control.add_consumer(queue, destination=[host], reply=True, timeout=SECONDS_MAX, limit=1)
        assert "ok" in reply[host]
        with notes() as client:
            until(lambda: client.llen(key) == 7, "all tasks ran")
            assert client.lrange(key, 0, -1) == [b"0", b"0", b"3", b"5", b"7", b"9", b"9"]


class TestControl:
    def test_inspect_reaches_every_worker(self, workers: tuple[Worker, Worker]) -> None:
        hosts = {worker.host for worker in workers}
        inspect = app.control.inspect(timeout=SECONDS_MAX, limit=len(workers))
        assert inspect.ping() == {host: {"ok": "pong"} for host in hosts}
        for answer in (inspect.stats(), inspect.active(), inspect.reserved(), inspect.active_queues()):
            assert set(answer) == hosts
        assert all("tests.interop.celery_app.add" in names for names in inspect.registered().values())

    def test_the_command_line_sees_them_too(self, url: str, workers: tuple[Worker, Worker]) -> None:
        command = [sys.executable, "-m", "celery", "-A", "tests.interop.celery_app", "inspect", "ping", "-t", "5"]
        destination = ",".join(worker.host for worker in workers)
        done = subprocess.run(
            [*command, "-d", destination],
            env=os.environ | {"CELERY_TEST_URL": url},
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, done
        assert "2 nodes online" in done.stdout

    def test_a_task_that_waits_for_its_time_can_be_revoked(self, workers: tuple[Worker, Worker]) -> None:
        result = add.apply_async((1, 1), countdown=1000)
        inspect = app.control.inspect(timeout=SECONDS_MAX, limit=len(workers))
        until(lambda: result.id in str(inspect.scheduled()), "a worker has it")
        result.revoke()
        # The worker that has it looks again when its time comes; asking for the state of a revoked one is enough.
        until(lambda: all(result.id in ids for ids in inspect.revoked().values()), "both workers know")

    def test_a_task_revoked_before_a_worker_saw_it_is_not_run(self, workers: tuple[Worker, Worker]) -> None:
        queue, key, name = f"revoked-{uuid4()}", f"revoked:{uuid4()}", str(uuid4())
        result = note.apply_async((key, "ran"), queue=queue, task_id=name)
        app.control.revoke(name, reply=True, timeout=SECONDS_MAX, limit=len(workers))
        app.control.add_consumer(queue, destination=[workers[0].host], reply=True, timeout=SECONDS_MAX, limit=1)
        with pytest.raises(TaskRevokedError):
            get(result)
        with notes() as client:
            assert client.exists(key) == 0

    def test_a_running_task_can_be_terminated(self, workers: tuple[Worker, Worker]) -> None:
        queue, key = f"terminated-{uuid4()}", f"terminated:{uuid4()}"
        host = workers[0].host
        app.control.add_consumer(queue, destination=[host], reply=True, timeout=SECONDS_MAX, limit=1)
        result = careful.apply_async((key, 1), queue=queue)
        with notes() as client:
            until(lambda: client.llen(f"{key}:began"), "it runs")
        result.revoke(terminate=True, signal="SIGKILL")
        with pytest.raises(TaskRevokedError):
            get(result)

    @pytest.mark.usefixtures("workers")
    def test_events_tell_what_happens(self) -> None:
        seen: list[str] = []
        done = threading.Event()

        def on_event(event: dict[str, Any]) -> None:
            seen.append(event["type"])
            if event["type"] == "task-succeeded":
                done.set()
                receiver.should_stop = True

        with app.connection_for_read() as connection:
            receiver = app.events.Receiver(connection, handlers={"*": on_event})
            consumer = receiver.itercapture(limit=None, timeout=1, wakeup=False)
            give_up = time.monotonic() + SECONDS_MAX
            while not done.is_set():
                assert time.monotonic() < give_up, seen
                add.apply_async((1, 1))
                try:
                    next(consumer)
                except (TimeoutError, StopIteration):
                    consumer = receiver.itercapture(limit=None, timeout=1, wakeup=False)
        assert {"task-received", "task-started", "task-succeeded"} & set(seen)


@pytest.mark.usefixtures("workers")
class TestResults:
    def test_a_result_is_kept_for_as_long_as_it_was_asked(self) -> None:
        result = add.delay(1, 2)
        get(result)
        with notes() as client:
            assert 0 < client.ttl(f"celery-task-meta-{result.id}") <= 86_400

    def test_a_result_expires(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(app.backend, "expires", 1)
        name = str(uuid4())
        app.backend.store_result(name, "gone soon", "SUCCESS")
        assert AsyncResult(name, app=app).get(timeout=SECONDS_MAX) == "gone soon"
        with notes() as client:
            until(lambda: not client.exists(f"celery-task-meta-{name}"), "the result is gone")

    def test_a_result_can_be_forgotten(self) -> None:
        result = add.delay(1, 2)
        get(result)
        result.forget()
        assert AsyncResult(result.id, app=app).state == "PENDING"


class TestCrashes:
    def test_what_a_killed_worker_had_is_done_by_another(self, url: str, folder: Path) -> None:
        """acks_late, and a worker that is killed with -9 while it works."""
        use(url)
        queue, key, tasks = f"late-{uuid4()}", f"late:{uuid4()}", 6
        options = ("-Q", queue, "--pool=prefork", "--concurrency=2", "--without-mingle")
        victim = Worker("victim", url, folder, *options, visibility=2)
        with started(victim):
            results = [careful.apply_async((key, number), queue=queue) for number in range(tasks)]
            with notes() as client:
                until(lambda: client.llen(f"{key}:began") == 2, "both children work")
            victim.kill()
        heir = Worker("heir", url, folder, *options, visibility=2)
        with started(heir), notes() as client:
            client.incr(f"{key}:go")
            assert [get(result) for result in results] == list(range(tasks))
            began = [line.decode() for line in client.lrange(f"{key}:began", 0, -1)]
            assert {line.split()[0] for line in began if line.endswith("heir@test")} == {str(n) for n in range(tasks)}
            until(lambda: not client.exists("unacked", "unacked_index"), "everything is acknowledged")
            assert heir.stop() == 0

    def test_what_a_killed_child_had_is_done_again(self, workers: tuple[Worker, Worker]) -> None:
        queue, key = f"child-{uuid4()}", f"child:{uuid4()}"
        app.control.add_consumer(queue, destination=[workers[0].host], reply=True, timeout=SECONDS_MAX, limit=1)
        result = careful.apply_async((key, 7), queue=queue)
        with notes() as client:
            began = until(lambda: client.lrange(f"{key}:began", 0, -1), "it runs")
            os.kill(int(began[0].split()[1]), signal.SIGKILL)
            until(lambda: client.llen(f"{key}:began") == 2, "it runs again")
            client.incr(f"{key}:go")
        assert get(result) == 7

    def test_a_broker_that_is_killed_loses_no_task_and_no_result(self, tmp_path: Path) -> None:
        """The broker gets -9 with tasks in its queues and results not fetched; the worker finds it again by itself."""
        data, tasks = tmp_path / "data", 30
        with Serve(data) as broker:
            broker.wait_until_serving()
            url = f"redis://127.0.0.1:{broker.port}/0"
            worker = Worker("survivor", url, tmp_path, "-Q", "early", "--pool=solo", "--without-mingle")
            with started(worker), Celery(broker=url, backend=url, set_as_current=False) as sender:
                done = [sender.send_task(add.name, (number, 100), queue="early").id for number in range(tasks)]
                waiting = [sender.send_task(add.name, (number, 200), queue="later").id for number in range(tasks)]
                until(lambda: sender.AsyncResult(done[-1]).state == "SUCCESS", "the last one is done")
                broker.kill()
                with Serve(data, "--resp", f"127.0.0.1:{broker.port}") as again:
                    again.port = broker.port
                    again.wait_until_serving()
                    with Celery(broker=url, backend=url, set_as_current=False) as fetcher:
                        results = [fetcher.AsyncResult(each) for each in done + waiting]
                        assert [get(result) for result in results[:tasks]] == list(range(100, 100 + tasks))
                        ask = partial(fetcher.control.add_consumer, "later", destination=[worker.host], reply=True)
                        until(lambda: ask(timeout=2, limit=1), "the worker is there again")
                        assert [get(result) for result in results[tasks:]] == list(range(200, 200 + tasks))
