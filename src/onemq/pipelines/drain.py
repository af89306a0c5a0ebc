"""`onemq pipeline drain`: the backlog of a group spread over a topic of more partitions, so that more hands can work.

Messages are copied exactly once, at a bounded rate, and the group's position in the old topic moves on with them.
Messages of one key stay in order: they go to one partition, as they do when they are sent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument, OneMQError
from onemq.pipelines.batches import Batches
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.copies import copied, in_order
from onemq.pipelines.options import Conf, Json, Master, Once, Password, Servers, User, finish, run_main
from onemq.pipelines.pace import Pace
from onemq.pipelines.session import opened
from onemq.pipelines.sides import Runs, backlog, is_beyond, ranges_of
from onemq.pipelines.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_BATCH = 100_000
RECEIPTS = 1000
"""So many messages are acknowledged in one request."""


def run(
    spark: SparkSession,
    broker: Broker,
    topic: str,
    group: str,
    target: str,
    *,
    checkpoint: str,
    times: int = 10,
    rate: float | None = None,
    most: int | None = None,
    once: bool = True,
    force: bool = False,
) -> Summary:
    """Copies what the group has not acknowledged, up to the end, and what comes meanwhile unless `once`."""
    if topic == target:
        raise InvalidArgument("a backlog cannot be spread over its own topic: name another one with --to")
    old, new = prepare(broker, topic, group, target, times, force)
    runs, ends = backlog(broker, topic, group)
    starts = {partition: min([first for number, first, _ in runs if number == int(partition)], default=end)
              for partition, end in ends.items()}  # fmt: skip
    size = most or (DEFAULT_BATCH if rate is None else max(1, int(rate)))
    rows = broker.read_stream(
        spark, subscribe=topic, startingOffsets=json.dumps({topic: starts}), maxOffsetsPerTrigger=size,
        includeHeaders=True,
    ).load()  # fmt: skip
    work = _Work(spark, broker, topic, group, target, runs, ends, Pace(rate))
    progress = Batches(rows, checkpoint, "drain").run(work.batch, once)
    facts: dict[str, Any] = {"copied": work.copied, "partitions_before": old, "partitions_now": new}
    facts |= {"lag_left": _lag(broker, topic, group), "batches": progress.batches}
    facts["seconds"] = round(progress.seconds, 1)
    return Summary("drain", facts)


def prepare(broker: Broker, topic: str, group: str, target: str, times: int, force: bool) -> tuple[int, int]:
    """Makes the new topic and the group in it; returns how many partitions there were and are."""
    with broker.connect() as connection:
        info = connection.call("MQ.GROUP", "INFO", topic, group)
        if info["members"] and not force:
            raise OneMQError(
                f"group {group} of {topic} has {len(info['members'])} members at work, who handle what is copied: "
                "stop them first, or say --force"
            )
        old = len(info["partitions"])
        connection.call("MQ.TOPIC", "CREATE", target, "PARTITIONS", old * times, "IFNOTEXISTS")
        connection.call("MQ.GROUP", "CREATE", target, group, "IFNOTEXISTS")
        return old, int(connection.call("MQ.TOPIC", "INFO", target)["partitions"])


class _Work:
    """One batch after the other."""

    def __init__(
        self, spark: SparkSession, broker: Broker, topic: str, group: str, target: str, runs: Runs,
        ends: dict[str, int], pace: Pace,
    ) -> None:  # fmt: skip
        self._broker = broker
        self._place = (topic, group)
        self._target = target
        self._ranges, self._is_in = ranges_of(spark, runs)
        self._ends = ends
        self._solid = {int(partition): _solid_from(int(partition), runs, end) for partition, end in ends.items()}
        self._single = {(number, offset) for number, first, last in runs if last < self._solid[number]
                        for offset in range(first, last + 1)}  # fmt: skip
        self._pace = pace
        self.copied = 0

    def batch(self, messages: DataFrame, number: int, unit: str) -> None:
        """Copies those of the messages that the group has before it, and moves the group on."""
        from pyspark.sql import functions as F

        is_new = is_beyond(self._ends)
        known = messages.where(~is_new).join(self._ranges, self._is_in, "left_semi")
        chosen = known.unionByName(messages.where(is_new)).persist()
        count = chosen.count()
        self._broker.write(copied(in_order(chosen)), topic=self._target, unit=unit, unitNumber=number).save()
        reached = {row["partition"]: row["end"] for row in
                   messages.groupBy("partition").agg((F.max("offset") + 1).alias("end")).collect()}  # fmt: skip
        chosen.unpersist()
        self._move(reached)
        self.copied += count
        self._pace.wait(count)

    def _move(self, reached: dict[int, int]) -> None:
        """Tells the broker what is done. Below `_solid` there are acknowledged messages between the others, so these
        are acknowledged one by one; from there on the mark is moved."""
        marks = {number: end for number, end in reached.items() if end >= self._solid.get(number, 0)}
        done = {(number, offset) for number, offset in self._single if offset < reached.get(number, 0)}
        receipts = [f"{number}:{offset}" for number, offset in sorted(done) if number not in marks]
        self._single -= done
        with self._broker.connect() as connection:
            for at in range(0, len(receipts), RECEIPTS):
                connection.call("MQ.ACK", *self._place, *receipts[at : at + RECEIPTS])
            if marks:
                words = [word for each in sorted(marks.items()) for word in each]
                connection.call("MQ.GROUP", "MARK", *self._place, *words)


def _solid_from(partition: int, runs: Runs, end: int) -> int:
    """From there on, nothing was acknowledged."""
    solid = end
    for number, first, last in reversed(runs):
        if number == partition and last == solid - 1:
            solid = first
    return solid


def _lag(broker: Broker, topic: str, group: str) -> Any:
    with broker.connect() as connection:
        return connection.call("MQ.GROUP", "INFO", topic, group)["lag"]


def command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where the backlog is.")],
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Whose backlog it is.")],
    to: Annotated[str, typer.Option(metavar="TOPIC", help="Where it goes; made if it is not there.")],
    checkpoint: Annotated[str, typer.Option(metavar="FOLDER", help="Keeps how far it is.")],
    times: Annotated[int, typer.Option(metavar="N", help="So many times the partitions.", min=1)] = 10,
    rate: Annotated[float | None, typer.Option(metavar="N", help="At most so many messages a second.", min=0.1)] = None,
    most: Annotated[int | None, typer.Option("--max-per-batch", metavar="N", help="Messages in a batch.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Even if the group has members at work.")] = False,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    once: Once = True,
    as_json: Json = False,
) -> None:
    """Spreads a group's backlog over a topic of more partitions; order by key is kept."""
    with opened(master, "onemq drain", conf) as spark:
        summary = run(
            spark, broker(servers, user, password), topic, group, to, checkpoint=checkpoint, times=times, rate=rate,
            most=most, once=once, force=force,
        )  # fmt: skip
        finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line by itself."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
