"""Receiving through the SDK from a real broker: rows C1 to C15 of the capabilities."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

import onemq
import onemq.aio
from onemq.errors import InvalidArgument, NotFound
from tests.interop.sdk import Seen, eventually


@pytest.fixture
def url(onemq_port: int) -> str:
    return f"onemq://127.0.0.1:{onemq_port}"


@pytest.fixture
def mq(url: str) -> Iterator[onemq.Client]:
    with onemq.connect(url) as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def send(mq: onemq.Client, topic: str, count: int, key: str | None = None) -> None:
    producer = mq.producer()
    producer.send_batch(topic, [onemq.Outgoing(b"%d" % number, key) for number in range(count)])


def lag(mq: onemq.Client, topic: str, group: str = "g") -> int:
    return int(mq.groups.info(topic, group)["lag"])


def test_c1_competing_consumers_share_a_queue(url: str, mq: onemq.Client, topic: str) -> None:
    seen = Seen()
    mq.topics.create(topic, kind="queue")
    send(mq, topic, 100)
    with onemq.connect(url) as other:
        for client, name in ((mq, "a"), (other, "b")):

            @client.consumer(topic, group="g", prefetch=5)
            def handle(message: onemq.Message, name: str = name) -> None:
                time.sleep(0.001)
                seen.add((name, message.offset))

        with mq.run_in_background(), other.run_in_background():
            found = seen.wait_for(100)
    assert sorted(offset for _, offset in found) == list(range(100))
    assert {name for name, _ in found} == {"a", "b"}


def test_c2_a_durable_subscriber_gets_what_it_missed(mq: onemq.Client, topic: str) -> None:
    consumer = mq.consumer(topic, "durable", start="last")
    assert consumer.receive() == []
    consumer.stop()
    send(mq, topic, 3)
    assert [message.body for message in consumer.receive(10, wait=5)] == [b"0", b"1", b"2"]


def test_c3_every_group_sees_all(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 50)
    seen = {group: Seen() for group in ("one", "two")}
    for group, items in seen.items():

        @mq.consumer(topic, group=group)
        def handle(message: onemq.Message, items: Seen = items) -> None:
            items.add(message.offset)

    with mq.run_in_background():
        for items in seen.values():
            assert items.wait_for(50) == list(range(50))


def test_c4_broadcast_reaches_every_instance_and_is_not_retried(url: str, mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 2)
    send(mq, topic, 5)
    instances = [Seen(), Seen()]
    with onemq.connect(url) as other:
        for client, seen in zip((mq, other), instances, strict=True):

            @client.broadcast(topic)
            def handle(message: onemq.Message, seen: Seen = seen) -> None:
                seen.add(message.body)
                raise ValueError("a failure that is not retried")

        with mq.run_in_background(), other.run_in_background():
            producer = mq.producer()
            for number in range(20):
                producer.send(topic, b"new %d" % number)
            for seen in instances:
                assert sorted(seen.wait_for(20)) == sorted(b"new %d" % number for number in range(20))


def test_c4_a_broadcast_begins_where_it_is_told(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 10)
    for start, expected in (("first", 0), (7, 7), ({0: 8}, 8)):
        messages = iter(mq.broadcast(topic, start=start))  # type: ignore[arg-type]
        assert next(messages).offset == expected
        messages.close()  # type: ignore[attr-defined]


def test_c4_a_broadcast_can_be_filtered(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    for number in range(10):
        producer.send(topic, b"%d" % number, tag="even" if number % 2 == 0 else "odd")
    messages = iter(mq.broadcast(topic, start="first", filter="odd"))
    assert [next(messages).body for _ in range(3)] == [b"1", b"3", b"5"]
    messages.close()  # type: ignore[attr-defined]


def test_c5_a_group_begins_at_first_last_offset_or_time(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 5)
    eventually(lambda: time.time() * 1000 > mq.read(topic, start=4)[0].stored + 1)
    middle = time.time()
    eventually(lambda: time.time() > middle + 0.001)  # messages know the millisecond in which they were stored
    send(mq, topic, 5)
    starts = {"first": 0, "last": None, 3: 3, middle: 5}
    for number, (start, expected) in enumerate(starts.items()):
        found = mq.consumer(topic, f"g{number}", start=start).receive()
        assert [message.offset for message in found] == ([] if expected is None else [expected])


def test_c6_push_is_bounded_by_prefetch(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 50)
    going_on = threading.Event()
    seen = Seen()

    @mq.consumer(topic, group="g", prefetch=7)
    def handle(message: onemq.Message) -> None:
        seen.add(message.offset)
        going_on.wait(30)

    with mq.run_in_background():
        seen.wait_for(1)
        eventually(lambda: mq.groups.info(topic, "g")["in_flight"] == 7)
        going_on.set()
        assert seen.wait_for(50) == list(range(50))


def test_c6_pull_and_long_poll(mq: onemq.Client, topic: str) -> None:
    consumer = mq.consumer(topic, "g")
    assert consumer.receive() == []
    timer = threading.Timer(0.1, lambda: mq.producer().send(topic, b"late"))
    timer.start()
    (message,) = consumer.receive(10, wait=20)
    assert message.body == b"late"
    message.ack()
    consumer.flush()
    assert lag(mq, topic) == 0
    timer.join()


def test_c6_iteration_in_both_faces(url: str, mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 10)
    offsets = []
    for message in mq.consumer(topic, "sync"):
        offsets.append(message.offset)
        if len(offsets) == 5:
            break

    async def scenario() -> list[int]:
        found = []
        async with onemq.aio.connect(url) as client, client.consumer(topic, "async") as consumer:
            async for message in consumer:
                found.append(message.offset)
                if len(found) == 10:
                    break
        return found

    assert offsets == list(range(5))
    assert asyncio.run(scenario()) == list(range(10))


@pytest.mark.parametrize("order", ["partition", "key"])
def test_c7_ordered_messages_are_handled_one_at_a_time_and_in_order(mq: onemq.Client, topic: str, order: str) -> None:
    mq.topics.create(topic, 2)
    producer = mq.producer()
    for number in range(60):
        producer.send_oneway(topic, b"%d" % number, key=f"k{number % 6}")
    producer.flush()
    busy: set[object] = set()
    seen, lock = Seen(), threading.Lock()
    failing = {7, 20}

    @mq.consumer(topic, group="g", order=order, concurrency=8, retry=onemq.Immediate())  # type: ignore[arg-type]
    def handle(message: onemq.Message) -> None:
        lane = message.key if order == "key" else message.partition
        with lock:
            assert lane not in busy, "two at a time"
            busy.add(lane)
        try:
            time.sleep(0.002)
            number = int(message.body)
            if number in failing:
                failing.remove(number)
                raise ValueError("the first time it fails")
            seen.add((lane, number))
        finally:
            with lock:
                busy.remove(lane)

    with mq.run_in_background():
        found = seen.wait_for(60)
        eventually(lambda: lag(mq, topic) == 0)
    for lane in {lane for lane, _ in found}:
        numbers = [number for each, number in found if each == lane]
        assert numbers == sorted(numbers)
    assert sorted(number for _, number in found) == list(range(60))


def test_c7_a_failing_ordered_message_blocks_its_key_only(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    for key in ("a", "b", "a", "b"):
        producer.send(topic, b"x", key=key)
    seen, good = Seen(), threading.Event()

    @mq.consumer(topic, group="g", order="key", concurrency=2, retry=onemq.Backoff("20ms", 1, None, None))
    def handle(message: onemq.Message) -> None:
        if message.key == "a" and not good.is_set():
            raise onemq.Retry(reason="not yet")
        seen.add((message.key, message.offset))

    with mq.run_in_background():
        assert seen.wait_for(2) == [("b", 1), ("b", 3)]
        good.set()
        assert seen.wait_for(4)[2:] == [("a", 0), ("a", 2)]


def test_c7_a_partition_goes_on_behind_a_dead_letter(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 20)
    seen = Seen()

    @mq.consumer(topic, group="g", order="partition", concurrency=4, retry=onemq.Backoff("1ms", 1, None, 1))
    def handle(message: onemq.Message) -> None:
        if message.body == b"3":
            raise onemq.Retry(reason="never good")
        if message.body == b"7":
            raise onemq.Reject("no use")
        seen.add(int(message.body))

    with mq.run_in_background():
        assert seen.wait_for(18) == [number for number in range(20) if number not in (3, 7)]
        eventually(lambda: lag(mq, topic) == 0)
    assert [letter.body for letter in mq.dead.list(topic)] == [b"3", b"7"]


def test_c7_what_a_handler_gives_back_itself_stays_in_order_too(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 30)
    seen, given_back = Seen(), {4, 5, 17}

    @mq.consumer(topic, group="g", order="partition", concurrency=4, acknowledge="client", retry=onemq.Immediate())
    def handle(message: onemq.Message) -> None:
        number = int(message.body)
        if number in given_back:
            given_back.remove(number)
            message.nack() if number % 2 else message.release()
            time.sleep(0.05)
            return
        seen.add(number)
        message.ack()

    with mq.run_in_background():
        assert seen.wait_for(30) == list(range(30))
        eventually(lambda: lag(mq, topic) == 0)


def test_c8_partitions_are_shared_out_and_follow_members(url: str, mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 4)

    def assigned() -> list[list[int]]:
        members = mq.groups.info(topic, "g")["members"]
        return sorted(sorted(member["partitions"]) for member in members)

    def handle(message: onemq.Message) -> None: ...

    mq.consumer(topic, group="g", assign="average")(handle)
    with mq.run_in_background():
        eventually(lambda: assigned() == [[0, 1, 2, 3]])
        with onemq.connect(url) as other:
            other.consumer(topic, group="g", assign="average")(handle)
            with other.run_in_background():
                eventually(lambda: assigned() == [[0, 1], [2, 3]])
        eventually(lambda: assigned() == [[0, 1, 2, 3]])


def test_c9_automatic_acknowledges_when_the_handler_returns(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 3)
    going_on, seen = threading.Event(), Seen()

    @mq.consumer(topic, group="g")
    def handle(message: onemq.Message) -> None:
        seen.add(message)
        going_on.wait(30)

    with mq.run_in_background():
        seen.wait_for(1)
        assert lag(mq, topic) == 3
        going_on.set()
        eventually(lambda: lag(mq, topic) == 0)


def test_c9_the_client_acknowledges_when_it_likes(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 3)
    seen = Seen()

    @mq.consumer(topic, group="g", acknowledge="client")
    async def handle(message: onemq.Message) -> None:
        seen.add(message)

    with mq.run_in_background():
        messages = seen.wait_for(3)
        eventually(lambda: mq.groups.info(topic, "g")["in_flight"] == 3)
        messages[1].ack()
        eventually(lambda: mq.groups.info(topic, "g")["in_flight"] == 2)
        messages[0].reject("no use")
        eventually(lambda: mq.groups.info(topic, "g")["in_flight"] == 1)
        messages[2].release()
        again = seen.wait_for(4)[3]
        assert (again.offset, again.deliveries) == (2, 1)


def test_c9_lazy_acknowledgements_come_in_the_end(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 1000)
    seen = Seen()

    @mq.consumer(topic, group="g", acknowledge="lazy", prefetch=100)
    def handle(message: onemq.Message) -> None:
        seen.add(message.offset)

    with mq.run_in_background():
        assert seen.wait_for(1000) == list(range(1000))
    assert lag(mq, topic) == 0


def test_c9_a_message_that_is_given_back_untried_does_not_count(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 1)
    consumer = mq.consumer(topic, "g")
    for _ in range(3):
        (message,) = consumer.receive(wait=5)
        assert message.deliveries == 1
        message.release()
        consumer.flush()


def test_c10_tags_and_sql_are_filtered_at_the_broker(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    for number, tag in enumerate(("created", "paid", "sent", "created")):
        producer.send(topic, b"%d" % number, tag=tag, headers={"amount": str(number * 100)})
    by_tag = mq.consumer(topic, "tags", filter="created || sent").receive(10, wait=5)
    assert [message.offset for message in by_tag] == [0, 2, 3]
    by_sql = mq.consumer(topic, "sql", filter="tag IN ('created', 'paid') AND amount > 50").receive(10, wait=5)
    assert [message.offset for message in by_sql] == [1, 3]


def test_c10_a_filter_in_code_alters_the_group(mq: onemq.Client, topic: str) -> None:
    mq.consumer(topic, "g", filter="A").receive()
    mq.consumer(topic, "g", filter="B").receive()
    assert mq.groups.info(topic, "g")["filter"] == "B"
    with pytest.raises(InvalidArgument):
        mq.consumer(topic, "g", filter="tag ==== 3").receive()


def test_c11_a_failing_message_comes_again_and_keeps_its_id(mq: onemq.Client, topic: str) -> None:
    mq.producer().send(topic, b"x")
    seen = Seen()

    @mq.consumer(topic, group="g", retry=onemq.Backoff(first="10ms", factor=2, most="1s", times=2))
    async def handle(message: onemq.Message) -> None:
        seen.add((message.id, message.deliveries))
        raise ValueError("always")

    with mq.run_in_background():
        found = seen.wait_for(3)
        eventually(lambda: lag(mq, topic) == 0)
    assert [deliveries for _, deliveries in found] == [1, 2, 3]
    assert len({id for id, _ in found}) == 1


def test_c11_a_handler_may_say_when_it_wants_it_again(mq: onemq.Client, topic: str) -> None:
    mq.producer().send(topic, b"x")
    seen = Seen()

    @mq.consumer(topic, group="g")  # the usual ladder would wait 10 s
    def handle(message: onemq.Message) -> None:
        seen.add(message.deliveries)
        if message.deliveries == 1:
            raise onemq.Retry(after="10ms")

    with mq.run_in_background():
        assert seen.wait_for(2) == [1, 2]


def test_c12_dead_letters_tell_why_and_can_be_sent_again(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 3)
    bad = threading.Event()
    seen = Seen()

    @mq.consumer(topic, group="g")
    def handle(message: onemq.Message) -> None:
        if not bad.is_set() and message.body != b"1":
            raise onemq.Reject(f"no use for {message.text()}")
        seen.add(message.body)

    with mq.run_in_background():
        eventually(lambda: lag(mq, topic) == 0)
        dead = mq.dead.list(topic, group="g")
        assert [(letter.body, letter.dead and letter.dead["reason"]) for letter in dead] == [
            (b"0", "no use for 0"),
            (b"2", "no use for 2"),
        ]
        assert mq.dead.get(topic, dead[0].id).body == b"0"
        assert mq.dead.replay(topic, group="g", dry_run=True)["found"] == 2
        bad.set()
        assert mq.dead.replay(topic, group="g", ids=[dead[0].id])["sent"] == 1
        assert seen.wait_for(2) == [b"1", b"0"]
        assert mq.dead.purge(topic, group="g") == 1
        assert mq.dead.list(topic) == []


def test_c13_what_is_in_flight_is_listed_and_can_be_claimed(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 2)
    consumer = mq.consumer(topic, "g", member="slow")
    assert len(consumer.receive(2, wait=5)) == 2
    pending = mq.groups.pending(topic, "g")
    assert [(row["receipt"], row["member"], row["deliveries"]) for row in pending] == [
        ("0:0", "slow", 1),
        ("0:1", "slow", 1),
    ]
    claimed = mq.groups.claim(topic, "g", "quick", idle=0)
    assert [message.offset for message in claimed] == [0, 1]
    assert {row["member"] for row in mq.groups.pending(topic, "g")} == {"quick"}


def test_c14_a_key_that_was_handled_is_passed_over(mq: onemq.Client, topic: str) -> None:
    seen = Seen()

    @mq.consumer(topic, group="g", once_by="key")
    def handle(message: onemq.Message) -> None:
        seen.add((message.key, message.body))

    producer = mq.producer()
    with mq.run_in_background():
        producer.send(topic, b"1", key="order-1")
        seen.wait_for(1)
        eventually(lambda: lag(mq, topic) == 0)
        producer.send(topic, b"again", key="order-1")
        producer.send(topic, b"2", key="order-2")
        assert seen.wait_for(2) == [("order-1", b"1"), ("order-2", b"2")]
        eventually(lambda: lag(mq, topic) == 0)


def test_c15_lag_seek_and_reset(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, 2)
    producer = mq.producer()
    for _ in range(10):
        producer.send(topic, b"x")
    mq.groups.create(topic, "g")
    info = mq.groups.info(topic, "g")
    assert info["lag"] == 10
    assert [row["lag"] for row in info["partitions"]] == [5, 5]
    mq.groups.seek(topic, "g", "last")
    assert mq.groups.info(topic, "g")["lag"] == 0
    mq.groups.reset(topic, "g")
    assert mq.groups.info(topic, "g")["lag"] == 10
    mq.groups.seek(topic, "g", 3, partition=1)
    assert mq.groups.info(topic, "g")["lag"] == 7
    assert [row["name"] for row in mq.groups.list(topic)] == ["g"]
    assert mq.groups.delete(topic, "g")


def test_batch_handlers_get_lists(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 250)
    seen = Seen()

    @mq.consumer(topic, group="g", batch=100, prefetch=300)
    def handle(messages: list[onemq.Message]) -> None:
        seen.add([message.offset for message in messages])

    with mq.run_in_background():
        found = seen.wait_until(lambda items: sum(map(len, items)) == 250)
        eventually(lambda: lag(mq, topic) == 0)
    assert [offset for offsets in found for offset in offsets] == list(range(250))
    assert max(map(len, found)) <= 100


def test_stopping_finishes_what_is_in_hand_and_gives_the_rest_back(mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 50)
    begun, going_on, handled = Seen(), threading.Event(), Seen()

    @mq.consumer(topic, group="g", concurrency=2)
    def handle(message: onemq.Message) -> None:
        begun.add(message.offset)
        going_on.wait(30)
        handled.add(message.offset)

    running = mq.run_in_background()
    begun.wait_for(2)
    stopping = threading.Thread(target=running.stop)
    stopping.start()
    eventually(lambda: mq.groups.info(topic, "g")["in_flight"] == 2)
    going_on.set()
    stopping.join(30)
    assert sorted(handled.items) == [0, 1]
    info = mq.groups.info(topic, "g")
    assert (info["lag"], info["in_flight"], info["members"]) == (48, 0, [])
    (message,) = mq.consumer(topic, "g").receive()
    assert (message.offset, message.deliveries) == (2, 1)


def test_async_handlers_work_at_the_same_time(url: str, mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 8)

    async def scenario() -> None:
        together = asyncio.Barrier(8)
        async with onemq.aio.connect(url) as client:

            @client.consumer(topic, group="g", concurrency=8)
            async def handle(message: onemq.Message) -> None:
                async with asyncio.timeout(20):
                    await together.wait()
                if message.offset == 0:
                    client.stop()

            await asyncio.wait_for(client.run(), 30)

    asyncio.run(scenario())
    assert lag(mq, topic) == 0


def test_plain_handlers_run_in_threads_under_asyncio(url: str, mq: onemq.Client, topic: str) -> None:
    send(mq, topic, 3)
    seen = Seen()

    async def scenario() -> None:
        async with onemq.aio.connect(url) as client:

            @client.consumer(topic, group="g")
            def handle(message: onemq.Message) -> None:
                seen.add(threading.current_thread() is not threading.main_thread())
                if message.offset == 2:
                    loop.call_soon_threadsafe(client.stop)

            loop = asyncio.get_running_loop()
            await asyncio.wait_for(client.run(), 30)

    asyncio.run(scenario())
    assert seen.items == [True, True, True]


def test_what_is_not_there_is_not_found(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic)
    with pytest.raises(NotFound):
        mq.dead.get(topic, "1-0-0")
    with pytest.raises(NotFound):
        mq.schedule.get("99")


def test_settings_of_a_group_can_be_taken_back(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic)
    mq.groups.create(topic, "g", filter="paid", lease="1m", once_by="key", order="key", assign="average")
    mq.groups.alter(topic, "g", filter="none", lease="none", once_by="none", order="none", assign="none")
    info = mq.groups.info(topic, "g")
    assert [info[name] for name in ("filter", "lease", "once", "order", "assign")] == [None, *4 * ("none",)]


def test_a6_messages_are_found_by_id_key_time_and_filter_and_read_again(mq: onemq.Client, topic: str) -> None:
    producer = mq.producer()
    receipts = [producer.send(topic, str(number), key=f"k{number}", tag="ab"[number % 2]) for number in range(4)]
    last = mq.read(topic, start=3)[0]
    eventually(lambda: time.time() * 1000 > last.stored + 1)
    late = producer.send(topic, "late", key="k1", tag="b")
    stored = mq.read(topic, start=4)[0].stored
    found = {
        "id": mq.search(topic, id=receipts[2].id),
        "key": mq.search(topic, key="k1"),
        "newest": mq.search(topic, key="k1", newest=True, count=1),
        "since": mq.search(topic, since=stored / 1000),
        "until": mq.search(topic, until=last.stored / 1000),
        "filter": mq.search(topic, filter="tag = 'b'"),
        "again": mq.read(topic, start="first"),
    }
    assert {name: [message.text() for message in messages] for name, messages in found.items()} == {
        "id": ["2"], "key": ["1", "late"], "newest": ["late"], "since": ["late"], "until": ["0", "1", "2", "3"],
        "filter": ["1", "3", "late"], "again": ["0", "1", "2", "3", "late"],
    }  # fmt: skip
    assert found["newest"][0].id == late.id


def test_a7_what_happened_to_a_message_is_told_with_times_and_members(mq: onemq.Client, topic: str) -> None:
    mq.topics.create(topic, trace=True)
    seen = Seen()

    @mq.consumer(topic, group="g", retry=onemq.Backoff(first="10ms", times=3))
    def handle(message: onemq.Message) -> None:
        seen.add(message.id)
        if len(seen.items) < 2:
            raise ValueError("not yet")
        raise onemq.Reject("no such order")

    with mq.run_in_background():
        receipt = mq.producer().send(topic, "x", key="1")
        eventually(lambda: len(mq.dead.list(topic)) == 1)
    facts = mq.trace(topic, receipt.id)
    events = facts["events"]
    assert (facts["id"], facts["traced"], seen.items) == (receipt.id, True, [receipt.id] * 2)
    told = [(event["event"], event["group"], event["reason"]) for event in events]
    assert told == [
        ("stored", None, ""), ("delivered", "g", ""), ("failed", "g", "ValueError: not yet"), ("delivered", "g", ""),
        ("failed", "g", "no such order"), ("dead", "g", "no such order"), ("acknowledged", "g", ""),
    ]  # fmt: skip
    assert all(event["member"] for event in events if event["event"] == "delivered")
    times = [event["time"] for event in events]
    assert times == sorted(times)
