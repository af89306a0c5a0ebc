"""Streams: topics with one partition, as Redis's clients know them.

    adding.py      XADD XLEN XTRIM XSETID              trimming.py   MAXLEN and MINID
    ranges.py      XRANGE XREVRANGE                    removing.py   XDEL XDELEX XACKDEL
    reading.py     XREAD XREADGROUP                    consuming.py  what XREADGROUP hands out; XACK
    pending.py     XPENDING XCLAIM XAUTOCLAIM XNACK    groups.py     XGROUP
    info.py        XINFO XCFGSET                       policy.py     XPOLICY: what Redis lacks
    fields.py      an entry's fields as a message      delay.py      entries that are due later
"""

from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Command, Handler, container
from onemq.protocols.resp.rows import rows
from onemq.protocols.resp.streams import groups, info
from onemq.protocols.resp.streams.adding import add_many, xadd, xlen, xsetid, xtrim
from onemq.protocols.resp.streams.consuming import acknowledge_many, xack
from onemq.protocols.resp.streams.info import xcfgset
from onemq.protocols.resp.streams.pending import xautoclaim, xclaim, xnack, xpending
from onemq.protocols.resp.streams.policy import xpolicy
from onemq.protocols.resp.streams.ranges import xrange, xrevrange
from onemq.protocols.resp.streams.reading import xread, xreadgroup
from onemq.protocols.resp.streams.removing import xackdel, xdel, xdelex
from onemq.protocols.resp.usage import arguments

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_XGROUP_HELP = """\
XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CREATE <key> <groupname> <id|$> [option]
    Create a new consumer group. Options are:
    * MKSTREAM
      Create the empty stream if it does not exist.
    * ENTRIESREAD entries_read
      Set the group's entries_read counter (internal use).
CREATECONSUMER <key> <groupname> <consumer>
    Create a new consumer in the specified group.
DELCONSUMER <key> <groupname> <consumer>
    Remove the specified consumer.
DESTROY <key> <groupname>
    Remove the specified group.
SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]
    Set the current group ID and entries_read counter.
HELP
    Prints this help."""
_XINFO_HELP = """\
XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
CONSUMERS <key> <groupname>
    Show consumers of <groupname>.
GROUPS <key>
    Show the stream consumer groups.
STREAM <key> [FULL [COUNT <count>]
    Show information about the stream.
HELP
    Prints this help."""


def _help(text: str) -> Handler:
    lines = replies.array([replies.simple(line) for line in text.splitlines()])

    def show(session: "RespSession", request: list[bytes]) -> bytes:
        return lines

    return show


def _row(name: str, arity: int, handler: Handler, flags: str, since: str, usage: str, summary: str) -> Command:
    keys = (2, 2, 1) if usage else (0, 0, 0)
    return Command(
        name, arity, handler, summary, since, "stream", flags=tuple(flags.split()), categories=("stream",),
        keys=keys, arguments=arguments(usage),
    )  # fmt: skip


_GROUP_ROWS = (
    _row("xgroup|create", -5, groups.create, "write denyoom", "5.0.0",
         "key group id [MKSTREAM] [ENTRIESREAD entries_read:integer]", "Create a consumer group"),
    _row("xgroup|createconsumer", 5, groups.create_consumer, "write denyoom", "6.2.0", "key group consumer",
         "Create a consumer in a consumer group"),
    _row("xgroup|delconsumer", 5, groups.delete_consumer, "write", "5.0.0", "key group consumer",
         "Delete a consumer from a consumer group"),
    _row("xgroup|destroy", 4, groups.destroy, "write", "5.0.0", "key group", "Destroy a consumer group"),
    _row("xgroup|help", 2, _help(_XGROUP_HELP), "loading stale", "5.0.0", "",
         "Show helpful text about the different subcommands"),
    _row("xgroup|setid", -5, groups.set_id, "write", "5.0.0",
         "key group id [ENTRIESREAD entries_read:integer]", "Set the last ID that a consumer group was given"),
)  # fmt: skip

_INFO_ROWS = (
    _row("xinfo|consumers", 4, info.consumers, "readonly", "5.0.0", "key group", "List the consumers of a group"),
    _row("xinfo|groups", 3, info.groups, "readonly", "5.0.0", "key", "List the consumer groups of a stream"),
    _row("xinfo|help", 2, _help(_XINFO_HELP), "loading stale", "5.0.0", "",
         "Show helpful text about the different subcommands"),
    _row("xinfo|stream", -3, info.stream, "readonly", "5.0.0",
         "key [full-block={FULL [COUNT count:integer]}]", "Get information about a stream"),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    *rows(
        xack, xackdel, xadd, xautoclaim, xcfgset, xclaim, xdel, xdelex, xlen, xnack, xpending, xpolicy, xrange, xread,
        xreadgroup, xrevrange, xsetid, xtrim, alike={"xadd": add_many, "xack": acknowledge_many},
    ),
    container("xgroup", "A container for consumer groups commands", "5.0.0", "stream", _GROUP_ROWS),
    container("xinfo", "A container for stream introspection commands", "5.0.0", "stream", _INFO_ROWS),
)  # fmt: skip
