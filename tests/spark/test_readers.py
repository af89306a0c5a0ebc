"""The readers as Spark drives them, with a broker but without Spark: quick, and every step can be seen."""

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from onemq.errors import NotFound
from pyspark_onemq.connection import Connection
from pyspark_onemq.loss import DataLoss
from pyspark_onemq.options import read_options
from pyspark_onemq.planning import Range
from pyspark_onemq.reader import OneMQReader
from pyspark_onemq.stream_reader import OneMQStreamReader
from pyspark_onemq.tasks import ReadTask, read
from tests.process import Serve
from tests.spark.source import send


class Query:
    """A query with a checkpoint: what Spark does with a stream reader."""

    def __init__(self, broker: Serve, **options: str) -> None:
        self._options = {"servers": f"127.0.0.1:{broker.port}"} | options
        self.checkpoint: dict[str, Any] | None = None
        self._reader: OneMQStreamReader | None = None

    @property
    def reader(self) -> OneMQStreamReader:
        if self._reader is None:
            self._reader = OneMQStreamReader(read_options(self._options))
        return self._reader

    def restart(self, **options: str) -> None:
        self.stop()
        self._options |= options

    def stop(self) -> None:
        if self._reader is not None:
            self._reader.stop()
            self._reader = None

    def batch(self, limit: ReadLimit | None = None) -> list[str] | None:
        """The bodies of one micro-batch, or None if there is nothing to do."""
        start = self.reader.initialOffset() if self.checkpoint is None else self.checkpoint
        end = self.reader.latestOffset(start, limit or self.reader.getDefaultReadLimit())
        if end == start:
            return None
        bodies = self.between(start, end)
        self.checkpoint = end
        return bodies

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
        return [body for task in self.reader.partitions(start, end) for body in bodies_of(task)]


def bodies_of(task: InputPartition) -> Iterator[str]:
    for rows in read(pickle.loads(pickle.dumps(task))):
        yield from (value.decode() for value in rows.column("value").to_pylist())


def lag(connection: Connection, topic: str, group: str) -> int:
    return int(connection.call("MQ.GROUP", "INFO", topic, group)["lag"])


@pytest.fixture
def query(broker: Serve) -> Iterator[Query]:
    made = Query(broker)
    yield made
    made.stop()


def test_a_stream_begins_with_what_comes_after_its_start(query: Query, connection: Connection) -> None:
    send(connection, "latest", ["old"])
    query.restart(subscribe="latest")
    assert query.batch() is None
    send(connection, "latest", ["new"])
    assert query.batch() == ["new"]
    assert query.batch() is None


def test_a_batch_is_the_same_when_it_is_planned_again_after_a_restart(query: Query, connection: Connection) -> None:
    send(connection, "same", range(10))
    query.restart(subscribe="same", startingOffsets="earliest", maxOffsetsPerTrigger="4")
    start = query.reader.initialOffset()
    end = query.reader.latestOffset(start, query.reader.getDefaultReadLimit())
    first = query.between(start, end)
    send(connection, "same", range(10, 20))
    query.restart()
    assert query.between(start, end) == first == ["0", "1", "2", "3"]


def test_read_all_available_is_obeyed_whatever_the_options_say(query: Query, connection: Connection) -> None:
    send(connection, "all", range(10))
    query.restart(subscribe="all", startingOffsets="earliest", maxOffsetsPerTrigger="4")
    assert query.reader.getDefaultReadLimit() == ReadMaxRows(4)
    assert len(query.batch(ReadAllAvailable()) or []) == 10


def test_available_now_ends_though_messages_and_topics_keep_coming(query: Query, connection: Connection) -> None:
    send(connection, "now.a", range(5))
    query.restart(subscribePattern="now[.].*", startingOffsets="earliest", maxOffsetsPerTrigger="2")
    query.reader.prepareForTriggerAvailableNow()
    batches = []
    while (batch := query.batch()) is not None:
        batches.append(batch)
        send(connection, "now.a", ["later"])
        send(connection, "now.b", ["other"])
    assert batches == [["0", "1"], ["2", "3"], ["4"]]


def test_a_new_partition_is_read_from_its_first_message(query: Query, connection: Connection) -> None:
    send(connection, "grows", ["one"])
    query.restart(subscribe="grows", startingOffsets="earliest")
    assert query.batch() == ["one"]
    connection.call("MQ.TOPIC", "ALTER", "grows", "PARTITIONS", 2)
    send(connection, "grows", ["two"], "PARTITION", 1)
    assert query.batch() == ["two"]


def test_the_group_shows_what_is_done_and_no_more(query: Query, connection: Connection) -> None:
    send(connection, "grouped", range(10))
    query.restart(subscribe="grouped", startingOffsets="earliest", maxOffsetsPerTrigger="4", group="lake")
    query.batch()
    assert lag(connection, "grouped", "lake") == 10
    query.batch()
    assert lag(connection, "grouped", "lake") == 6
    query.reader.commit(query.checkpoint or {})
    assert lag(connection, "grouped", "lake") == 2


def test_a_queue_keeps_what_the_group_has_still_to_read(query: Query, connection: Connection) -> None:
    connection.call("MQ.TOPIC", "CREATE", "kept", "KIND", "QUEUE")
    connection.call("MQ.GROUP", "CREATE", "kept", "other")
    query.restart(subscribe="kept", startingOffsets="earliest", group="lake")
    query.batch()
    send(connection, "kept", range(3))
    connection.call("MQ.RECEIVE", "kept", "other", "COUNT", 10, "AUTOACK")
    assert query.batch() == ["0", "1", "2"]


def test_a_topic_that_was_made_again_is_noticed(query: Query, connection: Connection) -> None:
    send(connection, "again", range(3))
    query.restart(subscribe="again", startingOffsets="earliest")
    query.batch()
    connection.call("MQ.TOPIC", "DELETE", "again")
    send(connection, "again", ["new"] * 5)
    with pytest.raises(DataLoss, match="the topic 'again' was deleted and made again since this query last read it"):
        query.batch()
    query.restart(failOnDataLoss="false")
    assert query.batch() == ["new"] * 5
    assert query.batch() is None


def test_a_topic_that_is_gone_is_an_error_or_left_out(query: Query, connection: Connection) -> None:
    send(connection, "gone.a", range(3))
    send(connection, "gone.b", range(3))
    query.restart(subscribePattern="gone[.].*", startingOffsets="earliest")
    start = query.reader.initialOffset()
    end = query.reader.latestOffset(start)
    connection.call("MQ.TOPIC", "DELETE", "gone.b")
    with pytest.raises(DataLoss, match=r"the topic 'gone.b' was deleted, perhaps with messages"):
        query.between(start, end)
    query.restart(failOnDataLoss="false")
    assert query.between(start, end) == ["0", "1", "2"]
    query.checkpoint = end
    send(connection, "gone.a", ["3"])
    assert query.batch() == ["3"]
    assert list(query.checkpoint) == ["gone.a"]


def test_a_topic_that_was_subscribed_by_name_may_go_too(query: Query, connection: Connection) -> None:
    send(connection, "leaves.a", range(3))
    send(connection, "leaves.b", range(3))
    query.restart(subscribe="leaves.a,leaves.b", startingOffsets="earliest")
    assert query.batch() == ["0", "1", "2"] * 2
    connection.call("MQ.TOPIC", "DELETE", "leaves.b")
    with pytest.raises(DataLoss, match=r"the topic 'leaves.b' was deleted, perhaps with messages"):
        query.batch()
    query.restart(failOnDataLoss="false")
    send(connection, "leaves.a", ["3"])
    assert query.batch() == ["3"]
    query.restart()
    send(connection, "leaves.a", ["4"])
    assert query.batch() == ["4"]
    send(connection, "leaves.b", ["new"])
    assert query.batch() == ["new"]


def test_a_name_that_never_was_there_is_an_error_after_a_restart_too(query: Query, connection: Connection) -> None:
    send(connection, "spelled", range(3))
    query.restart(subscribe="spelled", startingOffsets="earliest")
    assert query.batch() == ["0", "1", "2"]
    query.restart(subscribe="spelled,speled")
    with pytest.raises(NotFound, match="did you mean 'spelled'"):
        query.batch()


def test_a_task_that_comes_too_late_fails_or_skips_the_gap(broker: Serve, connection: Connection) -> None:
    send(connection, "late", range(10))
    topic_id = connection.call("MQ.TOPIC", "INFO", "late")["id"]
    connection.call("XTRIM", "late", "MAXLEN", "=", 4)

    def task(id: int, end: int, **options: str) -> ReadTask:
        given = {"servers": f"127.0.0.1:{broker.port}", "subscribe": "late"} | options
        return ReadTask([Range("late", id, 0, 0, end)], read_options(given))

    with pytest.raises(DataLoss, match=r"offsets 0 to 5"):
        list(bodies_of(task(topic_id, 8)))
    assert list(bodies_of(task(topic_id, 8, failOnDataLoss="false"))) == ["6", "7"]
    assert list(bodies_of(task(topic_id, 3, failOnDataLoss="false"))) == []
    with pytest.raises(DataLoss, match="made again"):
        list(bodies_of(task(topic_id + 1, 8)))
    with pytest.raises(DataLoss, match="messages up to 99 were there when this batch was planned"):
        list(bodies_of(ReadTask([Range("late", topic_id, 0, 8, 99)], task(0, 0).options)))


def test_pages_follow_each_other_and_nothing_is_given_twice(
    broker: Serve, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_onemq.reading.PAGE_BYTES", 2_000)
    for number in range(0, 500, 50):
        send(connection, "pages", range(number, number + 50))
    given = {"servers": f"127.0.0.1:{broker.port}", "subscribe": "pages", "minPartitions": "7"}
    tasks = OneMQReader(read_options(given)).partitions()
    assert len(tasks) >= 7
    assert [body for task in tasks for body in bodies_of(task)] == [str(number) for number in range(500)]


def test_deleted_messages_are_left_out(broker: Serve, connection: Connection) -> None:
    send(connection, "holes", range(5))
    entries = connection.call("XRANGE", "holes", "-", "+")
    connection.call("XDEL", "holes", entries[2][0])
    given = {"servers": f"127.0.0.1:{broker.port}", "subscribe": "holes"}
    tasks = OneMQReader(read_options(given)).partitions()
    assert [body for task in tasks for body in bodies_of(task)] == ["0", "1", "3", "4"]


def test_a_topic_that_is_missing_gets_a_hint(broker: Serve, connection: Connection) -> None:
    send(connection, "invoices", ["x"])
    given = {"servers": f"127.0.0.1:{broker.port}", "subscribe": "invoice"}
    with pytest.raises(NotFound, match=r"there is no topic 'invoice' at the broker: did you mean 'invoices'"):
        OneMQReader(read_options(given)).partitions()
