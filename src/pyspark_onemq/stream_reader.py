"""Streaming reads: micro-batches from where the checkpoint is."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from onemq.errors import NotFound
from pyspark_onemq.catalog import Extent, extents, extents_there, resolve, topic_names
from pyspark_onemq.connection import Connection
from pyspark_onemq.group import Group
from pyspark_onemq.loss import Losses
from pyspark_onemq.offsets import Offsets, Place
from pyspark_onemq.options import ReadOptions
from pyspark_onemq.planning import Range, admit, plan
from pyspark_onemq.tasks import connect, read, tasks_of

if TYPE_CHECKING:
    import pyarrow

DISCOVERY_S = 1.0
"""So often a pattern is looked up anew; Spark asks for the newest offsets every 10 ms while nothing comes."""


class OneMQStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One lives on the driver as long as the query; what executors have is a pickled copy that only reads."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._losses = Losses(options.fail_on_data_loss)
        self._group = None if options.group is None else Group(options.group)
        self._connection: Connection | None = None
        self._initial: Offsets | None = None
        self._target: Offsets | None = None
        self._names: tuple[float, list[str]] = (0.0, [])

    def initialOffset(self) -> dict[str, Any]:
        """Where a query without a checkpoint begins. Spark asks twice and must hear the same."""
        if self._initial is None:
            bound = self._options.starting("latest")
            found = extents(self._connected(), self._options.topics, time_ms=bound.time_ms)
            self._initial = resolve(bound, found)
        return self._initial.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._options.offsets_per_trigger_max
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = _ends(self._found())

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        """Where the next micro-batch ends. What is below `start` has been handled: that is reported to the broker."""
        before = Offsets({}, {}) if start is None else Offsets.from_json(start)
        self._report(before)
        found = self._found(before)
        for topic in sorted((before.ids.keys() | self._topic_names()) - {each.topic for each in found}):
            self._losses.topic_gone(topic)
        begins = self._begins(before, found)
        ends = self._bounded(found, begins)
        if isinstance(limit, ReadMaxRows):
            ends = admit(begins, ends, limit.max_rows)
        return Offsets(ends, {each.topic: each.topic_id for each in found}).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:
        return _ends(self._found()).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of the micro-batch between two offsets; after a restart Spark asks for the same again."""
        last = Offsets.from_json(end)
        there = extents_there(self._connected(), last.ids)
        for topic in sorted(last.ids.keys() - {each.topic for each in there}):
            self._losses.topic_gone(topic)
        found = [each for each in there if each.place in last.next]
        begins = self._begins(Offsets.from_json(start), found)
        ranges = []
        for each in found:
            if last.ids[each.topic] != each.topic_id:
                self._losses.topic_made_again(each.topic, last.ids[each.topic], each.topic_id)
                continue
            ranges.append(Range(each.topic, each.topic_id, each.number, begins[each.place], last.next[each.place]))
        return tasks_of(plan(ranges, self._options.partitions_min), self._options)

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        return read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark calls this when the batch after it is planned, so the last one of a run is reported elsewhere."""
        self._report(Offsets.from_json(end))

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _report(self, position: Offsets) -> None:
        if self._group is not None:
            self._group.report(self._connected(), position)

    def _found(self, before: Offsets | None = None) -> list[Extent]:
        """The partitions that are there. A topic that is subscribed by its name may be missing only if the query has
        read it before, or goes on without what is gone."""
        names, topics = self._topic_names(), self._options.topics
        if topics.pattern is not None:
            return extents_there(self._connected(), names)
        try:
            return extents(self._connected(), topics, names)
        except NotFound:
            there = extents_there(self._connected(), names)
            gone = set(names).difference(each.topic for each in there)
            if self._options.fail_on_data_loss and (before is None or gone.isdisjoint(before.ids)):
                raise
        assigned = {(topic, number) for topic, numbers in topics.assigned for number in numbers}
        return [each for each in there if not assigned or each.place in assigned]

    def _topic_names(self) -> list[str]:
        looked, names = self._names
        if not names or (self._options.topics.pattern is not None and time.monotonic() - looked > DISCOVERY_S):
            names = topic_names(self._connected(), self._options.topics)
            self._names = (time.monotonic(), names)
        return names

    def _begins(self, before: Offsets, found: list[Extent]) -> dict[Place, int]:
        """Where reading goes on in each partition; new partitions and topics begin with their first message."""
        ids = {each.topic: each.topic_id for each in found}
        for topic, old_id in sorted(before.ids.items()):
            if topic in ids and ids[topic] != old_id:
                self._losses.topic_made_again(topic, old_id, ids[topic])
        begins = {}
        for each in found:
            known = before.ids.get(each.topic) == each.topic_id
            wanted = before.next.get(each.place) if known else None
            begins[each.place] = each.start if wanted is None else self._losses.first_readable(each, wanted)
        return begins

    def _bounded(self, found: list[Extent], begins: dict[Place, int]) -> dict[Place, int]:
        """The ends of the partitions; with Trigger.AvailableNow those that were there at the start."""
        if self._target is None:
            return {each.place: each.end for each in found}
        target = self._target
        ends = {}
        for each in found:
            known = target.ids.get(each.topic) == each.topic_id and each.place in target.next
            ends[each.place] = max(target.next[each.place], begins[each.place]) if known else begins[each.place]
        return ends

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = connect(self._options.server)
        return self._connection

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_connection": None}


def _ends(found: list[Extent]) -> Offsets:
    return Offsets({each.place: each.end for each in found}, {each.topic: each.topic_id for each in found})
