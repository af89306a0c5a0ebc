"""XREAD and XREADGROUP: new entries of several streams, now or when they come."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from onemq.core.group import Group
from onemq.core.measure import within
from onemq.core.partition import Partition
from onemq.core.receive import Handed
from onemq.core.stream import Stream
from onemq.errors import OneMQError
from onemq.limits import HANDED_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, syntax_error
from onemq.protocols.resp.streams.arguments import (
    group_of,
    no_group,
    stream_of,
    text_of,
    timeout_ms,
)
from onemq.protocols.resp.streams.consuming import (
    claim_entries,
    claimable_at,
    entries_of,
    history,
    known_consumer,
    new_entries,
    wait_for_new,
)
from onemq.protocols.resp.streams.entries import Entries
from onemq.protocols.resp.streams.ids import parse_id

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

FOREVER_MS = 1 << 62
Answer = list[tuple[bytes, Entries]]
"""The entries of each stream that has any."""


@dataclass(slots=True)
class Options:
    """What stands before the streams."""

    count: int | None = None
    wait_ms: int | None = None
    """How long to wait; 0: for ever."""
    group: bytes | None = None
    consumer: str = ""
    acknowledge: bool = True
    claim_idle_ms: int | None = None
    keys: list[bytes] = field(default_factory=list)
    words: list[bytes] = field(default_factory=list)
    """An id for each stream."""


def _options(request: list[bytes], command: str) -> Options:
    options = Options()
    grouped = command == "xreadgroup"
    place = 1
    while place < len(request):
        name, left = request[place].lower(), len(request) - place - 1
        if name == b"block" and left:
            options.wait_ms = timeout_ms(request[place + 1])
            place += 2
        elif name == b"count" and left:
            options.count = max(integer(request[place + 1]), 0) or None
            place += 2
        elif name == b"streams" and left:
            _take_streams(options, request[place + 1 :])
            break
        elif name == b"group" and left >= 2:
            _only_in_a_group("GROUP", grouped)
            options.group, options.consumer = request[place + 1], text_of(request[place + 2])
            place += 3
        elif name == b"noack":
            _only_in_a_group("NOACK", grouped)
            options.acknowledge = False
            place += 1
        elif name == b"claim" and left:
            _only_in_a_group("CLAIM", grouped)
            options.claim_idle_ms = integer(
                request[place + 1], "min-idle-time is not an integer or out of range"
            )
            if options.claim_idle_ms < 0:
                raise CommandError("ERR min-idle-time must be a positive integer")
            place += 2
        else:
            raise syntax_error()
    if not options.keys:
        raise syntax_error()
    if grouped and options.group is None:
        raise CommandError("ERR Missing GROUP option for XREADGROUP")
    return options


def _take_streams(options: Options, words: list[bytes]) -> None:
    if len(words) % 2:
        raise CommandError(
            "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
        )
    options.keys, options.words = words[: len(words) // 2], words[len(words) // 2 :]


def _only_in_a_group(option: str, grouped: bool) -> None:
    if not grouped:
        raise CommandError(f"ERR The {option} option is only supported by XREADGROUP. You called XREAD instead.")


def answer_reply(session: "RespSession", answer: Answer) -> bytes:
    """The reply to either command."""
    if not answer:
        return session.replies.null_array
    if session.replies.version == 2:
        return replies.array([replies.array([replies.bulk(key), found.reply()]) for key, found in answer])
    return session.replies.map((replies.bulk(key), found.reply()) for key, found in answer)


# XREAD


def xread(session: "RespSession", request: list[bytes]) -> bytes:
    options = _options(request, "xread")
    after = [
        (key, _position(stream_of(session, key), word))
        for key, word in zip(options.keys, options.words, strict=True)
    ]

    def wait_for(waiting: Waiting) -> None:
        streams = session.service.core.streams
        found = {key: streams.find(key) for key in options.keys}
        partitions = [stream.partition for stream in found.values() if stream is not None]
        waiting.sleep(partitions, waiting.until_ms, [key for key, stream in found.items() if stream is None])

    return Waiting(session, lambda: _read(session, after, options.count), wait_for).start(options.wait_ms)


def _position(stream: Stream | None, word: bytes) -> int:
    """The id after which to read."""
    if word == b"$":
        return 0 if stream is None else stream.last_id
    if word == b"+":
        return 0 if stream is None else max(stream.top_id() - 1, 0)
    if word == b">":
        raise CommandError(
            "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
        )
    return parse_id(word)


def _read(session: "RespSession", after: list[tuple[bytes, int]], count: int | None) -> Answer:
    answer: Answer = []
    bytes_left = HANDED_BYTES_MAX
    for key, id in after:
        stream = session.service.core.streams.find(key)
        if stream is not None and len(stream) and stream.last_id > id:
            found = Entries(within(islice(stream.records(stream.find(id + 1), count), count), bytes_left))
            if found.count:
                answer.append((key, found))
            bytes_left -= found.size()
            if bytes_left <= 0:
                break
    return answer


# XREADGROUP


def xreadgroup(session: "RespSession", request: list[bytes]) -> bytes:
    options = _options(request, "xreadgroup")
    session.service.core.check_writable()
    return GroupReader(session, options).start()


class GroupReader:
    """One XREADGROUP."""

    def __init__(self, session: "RespSession", options: Options) -> None:
        assert options.group is not None
        self._session = session
        self._options = options
        self._group = options.group
        self._places: list[tuple[bytes, int | None]] = []
        """Each stream, and after which id to read a consumer's own entries again, if new ones are not asked for."""
        for key, word in zip(options.keys, options.words, strict=True):
            self._find(key)
            if word in (b"$", b"+"):
                raise _meaningless(word.decode())
            self._places.append((key, None if word == b">" else parse_id(word)))

    def start(self) -> bytes:
        """The reply, or nothing yet."""
        options = self._options
        wait_for = self._claimable if options.claim_idle_ms is not None else self._new
        return Waiting(self._session, self._read, wait_for).start(options.wait_ms)

    def _find(self, key: bytes) -> tuple[Stream, Group]:
        stream = stream_of(self._session, key)
        group = group_of(stream, self._group)
        if stream is None or group is None:
            no_group(key, self._group, " in XREADGROUP with GROUP option")
        return stream, group

    def _read(self) -> Answer:
        answer: Answer = []
        bytes_left = HANDED_BYTES_MAX
        for key, after in self._places:
            found = self._read_one(key, after, bytes_left)
            if found.count or after is not None:
                answer.append((key, found))
            if len(self._places) > 1:
                bytes_left -= found.size()
                if bytes_left <= 0:
                    break
        return answer

    def _read_one(self, key: bytes, after: int | None, bytes_max: int) -> Entries:
        session, options = self._session, self._options
        stream, group = self._find(key)
        if after is not None:
            return history(session, stream, group, options.consumer, after, options.count, bytes_max)
        if options.claim_idle_ms is None:
            return new_entries(
                session, stream, group, options.consumer, options.count, options.acknowledge, bytes_max
            )
        return claim_entries(
            session, stream, group, options.consumer, options.count, options.claim_idle_ms, options.acknowledge,
            bytes_max,
        )  # fmt: skip

    def _new(self, waiting: "Waiting") -> None:
        """Waits in line for what the groups have to hand out."""
        options = self._options
        for key in options.keys:
            stream, group = self._find(key)

            def came(got: list[Handed], key: bytes = key, stream: Stream = stream, group: Group = group) -> None:
                if got:
                    known_consumer(self._session, group, options.consumer)
                    waiting.finish([(key, entries_of(stream.cursor(group), [record for _, record, _ in got]))])
                elif self._session.service.core.groups.has(group) and stream.key == key:
                    waiting.finish([])
                else:
                    self._went(key, waiting)

            waiting.stop.append(
                wait_for_new(
                    self._session, group, options.consumer, options.count, waiting.until_ms, came, options.acknowledge
                )
            )

    def _went(self, key: bytes, waiting: "Waiting") -> None:
        """The group or its stream was removed while the reader waited, or the stream was renamed. There may be one of
        the same name since."""
        try:
            stream = self._session.service.core.streams.find(key)
        except OneMQError as error:  # its time has come, and nothing can be written now
            waiting.fail(error)
            return
        if stream is None:
            waiting.fail(_stream_gone())
        elif group_of(stream, self._group) is None:
            waiting.fail(CommandError("NOGROUP the consumer group this client was blocked on no longer exists"))
        else:
            waiting.wake()

    def _claimable(self, waiting: "Waiting") -> None:
        """Waits for new entries, or for pending ones to become idle enough."""
        idle_ms = self._options.claim_idle_ms
        assert idle_ms is not None
        places = [self._find(key) for key in self._options.keys]
        for _, group in places:
            self._session.service.core.groups.check_receiver(group, self._options.consumer, None)
        dues = [claimable_at(stream, group, idle_ms) for stream, group in places]
        until_ms = min([waiting.until_ms, *(due_ms for due_ms in dues if due_ms is not None)])
        waiting.sleep([stream.partition for stream, _ in places], until_ms)


def _stream_gone() -> CommandError:
    return CommandError("UNBLOCKED the stream key no longer exists")


def _meaningless(sign: str) -> CommandError:
    return CommandError(
        f"ERR The {sign} ID is meaningless in the context of XREADGROUP: you want to read the history of this "
        "consumer by specifying a proper ID, or use the > ID to get new messages. "
        f"The {sign} ID would just return an empty result set."
    )


# Waiting


class Waiting:
    """Reads, and if there is nothing, waits for something and reads again."""

    def __init__(
        self, session: "RespSession", read: Callable[[], Answer], wait_for: Callable[["Waiting"], None]
    ) -> None:
        self._session = session
        self._read = read
        self._wait_for = wait_for
        self.stop: list[Callable[[], None]] = []
        """What ends the waiting."""
        self.until_ms = 0
        self._is_over = False

    def start(self, wait_ms: int | None) -> bytes:
        """The reply, or nothing yet."""
        answer = self._read()
        session = self._session
        if answer or wait_ms is None or session.atomic:
            return answer_reply(session, answer)
        self.until_ms = session.service.core.stage.now_ms + wait_ms if wait_ms else FOREVER_MS
        session.wait()
        session.on_lost[self._end] = None
        session.unblock = self._unblock
        try:
            self._wait_for(self)
        except OneMQError:
            self._end()
            raise
        return b""

    def sleep(self, partitions: list[Partition], until_ms: int, names: Sequence[bytes] = ()) -> None:
        """Reads again when one of the partitions has something new, when a topic of one of the names comes, or at a
        time."""
        self.stop.append(self._session.service.core.waiting.wait(partitions, until_ms, self.wake, names).cancel)

    def wake(self) -> None:
        """Reads again, now."""
        if self._is_over:
            return
        self._stop_waiting()
        try:
            answer = self._read()
            if not answer and self._session.service.core.stage.now_ms < self.until_ms:
                self._wait_for(self)
                return
        except OneMQError as error:
            self.fail(error)
            return
        self.finish(answer)

    def finish(self, answer: Answer) -> None:
        """Answers."""
        self._reply(answer_reply(self._session, answer))

    def fail(self, error: OneMQError) -> None:
        """Answers with an error."""
        self._reply(self._session.refusal(error))

    def _unblock(self, error: OneMQError | None) -> None:
        """CLIENT UNBLOCK: as if the time were up, or with an error."""
        if error is None:
            self.finish([])
        else:
            self.fail(error)

    def _reply(self, reply: bytes) -> None:
        if not self._is_over:
            self._end()
            self._session.go_on(reply)

    def _end(self) -> None:
        self._is_over = True
        self._stop_waiting()
        self._session.on_lost.pop(self._end, None)
        self._session.unblock = None

    def _stop_waiting(self) -> None:
        for stop in self.stop:
            stop()
        self.stop.clear()
