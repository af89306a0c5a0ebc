"""Share groups with confluent-kafka's ShareConsumer: messages are acquired, accepted, released and rejected singly."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

import onemq
from tests.interop.kafka.sharing import ACCEPT, REJECT, RELEASE, SECONDS_MAX, Shared, bodies, facts, poll, wait_until
from tests.process import Serve, free_port

HOLDER = Path(__file__).with_name("share_holder.py")


@pytest.fixture
def shared(kafka: Serve, bootstrap: str, topic: str) -> Shared:
    return Shared(bootstrap, kafka.port, topic)


def test_what_was_polled_is_accepted_with_the_next_poll(shared: Shared) -> None:
    shared.create("LEASE", "5m")
    shared.produce(*bodies(20))
    with shared.consumer() as consumer:
        assert facts(poll(consumer, 20)) == [(body, 1) for body in bodies(20)]
        assert shared.lag() == (20, 20)
        assert not consumer.poll(0.1)
        wait_until(lambda: shared.lag() == (0, 0))


def test_messages_are_accepted_released_and_rejected_one_by_one(shared: Shared) -> None:
    shared.create("RETRY", "NONE", "2")
    shared.produce(*bodies(4))
    with shared.consumer(explicit=True) as consumer:
        for message in poll(consumer, 4):
            consumer.acknowledge(message, {b"0": ACCEPT, b"1": REJECT}.get(message.value() or b"", RELEASE))
        assert list(consumer.commit_sync(SECONDS_MAX).values()) == [None]
        assert shared.dead() == [(b"1", b"rejected by its consumer", 1)]
        assert facts(poll(consumer, 2, RELEASE)) == [(b"2", 2), (b"3", 2)]
        assert facts(poll(consumer, 2, RELEASE)) == [(b"2", 3), (b"3", 3)]
        consumer.commit_sync(SECONDS_MAX)
    assert shared.lag() == (0, 0)
    assert shared.dead()[1:] == [(b"2", b"released by its consumer", 3), (b"3", b"released by its consumer", 3)]


def test_a_new_group_begins_with_the_messages_to_come(shared: Shared) -> None:
    shared.command("MQ.TOPIC", "CREATE", shared.topic)
    shared.produce(b"old")
    with shared.consumer() as consumer:
        wait_until(lambda: shared.command("MQ.GROUP", "LIST", shared.topic) != [])
        shared.produce(b"new")
        assert facts(poll(consumer, 1)) == [(b"new", 1)]
        info = shared.info()
        assert (info[b"retry"], info[b"lease"]) == (b"none 4", b"30s")


def test_a_setting_of_the_group_says_that_it_begins_with_the_first_message(shared: Shared) -> None:
    shared.command("MQ.TOPIC", "CREATE", shared.topic)
    shared.produce(b"old")
    name = f"g of {shared.topic}"
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    group = ConfigResource(ConfigResource.Type.GROUP, name, incremental_configs=[earliest])
    admin = AdminClient({"bootstrap.servers": shared.bootstrap})
    admin.incremental_alter_configs([group])[group].result(SECONDS_MAX)
    shared.name = name
    with shared.consumer() as consumer:
        assert facts(poll(consumer, 1)) == [(b"old", 1)]


def test_two_consumers_share_one_partition(shared: Shared) -> None:
    shared.create("LEASE", "5m")
    got: dict[int, list[bytes]] = {0: [], 1: []}
    sent = 0
    with shared.consumer(max_poll_records=10) as one, shared.consumer(max_poll_records=10) as other:
        give_up = time.monotonic() + SECONDS_MAX
        while sent < 200 or not all(got.values()) or sum(map(len, got.values())) < sent:
            assert time.monotonic() < give_up, "not everything came, or not to both"
            if sent < 200 or not all(got.values()):
                shared.produce(*bodies(sent + 10)[sent:])
                sent += 10
            for number, consumer in enumerate((one, other)):
                got[number] += [message.value() or b"" for message in consumer.poll(0.05)]
        for consumer in (one, other):
            consumer.commit_sync(SECONDS_MAX)
    assert sorted(got[0] + got[1]) == sorted(bodies(sent)), "each message comes once"
    assert shared.lag() == (0, 0)


def test_redis_clients_the_sdk_and_share_consumers_work_on_one_group(shared: Shared) -> None:
    shared.create("LEASE", "5m")
    shared.produce(*bodies(6))
    with shared.consumer(explicit=True) as consumer:
        got = [row[b"body"] for row in shared.command("MQ.RECEIVE", shared.topic, shared.name, "COUNT", 2)]
        ((_, entries),) = shared.redis.xreadgroup(shared.name, "r", {shared.topic: ">"}, count=2)
        assert (got, len(entries)) == ([b"0", b"1"], 2)
        assert facts(poll(consumer, 2, ACCEPT)) == [(b"4", 1), (b"5", 1)]
        consumer.commit_sync(SECONDS_MAX)
        assert shared.lag() == (4, 4)
        shared.command("MQ.NACK", shared.topic, shared.name, "0:0", "DELAY", "0s")
        assert facts(poll(consumer, 1, ACCEPT)) == [(b"0", 2)]
        shared.redis.xack(shared.topic, shared.name, *(id for id, _ in entries))
        shared.command("MQ.ACK", shared.topic, shared.name, "0:1")
    assert shared.lag() == (0, 0)


@pytest.mark.long
def test_messages_of_all_senders_come(shared: Shared, kafka: Serve) -> None:
    shared.create()
    with onemq.connect(f"onemq://127.0.0.1:{kafka.port}") as client, shared.consumer() as consumer:
        shared.redis.xadd(shared.topic, {"field": "value"})
        client.producer().send(shared.topic, b"sdk", key="k", headers={"h": "1"})
        shared.command("MQ.SEND", shared.topic, "mq", "HEADER", "h", "2")
        shared.produce(b"kafka")
        got = poll(consumer, 4)
        assert [message.value() for message in got[1:]] == [b"sdk", b"mq", b"kafka"]
        assert got[1].key() == b"k"
        assert ("h", b"1") in (got[1].headers() or [])
        consumer.commit_sync(SECONDS_MAX)
    assert shared.lag() == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_pass_and_parts_of_them_come_again(shared: Shared, codec: str) -> None:
    shared.create("RETRY", "NONE")
    shared.produce(*(b"%d " % number * 50 for number in range(100)), compression_codec=codec, linger_ms=200)
    with shared.consumer(explicit=True) as consumer:
        for message in poll(consumer, 100):
            consumer.acknowledge(message, RELEASE if message.offset() % 10 == 3 else ACCEPT)
        again = poll(consumer, 10, ACCEPT)
        assert [message.offset() for message in again] == list(range(3, 100, 10))
        assert {message.delivery_count() for message in again} == {2}
        assert again[0].value() == b"3 " * 50
    assert shared.lag() == (0, 0)


@pytest.mark.long
def test_all_partitions_of_a_topic_come(shared: Shared) -> None:
    shared.create(partitions=8)
    for number in range(8):
        shared.produce(*(b"%d.%d" % (number, each) for each in range(50)), partition=number)
    with shared.consumer() as consumer:
        got = poll(consumer, 400)
        assert {message.partition() for message in got} == set(range(8))
        assert len({message.value() for message in got}) == 400
        consumer.commit_sync(SECONDS_MAX)
    assert shared.lag() == (0, 0)


@pytest.mark.long
def test_partitions_that_are_added_are_fetched(shared: Shared) -> None:
    shared.create()
    with shared.consumer() as consumer:
        wait_until(lambda: not consumer.poll(0.1) and len(shared.info()[b"members"]) == 1)
        shared.command("MQ.TOPIC", "ALTER", shared.topic, "PARTITIONS", 2)
        shared.command("MQ.SEND", shared.topic, "new", "PARTITION", 1)
        assert facts(poll(consumer, 1)) == [(b"new", 1)]


@pytest.mark.long
def test_what_a_killed_consumer_had_comes_again_at_once(shared: Shared) -> None:
    shared.create("LEASE", "1h")
    shared.produce(*bodies(3))
    command = [sys.executable, str(HOLDER), shared.bootstrap, shared.topic, shared.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "3\n"
        assert shared.lag() == (3, 3)
        holder.kill()
    with shared.consumer() as consumer:
        assert facts(poll(consumer, 3)) == [(body, 2) for body in bodies(3)]
        consumer.commit_sync(SECONDS_MAX)
    assert shared.lag() == (0, 0)


@pytest.mark.long
def test_a_lock_that_ends_brings_messages_back_and_late_acknowledgements_are_refused(shared: Shared) -> None:
    shared.create("LEASE", "3s")
    shared.produce(b"0")
    with shared.consumer(explicit=True) as slow:
        (late,) = poll(slow, 1)
        with shared.consumer(explicit=True) as quick:
            assert facts(poll(quick, 1, ACCEPT)) == [(b"0", 2)]
            slow.acknowledge(late, ACCEPT)
            (refused,) = slow.commit_sync(SECONDS_MAX).values()
            assert refused is not None
            assert refused.args[0].name() == "INVALID_RECORD_STATE"
    assert shared.lag() == (0, 0)


@pytest.mark.long
def test_a_policy_says_how_long_a_released_message_waits(shared: Shared) -> None:
    shared.create("RETRY", "BACKOFF", "1s", "1", "1s", "1")
    shared.produce(b"0")
    with shared.consumer(explicit=True) as consumer:
        poll(consumer, 1, RELEASE)
        consumer.commit_sync(SECONDS_MAX)
        assert shared.lag() == (1, 0)
        assert facts(poll(consumer, 1, RELEASE)) == [(b"0", 2)]
        consumer.commit_sync(SECONDS_MAX)
    assert shared.dead() == [(b"0", b"released by its consumer", 2)]


@pytest.mark.long
def test_a_consumer_that_closes_gives_back_untried_what_it_has(shared: Shared) -> None:
    shared.create()
    shared.produce(*bodies(4))
    with shared.consumer(explicit=True) as consumer:
        first, *_ = poll(consumer, 4)
        consumer.acknowledge(first, ACCEPT)
    wait_until(lambda: shared.lag() == (3, 0))
    with shared.consumer() as consumer:
        assert facts(poll(consumer, 3)) == [(body, 1) for body in bodies(4)[1:]]


@pytest.mark.long
def test_a_topic_that_is_made_later_is_read_from_its_first_message_on(shared: Shared) -> None:
    with shared.consumer() as consumer:
        assert not consumer.poll(1)
        shared.command("MQ.SEND", shared.topic, "first")
        assert facts(poll(consumer, 1)) == [(b"first", 1)]


@pytest.mark.long
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_consumers_go_on_after_a_restart_of_the_broker(tmp_path: Path, end: str) -> None:
    port, kafka_port = free_port(), free_port()

    def serve() -> Serve:
        serving = Serve(tmp_path / "data", port=port, kafka_port=kafka_port)
        serving.wait_until_serving()
        return serving

    with serve() as first:
        shared = Shared(f"127.0.0.1:{kafka_port}", port, "t").create("LEASE", "1h")
        shared.produce(*bodies(10))
        with shared.consumer(explicit=True, reconnect_backoff_ms=50, reconnect_backoff_max_ms=200) as consumer:
            for message in poll(consumer, 10)[:5]:
                consumer.acknowledge(message, ACCEPT)
            consumer.commit_sync(SECONDS_MAX)
            first.kill() if end == "kill" else first.stop()
            with serve():
                wait_until(lambda: shared.lag() == (5, 0))
                acknowledge_rest(consumer)
                assert sorted(facts(poll(consumer, 5, ACCEPT))) == [(body, 2) for body in bodies(10)[5:]]
                consumer.commit_sync(SECONDS_MAX)
                assert shared.lag() == (0, 0)


def acknowledge_rest(consumer: ShareConsumer) -> None:
    """Of messages whose locks are gone; explicit mode wants that before the next poll."""
    for offset in range(5, 10):
        consumer.acknowledge_offset("t", 0, offset, ACCEPT)
    consumer.commit_sync(SECONDS_MAX)
