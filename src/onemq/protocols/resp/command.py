"""A command as a row: what runs it, what it must look like, and what COMMAND tells about it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onemq.protocols.resp.errors import unknown_subcommand, wrong_arity

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Handler = Callable[["RespSession", list[bytes]], bytes]
"""Takes the session and the whole request, returns the encoded reply; empty if it comes later or never."""

Check = Callable[["RespSession", list[bytes]], bool]
"""Raises what the handler surely would, and changes nothing."""

RunHandler = Callable[["RespSession", list[list[bytes]]], bytes | None]
"""Takes many requests of one pipeline and returns their replies in one, or does nothing and returns None because
they are not alike."""

AlikeHandler = Callable[["RespSession", list[bytes], list[bytes], list[int]], list[bytes] | None]
"""Takes requests that differ in their last words only: the words before, the last word of each, and how many of them in
a row each client has sent. Returns the replies for each client in one, or does nothing and returns None because it is
not that simple."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument for COMMAND DOCS, which redis-cli shows while one types."""

    name: str
    type: str = "string"
    token: str = ""
    flags: tuple[str, ...] = ()
    arguments: tuple["Argument", ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the command table."""

    name: str
    """In lower case; a subcommand's is `container|name`."""
    arity: int
    """How many words a request has, the name included; -n means n or more."""
    handler: Handler
    summary: str
    since: str
    """The version of Redis that first had it, or of OneMQ for what Redis has not."""
    group: str
    flags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """ACL categories beyond those that follow from the flags."""
    keys: tuple[int, int, int] = (0, 0, 0)
    """Position of the first and last key and the step between them; last may count from the end."""
    tips: tuple[str, ...] = ()
    complexity: str = "O(1)"
    arguments: tuple[Argument, ...] = ()
    subcommands: Mapping[bytes, "Command"] = field(default_factory=dict)
    run: RunHandler | None = None
    """Executes many at once what `handler` does one by one, if there is such a way."""
    alike: AlikeHandler | None = None
    """The same for requests that differ in their last words only, of one session or of several."""
    check: Check | None = None
    """Asked before a transaction runs, of commands that happen together or not at all: whether it is still to be done.
    Raises what the command surely would."""
    may_write: bool = False
    """Whether it may change what is stored although Redis does not flag it so: it runs a script."""

    def accepts(self, words: int) -> bool:
        return words == self.arity if self.arity >= 0 else words >= -self.arity

    @property
    def writes(self) -> bool:
        """Whether it may change what is stored."""
        return self.may_write or "write" in self.flags

    def find(self, request: list[bytes]) -> "Command":
        """The row that runs the request: its subcommand's if it names one. Raises if there is none such."""
        if not self.subcommands or len(request) == 1:
            return self
        row = self.subcommands.get(request[1].lower())
        if row is None:
            raise unknown_subcommand(self.name, request[1])
        if not row.accepts(len(request)):
            raise wrong_arity(row.name)
        return row


def container(
    name: str,
    summary: str,
    since: str,
    group: str,
    subcommands: Iterable[Command],
    *,
    bare: Handler | None = None,
    **rest: Any,
) -> Command:
    """A command whose first argument names what it does; `bare` runs when there is none."""
    rows = {row.name.partition("|")[2].encode(): row for row in subcommands}

    def dispatch(session: "RespSession", request: list[bytes]) -> bytes:
        if len(request) == 1 and bare is not None:
            return bare(session, request)
        session.last_command = row = command.find(request)
        return row.handler(session, request)

    arity = -2 if bare is None else -1
    command = Command(name, arity, dispatch, summary, since, group, subcommands=rows, **rest)
    return command
