"""The server: puts it together. Configuration -> log -> core -> protocols -> net.

    start    bind the addresses, open the broker, accept
    stop     accept no more, let the running turn finish, close the connections, close the broker

Addresses are bound first: what is refused is refused before anything on disk has changed.
"""

import asyncio
import logging
import os
import resource
import secrets
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

import onemq
from onemq.config import MEMORY, Config, LogSettings, TopicSettings
from onemq.core.core import Core
from onemq.core.group import GroupConfig
from onemq.core.redelivery import FOR_EVER, NO_MAXIMUM, Backoff, Immediate, Redelivery
from onemq.core.topics import Topic, TopicConfig
from onemq.errors import ConfigError, FolderError, OneMQError
from onemq.limits import RESERVED_FILES, SEGMENT_FILES_MIN
from onemq.log.disk import OsDisk
from onemq.log.engine import Log
from onemq.log.folder import FolderLock, check_format, id_of, is_new
from onemq.log.local import OPEN_FILES_MAX, LocalLog
from onemq.log.memory import MemoryLog
from onemq.log.recovery import Report
from onemq.net.background import BackgroundThreads
from onemq.net.connection import Connections
from onemq.net.listener import KEEPALIVE_IDLE_S, Listener, drain
from onemq.net.turn import Turns, wall_clock_ms
from onemq.protocols import SessionFactory
from onemq.protocols.backlog import Backlog
from onemq.protocols.resp.service import RespService, ServerFacts
from onemq.users import Users

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

_logger = logging.getLogger(__name__)

T = TypeVar("T")
Close = Callable[[], Awaitable[None]]
_ID_BYTES = 16
_OF_TOPICS = (
    "kind", "flush", "retention_ms", "retention_bytes", "compact", "message_bytes_max", "segment_bytes", "expires_ms",
    "expired", "trace", "look_inside",
)  # fmt: skip
_CALLED = {"message_bytes_max": "max_message_bytes"}
"""Settings of the core that have another name in the configuration."""


@dataclass(frozen=True, slots=True)
class Broker:
    """The core over its log, recovered and ready."""

    core: Core
    recovery: str
    """What the start found, for people."""
    identity: bytes
    """16 bytes that stay with the data."""
    close: Close
    """Leaves behind what makes the next start quick, and frees the folder."""


# The broker.


def open_broker(config: Config, loop: asyncio.AbstractEventLoop, now_ms: int) -> Broker:
    """Opens the data folder, or a log in memory, and recovers. Fails with FolderError, ConfigError."""
    if config.log.data == MEMORY:
        new_id = secrets.token_bytes(_ID_BYTES)
        return _recovered(config, MemoryLog(), now_ms, "nothing is kept", new_id, _nothing_to_close)
    folder = Path(config.log.data)
    disk, lock = OsDisk(folder), FolderLock(folder)
    try:
        check_format(disk)
    except OSError as problem:
        raise FolderError(
            f"cannot use the data folder {folder}: {problem.strerror}; give it rights or choose another one with --data"
        ) from None
    lock.take()
    new_id = secrets.token_bytes(_ID_BYTES) if is_new(disk) else _id_by_place(folder)
    threads = BackgroundThreads(loop)
    log = LocalLog(
        disk,
        background=threads,
        journal_bytes=config.log.journal_bytes,
        index_interval_bytes=config.log.index_interval_bytes,
        open_files_max=_segment_files_max(config.server.max_connections),
        on_trouble=_logger.warning,
    )
    try:
        found = _describe(log.open())
        identity = id_of(disk, new_id, keep=log.failure is None)
        broker = _recovered(config, log, now_ms, found, identity, lambda: _close(broker.core, log, lock, threads))
    except BaseException:
        threads.stop()
        lock.release()
        raise
    return broker


def _id_by_place(folder: Path) -> bytes:
    """The id of data of earlier versions, which kept none: it was made from where the folder is, and clients have seen
    it."""
    return blake2b(str(folder.absolute()).encode(), digest_size=_ID_BYTES).digest()


def _recovered(config: Config, log: Log, now_ms: int, recovery: str, identity: bytes, close: Close) -> Broker:
    core = Core(
        log,
        disk_watermark=config.log.disk_watermark,
        purge_hour=config.log.purge_hour,
        keys_sync=config.log.flush == "sync",
        on_trouble=_logger.error,
    )
    core.recover(now_ms)
    if core.read_only is None:
        for name, settings in config.topics.items():
            _apply_topic(core, config, name, settings)
    return Broker(core, recovery, identity, close)


def _apply_topic(core: Core, config: Config, name: str, settings: TopicSettings) -> None:
    """Makes the topic, or changes what its table names; the first turn writes it."""
    topic = core.topics.find(name)
    try:
        if topic is None:
            core.topics.create(name, _set_or(settings.partitions, 1), topic_config(settings, config.log))
        else:
            _change_topic(core, topic, settings)
    except OneMQError as problem:
        raise ConfigError(f"{config.file}: topics.{name}: {problem.text}; correct the table") from None


def _change_topic(core: Core, topic: Topic, settings: TopicSettings) -> None:
    """What the table leaves open stays as it is. Where it changes what groups are like, all groups get that."""
    known, of_groups = topic.config, _named_of_groups(settings)
    group = msgspec.structs.replace(known.group, **of_groups)
    wanted = msgspec.structs.replace(known, **_named(settings), group=group)
    partitions = _set_or(settings.partitions, len(topic.partitions))
    if wanted == known and partitions == len(topic.partitions):
        return
    group.check(topic.name)
    core.topics.alter(topic.name, partitions, **msgspec.to_builtins(wanted))
    for each in list(topic.groups.values()) if group != known.group else ():
        core.groups.alter(each, msgspec.structs.replace(each.config, **of_groups))


def topic_config(settings: TopicSettings, defaults: LogSettings) -> TopicConfig:
    """The settings of a new topic for the core; what its table leaves open is as [log] has it."""
    usual = TopicConfig(
        flush=defaults.flush,
        retention_ms=defaults.retention_ms,
        retention_bytes=defaults.retention_bytes,
        message_bytes_max=defaults.max_message_bytes,
        segment_bytes=defaults.segment_bytes,
        group=GroupConfig(**_named_of_groups(settings)),
    )
    return msgspec.structs.replace(usual, **_named(settings))


def _named(settings: TopicSettings) -> dict[str, Any]:
    """What the table of a topic says of itself, in the words of the core."""
    found = {name: getattr(settings, _CALLED.get(name, name)) for name in _OF_TOPICS}
    return {name: value for name, value in found.items() if value is not UNSET}


def _named_of_groups(settings: TopicSettings) -> dict[str, Any]:
    """What it says of groups. How messages are handed out again is one setting to the core, made of several keys."""
    named: dict[str, Any] = {}
    if (settings.max_deliveries, settings.retry_delay_ms) != (UNSET, UNSET):
        policy = _policy(settings)
        named["policy"] = policy.to_entry() if policy is not None else None
    if settings.dead_letters is not UNSET:
        named["dead_topic"] = settings.dead_letters
    if not isinstance(settings.lease, UnsetType):
        named["lease_connection"], named["lease_ms"] = settings.lease == 0, int(settings.lease or 0)
    return named


def _policy(settings: TopicSettings) -> Redelivery | None:
    most, delay_ms = _set_or(settings.max_deliveries, None), _set_or(settings.retry_delay_ms, None)
    if delay_ms is None:
        return Immediate(most) if most is not None else None
    factor, delay_max_ms = _set_or(settings.retry_factor, 1.0), _set_or(settings.retry_delay_max_ms, None)
    return Backoff(
        delay_ms,
        delay_ms,
        factor,
        factor > 1,
        max_delay_ms=NO_MAXIMUM if delay_max_ms is None else delay_max_ms,
        max_redeliveries=FOR_EVER if most is None else most - 1,
    )


def _set_or(value: T | UnsetType, default: T) -> T:
    return default if isinstance(value, UnsetType) else value


def _describe(report: Report) -> str:
    """What the start found, on one line; details go to the log."""
    for note in (*report.notes, *report.damage):
        _logger.warning("%s", note)
    if report.damage:
        return "stored data is damaged, so OneMQ only reads"
    if report.clean:
        return "nothing to replay"
    return f"{report.entries} entries replayed, {report.torn_bytes} unfinished bytes cut off"


async def _close(core: Core, log: LocalLog, lock: FolderLock, threads: BackgroundThreads) -> None:
    await threads.idle()
    if log.failure is None:
        log.checkpoint(core.dump())
    await threads.idle()
    log.close()
    threads.stop()
    lock.release()


async def _nothing_to_close() -> None:
    """A log in memory leaves nothing behind."""


# The server around it.


class Server:
    """A broker that listens. `start` it, `wait` until it is asked to stop, `stop` it."""

    def __init__(
        self,
        config: Config,
        memory_bytes: Callable[[], int] | None = None,
        clock_ms: Callable[[], int] = wall_clock_ms,
        lingers: bool = False,
    ) -> None:
        """`memory_bytes` tells what memory the process has; without it, clients are told the most it has had. `lingers`
        is for a loop that has no other work, on a machine that has another processor (net/lingering.py)."""
        self._config = config
        self._clock_ms = clock_ms
        self._lingers = lingers
        self._memory_bytes = memory_bytes or memory_peak_bytes
        self._listeners: list[Listener] = []
        self._connections = Connections(config.server.max_connections)
        self._backlog = Backlog()
        self._users = Users(config.users)
        self._stop_asked = asyncio.Event()
        self._is_broken = False

    async def start(self) -> None:
        """Serves when this returns. Fails with OneMQError before anything has changed on disk."""
        loop = asyncio.get_running_loop()
        try:
            for protocol, address in (("resp", self._config.resp.listen), ("kafka", self._config.kafka.listen)):
                if address is not None:
                    self._listeners.append(Listener(protocol, address))
            self._broker = open_broker(self._config, loop, self._clock_ms())
        except BaseException:
            self._close_listeners()
            raise
        self._turns = Turns(
            self._broker.core, loop, clock_ms=self._clock_ms, on_broken=self._broken, lingers=self._lingers
        )
        self._turns.begin()
        for listener in self._listeners:
            await listener.accept(self._session_factory(listener), self._turns, self._connections)
        self._announce()

    def _session_factory(self, listener: Listener) -> SessionFactory:
        core, config = self._broker.core, topic_config(TopicSettings(), self._config.log)
        if listener.protocol == "kafka":
            return self._kafka_service(core, config).connect
        facts = self._resp_facts(listener.port)
        return RespService(core, facts, topic_config=config, users=self._users, backlog=self._backlog).connect

    def _kafka_service(self, core: Core, config: TopicConfig) -> "KafkaService":
        from onemq.protocols.kafka.service import KafkaFacts, KafkaService  # its schemas are many: only where it is on

        settings, data = self._config.kafka, self._config.log.data
        facts = KafkaFacts(
            identity=self._broker.identity,
            folder=data if data == MEMORY else str(Path(data).absolute()),
            advertise=(settings.advertise.host, settings.advertise.port) if settings.advertise is not None else None,
            auto_create=settings.auto_create,
            partitions=settings.partitions,
            users=self._users,
        )
        return KafkaService(core, facts, config, self._backlog)

    def _resp_facts(self, port: int) -> ServerFacts:
        listen, data = self._config.resp.listen, self._config.log.data
        return ServerFacts(
            run_id=secrets.token_hex(20),
            process_id=os.getpid(),
            started_ms=self._clock_ms(),
            port=port,
            config_file=self._config.file,
            connections_max=self._config.server.max_connections,
            connections=lambda: len(self._connections),
            memory_peak_bytes=memory_peak_bytes,
            memory_bytes=self._memory_bytes,
            machine_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            processor_seconds=processor_seconds,
            connections_refused=lambda: self._connections.refused,
            replication_id=blake2b(self._broker.identity, digest_size=20).hexdigest(),
            bind=listen.host if listen is not None else "",
            folder=data if data == MEMORY else str(Path(data).absolute()),
            keys_sync=self._config.log.flush == "sync",
            log_level=self._config.server.log_level,
            keepalive_s=KEEPALIVE_IDLE_S,
        )

    def _announce(self) -> None:
        places = [f"{each.protocol} on {' and '.join(each.addresses)}" for each in self._listeners]
        data = self._config.log.data
        _logger.info(
            "OneMQ %s serves %s; data in %s: %s",
            onemq.__version__,
            ", ".join(places) or "nobody, every protocol is off",
            "memory" if data == MEMORY else Path(data).absolute(),
            self._broker.recovery,
        )

    @property
    def addresses(self) -> dict[str, list[str]]:
        """Where each protocol listens, `host:port`."""
        return {listener.protocol: listener.addresses for listener in self._listeners}

    async def catch_up(self) -> None:
        """To be called when the clock has jumped: what is due by now has been done when this returns."""
        await self._turns.catch_up()

    async def wait(self) -> None:
        """Returns when `ask_to_stop` was called, or the broker cannot go on."""
        await self._stop_asked.wait()

    def ask_to_stop(self) -> None:
        """May be called more than once: the second time nobody is waited for any more."""
        if self._stop_asked.is_set():
            self._connections.abort_all()
        self._stop_asked.set()

    def _broken(self) -> None:
        self._is_broken = True
        self._stop_asked.set()

    async def stop(self) -> None:
        """Drains the connections and closes everything. Fails if the broker was broken."""
        _logger.info("stopping: %d connections are closed", len(self._connections))
        await drain(
            self._listeners, self._connections, self._turns, self._config.server.drain_timeout_ms
        )
        if self._is_broken:
            raise OneMQError("the broker could not go on; its log has the details; restart it")
        await self._broker.close()
        _logger.info("stopped cleanly")

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()


def memory_peak_bytes() -> int:
    """The most memory that the process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def processor_seconds() -> dict[str, tuple[float, float]]:
    """What the process, those that it started and the thread that asks have used of the processors, each in the system
    and in the program."""
    who = {"process": resource.RUSAGE_SELF, "children": resource.RUSAGE_CHILDREN}
    if sys.platform == "linux":
        who["thread"] = resource.RUSAGE_THREAD
    used = {name: resource.getrusage(each) for name, each in who.items()}
    return {name: (each.ru_stime, each.ru_utime) for name, each in used.items()}


def _segment_files_max(connections_max: int) -> int:
    """How many segments may stay open beside all the connections there may be."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return OPEN_FILES_MAX
    return max(min(OPEN_FILES_MAX, soft - connections_max - RESERVED_FILES), SEGMENT_FILES_MIN)


def raise_file_limit(connections_max: int) -> None:
    """Lets the process open as many files as it may; says so if that is too few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (ValueError, OSError):  # some systems name a higher limit than they give
            pass
    if soft != resource.RLIM_INFINITY and soft < connections_max + RESERVED_FILES:
        _logger.warning(
            "only %d files may be open, too few for max_connections = %d: raise the limit (ulimit -n)",
            soft,
            connections_max,
        )
