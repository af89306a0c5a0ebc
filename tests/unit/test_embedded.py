"""A broker inside another program: its own thread, any number of them, and a clean end."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import redis

from onemq.embedded import Broker
from onemq.errors import ConfigError, FolderError, ListenError, OneMQError


def set_and_get(broker: Broker, value: str) -> bytes:
    with redis.Redis(host=broker.host, port=broker.port) as client:
        client.set("key", value)
        return client.get("key")


def test_it_serves_between_enter_and_exit() -> None:
    with Broker(":memory:") as broker:
        assert broker.is_running
        assert broker.url == f"onemq://127.0.0.1:{broker.port}"
        assert set_and_get(broker, "v") == b"v"
    assert not broker.is_running
    with pytest.raises(redis.ConnectionError):
        redis.Redis(port=broker.port).ping()


def test_a_folder_keeps_what_it_was_told(tmp_path: Path) -> None:
    with Broker(tmp_path / "data") as broker:
        set_and_get(broker, "kept")
    with Broker(tmp_path / "data") as broker, redis.Redis(port=broker.port) as client:
        assert client.get("key") == b"kept"


def test_several_live_side_by_side(tmp_path: Path) -> None:
    with Broker(":memory:") as first, Broker(":memory:") as second, Broker(tmp_path) as third:
        brokers = (first, second, third)
        assert len({broker.port for broker in brokers}) == 3
        assert [set_and_get(broker, broker.url) for broker in brokers] == [broker.url.encode() for broker in brokers]


def test_it_can_be_stopped_twice_and_started_again_on_the_same_port(tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    port = broker.port
    set_and_get(broker, "v")
    broker.stop()
    broker.stop()
    with broker, redis.Redis(port=port) as client:
        assert client.get("key") == b"v"


def test_stopping_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    with Broker(":memory:") as broker:
        set_and_get(broker, "v")
    assert set(threading.enumerate()) == before


def test_starting_twice_and_asking_for_the_address_too_early_are_refused() -> None:
    broker = Broker(":memory:")
    with pytest.raises(OneMQError, match="no address before it was started"):
        _ = broker.port
    with broker, pytest.raises(OneMQError, match="runs already"):
        broker.start()


def test_what_start_refuses_is_raised_and_leaves_it_stopped(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        with pytest.raises(FolderError, match="in use by another OneMQ"):
            Broker(tmp_path).start()
        taken = Broker(":memory:", listen=f"127.0.0.1:{broker.port}")
        with pytest.raises(ListenError):
            taken.start()
        assert not taken.is_running
    taken.start().stop()


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "onemq.toml"
    file.write_text("[topics.orders]\npartitions = 3\n")
    with Broker(":memory:", config=file) as broker, redis.Redis(port=broker.port) as client:
        assert client.info("onemq")["partitions"] == 3
    file.write_text("[topics.orders]\npartition = 3\n")
    with pytest.raises(ConfigError, match="did you mean partitions"):
        Broker(":memory:", config=file)


def test_a_program_that_forgets_it_ends_all_the_same_and_loses_nothing(tmp_path: Path) -> None:
    code = f"""
import redis
from onemq.embedded import Broker
broker = Broker({str(tmp_path)!r}).start()
redis.Redis(port=broker.port).set("key", "v")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    with Broker(tmp_path) as broker, redis.Redis(port=broker.port) as client:
        assert client.get("key") == b"v"
