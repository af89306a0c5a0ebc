"""Archive, compaction, SQL over both, and replay: a topic's whole life outside the broker."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import date

import pandas
import pytest

from onemq.errors import InvalidArgument, NotFound, OneMQError
from onemq.pipelines import archive, archived, compact, replay, sql
from onemq.pipelines.broker import Broker
from onemq.pipelines.options import with_clear_errors

COLUMNS = ["topic", "partition", "offset", "key", "value", "timestamp", "id", "tag", "headers"]
SCHEMA = "orderno BIGINT NOT NULL, city STRING"
LATER = date(2100, 1, 1)
GOOD, BAD = 60, 6


@pytest.fixture(scope="module")
def place(broker):
    return Broker(f"127.0.0.1:{broker.port}")


def send(connection, topic, bodies, start=0):
    """Each with a key, a tag and a header."""
    connection.call_all(
        ("MQ.SEND", topic, body, "KEY", f"key-{number % 7}", "TAG", ("even", "odd")[number % 2], "HEADER", "n", number)
        for number, body in enumerate(bodies, start)
    )


def rows_of(frame):
    return sorted(tuple(map(str, row)) for row in frame.select(*COLUMNS).collect())


def topic_rows(spark, place, topic):
    return rows_of(place.read(spark, subscribe=topic, includeHeaders=True).load())


def answer(spark, place, text, **options):
    """The first row of a SELECT."""
    return tuple(sql.run(spark, place, text, **options)[1][0].values())


@pytest.fixture(scope="module")
def lake(spark, broker, place, tmp_path_factory):
    """An archive with good and bad rows, in several batches: (URL, summary)"""
    with place.connect() as connection:
        connection.call("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 2)
        good = [json.dumps({"orderno": number, "city": "Lund"}) for number in range(GOOD)]
        send(connection, "orders", good)
        bad = ["no json", "[1]", '{"city": "Lund"}', '{"orderno": "many"}', '{"orderno": 1.5}', "7"]
        send(connection, "orders", bad, GOOD)
    url = str(tmp_path_factory.mktemp("lake") / "shop")
    return url, archive.run(spark, place, url, ["orders"], schema=SCHEMA, batch_rows=25, group="archive")


def test_a_topic_is_archived_and_what_does_not_fit_stands_aside_with_its_reason(spark, place, lake, connection):
    url, summary = lake
    assert (summary.facts["messages"], summary.facts["bad_rows"], summary.facts["batches"]) == (GOOD, BAD, 3)
    ends = {row["partition"]: row["archived_up_to"] for row in summary.tables["topics"]}
    assert sum(ends.values()) == GOOD + BAD
    bad = archived.read(spark, url, table="bad_rows")
    assert rows_of(archived.read(spark, url).unionByName(bad)) == topic_rows(spark, place, "orders")
    reasons = {bytes(row.value).decode(): row.reason for row in bad.collect()}
    assert reasons == {
        "no json": "not JSON",
        "[1]": "not a JSON object",
        "7": "not a JSON object",
        '{"city": "Lund"}': "orderno is missing",
        '{"orderno": "many"}': "orderno is no bigint: many",
        '{"orderno": 1.5}': "orderno is no bigint: 1.5",
    }


def test_others_read_the_folders_as_they_are(spark, lake):
    url, _ = lake
    assert spark.read.parquet(f"{url}/messages").selectExpr("count(*)", "count(distinct id)").first() == (GOOD, GOOD)
    frame = pandas.read_parquet(f"{url}/messages")
    assert sorted(body["orderno"] for body in frame["body"]) == list(range(GOOD))


def test_a_second_run_adds_nothing_and_a_lost_checkpoint_is_made_up_for(spark, place, lake, connection):
    url, _ = lake
    assert archive.run(spark, place, url, ["orders"]).facts["messages"] == 0
    shutil.rmtree(f"{url}/_onemq/checkpoint")
    assert archive.run(spark, place, url, ["orders"]).facts["messages"] == 0
    with pytest.raises(InvalidArgument, match="another URL"):
        archive.run(spark, place, url, ["orders"], schema="orderno INT")


def test_sql_sees_each_message_once_across_the_seam_also_after_compaction(spark, place, lake, connection):
    url, _ = lake
    fresh = [json.dumps({"orderno": number, "city": "Rome"}) for number in range(GOOD, GOOD + 10)]
    send(connection, "orders", fresh, GOOD + BAD)
    text = "select count(*), count(distinct id), count(distinct body.orderno), count(reason) from orders"
    total = GOOD + BAD + 10
    assert answer(spark, place, text, archive=url) == (total, total, GOOD + 10, BAD)
    assert answer(spark, place, "select count(*) from orders") == (total,)

    before = rows_of(archived.read(spark, url))
    summary = compact.run(spark, url, before=LATER)
    assert summary.facts["files_after"] == 1 < summary.facts["files_before"]
    assert rows_of(archived.read(spark, url)) == before == rows_of(spark.read.parquet(f"{url}/messages"))
    assert compact.run(spark, url, before=LATER).facts["dates"] == 0
    assert answer(spark, place, text, archive=url) == (total, total, GOOD + 10, BAD)


def test_a_query_about_nothing_fails_with_a_sentence(spark, place, lake):
    with pytest.raises(NotFound, match="no topic 'nothing'"):
        sql.run(spark, place, "select * from nothing")
    with pytest.raises(OneMQError, match="colour"):
        with_clear_errors(sql.run)(spark, place, "select colour from orders")
    with pytest.raises(NotFound, match="no archive at"):
        sql.run(spark, place, "select * from orders", archive="/tmp/no/such/archive")


def test_a_replay_sends_what_was_chosen_once_and_in_order(spark, place, lake, connection):
    url, _ = lake
    choice = replay.Choice("orders", where="tag = 'odd' and reason is null")
    connection.call("MQ.TOPIC", "CREATE", "again", "PARTITIONS", 3)
    assert replay.run(spark, place, url, choice, "again", dry_run=True).facts["found"] == GOOD / 2
    assert replay.run(spark, place, url, choice, "again", rate=10).facts["messages"] == GOOD / 2
    assert replay.run(spark, place, url, choice, "again").facts["messages"] == 0
    sent = place.read(spark, subscribe="again", includeHeaders=True).load().orderBy("partition", "offset").collect()
    by_key = {}
    for row in sent:
        assert row.tag == "odd"
        by_key.setdefault(bytes(row.key), []).append(json.loads(row.value)["orderno"])
    assert sorted(number for numbers in by_key.values() for number in numbers) == list(range(1, GOOD, 2))
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_a_replay_that_was_killed_goes_on_after_the_last_portion(spark, place, lake):
    url, _ = lake
    choice = replay.Choice("orders", where="reason is null")

    class Dying(Broker):
        def write(self, rows, **options):
            writer = super().write(rows, **options)
            if options["unitNumber"] == 2:
                writer.save()
                raise KeyboardInterrupt
            return writer

    with pytest.raises(KeyboardInterrupt):
        replay.run(spark, Dying(place.servers), url, choice, "resumed", rate=10)
    summary = replay.run(spark, place, url, choice, "resumed", rate=10)
    assert summary.facts["messages"] + summary.facts["sent_before"] == GOOD
    assert summary.facts["sent_before"] > 0
    sent = place.read(spark, subscribe="resumed").load()
    assert sorted(json.loads(row.value)["orderno"] for row in sent.collect()) == list(range(GOOD))


def test_the_archive_equals_the_topic_after_its_driver_was_killed(spark, place, connection, tmp_path):
    """A real driver, killed with SIGKILL at a point that differs from run to run; all points: test_store.py."""
    connection.call("MQ.TOPIC", "CREATE", "killed", "PARTITIONS", 2)
    send(connection, "killed", [f"message {number}" for number in range(200)])
    url = tmp_path / "lake"
    point = random.choice(["_onemq/staging/*/**/*.parquet", "_onemq/batches/*1.json", "_onemq/batches/*3.json"])
    with Driver(place, url) as driver:
        driver.wait_for(url, point)
        time.sleep(random.random() / 10)
    archive.run(spark, place, str(url), ["killed"], batch_rows=40)
    expected = topic_rows(spark, place, "killed")
    assert len(expected) == 200
    assert rows_of(archived.read(spark, str(url))) == expected
    assert rows_of(spark.read.parquet(f"{url}/messages")) == expected
    assert answer(spark, place, "select count(*), count(distinct id) from killed", archive=str(url)) == (200, 200)


class Driver:
    """`python -m onemq.pipelines.archive` in small batches; ends by SIGKILL."""

    def __init__(self, place, url):
        words = ["killed", "--to", str(url), "--servers", place.servers, "--batch-rows", "20", "--master", "local[2]"]
        small = ["--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "onemq.pipelines.archive", *words, *small],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def wait_for(self, folder, pattern):
        give_up = time.monotonic() + 240
        while not any(folder.glob(pattern)):
            assert time.monotonic() < give_up, "nothing happens"
            assert self._process.poll() is None, self._process.communicate()[0]
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
