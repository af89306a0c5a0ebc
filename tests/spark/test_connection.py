"""The blocking connection of the data source and the pipelines."""

import threading
import time
from pathlib import Path

import pytest

from onemq.errors import InvalidArgument
from pyspark_onemq.connection import Connection, Refused, Unreachable
from tests.process import Serve, free_port


def test_replies_have_names_as_text_and_values_as_bytes(connection: Connection) -> None:
    sent = connection.call("MQ.SEND", "letters", b"\xff\x00", "TAG", "red")
    assert (sent["topic"], sent["offset"]) == (b"letters", 0)
    assert connection.call("MQ.READ", "letters")[0]["body"] == b"\xff\x00"


def test_requests_that_are_sent_together_are_answered_in_order(connection: Connection) -> None:
    assert connection.call_all([("ECHO", number) for number in range(3)]) == [b"0", b"1", b"2"]


def test_an_error_of_the_broker_has_its_word_and_its_text(connection: Connection) -> None:
    with pytest.raises(Refused, match="nowhere") as caught:
        connection.call("MQ.TOPIC", "INFO", "nowhere")
    assert caught.value.word == "NOTOPIC"
    assert connection.call("PING") == b"PONG"


def test_a_large_reply_comes_whole(connection: Connection) -> None:
    connection.call("SET", "large", b"x" * (9 << 20))
    assert connection.call("GET", "large") == b"x" * (9 << 20)


def test_the_first_server_that_answers_is_taken(broker: Serve) -> None:
    with Connection(f"127.0.0.1:{free_port()}, 127.0.0.1:{broker.port}") as connection:
        assert connection.call("PING") == b"PONG"


def test_when_no_server_answers_all_are_named() -> None:
    first, second = free_port(), free_port()
    with pytest.raises(Unreachable, match=rf"no OneMQ broker answers at 127.0.0.1:{first} .*127.0.0.1:{second}"):
        Connection([f"127.0.0.1:{first}", f"127.0.0.1:{second}"])


def test_a_server_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="http"):
        Connection("http://localhost")


def test_insisting_outlives_a_restart_of_the_broker(tmp_path: Path) -> None:
    with Serve(tmp_path) as first:
        first.wait_until_serving()
        connection = Connection(f"127.0.0.1:{first.port}")
        connection.call("MQ.SEND", "orders", "one")
        first.kill()
    with pytest.raises(Unreachable, match="broke"):
        connection.call("PING")
    later = threading.Timer(0.3, lambda: served.append(Serve(tmp_path, port=first.port)))
    served: list[Serve] = []
    later.start()
    assert connection.insist("MQ.READ", "orders")[0]["body"] == b"one"
    later.join()
    connection.close()
    with served[0]:
        pass


def test_insisting_ends(tmp_path: Path) -> None:
    with Serve(tmp_path) as serve:
        serve.wait_until_serving()
        connection = Connection(f"127.0.0.1:{serve.port}")
    started = time.monotonic()
    with pytest.raises(Unreachable):
        connection.insist("PING", patience_s=0.3)
    assert time.monotonic() - started >= 0.3
