"""A proxy between a client and a broker that cuts connections when it is told to."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random

_CHUNK_BYTES = 16 * 1024


class Proxy:
    """Passes bytes on, in both directions, in pieces."""

    def __init__(self, target: tuple[str, int], seed: int) -> None:
        self._target = target
        self._random = Random(seed)
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._others: dict[socket.socket, socket.socket] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run)
        self._clients: set[socket.socket] = set()
        self._passed_bytes = 0
        self._cut_at_bytes = 10_000
        self._cut_answer = False
        self._cuts_left = 0
        self.cut = 0

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def start(self) -> None:
        self._thread.start()

    def cut_soon(self, count: int) -> None:
        """So many connections are cut, the first when a client has begun."""
        self._cut_at_bytes = self._passed_bytes + 20_000
        self._cut_answer = False
        self._cuts_left, self.cut = count, 0

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()
        for each in (*self._others, self._listener):
            each.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select(0.05):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._others:
                    self._pass_on(key.fileobj)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        broker = socket.create_connection(self._target)
        self._clients.add(client)
        for one, other in ((client, broker), (broker, client)):
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, source: socket.socket) -> None:
        other, data = self._others[source], b""
        with suppress(OSError):
            data = source.recv(_CHUNK_BYTES)
            self._passed_bytes += len(data)
            if data and self._is_time_to_cut(source):
                other.sendall(data[: self._random.randrange(len(data))])  # in the middle of whatever it was
                data = b""
            other.sendall(data)
        if not data:
            for each in (source, other):
                self._selector.unregister(each)
                del self._others[each]
                each.close()


    def _is_time_to_cut(self, source: socket.socket) -> bool:
        """After some ten thousand bytes: a request, or the answer to one that was passed on."""
        is_answer = source not in self._clients
        if not self._cuts_left or self._passed_bytes < self._cut_at_bytes or is_answer is not self._cut_answer:
            return False
        self._cut_at_bytes = self._passed_bytes + self._random.randrange(5_000, 40_000)
        self._cut_answer = not self._cut_answer
        self._cuts_left -= 1
        self.cut += 1
        return True


@contextmanager
def proxy_to(host: str, port: int, seed: int = 1) -> Iterator[Proxy]:
    proxy = Proxy((host, port), seed)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
