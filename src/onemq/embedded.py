"""A broker inside another Python program: the whole server on a thread and a loop of its own.

    with Broker("data") as broker:
        redis.Redis(port=broker.port)

It is the same server that `onemq serve` runs, on the same kind of data folder. A program that ends
without stopping it loses nothing that was acknowledged; the next start only has more to replay.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import uvloop
from msgspec.structs import replace

from onemq.config import OFF, Address, load_config
from onemq.errors import OneMQError
from onemq.net.turn import wall_clock_ms
from onemq.server import Server

T = TypeVar("T")

_logger = logging.getLogger(__name__)

LOOPBACK_ANY_PORT = "127.0.0.1:0"


class Broker:
    """A broker on a thread of its own. All methods may be called from any thread, but not at the same time."""

    def __init__(
        self,
        data: str | PathLike[str],
        *,
        listen: str = LOOPBACK_ANY_PORT,
        kafka: str = OFF,
        config: str | PathLike[str] | None = None,
    ) -> None:
        """`data` is a folder, or ":memory:" to keep nothing; `listen` is `host:port`, where port 0 is any free
        one, and `kafka` the same for clients of Kafka, or "off"; `config` is a file of settings as `onemq serve` takes
        it. Fails with ConfigError."""
        options = {"log.data": fspath(data), "resp.listen": listen, "kafka.listen": kafka}
        self._config = load_config(None if config is None else Path(config), options)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._server: Server
        self._host, self._port = "", 0
        self._kafka_port = 0
        self._problem: BaseException | None = None

    # What it offers.

    @property
    def url(self) -> str:
        """What `onemq.connect` takes. Known once it was started."""
        return f"onemq://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def host(self) -> str:
        self._check_started()
        return self._host

    @property
    def port(self) -> int:
        """The real one, even if any was asked for; stays the same when it is started again."""
        self._check_started()
        return self._port

    @property
    def kafka_port(self) -> int:
        """Where it speaks the Kafka protocol, if it was told to; 0 if not."""
        self._check_started()
        return self._kafka_port

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> Self:
        """Serves when this returns. Fails with OneMQError: the folder is in use, the port is taken."""
        if self._thread is not None:
            raise OneMQError("the broker runs already; stop it first")
        started: Future[Server] = Future()
        self._problem = None
        self._keep_port()
        thread = threading.Thread(target=self._run, args=(started,), name="onemq-broker", daemon=True)
        thread.start()
        try:
            self._server = started.result()
        except BaseException:
            thread.join()
            raise
        self._thread = thread
        self._note_address()
        return self

    def stop(self) -> None:
        """Lets the running turn finish, closes the connections and frees the folder. A second call does nothing.
        Fails with OneMQError if the broker had failed on its own before."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with suppress(RuntimeError):  # the loop has ended before, and with it the server
            self._loop.call_soon_threadsafe(self._server.ask_to_stop)
        thread.join()
        if self._problem is not None:
            raise self._problem

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # The thread.

    def _run(self, started: Future[Server]) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                self._loop = runner.get_loop()
                runner.run(self._serve(started))
        except BaseException as problem:
            if started.done():
                self._problem = problem
                _logger.exception("the embedded broker has ended")
            else:
                started.set_exception(problem)

    async def _serve(self, started: Future[Server]) -> None:
        server = Server(self._config, clock_ms=self._clock_ms)
        await server.start()
        started.set_result(server)
        await server.wait()
        await server.stop()

    def _clock_ms(self) -> int:
        """The time, which the server asks for here."""
        return wall_clock_ms()

    def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it on the broker's loop and returns what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # Helpers.

    def _note_address(self) -> None:
        addresses = self._server.addresses.get("resp")
        if addresses:
            host, _, port = addresses[0].rpartition(":")
            self._host, self._port = host.strip("[]"), int(port)
        for address in self._server.addresses.get("kafka", ()):
            self._kafka_port = int(address.rpartition(":")[2])

    def _keep_port(self) -> None:
        """Started again, it serves where it did before, whatever port it was."""
        config = self._config
        resp = replace(config.resp, listen=_on_port(config.resp.listen, self._port))
        kafka = replace(config.kafka, listen=_on_port(config.kafka.listen, self._kafka_port))
        self._config = replace(config, resp=resp, kafka=kafka)

    def _check_started(self) -> None:
        if not self._port:
            raise OneMQError("the broker has no address before it was started; use `with`, or start()")


def _on_port(listen: Address | None, port: int) -> Address | None:
    """The address, with the port that was found for it, if any was asked for."""
    if not port or listen is None or listen.port:
        return listen
    return Address(f"{listen.rpartition(':')[0]}:{port}")
