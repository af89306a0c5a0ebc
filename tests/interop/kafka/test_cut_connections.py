"""Idempotent producers whose connections are cut at any place: every message is there once, and in order."""

import asyncio
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from tests.interop.kafka.clients import SECONDS, confluent_producer, confluent_read
from tests.interop.kafka.proxy import Proxy, proxy_to
from tests.process import Serve, free_port

COUNT = 3_000
CUTS = 6
BODIES = [b"%d " % number * 20 for number in range(COUNT)]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Between clients and a broker that tells them to come to the proxy."""
    tmp_path, port = tmp_path_factory.mktemp("proxied"), free_port()
    with proxy_to("127.0.0.1", port) as proxy:
        settings = tmp_path / "onemq.toml"
        settings.write_text(f'[kafka]\nadvertise = "127.0.0.1:{proxy.port}"\n')
        with Serve(tmp_path / "data", "--config", str(settings), kafka_port=port) as serving:
            serving.wait_until_serving()
            yield proxy


@pytest.fixture
def proxy(proxied: Proxy) -> tuple[Proxy, str]:
    """It, about to cut; and its address."""
    proxied.cut_soon(CUTS)
    return proxied, f"127.0.0.1:{proxied.port}"


def check(proxy: Proxy, bootstrap: str, topic: str) -> None:
    assert proxy.cut == CUTS
    assert [each.value for each in confluent_read(bootstrap, topic, COUNT)] == BODIES


def test_confluent_kafka(proxy: tuple[Proxy, str], topic: str) -> None:
    cutting, bootstrap = proxy
    failures: list[Any] = []
    producer = confluent_producer(bootstrap, **{"enable.idempotence": True, "linger.ms": 2})
    for body in BODIES:
        producer.produce(topic, body, partition=0, on_delivery=lambda error, _: failures.append(error))
        producer.poll(0)
    assert producer.flush(SECONDS) == 0
    assert failures == [None] * COUNT
    check(cutting, bootstrap, topic)


def test_kafka_python(proxy: tuple[Proxy, str], topic: str) -> None:
    cutting, bootstrap = proxy
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=2, retry_backoff_ms=20, reconnect_backoff_ms=20
    )
    sent = [producer.send(topic, body, partition=0) for body in BODIES]
    producer.flush(SECONDS)
    offsets = [each.get(SECONDS).offset for each in sent]
    producer.close()
    assert offsets == list(range(COUNT))
    check(cutting, bootstrap, topic)


def test_aiokafka(proxy: tuple[Proxy, str], topic: str) -> None:
    cutting, bootstrap = proxy

    async def send() -> list[int]:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=2, retry_backoff_ms=20
        )
        await producer.start()
        try:
            sent = [await producer.send(topic, body, partition=0) for body in BODIES]
            return [(await each).offset for each in sent]
        finally:
            await producer.stop()

    assert asyncio.run(asyncio.wait_for(send(), SECONDS)) == list(range(COUNT))
    check(cutting, bootstrap, topic)


def test_kcat(proxy: tuple[Proxy, str], topic: str) -> None:
    cutting, bootstrap = proxy
    settings = {"enable.idempotence": "true", "linger.ms": 2, "retry.backoff.ms": 20, "reconnect.backoff.ms": 20}
    words = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
    # It would end with the first connection that is cut; -E says that it tries again.
    command = ["kcat", "-b", bootstrap, "-P", "-E", "-t", topic, "-p", "0", *words]
    subprocess.run(command, input=b"\n".join(BODIES), timeout=SECONDS, check=True)
    check(cutting, bootstrap, topic)
