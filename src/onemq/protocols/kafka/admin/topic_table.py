"""The settings of topics under Kafka's names, as a table: which there are, what they may be and what they do here.

A setting either acts, and then its value is the core's own; or it says something that OneMQ decides by itself
(replication, indexes, tiers), and then it has no effect.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from onemq.core.settings import SEGMENT_MS_MAX, TopicConfig
from onemq.limits import MESSAGE_BYTES_CEILING
from onemq.protocols.kafka.admin.forms import INT, LONG, LONG_MAX, Boolean, Choice, Form, Number, Share, Words, parts
from onemq.units import DURATION_MS_MAX

SEGMENT_BYTES_MIN = 1 << 20
"""Kafka's own bound."""
COMPACT, DELETE = "compact", "delete"
POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class Acting:
    """How a setting is part of the core's."""

    read: Callable[[TopicConfig], str]
    write: Callable[[str], dict[str, Any]]
    """Makes the fields of a `TopicConfig` of a checked text."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One name."""

    name: str
    form: Form
    documentation: str
    broker: str = ""
    """The name that the broker's own setting has, which decides where the topic has none."""
    acting: Acting | None = None
    default: str = ""
    """What it is for OneMQ where it does not act."""

    def usual(self, text: str) -> str:
        """What a text comes to: two texts that mean the same to the core have the same."""
        checked = self.form.check(self.name, text)
        if self.acting is None:
            return checked
        return self.acting.read(msgspec.structs.replace(TopicConfig(), **self.acting.write(checked)))


def _number_or_none(field: str) -> Acting:
    """-1 stands for none. The core's smallest number is 1."""

    def read(config: TopicConfig) -> str:
        value = getattr(config, field)
        return "-1" if value is None else str(value)

    return Acting(read, lambda text: {field: None if int(text) < 0 else max(int(text), 1)})


def _number(field: str, at_least: int = 0, at_most: int = LONG_MAX) -> Acting:
    return Acting(
        lambda config: str(getattr(config, field)), lambda text: {field: min(max(int(text), at_least), at_most)}
    )


def _word(field: str, words: Mapping[str, object]) -> Acting:
    """Words of Kafka for values of the core."""
    names = {value: word for word, value in words.items()}
    return Acting(lambda config: names[getattr(config, field)], lambda text: {field: words[text]})


def _flush(config: TopicConfig) -> str:
    return "1" if config.flush == "sync" else str(LONG_MAX)


def _policy(config: TopicConfig) -> str:
    if not config.compact:
        return DELETE
    return f"{COMPACT},{DELETE}" if (config.retention_ms, config.retention_bytes) != (None, None) else COMPACT


def _kept(name: str, form: Form, default: str, why: str, broker: str = "") -> Setting:
    """One that OneMQ decides by itself."""
    return Setting(name, form, f"Kept, without effect: {why}.", broker, default=default)


_AS_SENT = "batches stay as their producer compressed them"
_ONE_COPY = "there is one copy of each partition"
_ONE_PLACE = "there is no remote storage"
_ANY_TIME = "the time of a message may be as old as any"
_WHEN_COMPACTED = "a partition is compacted when half of what is no longer written to is new"
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

_TABLE = (
    Setting(
        POLICY,
        Words((COMPACT, DELETE)),
        "What becomes of old messages: delete drops them after retention.ms or beyond retention.bytes, compact keeps "
        "the last message of each key, both do both, and an empty list keeps everything.",
        "log.cleanup.policy",
        Acting(_policy, lambda text: {"compact": COMPACT in parts(text)}),
    ),
    _kept("compression.gzip.level", Number(INT, -1, 9), "-1", _AS_SENT, "compression.gzip.level"),
    _kept("compression.lz4.level", Number(INT, 1, 17), "9", _AS_SENT, "compression.lz4.level"),
    _kept("compression.type", Choice(_CODECS), "producer", _AS_SENT, "compression.type"),
    _kept("compression.zstd.level", Number(INT, -131072, 22), "3", _AS_SENT, "compression.zstd.level"),
    Setting(
        "delete.retention.ms",
        Number(LONG, 0),
        "How long a message without value stays in a compacted topic, so that readers learn of it.",
        "log.cleaner.delete.retention.ms",
        _number("tombstone_ms", at_most=DURATION_MS_MAX),
    ),
    _kept(
        "file.delete.delay.ms",
        Number(LONG, 0),
        "60000",
        "files go when nobody reads them any more",
        "log.segment.delete.delay.ms",
    ),
    Setting(
        "flush.messages",
        Number(LONG, 1),
        "1: a producer gets its answer when the messages are on disk (sync). Any other number: when they are written "
        "to the operating system (async).",
        "log.flush.interval.messages",
        Acting(_flush, lambda text: {"flush": "sync" if text == "1" else "async"}),
    ),
    _kept("flush.ms", Number(LONG, 0), str(LONG_MAX), "see flush.messages"),
    _kept("follower.replication.throttled.replicas", Words(), "", _ONE_COPY),
    _kept(
        "index.interval.bytes",
        Number(INT, 0),
        "4096",
        "the server's setting index_interval_bytes decides",
        "log.index.interval.bytes",
    ),
    _kept("leader.replication.throttled.replicas", Words(), "", _ONE_COPY),
    _kept("local.retention.bytes", Number(LONG, -2), "-2", _ONE_PLACE, "log.local.retention.bytes"),
    _kept("local.retention.ms", Number(LONG, -2), "-2", _ONE_PLACE, "log.local.retention.ms"),
    _kept(
        "max.compaction.lag.ms", Number(LONG, 1), str(LONG_MAX), _WHEN_COMPACTED, "log.cleaner.max.compaction.lag.ms"
    ),
    Setting(
        "max.message.bytes",
        Number(INT, 0, MESSAGE_BYTES_CEILING),
        "The largest batch of messages that is taken, as it comes from its producer.",
        "message.max.bytes",
        _number("message_bytes_max", at_least=1),
    ),
    _kept(
        "message.timestamp.after.max.ms",
        Number(LONG, 0),
        "3600000",
        "the time of a message may be up to an hour ahead of the broker's clock",
        "log.message.timestamp.after.max.ms",
    ),
    _kept(
        "message.timestamp.before.max.ms",
        Number(LONG, 0),
        str(LONG_MAX),
        _ANY_TIME,
        "log.message.timestamp.before.max.ms",
    ),
    Setting(
        "message.timestamp.type",
        Choice(("CreateTime", "LogAppendTime")),
        "Whether the time of a message is that of its producer, or when the broker got it.",
        "log.message.timestamp.type",
        _word("message_time", {"CreateTime": "producer", "LogAppendTime": "broker"}),
    ),
    _kept("min.cleanable.dirty.ratio", Share(), "0.5", _WHEN_COMPACTED, "log.cleaner.min.cleanable.ratio"),
    _kept(
        "min.compaction.lag.ms",
        Number(LONG, 0),
        "0",
        "what is in closed segments can be compacted at once",
        "log.cleaner.min.compaction.lag.ms",
    ),
    _kept("min.insync.replicas", Number(INT, 1), "1", f"{_ONE_COPY}, see flush.messages", "min.insync.replicas"),
    _kept("preallocate", Boolean(), "false", "the log allocates by itself", "log.preallocate"),
    _kept("remote.log.copy.disable", Boolean(), "false", _ONE_PLACE),
    _kept("remote.log.delete.on.disable", Boolean(), "false", _ONE_PLACE),
    Setting("remote.storage.enable", Boolean(), "There is no remote storage: it can only be false.", default="false"),
    Setting(
        "retention.bytes",
        Number(LONG),
        "How large a partition may grow before its oldest messages are dropped; -1: no limit.",
        "log.retention.bytes",
        _number_or_none("retention_bytes"),
    ),
    Setting(
        "retention.ms",
        Number(LONG, -1),
        "How old messages may grow before they are dropped; -1: they stay.",
        "log.retention.ms",
        _number_or_none("retention_ms"),
    ),
    Setting(
        "segment.bytes",
        Number(INT, SEGMENT_BYTES_MIN),
        "How large one file of the log may grow. Retention and compaction work on files that are full.",
        "log.segment.bytes",
        _number("segment_bytes"),
    ),
    _kept(
        "segment.index.bytes",
        Number(INT, 4),
        "10485760",
        "indexes have the size that they need",
        "log.index.size.max.bytes",
    ),
    _kept("segment.jitter.ms", Number(LONG, 0), "0", "a file begins when the one before it is full or old"),
    Setting(
        "segment.ms",
        Number(LONG, 1),
        "How old the first message of a file may grow before the next file begins; at most seven days, and at most a "
        "quarter of retention.ms.",
        "log.roll.ms",
        _number("segment_ms_max", at_most=SEGMENT_MS_MAX),
    ),
    _kept("unclean.leader.election.enable", Boolean(), "false", _ONE_COPY, "unclean.leader.election.enable"),
    Setting(
        "onemq.kind",
        Choice(("stream", "queue")),
        "stream: messages stay until retention. queue: a message goes when every group has acknowledged it.",
        acting=_word("kind", {"stream": "stream", "queue": "queue"}),
    ),
    Setting(
        "onemq.expires.ms",
        Number(LONG, -1, DURATION_MS_MAX),
        "After how long messages are of no use any more, if they do not say so themselves; -1: never.",
        acting=_number_or_none("expires_ms"),
    ),
    Setting(
        "onemq.expired",
        Choice(("drop", "dead")),
        "What becomes of messages that nobody got in time: dropped, or dead letters.",
        acting=_word("expired", {"drop": "drop", "dead": "dead"}),
    ),
    Setting(
        "onemq.headers.compressed",
        Boolean(),
        "Whether _due and _pri are looked for in compressed batches, too: each is unpacked before it is stored.",
        acting=_word("look_inside", {"true": True, "false": False}),
    ),
    Setting(
        "onemq.trace",
        Boolean(),
        "Whether everything that becomes of its messages can be looked up.",
        acting=_word("trace", {"true": True, "false": False}),
    ),
)

SETTINGS = {setting.name: setting for setting in sorted(_TABLE, key=lambda setting: setting.name)}
