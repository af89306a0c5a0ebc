"""Clients with users and passwords; and those without."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from aiokafka.client import AIOKafkaClient
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer

import onemq
from onemq.protocols.kafka.schemas.metadata import MetadataRequest
from onemq.protocols.kafka.schemas.sasl_handshake import SaslHandshakeRequest
from tests.apache_kafka import missing, tool
from tests.interop.kafka.raw import Raw
from tests.process import Serve, run
from tests.unit.protocols.kafka.test_login import proved

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A broker with a user; its password is in the file as it is."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "onemq.toml").write_text('[users]\nann = "secret"\n')
    with Serve(folder / "data", "--config", str(folder / "onemq.toml"), kafka=True) as serving:
        serving.wait_until_serving()
        yield serving


@pytest.fixture(scope="module")
def guarded(broker: Serve) -> str:
    return f"127.0.0.1:{broker.kafka_port}"


def listed(bootstrap: str, timeout: float = 10, **login: str) -> Any:
    settings = {f"sasl.{key}": value for key, value in login.items()}
    protocol = {"security.protocol": "SASL_PLAINTEXT"} if login else {}
    quiet = {"log_level": 0}
    return AdminClient({"bootstrap.servers": bootstrap, **settings, **protocol, **quiet}).list_topics(timeout=timeout)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka_logs_in(guarded: str, mechanism: str) -> None:
    assert listed(guarded, mechanism=mechanism, username="ann", password="secret").controller_id == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(guarded: str, mechanism: str) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=guarded,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="ann",
        sasl_plain_password="secret",
    )
    try:
        assert consumer.topics() == set()
    finally:
        consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka_logs_in(guarded: str, mechanism: str) -> None:
    async def brokers() -> int:
        client = AIOKafkaClient(
            bootstrap_servers=guarded,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username="ann",
            sasl_plain_password="secret",
        )
        await client.bootstrap()
        try:
            return len(client.cluster.brokers())
        finally:
            await client.close()

    assert asyncio.run(brokers()) == 1


def test_kcat_logs_in(guarded: str) -> None:
    login = "security.protocol=SASL_PLAINTEXT,sasl.mechanism=SCRAM-SHA-512,sasl.username=ann,sasl.password=secret"
    options = [word for setting in login.split(",") for word in ("-X", setting)]
    done = subprocess.run(
        ["kcat", "-b", guarded, *options, "-L"], capture_output=True, text=True, timeout=30, check=True
    )
    assert "broker 1 at" in done.stdout


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(guarded: str, mechanism: str) -> None:
    with pytest.raises(KafkaException):
        listed(guarded, 1, mechanism=mechanism, username="ann", password="wrong")


def test_so_is_a_client_without_one(guarded: str) -> None:
    with pytest.raises(KafkaException):
        listed(guarded, 1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_oldest_way_to_log_in_is_by_tokens_without_requests(broker: Serve, mechanism: str) -> None:
    with Raw(broker.kafka_port) as raw:
        assert raw.ask(SaslHandshakeRequest(mechanism), 0).error_code == 0
        if mechanism == "PLAIN":
            assert raw.token(b"\0ann\0secret") == b""
        else:
            first = raw.token(b"n,,n=ann,r=abc")
            assert raw.token(proved(mechanism, "secret", "n=ann,r=abc", first)).startswith(b"v=")
        assert raw.ask(MetadataRequest(topics=[])).controller_id == 1
    with Raw(broker.kafka_port) as raw:
        raw.ask(SaslHandshakeRequest("PLAIN"), 0)
        raw.send_token(b"\0ann\0wrong")
        assert raw.rest() == b""


def test_what_onemq_user_prints_goes_into_the_file(tmp_path: Path) -> None:
    made = run("user", "bob", "--mechanism", "SCRAM-SHA-512", input="pencil\n")
    assert made.returncode == 0
    file = tmp_path / "onemq.toml"
    file.write_text(f"[users]\n{made.stdout}")
    with Serve(tmp_path / "data", "--config", str(file), kafka=True) as serving:
        serving.wait_until_serving()
        bootstrap = f"127.0.0.1:{serving.kafka_port}"
        for mechanism in ("PLAIN", "SCRAM-SHA-512"):
            assert listed(bootstrap, mechanism=mechanism, username="bob", password="pencil").controller_id == 1


def test_redis_and_the_sdk_log_in_as_the_same_user(broker: Serve) -> None:
    with redis.Redis(port=broker.port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.get("key")
    with redis.Redis(port=broker.port, username="ann", password="secret", protocol=3) as client:
        assert client.set("key", "value")
    with onemq.connect(f"onemq://ann:secret@127.0.0.1:{broker.port}") as mq:
        mq.producer().send("orders", "two apples")
    with pytest.raises(onemq.OneMQError), onemq.connect(f"onemq://ann:wrong@127.0.0.1:{broker.port}") as mq:
        mq.producer().send("orders", "two apples")


@pytest.mark.long
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.xdist_group("apache-kafka")
@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), *((each, "scram.ScramLoginModule") for each in MECHANISMS[1:])],
)
def test_java_logs_in(broker: Serve, tmp_path: Path, mechanism: str, module: str) -> None:
    settings = tmp_path / "client.properties"
    login = f'org.apache.kafka.common.security.{module} required username="ann" password='
    for password, code in (("secret", 0), ("wrong", 1)):
        settings.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={login}"{password}";\nretries=1\n'
        )
        done = tool("kafka-topics", broker.kafka_port, "--command-config", str(settings), "--list")
        assert done.returncode == code, done.stderr
    assert "SaslAuthenticationException" in done.stdout + done.stderr
