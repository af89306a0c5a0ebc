"""The batch of a producer: what its header must be like. Its records are not looked at.

Kafka decodes all records of a batch before it stores them; here that would cost the bulk road its rate. What the header
tells is checked, and answered with Kafka's codes. The rest is found by those who read (core/unreadable.py).
"""

from struct import Struct

from onemq.core.topics import Topic
from onemq.errors import InvalidArgument
from onemq.limits import BATCH_MESSAGES_MAX, KAFKA_AHEAD_MS_MAX
from onemq.log.batch import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    STAMPED,
    TRANSACTIONAL,
    BatchHeader,
    check_ready_made,
)
from onemq.log.compression import NAMES
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schema import Records

_KNOWN_ATTRIBUTES = COMPRESSION_MASK | STAMPED | TRANSACTIONAL | CONTROL
_COMPRESSIONS = {0, *NAMES}
_ZSTD = 4
_ZSTD_SINCE = 7
_RECORD_BYTES_MIN = 7
_TIME_MS_END = 1 << 62
_LENGTH = Struct(">8xi")


def check_batch(batch: Records, topic: Topic, version: int, now_ms: int) -> BatchHeader:
    """The header of a batch that came in a version of Produce, if it is as Kafka wants it. Raises `Corrupt` for a wrong
    checksum, else `Refused`."""
    _check_size(batch)
    try:
        header = check_ready_made(batch)
    except InvalidArgument as error:
        raise Refused(ErrorCode.INVALID_RECORD, error.text) from None
    _check_attributes(header, version)
    _check_counts(header)
    _check_times(header, topic, now_ms)
    return header


def _check_size(batch: Records) -> None:
    if len(batch) < HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, "there must be a batch of records for each partition")
    size = LENGTH_PREFIX_BYTES + _LENGTH.unpack_from(batch)[0]
    if size != len(batch) and size >= HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, "there must be one whole batch of records for each partition")


def _check_attributes(header: BatchHeader, version: int) -> None:
    compression = header.attributes & COMPRESSION_MASK
    if compression not in _COMPRESSIONS:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"there is no compression {compression}")
    if compression == _ZSTD and version < _ZSTD_SINCE:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {_ZSTD_SINCE} or later")
    if header.attributes & CONTROL:
        raise Refused(ErrorCode.INVALID_RECORD, "control batches are the broker's own")
    if header.attributes & ~_KNOWN_ATTRIBUTES:  # others mean something to those who keep batches, not to producers
        raise Refused(ErrorCode.INVALID_RECORD, f"the batch has unknown attributes: {header.attributes:#x}")


def _check_counts(header: BatchHeader) -> None:
    """Offsets count for all, so a batch must not claim more of them than it can have records."""
    count = header.record_count
    if header.last_offset_delta != count - 1:
        raise Refused(ErrorCode.INVALID_RECORD, "the offsets of a batch must count up from 0 without gaps")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise Refused(ErrorCode.INVALID_RECORD, "the batch of an idempotent producer needs a sequence")
    if header.attributes & COMPRESSION_MASK:
        if count > BATCH_MESSAGES_MAX:
            text = f"a batch may have {BATCH_MESSAGES_MAX} messages, this one has {count}"
            raise Refused(ErrorCode.MESSAGE_TOO_LARGE, text)
    elif count * _RECORD_BYTES_MIN > header.size - HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, f"the batch is too short for {count} messages")


def _check_times(header: BatchHeader, topic: Topic, now_ms: int) -> None:
    if topic.config.message_time != "producer":
        return
    ahead_ms = header.max_timestamp_ms - now_ms
    if ahead_ms > KAFKA_AHEAD_MS_MAX:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, f"a message is {ahead_ms} ms ahead of the broker's clock")
    if max(abs(header.base_timestamp_ms), abs(header.max_timestamp_ms)) >= _TIME_MS_END:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "the times of the batch are out of range")
