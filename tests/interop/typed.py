"""Lines typed into redis-cli, what it prints for each, and the form in which two such replies are alike.

    typed(port, ["set a 1", "get a"])        [["OK"], ['"1"']]

redis-cli reads them from its standard input, in one connection. Behind each line comes a quotation mark alone: of
that redis-cli says by itself that it is no command, so it shows where the reply to a line ends, also in MULTI.
"""

import re
import subprocess
from collections.abc import Callable

_MARK = '"'
_MARKED = "Invalid argument(s)\n"
_TOOK = re.compile(r"\(\d+\.\d+s\)")
_NUMBERING = re.compile(r"(?:\s*\d+[)#~])*\s?")
_ID = re.compile(r'"\d{13}-\d+"')
_TIME = re.compile(r"\(integer\) 1\d{12}\b")
_VARIES = {
    '"radix-tree-keys"', '"radix-tree-nodes"', '"seen-time"', '"idle"', '"id"', '"version"',
    # Newer than Redis 7.0:
    '"idmp-duration"', '"idmp-maxsize"', '"pids-tracked"', '"iids-tracked"', '"iids-added"', '"iids-duplicates"',
    '"nacked-count"', '"active-time"', '"inactive"',
}  # fmt: skip
"""Facts that differ by nature."""
_ESTIMATES = ('"entries-read"', '"lag"')
"""Redis answers nil where it cannot know them; OneMQ may know them."""
_OF_A_CLIENT = ("name", "flags", "db", "sub", "psub", "ssub", "multi", "cmd", "user", "redir", "resp")

Lines = list[str]
Form = Callable[[Lines], object]


def typed(port: int, lines: Lines, *options: str) -> list[Lines]:
    """What redis-cli prints for each line, beginning with an empty server."""
    command = ["redis-cli", "-p", str(port), "--no-raw", *options]
    text = "".join(f"{line}\n{_MARK}\n" for line in ["flushall", *lines])
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
    _, *replies, rest = done.stdout.split(_MARKED)
    assert (len(replies), rest) == (len(lines), ""), done.stdout + done.stderr
    return _with_numbered_ids([[line for line in reply.splitlines() if not _TOOK.fullmatch(line)] for reply in replies])


def _with_numbered_ids(replies: list[Lines]) -> list[Lines]:
    """The replies with ids of the clock, and times, as the first, the second and so on."""
    seen: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f'"id {len(seen) + 1}"')

    return [[_TIME.sub("(integer) time", _ID.sub(numbered, line)) for line in reply] for reply in replies]


def alike(line: str, ours: Lines, theirs: Lines) -> bool:
    """Whether both print the same for a line, what differs by nature aside."""
    form = next((form for pattern, form in _FORMS.items() if re.fullmatch(pattern, line)), as_it_is)
    mine, other = form(ours), form(theirs)
    if isinstance(mine, list) and isinstance(other, list):
        mine = _without_estimates(mine, other)
    return mine == other


def _without_estimates(mine: Lines, other: Lines) -> Lines:
    """Our leaves with nil for those estimates that Redis did not know."""
    if len(mine) != len(other):
        return mine
    unknown = [leaf == "(nil)" and before in _ESTIMATES for before, leaf in zip(["", *other], other, strict=False)]
    return ["(nil)" if is_unknown else leaf for is_unknown, leaf in zip(unknown, mine, strict=True)]


# Forms.


def as_it_is(reply: Lines) -> Lines:
    return reply


def without_idle_times(reply: Lines) -> Lines:
    """Pending entries, of which the third part tells for how long they have been that."""
    return [re.sub(r"3\) \(integer\) \d+$", "3) (integer) some", line) for line in reply]


def _leaves(reply: Lines) -> Lines:
    """What stands in a reply, without numbers and arrows."""
    parts = [_NUMBERING.sub("", part, count=1) for line in reply for part in line.split(" => ")]
    return [part for part in parts if part]


def _facts(reply: Lines) -> Lines:
    """The leaves of names and values, without those that vary."""
    leaves = _leaves(reply)
    pairs = zip(["", *leaves], leaves, strict=False)
    return [leaf for before, leaf in pairs if leaf not in _VARIES and before not in _VARIES]


def _in_any_order(reply: Lines) -> Lines:
    return sorted(_leaves(reply))


def _about(reply: Lines) -> Lines:
    """Numbers as such."""
    return [re.sub(r"\d{2,}", "some", line) for line in reply]


def _first(reply: Lines) -> Lines:
    """The first line: what follows describes what there is, and of that Redis has more."""
    return _leaves(reply)[:1]


def _is_any(reply: Lines) -> bool:
    return bool(reply) and not reply[0].startswith("(error)")


def _clients(reply: Lines) -> list[list[tuple[str, str]]]:
    """What is said of clients in fields that OneMQ keeps."""
    found = [re.findall(r"(\S+?)=(\S*)", line) for line in reply if "cmd=" in line]
    return [[(name, value) for name, value in facts if name in _OF_A_CLIENT] for facts in found] or [[("", str(reply))]]


def _documented(reply: Lines) -> set[str]:
    """Which facts are told of a command."""
    return set(_leaves(reply)) & {'"get"', '"summary"', '"since"', '"group"', '"complexity"', '"arguments"', '"token"'}


_FORMS: dict[str, Form] = {
    r"(p?ttl|time|lastsave|client id|memory usage)( .*)?": _about,
    r"xpending .*|xreadgroup .*claim.*": without_idle_times,
    r"xinfo .*|hello.*": _facts,
    r"(keys|scan|sscan|smembers|sinter|sdiff|sunion|acl cat|command info|command list filterby) ?.*": _in_any_order,
    r"client (info|list).*": _clients,
    r"(info|command( count| list)?)( server)?": _is_any,
    r"command docs get": _documented,
    r"(acl|latency|memory) help": _first,
}
