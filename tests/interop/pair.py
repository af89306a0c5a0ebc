"""OneMQ and a real redis-server side by side: the same calls to both, and the replies compared.

    def test_append(pair):
        pair.same("SET", "k", "a")
        pair.same("APPEND", "k", "b")

`same` fails if the replies differ, or their forms on the wire do (forms.py): the types of all parts, and errors with
their prefix. What differs by nature (ids, times, addresses) is made alike first by the `alike` function of the call;
its form is the same all the same.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ResponseError
from redis.retry import Retry

from tests.interop.forms import FormParser, Node
from tests.needs import needs
from tests.process import START_SECONDS_MAX, free_port

PEER_VERSION = "7.0"
"""OneMQ answers as this Redis does. Others word errors differently, and see some corners with other eyes."""


def _obstacle() -> str:
    """Why replies cannot be compared with those of a redis-server; empty if they can."""
    if shutil.which("redis-server") is None:
        return "redis-server is missing: apt-get install redis-server"
    told = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout
    version = told.partition("v=")[2].partition(" ")[0]
    if version.startswith(f"{PEER_VERSION}."):
        return ""
    return f"replies are compared with those of Redis {PEER_VERSION}, and the redis-server here is {version}"


needs_redis_server = needs(_obstacle())


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[int]:
    """A real redis-server on a free port, which is what this gives."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--dir", str(folder), "--save", "", "--bind", "127.0.0.1"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
    try:
        give_up = time.monotonic() + START_SECONDS_MAX
        while not _answers(port):
            assert process.poll() is None, "redis-server ended"
            assert time.monotonic() < give_up, "redis-server does not answer"
        yield port
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with connection(port) as client:
            return bool(client.ping())
    except AuthenticationError:  # it answers that one has to log in
        return True
    except redis.ConnectionError:
        return False


def connection(port: int, protocol: int = 2, user: str | None = None, password: str | None = None) -> redis.Redis:
    """A client of one connection that gives replies as they come: bytes, not parsed per command."""
    pool = redis.ConnectionPool(
        port=port, protocol=protocol, username=user, password=password, parser_class=FormParser,
        retry=Retry(NoBackoff(), 0), socket_timeout=30,
    )  # fmt: skip
    client = redis.Redis(connection_pool=pool, single_connection_client=True)
    client.auto_close_connection_pool = True
    client.response_callbacks.clear()
    return client


def reply(client: redis.Redis, *words: Any) -> Any:
    """What the server answers; errors as `("error", text)`."""
    try:
        return client.execute_command(*words)
    except ResponseError as error:
        return ("error", str(error))


def last_node(client: Any) -> Node:
    """What came last, as it came."""
    return client.connection._get_parser().last  # type: ignore[no-any-return]


class Pair:
    """Two connections, one to each server."""

    def __init__(self, ours: redis.Redis, theirs: redis.Redis) -> None:
        self.ours = ours
        self.theirs = theirs

    @property
    def protocol(self) -> int:
        """The version of RESP."""
        return int(self.ours.connection_pool.connection_kwargs["protocol"])

    def same(
        self, *words: Any, alike: Callable[[Any], Any] = lambda answer: answer, form: Callable[[Node], str] = str
    ) -> Any:
        """Sends a command to both and returns OneMQ's reply, which must be alike that of Redis, and of its form."""
        expected, answer = reply(self.theirs, *words), reply(self.ours, *words)
        assert alike(answer) == alike(expected), f"{words}: OneMQ {answer!r}, Redis {expected!r}"
        self.same_form(*words, form=form)
        return answer

    def same_form(self, *words: Any, form: Callable[[Node], str] = str) -> None:
        """The last replies, which were to these words, had the same form on the wire."""
        found, expected = form(last_node(self.ours)), form(last_node(self.theirs))
        assert found == expected, f"{words}: the form of OneMQ's reply is {found}, that of Redis's {expected}"
