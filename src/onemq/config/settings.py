"""The settings: a struct for each table of the file. Every key has a default."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from onemq.config.values import (
    Address,
    Bytes,
    Count,
    DelayMilliseconds,
    DrainMilliseconds,
    Factor,
    Flush,
    Folder,
    Hour,
    IndexIntervalBytes,
    JournalBytes,
    Lease,
    MessageBytes,
    Partitions,
    RetentionMilliseconds,
    SegmentBytes,
    Share,
    TopicName,
)
from onemq.limits import KIB, MESSAGE_BYTES_MAX, MIB


class ServerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[server]"""

    log_format: Literal["readable", "json"] = "readable"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    max_connections: Count = 10_000
    drain_timeout_ms: DrainMilliseconds = field(default=10_000, name="drain_timeout")


class LogSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[log]: where and how messages are kept, and what topics have unless they say otherwise."""

    data: Folder = "./onemq-data"
    flush: Flush = "sync"
    journal_bytes: JournalBytes = 64 * MIB
    segment_bytes: SegmentBytes = 128 * MIB
    index_interval_bytes: IndexIntervalBytes = 4 * KIB
    disk_watermark: Share = 0.88
    purge_hour: Hour | None = None
    retention_ms: RetentionMilliseconds | None = field(default=None, name="retention")
    retention_bytes: Bytes | None = None
    max_message_bytes: MessageBytes = MESSAGE_BYTES_MAX


class RespSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[resp]: the Redis protocol."""

    listen: Address | None = Address("127.0.0.1:6379")


class KafkaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[kafka]: the Kafka protocol."""

    listen: Address | None = Address("127.0.0.1:9092")
    advertise: Address | None = None
    auto_create: bool = True
    partitions: Partitions = 1


class TopicSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[topics."name"]. What is not set stays as it is; for a new topic it is as [log] has it, or the default."""

    partitions: Partitions | UnsetType = UNSET
    kind: Literal["stream", "queue"] | UnsetType = UNSET
    flush: Flush | UnsetType = UNSET
    retention_ms: RetentionMilliseconds | UnsetType | None = field(default=UNSET, name="retention")
    retention_bytes: Bytes | UnsetType | None = UNSET
    compact: bool | UnsetType = UNSET
    max_message_bytes: MessageBytes | UnsetType = UNSET
    segment_bytes: SegmentBytes | UnsetType = UNSET
    expires_ms: RetentionMilliseconds | UnsetType | None = field(default=UNSET, name="expires")
    expired: Literal["drop", "dead"] | UnsetType = UNSET
    trace: bool | UnsetType = UNSET
    look_inside: bool | UnsetType = UNSET
    max_deliveries: Count | UnsetType | None = UNSET
    retry_delay_ms: DelayMilliseconds | UnsetType | None = field(default=UNSET, name="retry_delay")
    retry_factor: Factor | UnsetType = UNSET
    retry_delay_max_ms: DelayMilliseconds | UnsetType | None = field(default=UNSET, name="retry_delay_max")
    dead_letters: TopicName | UnsetType | None = UNSET
    lease: Lease | UnsetType | None = UNSET


class Config(Struct, frozen=True):
    """Everything that can be set."""

    server: ServerSettings = ServerSettings()
    log: LogSettings = LogSettings()
    resp: RespSettings = RespSettings()
    kafka: KafkaSettings = KafkaSettings()
    topics: dict[str, TopicSettings] = {}
    users: dict[str, str] = {}
    """Passwords, or their verifiers, by name."""
    file: str = ""
    """The file it came from; empty if there was none."""
