"""What the broker answers, in Python's own terms."""

from typing import Any, cast

from hiredis import ReplyError

from onemq.errors import (
    AccessDenied,
    AlreadyExists,
    AlreadySettled,
    Busy,
    DiskFull,
    Fenced,
    InvalidArgument,
    NotFound,
    OffsetOutOfRange,
    OneMQError,
    OutOfOrderSequence,
    ReadOnly,
    TooLarge,
    TransactionEnded,
    WrongType,
)

_BY_CODE: dict[str, type[OneMQError]] = {
    "NOTOPIC": NotFound,
    "NOGROUP": NotFound,
    "NOTFOUND": NotFound,
    "EXISTS": AlreadyExists,
    "TOOLARGE": TooLarge,
    "OUTOFORDER": OutOfOrderSequence,
    "FENCED": Fenced,
    "OUTOFRANGE": OffsetOutOfRange,
    "MISCONF": ReadOnly,
    "DISKFULL": DiskFull,
    "READONLY": ReadOnly,
    "WRONGTYPE": WrongType,
    "TXENDED": TransactionEnded,
    "SETTLED": AlreadySettled,
    "BUSY": Busy,
    "NOAUTH": AccessDenied,
    "NOPERM": AccessDenied,
    "WRONGPASS": AccessDenied,
}
_NOT_SHOWN = {"ERR", *_BY_CODE} - {"NOAUTH", "NOPERM", "WRONGPASS", "WRONGTYPE"}


def error_of(reply: Exception) -> OneMQError:
    """The error that an error reply stands for, by the code it begins with."""
    if isinstance(reply, OneMQError):
        return reply
    line = str(reply)
    code, _, text = line.partition(" ")
    kind = _BY_CODE.get(code, InvalidArgument)
    if code == "MISCONF" and "disk" in text:
        kind = DiskFull
    return kind(text if code in _NOT_SHOWN else line)


def raised(reply: Any) -> Any:
    """The reply, or the error that it is."""
    if isinstance(reply, Exception):
        raise error_of(reply)
    return reply


def is_code(reply: object, code: str) -> bool:
    """Whether a reply is the error of that code."""
    return isinstance(reply, ReplyError) and str(reply).startswith(code + " ")


def plain(reply: Any) -> Any:
    """The same with text in place of bytes, however deep; bodies, which may be no text, stay bytes then."""
    if isinstance(reply, bytes):
        try:
            return reply.decode()
        except UnicodeDecodeError:
            return reply
    if isinstance(reply, dict):
        return {plain(name): plain(value) for name, value in reply.items()}
    if isinstance(reply, list):
        return [plain(item) for item in reply]
    return reply


def mapping(reply: Any) -> dict[str, Any]:
    """A reply that is a map, with names as text and values as they came."""
    raised(reply)
    return {name.decode(): value for name, value in cast(dict[bytes, Any], reply).items()}
