"""The server as a part of another program: started, asked, stopped."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from pathlib import Path
from struct import unpack

import msgspec
import pytest

from onemq.config import Address, Config, KafkaSettings, LogSettings, RespSettings, TopicSettings
from onemq.core.core import Core
from onemq.core.group import GroupConfig
from onemq.core.start import FIRST
from onemq.core.topics import TopicConfig
from onemq.errors import ConfigError, FolderError, ListenError
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.schemas.api_versions import ApiVersionsRequest, ApiVersionsResponse
from onemq.protocols.kafka.schemas.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from onemq.server import Server, raise_file_limit, topic_config
from tests.unit.protocols.kafka.fakes import framed

NO_KAFKA = KafkaSettings(listen=None)
HERE = RespSettings(listen=Address("127.0.0.1:0"))
IN_MEMORY = LogSettings(data=":memory:")


def on_disk(folder: Path) -> LogSettings:
    return LogSettings(data=str(folder / "data"))


async def ask(server: Server, line: str) -> bytes:
    host, _, port = server.addresses["resp"][0].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(line.encode() + b"\r\nQUIT\r\n")
    reply = await reader.read()
    writer.close()
    return reply.removesuffix(b"+OK\r\n")


def serve(config: Config, test: Callable[[Server], Awaitable[None]]) -> None:
    async def whole() -> None:
        server = Server(config)
        await server.start()
        try:
            await test(server)
        finally:
            await server.stop()

    asyncio.run(whole())


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_it_serves(kind: str, tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        assert await ask(server, "PING") == b"+PONG\r\n"
        assert b"onemq_version" in await ask(server, "INFO")

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=IN_MEMORY if kind == "memory" else on_disk(tmp_path)), test)


def test_everything_can_be_off() -> None:
    async def test(server: Server) -> None:
        assert server.addresses == {}

    serve(Config(kafka=NO_KAFKA, resp=RespSettings(listen=None), log=IN_MEMORY), test)


def test_it_speaks_kafka_on_a_port_of_its_own(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        host, _, port = server.addresses["kafka"][0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(framed(ApiVersionsRequest(), 0, 77))
        size, correlation_id = unpack(">ii", await reader.readexactly(8))
        assert correlation_id == 77
        assert decode(ApiVersionsResponse, 0, await reader.readexactly(size - 4)).error_code == 0
        writer.close()
        taken = KafkaSettings(listen=Address(server.addresses["kafka"][0]))
        with pytest.raises(ListenError, match=r"for kafka: the port is in use; .* with --kafka HOST:PORT or off"):
            await Server(Config(kafka=taken, resp=HERE, log=on_disk(tmp_path))).start()
        assert not (tmp_path / "data").exists()

    serve(Config(kafka=KafkaSettings(listen=Address("127.0.0.1:0")), resp=HERE, log=IN_MEMORY), test)


def cluster_id_of(folder: Path) -> str:
    """What clients of Kafka are told of a broker on that folder."""
    told: list[str] = []

    async def test(server: Server) -> None:
        host, _, port = server.addresses["kafka"][0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(framed(DescribeClusterRequest(), 0, 77))
        size, _ = unpack(">ii", await reader.readexactly(8))
        data = await reader.readexactly(size - 4)
        told.append(decode(DescribeClusterResponse, 0, data[1:]).cluster_id)
        writer.close()

    kafka = KafkaSettings(listen=Address("127.0.0.1:0"))
    serve(Config(kafka=kafka, resp=RespSettings(listen=None), log=LogSettings(data=str(folder))), test)
    return told[0]


def test_the_cluster_keeps_its_id_when_the_folder_is_moved(tmp_path: Path) -> None:
    first = cluster_id_of(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    assert cluster_id_of(tmp_path / "b") == first
    assert cluster_id_of(tmp_path / "a") != first


def test_a_folder_without_an_id_keeps_the_one_that_its_path_gave_it(tmp_path: Path) -> None:
    cluster_id_of(tmp_path / "a")
    (tmp_path / "a" / "onemq.json").write_text('{"format": 1}')
    digest = blake2b(str(tmp_path / "a").encode(), digest_size=16).digest()
    before = urlsafe_b64encode(bytes([digest[0] & 0x7F]) + digest[1:]).decode().rstrip("=")
    assert cluster_id_of(tmp_path / "a") == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert cluster_id_of(tmp_path / "b") == before


def test_it_waits_until_it_is_asked_to_stop() -> None:
    async def test(server: Server) -> None:
        waiting = asyncio.ensure_future(server.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        server.ask_to_stop()
        await waiting

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=IN_MEMORY), test)


def test_topics_of_the_configuration_are_there_and_follow_it(tmp_path: Path) -> None:
    def topics(count: int, kind: str) -> dict[str, TopicSettings]:
        return {"orders": TopicSettings(partitions=count, kind=kind)}  # type: ignore[arg-type]

    async def two_partitions(server: Server) -> None:
        assert b"topics:1\r\npartitions:2\r\n" in await ask(server, "INFO onemq")

    async def three_partitions(server: Server) -> None:
        assert b"topics:1\r\npartitions:3\r\n" in await ask(server, "INFO onemq")

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path), topics=topics(2, "stream")), two_partitions)
    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path)), two_partitions)
    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path), topics=topics(3, "queue")), three_partitions)
    with pytest.raises(ConfigError, match=r"topics\.orders: .* it can only grow"):
        serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path), topics=topics(1, "queue")), three_partitions)
    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path)), three_partitions)


def core_of(server: Server) -> Core:
    return server._broker.core


def restarted(folder: Path, settings: TopicSettings, change: Callable[[Core], object] | None = None) -> TopicConfig:
    """What the topic `orders` is like after a start with that table; then it may be changed at run time."""
    found: list[TopicConfig] = []

    async def test(server: Server) -> None:
        core = core_of(server)
        found.append(core.topics.get("orders").config)
        if change is not None:
            change(core)
        await ask(server, "PING")

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(folder), topics={"orders": settings}), test)
    return found[0]


def test_what_the_table_of_a_topic_leaves_open_stays_as_it_was_altered(tmp_path: Path) -> None:
    changes = {
        "kind": "queue", "flush": "async", "retention_ms": 5_000, "compact": True, "tombstone_ms": 7,
        "message_bytes_max": 1_000, "message_time": "broker", "expires_ms": 9, "expired": "dead", "trace": True,
        "look_inside": True, "notes": {"a": "b"}, "group": {"lease_ms": 5}, "partitions": 3,
    }  # fmt: skip
    restarted(tmp_path, TopicSettings(), lambda core: core.topics.alter("orders", **changes))
    config = restarted(tmp_path, TopicSettings())
    del changes["partitions"], changes["group"]
    assert {name: getattr(config, name) for name in changes} == changes
    assert config.group == GroupConfig(lease_ms=5)


def test_what_the_table_of_a_topic_names_holds_after_every_start(tmp_path: Path) -> None:
    table = TopicSettings(trace=True, expires_ms=60_000, retention_ms=None)
    assert restarted(tmp_path, table).trace
    for trace in (True, False):
        changes = {"trace": not trace, "expires_ms": 5, "retention_ms": 5_000, "compact": True}
        restarted(tmp_path, TopicSettings(trace=trace), lambda core: core.topics.alter("orders", **changes))
        config = restarted(tmp_path, TopicSettings(trace=trace, expires_ms=60_000, retention_ms=None))
        assert (config.trace, config.expires_ms, config.retention_ms, config.compact) == (trace, 60_000, None, True)


def test_groups_keep_what_the_table_of_their_topic_does_not_name(tmp_path: Path) -> None:
    own = GroupConfig(policy=["immediate", 7], dead_topic="graves", lease_ms=5)

    def make(core: Core) -> None:
        core.create_group("orders", "g", FIRST, **msgspec.structs.asdict(own))

    restarted(tmp_path, TopicSettings(max_deliveries=3), make)
    groups: list[GroupConfig] = []
    look = lambda core: groups.append(core.groups.get("orders", "g").config)  # noqa: E731
    assert restarted(tmp_path, TopicSettings(max_deliveries=3), look).group.policy == ["immediate", 3]
    assert restarted(tmp_path, TopicSettings(lease=10), look).group == GroupConfig(policy=["immediate", 3], lease_ms=10)
    restarted(tmp_path, TopicSettings(max_deliveries=4), look)
    changed = [own, msgspec.structs.replace(own, lease_ms=10)]
    changed.append(msgspec.structs.replace(changed[-1], policy=["immediate", 4]))
    assert groups == changed


def test_a_topic_takes_from_the_log_table_what_it_leaves_open() -> None:
    log = LogSettings(flush="async", retention_ms=5_000)  # type: ignore[arg-type]
    assert topic_config(TopicSettings(), log) == TopicConfig(flush="async", retention_ms=5_000)
    own = TopicSettings(flush="sync", retention_ms=None, compact=True)
    assert topic_config(own, log) == TopicConfig(flush="sync", compact=True)


def test_the_defaults_of_the_configuration_are_those_of_the_core() -> None:
    assert topic_config(TopicSettings(), LogSettings()) == TopicConfig()


def test_a_folder_in_use_is_refused_and_the_address_is_free_again(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        other = Server(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path)))
        with pytest.raises(FolderError, match="in use by another OneMQ"):
            await other.start()

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=on_disk(tmp_path)), test)


def test_an_address_in_use_is_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        taken = RespSettings(listen=Address(server.addresses["resp"][0]))
        with pytest.raises(ListenError):
            await Server(Config(kafka=NO_KAFKA, resp=taken, log=on_disk(tmp_path))).start()
        assert not (tmp_path / "data").exists()

    serve(Config(kafka=NO_KAFKA, resp=HERE, log=IN_MEMORY), test)


def test_too_few_files_for_the_connections_are_told(caplog: pytest.LogCaptureFixture) -> None:
    raise_file_limit(10)
    assert not caplog.records
    raise_file_limit(10_000_000_000)
    assert "raise the limit" in caplog.text
