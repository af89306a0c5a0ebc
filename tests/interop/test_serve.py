"""`onemq serve` as its users run it: start, stop, and what it says when it cannot (E1)."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onemq import __version__
from tests.process import Serve, free_port, may_write, obey_file_modes, run


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(*arguments: str, before: Callable[[], None] | None = None) -> str:
    """The one line that it says when it does not start."""
    done = run(*arguments, before=before)
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("onemq: ")
    return line.removeprefix("onemq: ")


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        yield connection


LARGE = bytes(32 << 20)
"""More than a socket takes without anybody reading."""


def wait_until_refused(port: int) -> None:
    """Returns when nobody listens any more."""
    while True:
        try:
            with connected(port):
                pass
        except ConnectionResetError:
            continue  # it was waiting to be accepted when the broker stopped listening
        except ConnectionRefusedError:
            return


class TestStart:
    def test_the_first_line_tells_version_address_folder_and_what_was_found(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as broker:
            broker.wait_until_serving()
            assert broker.stop() == 0
            first = broker.output().splitlines()[0]
        place = f"OneMQ {__version__} serves resp on 127.0.0.1:{broker.port}; data in {tmp_path / 'data'}: "
        assert first.partition(": ")[2] == place + "nothing to replay"

    def test_it_starts_in_about_a_second_on_an_empty_folder(self, tmp_path: Path) -> None:
        started = time.monotonic()
        with Serve(tmp_path / "data") as broker:
            broker.wait_until_serving()
            # Generous: the machine may be busy with other tests.
            assert time.monotonic() - started < 10

    def test_settings_come_from_a_file_and_options_go_before_it(self, tmp_path: Path) -> None:
        port = free_port()
        file = tmp_path / "onemq.toml"
        file.write_text(
            f'[server]\nlog_format = "json"\nmax_connections = 7\n[log]\ndata = ":memory:"\n'
            f'[resp]\nlisten = "127.0.0.1:{port}"\n[topics.orders]\npartitions = 3\n'
        )
        with Serve(tmp_path / "data", "--config", str(file)) as broker:
            broker.wait_until_serving()
            info = broker.info()
            assert (info["maxclients"], info["config_file"], info["partitions"]) == ("7", str(file), "3")
            assert broker.stop() == 0
            lines = [json.loads(line) for line in broker.output().splitlines()]
        assert lines[-1]["text"] == "stopped cleanly"
        assert (tmp_path / "data").is_dir()

    def test_port_0_takes_a_free_one_and_tells_it(self, tmp_path: Path) -> None:
        options = ["--data", ":memory:", "--resp", "127.0.0.1:0", "--kafka", "off"]
        command = [sys.executable, "-m", "onemq", "serve", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            match = re.search(r"resp on 127\.0\.0\.1:(\d+); data in memory", process.stderr.readline())
            assert match
            with connected(int(match[1])) as connection:
                connection.sendall(b"PING\r\n")
                assert connection.recv(100) == b"+PONG\r\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0

    def test_as_many_files_as_the_system_allows_may_be_open(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as broker:
            broker.wait_until_serving()
            limits = Path(f"/proc/{broker.pid}/limits").read_text()
        match = re.search(r"Max open files\s+(\S+)\s+(\S+)", limits)
        assert match
        assert match[1] == match[2]


class TestStop:
    def test_a_restart_after_a_clean_stop_replays_nothing(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text("[topics.orders]\n[topics.payments]\n")
        for _ in range(2):
            with Serve(tmp_path / "data", "--config", str(file)) as broker:
                broker.wait_until_serving()
                assert broker.info()["topics"] == "2"
                assert broker.stop() == 0
                assert ": nothing to replay\n" in broker.output()

    def test_a_restart_after_a_kill_tells_what_it_replayed(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text("[topics.orders]\n[topics.payments]\n")
        with Serve(tmp_path / "data", "--config", str(file)) as broker:
            broker.wait_until_serving()
            broker.kill()
        with Serve(tmp_path / "data", "--config", str(file)) as broker:
            broker.wait_until_serving()
            assert broker.stop() == 0
            assert re.search(r": [1-9]\d* entries replayed", broker.output())

    def test_connections_are_closed_after_their_replies(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as broker:
            broker.wait_until_serving()
            with connected(broker.port) as connection:
                connection.sendall(b"PING\r\n")
                assert connection.recv(100) == b"+PONG\r\n"
                assert broker.stop() == 0
                assert connection.recv(100) == b""

    def test_a_second_signal_does_not_wait_for_slow_clients(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text('[server]\ndrain_timeout = "1h"\n')
        with Serve(tmp_path / "data", "--config", str(file)) as broker:
            broker.wait_until_serving()
            with connected(broker.port) as lazy:
                lazy.sendall(b"*2\r\n$4\r\nECHO\r\n$%d\r\n%b\r\n" % (len(LARGE), LARGE))
                os.kill(broker.pid, signal.SIGTERM)
                wait_until_refused(broker.port)
                assert broker.stop() == 0


class TestRefusals:
    """Each is one line that says what to do, exit status 1, and nothing changed on disk."""

    def test_a_port_in_use(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            line = refusal("serve", "--data", str(tmp_path / "data"), "--resp", address, "--kafka", "off")
        assert line.startswith(f"cannot listen on {address} for resp: the port is in use; stop the program")
        assert not (tmp_path / "data").exists()

    def test_an_unknown_key(self, tmp_path: Path) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text("[log]\nflsh = 'sync'\n")
        line = refusal("serve", "--config", str(file), "--data", str(tmp_path / "data"))
        assert line == f"{file}:2: log.flsh: unknown; did you mean flush?"
        assert not (tmp_path / "data").exists()

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        assert "cannot be read (No such file or directory)" in refusal("serve", "--config", str(tmp_path / "x"))

    @pytest.mark.parametrize("name", ["", "x" * 250, "a\\u0001b"])
    def test_a_topic_name_that_cannot_be(self, tmp_path: Path, name: str) -> None:
        file = tmp_path / "onemq.toml"
        file.write_text(f'[topics."{name}"]\n')
        line = refusal("serve", "--config", str(file), "--data", str(tmp_path / "data"))
        assert line.startswith(f"{file}:1: topics.")
        assert line.endswith("; choose another name")
        assert not (tmp_path / "data").exists()

    def test_a_folder_in_use(self, tmp_path: Path) -> None:
        with Serve(tmp_path / "data") as broker:
            broker.wait_until_serving()
            line = refusal("serve", "--data", str(tmp_path / "data"), "--resp", "127.0.0.1:0", "--kafka", "off")
            assert "is in use by another OneMQ" in line
            assert broker.command("PING") == b"+PONG\r\n"

    def test_a_folder_of_a_newer_version(self, tmp_path: Path) -> None:
        folder = tmp_path / "data"
        folder.mkdir()
        (folder / "onemq.json").write_text('{"format": 999}')
        before = contents(folder)
        line = refusal("serve", "--data", str(folder), "--resp", "127.0.0.1:0", "--kafka", "off")
        assert "has format 999, newer than this OneMQ reads" in line
        assert contents(folder) == before

    def test_a_folder_of_somebody_else(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.txt").write_text("x")
        line = refusal("serve", "--data", str(tmp_path), "--resp", "127.0.0.1:0", "--kafka", "off")
        assert "files that are not OneMQ's (thesis.txt)" in line
        assert list(contents(tmp_path)) == ["thesis.txt"]

    def test_a_folder_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        refusal("serve", "--data", str(tmp_path / "file"), "--resp", "127.0.0.1:0", "--kafka", "off")

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
    def test_a_place_where_no_folder_can_be_made(self) -> None:
        line = refusal("serve", "--data", "/proc/onemq", "--resp", "127.0.0.1:0", "--kafka", "off")
        assert line.startswith("cannot use the data folder /proc/onemq: ")
        assert line.endswith("choose another one with --data")

    def test_a_folder_without_rights(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        if may_write(tmp_path):
            pytest.skip("root cannot give up its rights here")
        options = ["--data", str(tmp_path / "data"), "--resp", "127.0.0.1:0", "--kafka", "off"]
        line = refusal("serve", *options, before=obey_file_modes)
        assert "Permission denied; give it rights or choose another one with --data" in line
