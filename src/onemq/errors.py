"""The one error tree.

Every error carries a `code` (stable, for programs), a text that a user can act on, and
whether the connection that caused it must end. Each protocol turns codes into its own
wire errors in one table; nothing below `protocols/` knows how an error looks on a wire.

A broken invariant of our own is an `assert`, never one of these.
"""


class OneMQError(Exception):
    """Base of everything that OneMQ raises on purpose."""

    code = "error"
    closes = False

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InvalidArgument(OneMQError):
    """The caller asked for something that makes no sense: a bad name, count or time."""

    code = "invalid"


class NotFound(OneMQError):
    """No such topic, group, member, message or timer."""

    code = "not-found"


class AlreadyExists(OneMQError):
    """A topic or group of that name is there already."""

    code = "exists"


class OffsetOutOfRange(OneMQError):
    """The offset is below the first kept message or above the end."""

    code = "offset-out-of-range"


class TooLarge(OneMQError):
    """A message, batch, frame or name is over its limit; nothing was stored."""

    code = "too-large"


class TransactionTooLarge(TooLarge):
    """A transaction has as much as it may have, or all together have; nothing was stored."""

    code = "transaction-too-large"


class WrongType(OneMQError):
    """The key holds another kind of value."""

    code = "wrong-type"


class OutOfOrderSequence(OneMQError):
    """An idempotent producer skipped a sequence number; nothing was stored."""

    code = "out-of-order-sequence"


class Fenced(OneMQError):
    """A newer producer of the same identity took over; the old one must stop."""

    code = "fenced"


class TransactionEnded(OneMQError):
    """The transaction has ended already, and not in the way that is asked for."""

    code = "transaction-ended"


class AlreadySettled(OneMQError):
    """A message came again while it was handled, and somebody else has finished it: nothing was sent for it."""

    code = "already-settled"


class DiskFull(OneMQError):
    """The disk is above its watermark: messages are refused, reads and acknowledgements go on."""

    code = "disk-full"


class ReadOnly(OneMQError):
    """A write to the log failed, so nothing more is acknowledged; reads go on."""

    code = "read-only"


class Busy(OneMQError):
    """The broker does as much of this at a time as it may; ask again later."""

    code = "busy"


class Corrupt(OneMQError):
    """Stored bytes do not match their checksum. The text names the file and the position.

    `offset` is the first one that cannot be read and `resume_offset` the next one that can, where known.
    """

    code = "corrupt"

    def __init__(self, text: str, resume_offset: int | None = None, offset: int | None = None) -> None:
        super().__init__(text)
        self.offset = offset
        self.resume_offset = resume_offset


class ProtocolError(OneMQError):
    """The peer broke the wire format: it is told so and the connection ends."""

    code = "protocol"
    closes = True


class ConfigError(OneMQError):
    """A setting is unknown or wrong. The text names the file, the line, the key and the reason."""

    code = "config"


class FolderError(OneMQError):
    """The data folder cannot be used. The text says why and what to do."""

    code = "folder"


class ListenError(OneMQError):
    """An address cannot be listened on. The text says why and what to do."""

    code = "listen"


class TooManyConnections(OneMQError):
    """The server has as many connections as it may have."""

    code = "too-many-connections"
    closes = True


class Disconnected(OneMQError):
    """There is no connection to the broker, or it was lost before the answer came."""

    code = "disconnected"
    closes = True


class TimedOut(OneMQError):
    """No answer in the time that the caller gave; what was asked for may have happened or not."""

    code = "timed-out"


class AccessDenied(OneMQError):
    """The broker does not know this user or does not allow it."""

    code = "access-denied"


class BadBody(OneMQError):
    """The body of a message is not what its reader asks for, or a value cannot be made a body."""

    code = "body"
