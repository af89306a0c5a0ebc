"""How errors look on this wire: the one table from our codes to Redis's words.

Clients match on the first word and some on the whole text, so both are Redis's own where Redis
has such an error.
"""

from onemq.errors import InvalidArgument, OneMQError

_LINES = {
    "wrong-type": "WRONGTYPE Operation against a key holding the wrong kind of value",
    "read-only": "MISCONF {text}",
    "disk-full": "MISCONF {text}",
    "protocol": "ERR Protocol error: {text}",
}


_MQ_WORDS = {
    "busy": "BUSY",
    "disk-full": "DISKFULL",
    "exists": "EXISTS",
    "fenced": "FENCED",
    "not-found": "NOTFOUND",
    "offset-out-of-range": "OUTOFRANGE",
    "out-of-order-sequence": "OUTOFORDER",
    "read-only": "MISCONF",
    "too-large": "TOOLARGE",
    "transaction-ended": "TXENDED",
    "wrong-type": "WRONGTYPE",
}
"""What errors of MQ.* commands begin with, where a program may want to tell them from others."""


class CommandError(InvalidArgument):
    """An error whose text is a whole error line, prefix included."""

    code = "command"


def error_line(error: OneMQError) -> str:
    """The error as this protocol words it, without the leading `-`."""
    if error.code == "command":
        return error.text
    return _LINES.get(error.code, "ERR {text}").format(text=error.text)


def mq_error_line(error: OneMQError) -> str:
    """The same for the MQ.* commands, which have more to tell apart."""
    return error.text if error.code == "command" else f"{_MQ_WORDS.get(error.code, 'ERR')} {error.text}"


def syntax_error() -> CommandError:
    return CommandError("ERR syntax error")


def not_an_integer() -> CommandError:
    return CommandError("ERR value is not an integer or out of range")


def wrong_arity(command_name: str) -> CommandError:
    return CommandError(f"ERR wrong number of arguments for '{command_name}' command")


def unknown_command(request: list[bytes]) -> CommandError:
    """Names the command and quotes the arguments, both cut where Redis cuts them."""
    quoted = b""
    for argument in request[1:]:
        if len(quoted) >= 128:
            break
        quoted += b"'%b' " % _printable(argument, 128 - len(quoted))
    name = _printable(request[0], 128)
    line = b"ERR unknown command '%b', with args beginning with: %b" % (name, quoted)
    return CommandError(line.decode(errors="surrogateescape"))


def unknown_subcommand(container: str, name: bytes) -> CommandError:
    return CommandError(f"ERR unknown subcommand '{shown(name[:128])}'. Try {container.upper()} HELP.")


def misused_subcommand(request: list[bytes]) -> CommandError:
    """A subcommand with more arguments than it takes, where Redis finds that out late."""
    return CommandError(
        f"ERR unknown subcommand or wrong number of arguments for '{shown(request[1])}'. "
        f"Try {request[0].decode().upper()} HELP."
    )


def shown(word: bytes) -> str:
    """A word of a request as errors quote it: up to its first zero byte."""
    return _printable(word, len(word)).decode(errors="surrogateescape")


def _printable(value: bytes, size_max: int) -> bytes:
    """The beginning of the value, up to its first zero byte."""
    return value[:size_max].partition(b"\0")[0]
