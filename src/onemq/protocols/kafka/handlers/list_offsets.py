"""ListOffsets: the first offset, the next one, and that of a time."""

from functools import partial

from onemq.core.partition import Partition
from onemq.core.start import position_at
from onemq.errors import OneMQError
from onemq.log.batch import read_header
from onemq.log.records import UNREADABLE, decode_at
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.epochs import NO_EPOCH, check_epoch
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.identity import LEADER_EPOCH
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schema import NEVER
from onemq.protocols.kafka.schemas.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LATEST = -1
_EARLIEST = -2
_MAX_TIMESTAMP = -3
_EARLIEST_LOCAL = -4
"""Of what lies on the broker itself, and that is everything here."""
_SINCE = {_LATEST: 1, _EARLIEST: 1, _MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, -5: 9, -6: 11}
"""The versions from which on clients may ask for what is not a time; the last two are about storage elsewhere."""
_ONE_BATCH_BYTES = 1


def list_offsets(call: Call[ListOffsetsRequest]) -> ListOffsetsResponse | None:
    return _Listing(call).begin()


class _Listing:
    """One request: all partitions are looked at, and answers may come at once or later."""

    def __init__(self, call: Call[ListOffsetsRequest]) -> None:
        self._call = call
        self._core = call.service.core
        self._left = 1  # what is still to come; one more, until all were asked
        self._waits = False
        self._response = ListOffsetsResponse(topics=[])

    def begin(self) -> ListOffsetsResponse | None:
        for topic in self._call.request.topics:
            answers = [ListOffsetsPartitionResponse(each.partition_index) for each in topic.partitions]
            self._response.topics.append(ListOffsetsTopicResponse(topic.name, answers))
            for wanted, answer in zip(topic.partitions, answers, strict=True):
                self._begin_one(topic.name, wanted, answer)
        self._left -= 1
        self._waits = self._left > 0
        return None if self._waits else self._response

    def _begin_one(self, topic: str, wanted: ListOffsetsPartition, answer: ListOffsetsPartitionResponse) -> None:
        self._left += 1
        try:
            if wanted.timestamp < 0 and self._call.version < _SINCE.get(wanted.timestamp, NEVER):
                raise Refused(ErrorCode.UNSUPPORTED_VERSION)
            check_epoch(wanted.current_leader_epoch)
            self._look(partition_of(self._call.service.topics.get(topic), wanted.partition_index), wanted, answer)
        except OneMQError as error:
            self._fail(answer, error)

    def _look(self, partition: Partition, wanted: ListOffsetsPartition, answer: ListOffsetsPartitionResponse) -> None:
        time_ms = wanted.timestamp
        if time_ms == _LATEST:
            self._give(answer, partition.end)
        elif time_ms in (_EARLIEST, _EARLIEST_LOCAL):
            self._give(answer, partition.start)
        elif time_ms < _MAX_TIMESTAMP:
            self._give(answer, -1)  # of what lies elsewhere, or is to go there
        else:
            if time_ms == _MAX_TIMESTAMP:
                time_ms = self._core.reading.latest_kept_before(partition, partition.end)
            position_at(self._core.log, partition, time_ms, partial(self._found, partition, answer))

    def _found(self, partition: Partition, answer: ListOffsetsPartitionResponse, offset: int) -> None:
        if offset >= partition.end:
            self._give(answer, -1)
            return
        try:
            found = partial(self._read, answer, offset)
            self._core.reading.batches(partition, offset, _ONE_BATCH_BYTES, found)
        except OneMQError as error:
            self._fail(answer, error)

    def _read(self, answer: ListOffsetsPartitionResponse, offset: int, data: bytes) -> None:
        """The time of the message is told as well."""
        header = read_header(data)
        try:
            record = decode_at(data, 0, header, offset)
            time_ms = header.max_timestamp_ms if record is None else record[1]
        except UNREADABLE:
            time_ms = header.max_timestamp_ms
        self._give(answer, offset, time_ms)

    def _give(self, answer: ListOffsetsPartitionResponse, offset: int, time_ms: int = -1) -> None:
        answer.offset, answer.timestamp = offset, time_ms
        answer.leader_epoch = LEADER_EPOCH if offset >= 0 else NO_EPOCH
        self._one_less()

    def _fail(self, answer: ListOffsetsPartitionResponse, error: OneMQError) -> None:
        answer.error_code = code_of(error)
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if self._waits and not self._left:
            self._call.answer(self._response)
