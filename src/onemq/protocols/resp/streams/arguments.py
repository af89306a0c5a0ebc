"""What stream commands have in common: looking up streams and groups, names, waiting times."""

from typing import TYPE_CHECKING, NoReturn

from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, shown

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession


def text_of(name: bytes) -> str:
    """The name of a group or consumer."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise CommandError("ERR names of consumer groups and consumers must be text in UTF-8") from None


def stream_of(session: "RespSession", key: bytes) -> Stream | None:
    """The stream of a key, if there is one."""
    return session.service.core.streams.get(key)


def stream_to_write(session: "RespSession", key: bytes) -> Stream | None:
    """The same for a command that changes it."""
    core = session.service.core
    core.check_writable()
    return core.streams.get(key)


def existing_stream(session: "RespSession", key: bytes) -> Stream:
    """The stream of a key that must be there."""
    stream = session.service.core.streams.get(key)
    if stream is None:
        raise CommandError("ERR no such key")
    return stream


def group_of(stream: Stream | None, name: bytes) -> Group | None:
    """The group of a stream, if there is one."""
    return None if stream is None else stream.topic.groups.get(text_of(name))


def stream_and_group(session: "RespSession", key: bytes, name: bytes, where: str = "") -> tuple[Stream, Group]:
    """Both, or NOGROUP."""
    stream = session.service.core.streams.get(key)
    group = group_of(stream, name)
    if stream is None or group is None:
        no_group(key, name, where)
    return stream, group


def no_group(key: bytes, name: bytes, where: str = "") -> NoReturn:
    raise CommandError(f"NOGROUP No such key '{shown(key)}' or consumer group '{shown(name)}'{where}")


def timeout_ms(text: bytes) -> int:
    """How long to wait, in milliseconds; 0: for ever."""
    value = integer(text, "timeout is not an integer or out of range")
    if value < 0:
        raise CommandError("ERR timeout is negative")
    return value
