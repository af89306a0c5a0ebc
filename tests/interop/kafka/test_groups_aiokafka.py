"""Groups of aiokafka consumers, which speak the oldest versions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.interop.kafka.members import PYTHON_QUICK, WAIT_SECONDS_MAX, MemberProcess, fill, make_topic
from tests.process import Serve


@pytest.fixture
def filled(kafka: Serve, bootstrap: str, topic: str) -> set[bytes]:
    """The topic has six partitions with five messages each."""
    make_topic(kafka, topic, 6)
    return fill(bootstrap, topic, 6, 5)


@asynccontextmanager
async def member(bootstrap: str, topic: str, **settings: Any) -> AsyncIterator[Any]:
    one = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=topic, **(PYTHON_QUICK | settings))
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


async def poll_until(
    members: list[Any], condition: Callable[[set[bytes]], bool], bodies: set[bytes] | None = None
) -> None:
    """The bodies are what was got, besides those given."""
    bodies = set() if bodies is None else bodies
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not condition(bodies):
            for each in members:
                for records in (await each.getmany(timeout_ms=20)).values():
                    bodies.update(record.value for record in records)


def sizes(*members: Any) -> list[int]:
    return sorted(len(each.assignment()) for each in members)


def test_three_members_share_and_take_over(bootstrap: str, topic: str, filled: set[bytes]) -> None:
    async def run() -> None:
        async with member(bootstrap, topic) as one:
            async with member(bootstrap, topic) as two:
                async with member(bootstrap, topic) as three:
                    every = [one, two, three]
                    await poll_until(every, lambda bodies: sizes(*every) == [2, 2, 2] and bodies >= filled)
                    await one.commit()
                await poll_until([one, two], lambda _: sizes(one, two) == [3, 3])
            await poll_until([one], lambda _: sizes(one) == [6])
            async with member(bootstrap, topic) as again:
                await poll_until([one, again], lambda _: sizes(one, again) == [3, 3])

    asyncio.run(run())


def test_a_member_that_is_killed_is_replaced_after_its_session_timeout(
    bootstrap: str, topic: str, filled: set[bytes]
) -> None:
    doomed = MemberProcess(bootstrap, topic, topic, "aiokafka", session_timeout_ms=1_000)

    async def run() -> None:
        async with member(bootstrap, topic) as one, member(bootstrap, topic) as two:
            got: set[bytes] = set()
            await poll_until([one, two], lambda _: sizes(one, two) == [2, 2], got)
            doomed.kill()
            await poll_until([one, two], lambda bodies: sizes(one, two) == [3, 3] and bodies >= filled, got)

    try:
        doomed.wait_for_share()
        asyncio.run(run())
    finally:
        doomed.kill()


def test_commits_are_found_again(bootstrap: str, topic: str, filled: set[bytes]) -> None:
    place = TopicPartition(topic, 2)

    async def run() -> None:
        async with member(bootstrap, topic) as one:
            await poll_until([one], lambda bodies: sizes(one) == [6])
            assert await one.committed(place) is None
            await one.commit({place: 3})
        async with member(bootstrap, topic) as again:
            await poll_until([again], lambda bodies: b"2-3" in bodies)
            assert await again.committed(place) == 3
            assert again.last_stable_offset(place) in (5, None)

    asyncio.run(run())
