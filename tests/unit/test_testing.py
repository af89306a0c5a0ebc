"""What users' tests get: a broker in milliseconds, and time that jumps."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis
from confluent_kafka.admin import AdminClient

from onemq.errors import InvalidArgument, OneMQError
from onemq.testing import Broker, Clock, broker


def test_the_fixture_is_a_fresh_broker(onemq_broker: Broker) -> None:
    with redis.Redis(port=onemq_broker.port) as client:
        assert client.dbsize() == 0
        client.set("key", "v")


def test_the_fixture_is_fresh_for_each_test(onemq_broker: Broker) -> None:
    with redis.Redis(port=onemq_broker.port) as client:
        assert client.dbsize() == 0


def test_hours_pass_at_once() -> None:
    with broker() as running, redis.Redis(port=running.port) as client:
        client.set("key", "v", ex=3600)
        running.advance("59m")
        assert client.get("key") == b"v"
        running.advance("1m")
        assert client.get("key") is None


def test_whoever_waits_is_answered_when_the_time_comes() -> None:
    clock = Clock(frozen=True)
    with broker(clock=clock) as running, redis.Redis(port=running.port) as client, client.client() as waiting:
        connection = waiting.connection
        connection.send_command("BLPOP", "list", 60)
        assert client.ping()
        running.advance("59s999ms")
        assert not connection.can_read(timeout=0)
        running.advance(0.001)
        assert connection.read_response() is None


def test_a_frozen_clock_is_exact_to_the_millisecond() -> None:
    clock = Clock(datetime(2026, 1, 31, 12), frozen=True)
    with broker(clock=clock) as running, redis.Redis(port=running.port) as client:
        assert client.time() == (int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()), 0)
        running.advance("1d500ms")
        assert clock.now == datetime(2026, 2, 1, 12, 0, 0, 500_000, tzinfo=UTC)
        assert client.time() == (clock.now_ms // 1000, 500_000)


def test_a_clock_goes_on_by_itself_unless_it_is_frozen() -> None:
    going, frozen = Clock(0), Clock(0, frozen=True)
    while not going.now_ms:
        assert frozen.now_ms == 0


def test_time_can_pass_in_steps() -> None:
    clock = Clock(frozen=True)
    seen: list[int] = []
    with broker(clock=clock) as running:
        catch_up, start_ms = running.catch_up, clock.now_ms

        def note() -> None:
            catch_up()
            seen.append(clock.now_ms - start_ms)

        running.catch_up = note  # type: ignore[method-assign]
        running.advance("1m", step="25s")
    assert seen == [25_000, 50_000, 60_000]


def test_brokers_may_share_a_clock() -> None:
    clock = Clock()
    with broker(clock=clock) as first, broker(clock=clock) as second:
        clients = [redis.Redis(port=each.port) for each in (first, second)]
        for client in clients:
            client.set("key", "v", ex=3600)
        first.advance("1h")
        assert [client.get("key") for client in clients] == [None, None]
        for client in clients:
            client.close()


def test_time_goes_on_over_a_restart(tmp_path: Path) -> None:
    with broker(tmp_path) as running, redis.Redis(port=running.port) as client:
        client.set("short", "v", ex=3600)
        client.set("long", "v", ex=7200)
        running.advance("30m")
        running.restart()
        assert client.mget("short", "long") == [b"v", b"v"]
        running.advance("30m")
        assert client.mget("short", "long") == [None, b"v"]


def test_what_makes_no_sense_is_refused() -> None:
    running = broker()
    with pytest.raises(OneMQError, match="does not run"):
        running.advance("1h")
    with running, pytest.raises(InvalidArgument, match="not a duration"):
        running.advance("soon")


def test_it_speaks_kafka_if_it_is_told_to() -> None:
    with broker() as quiet, broker(kafka=True) as running:
        assert quiet.kafka_port == 0
        port = running.kafka_port
        described = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics("orders", timeout=10)
        assert list(described.topics["orders"].partitions) == [0]
        running.restart()
        assert running.kafka_port == port
