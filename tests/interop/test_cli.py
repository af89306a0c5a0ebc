"""`onemq` as its users run it: beside a real broker, in pipes, and interrupted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import Serve, run


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with Serve(tmp_path_factory.mktemp("cli") / "data") as serving:
        serving.wait_until_serving()
        yield serving


def environment(broker: Serve) -> dict[str, str]:
    return {"ONEMQ_URL": f"onemq://127.0.0.1:{broker.port}", "PYTHONUNBUFFERED": "1"}


def onemq(broker: Serve, *arguments: str) -> str:
    done = run(*arguments, env=environment(broker))
    assert (done.returncode, done.stderr) == (0, ""), arguments
    return done.stdout


def started(broker: Serve, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "onemq", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | environment(broker),
    )  # fmt: skip


def test_one_sends_and_another_receives(broker: Serve) -> None:
    """E5"""
    onemq(broker, "topic", "create", "orders", "--partitions", "2")
    onemq(broker, "send", "orders", '{"orderno": 10001}', "--key", "10001", "--tag", "created")
    message = json.loads(onemq(broker, "receive", "orders", "points", "--ack", "--json"))
    assert (message["key"], message["tag"], message["body"]) == ("10001", "created", '{"orderno": 10001}')
    assert json.loads(onemq(broker, "group", "show", "orders", "points", "--json"))["lag"] == 0


def test_following_shows_what_comes_until_it_is_interrupted(broker: Serve) -> None:
    onemq(broker, "topic", "create", "followed", "--partitions", "3")
    onemq(broker, "send", "followed", "before")
    following = started(broker, "tail", "-f", "followed", "--json")
    assert following.stdout is not None
    assert following.stderr is not None
    assert json.loads(following.stdout.readline())["body"] == "before"
    for body in ("one", "two", "three"):
        onemq(broker, "send", "followed", body)
        assert json.loads(following.stdout.readline())["body"] == body
    following.send_signal(signal.SIGINT)
    assert following.wait(30) == 130
    assert following.stderr.read().strip() == ""
    for stream in (following.stdin, following.stdout, following.stderr):
        assert stream is not None
        stream.close()


def test_waiting_is_interrupted_without_a_trace_and_the_group_keeps_its_messages(broker: Serve) -> None:
    onemq(broker, "send", "interrupted", "x")
    waiting = started(broker, "receive", "interrupted", "points", "--count", "2", "--wait", "1h")
    assert waiting.stdout is not None
    assert waiting.stdout.readline().endswith("x\n")
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, err.strip()) == (130, "")
    assert onemq(broker, "receive", "interrupted", "points", "--wait", "5s").endswith("x\n")


def test_a_reader_that_has_seen_enough_is_no_error(broker: Serve) -> None:
    sending = started(broker, "send", "long")
    sending.communicate("".join(f"{number}\n" for number in range(20_000)), timeout=60)
    command = f"{sys.executable} -m onemq tail long -n 20000 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | environment(broker),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("  0\n")


def test_a_broker_that_dies_is_told(tmp_path: Path) -> None:
    with Serve(tmp_path / "data") as dying:
        dying.wait_until_serving()
        onemq(dying, "send", "orders", "x")
        following = started(dying, "tail", "-f", "orders")
        assert following.stdout is not None
        assert following.stdout.readline()
        dying.kill()
        _, err = following.communicate(timeout=30)
    assert following.returncode == 1
    assert err.startswith("onemq: the broker at 127.0.0.1:")
    assert "Traceback" not in err


def test_a_broker_is_measured_and_nothing_is_left_behind(broker: Serve) -> None:
    before = onemq(broker, "topic", "list", "--json")
    options = ("--count", "1000", "--partitions", "2", "--rate", "500", "--seconds", "0.2")
    shown = json.loads(onemq(broker, "bench", *options, "--json"))
    assert [(step["step"], step["messages"]) for step in shown["steps"]] == [
        ("send", 1000), ("receive", 1000), ("end to end", 100),
    ]  # fmt: skip
    assert all(step["per_second"] > 0 for step in shown["steps"])
    assert onemq(broker, "bench", "--count", "10", "--seconds", "0").splitlines()[0].split()[:2] == ["step", "messages"]
    assert onemq(broker, "topic", "list", "--json") == before
