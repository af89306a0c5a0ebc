"""docs/protocols/resp.md: what of it is made, and how its examples are run.

    python -m tests.docs.resp_page       writes the table of commands and the replies of the examples anew

An example is a block of the language `redis`. A line with a prompt is a command, and what follows is the reply as
redis-cli prints it. Each name before a prompt is a connection of its own, open from its first use in the block to
its end. An id in a reply may be used in later commands: what the broker really answered takes its place.
"""

import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS
from tests.process import Serve

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "resp.md"
FAMILIES = {
    "stream": "streams",
    "list": "lists",
    "pubsub": "publish and subscribe",
    "transactions": "transactions",
    "string": "strings",
    "hash": "hashes",
    "set": "sets",
    "sorted-set": "sorted sets",
    "generic": "keys",
    "scripting": "scripts",
    "connection": "the connection",
    "server": "the server",
    "mq": "message queues",
}
_TABLE = re.compile(r"(?<=<!-- commands -->\n).*?(?=<!-- /commands -->)", re.DOTALL)
_EXAMPLE = re.compile(r"(?<=```redis\n).*?(?=```)", re.DOTALL)
_PROMPT = re.compile(r"(\w*)> (.*)")
_ID = re.compile(r"\b\d{13}-\d+")
_TOOK = re.compile(r"\(\d+\.\d+s\)\n")
"""What redis-cli says of commands that waited."""
_END = "end-of-the-reply"


# The table of commands.


def command_table() -> str:
    """The commands by family; behind a name the version of Redis that has it, if that is newer than 7.0."""
    lines = ["| family | commands |", "|---|---|"]
    assert {row.group for row in COMMANDS} == set(FAMILIES), "a family has no name here"
    for group, name in FAMILIES.items():
        rows = sorted((row for row in COMMANDS if row.group == group), key=lambda row: row.name)
        lines.append(f"| {name} | {', '.join(map(_shown, rows))} |")
    return "\n".join(lines) + "\n"


def _shown(row: Command) -> str:
    words = " ".join(sorted(each.name.partition("|")[2].upper() for each in row.subcommands.values()))
    major, minor, _ = row.since.split(".")
    note = "OneMQ's own" if major == "0" else f"Redis {major}.{minor}" if (int(major), int(minor)) > (7, 0) else ""
    behind = [f"`{words}`"] if words else []
    return " ".join([f"`{row.name.upper()}`", *behind, *([f"({note})"] if note else [])])


def with_table(text: str) -> str:
    """The page with the table as it should be."""
    return _TABLE.sub(lambda _: command_table(), text)


# The examples.


class Prompt:
    """A redis-cli that is asked one command after the other."""

    def __init__(self, port: int, *options: str) -> None:
        self._process = subprocess.Popen(
            ["redis-cli", "--no-raw", "-p", str(port), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ask(self, command: str) -> list[str]:
        """The lines of the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\nECHO {_END}\n")
        self._process.stdin.flush()
        lines: list[str] = []
        while (line := self._process.stdout.readline()) and line != f'"{_END}"\n':
            if not _TOOK.fullmatch(line):
                lines.append(line.rstrip())
        assert line, f"redis-cli ended: {lines}"
        return lines

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Example:
    """Runs blocks against a broker, one after the other."""

    def __init__(self, port: int, *options: str) -> None:
        """`options` are those of redis-cli."""
        self._port = port
        self._options = options
        self._ids: dict[str, str] = {}
        """Ids of the page -> those that this broker gave."""

    def replayed(self, block: str) -> str:
        """The block with the replies that come now."""
        lines: list[str] = []
        with ExitStack() as stack:
            prompts: dict[str, Prompt] = {}
            for name, command, reply in steps(block):
                if name not in prompts:
                    prompts[name] = stack.enter_context(Prompt(self._port, *self._options))
                command = _ID.sub(lambda match: self._ids.get(match[0], match[0]), command)
                answer = prompts[name].ask(command)
                pairs = zip(_ID.findall("\n".join(reply)), _ID.findall("\n".join(answer)), strict=False)
                self._ids.update(pairs)
                lines += [f"{name}> {command}", *answer]
        return "\n".join(lines) + "\n"


def steps(block: str) -> list[tuple[str, str, list[str]]]:
    """(whose prompt, command, lines of the reply) of an example."""
    found: list[tuple[str, str, list[str]]] = []
    for line in block.splitlines():
        match = _PROMPT.fullmatch(line)
        if match:
            found.append((match[1], match[2], []))
        else:
            found[-1][2].append(line)
    return found


def blocks(language: str, text: str) -> list[str]:
    """The blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def replayed(text: str, port: int, *options: str) -> str:
    """The page with the replies that a broker gives now."""
    example = Example(port, *options)
    return _EXAMPLE.sub(lambda match: example.replayed(match[0]), text)


def alike(text: str) -> str:
    """A text without what differs from run to run: times, and the places of messages."""
    text = re.sub(r"\b\d{13}\b", "<time>", text)
    return re.sub(r'"[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"', '"<place>"', text)


def serve(folder: Path, text: str) -> Serve:
    """A broker that is configured as the page shows."""
    (folder / "onemq.toml").write_text("\n".join(blocks("toml", text)))
    return Serve(folder / "data", "--config", str(folder / "onemq.toml"))


def main() -> None:
    text = with_table(PAGE.read_text())
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), text) as broker:
        broker.wait_until_serving()
        PAGE.write_text(replayed(text, broker.port))


if __name__ == "__main__":
    main()
