"""Groups of aiokafka consumers, which speak the oldest versions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.interop.kafka.members import WAIT_SECONDS_MAX, fill, make_topic
from tests.process import Serve

QUICK = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 100,
    "fetch_max_wait_ms": 50,
    "retry_backoff_ms": 20,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
}


@pytest.fixture
def filled(kafka: Serve, bootstrap: str, topic: str) -> set[bytes]:
    """The topic has four partitions with five messages each."""
    make_topic(kafka, topic, 4)
    return fill(bootstrap, topic, 4, 5)


@asynccontextmanager
async def member(bootstrap: str, topic: str, **settings: Any) -> AsyncIterator[Any]:
    one = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, **(QUICK | settings))
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


async def poll_until(members: list[Any], condition: Callable[[set[bytes]], bool]) -> None:
    bodies: set[bytes] = set()
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not condition(bodies):
            for each in members:
                for records in (await each.getmany(timeout_ms=20)).values():
                    bodies.update(record.value for record in records)


def sizes(*members: Any) -> list[int]:
    return sorted(len(each.assignment()) for each in members)


def test_members_share_and_take_over(bootstrap: str, topic: str, filled: set[bytes]) -> None:
    async def run() -> None:
        async with member(bootstrap, topic) as one:
            async with member(bootstrap, topic) as two:
                await poll_until([one, two], lambda bodies: sizes(one, two) == [2, 2] and bodies >= filled)
                await one.commit()
            await poll_until([one], lambda bodies: sizes(one) == [4])

    asyncio.run(run())


def test_commits_are_found_again(bootstrap: str, topic: str, filled: set[bytes]) -> None:
    place = TopicPartition(topic, 2)

    async def run() -> None:
        async with member(bootstrap, topic) as one:
            await poll_until([one], lambda bodies: sizes(one) == [4])
            assert await one.committed(place) is None
            await one.commit({place: 3})
        async with member(bootstrap, topic) as again:
            await poll_until([again], lambda bodies: b"2-3" in bodies)
            assert await again.committed(place) == 3
            assert again.last_stable_offset(place) in (5, None)

    asyncio.run(run())
