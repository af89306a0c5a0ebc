"""Everything typed into redis-cli, at OneMQ and at a real redis-server: the same is printed (D1).

The lines are in typed_lines.py. What the redis-server of the tests (7.0) lacks is compared with expected replies there.
"""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from onemq.protocols.resp.command import Argument, Command
from onemq.protocols.resp.commands import COMMANDS
from tests.interop.pair import connection, needs_redis_server, redis_server, reply
from tests.interop.typed import Lines, alike, as_it_is, typed, without_idle_times
from tests.interop.typed_lines import SCENES, TRANSCRIPTS
from tests.process import Serve

pytestmark = needs_redis_server

in_both_versions = pytest.mark.parametrize("options", [(), ("-3",)], ids=["RESP2", "RESP3"])


def lines_of(text: str) -> Lines:
    """The lines of a scene without remarks."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@in_both_versions
@pytest.mark.parametrize("scene", SCENES)
def test_the_same_is_printed(onemq_port: int, redis_port: int, scene: str, options: tuple[str, ...]) -> None:
    lines = lines_of(SCENES[scene])
    ours, theirs = typed(onemq_port, lines, *options), typed(redis_port, lines, *options)
    for line, mine, other in zip(lines, ours, theirs, strict=True):
        assert alike(line, mine, other), f"{line}\nOneMQ: {mine}\nRedis: {other}"


# What redis-server 7.0 does not know.


def transcript(text: str, version: int) -> Iterator[tuple[str, Lines]]:
    """Each line that is typed with the reply that is expected in a version of RESP."""
    for step in re.split(r"^ {8}> ", text, flags=re.MULTILINE)[1:]:
        line, *lines = [line.removeprefix(" " * 8).rstrip() for line in step.splitlines() if line.strip()]
        if "RESP3" in lines:
            place = lines.index("RESP3")
            lines = lines[place + 1 :] if version == 3 else lines[:place]
        yield line, lines


@in_both_versions
@pytest.mark.parametrize("source", TRANSCRIPTS, ids=lambda source: source.partition(":")[0])
def test_what_is_newer_is_printed_as_newer_versions_do(onemq_port: int, source: str, options: tuple[str, ...]) -> None:
    steps = list(transcript(TRANSCRIPTS[source], 3 if options else 2))
    replies = typed(onemq_port, [line for line, _ in steps], *options)
    for (line, expected), found in zip(steps, replies, strict=True):
        form = without_idle_times if line.startswith(("xpending", "xreadgroup")) else as_it_is
        assert form([part.rstrip() for part in found]) == expected, f"{line} ({source})"


# What takes the connection with it.


def given(port: int, *words: str) -> str:
    """What redis-cli prints that is given a command as its arguments."""
    command = ["redis-cli", "-p", str(port), "--no-raw", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return f"{done.stdout}{done.returncode}"


@in_both_versions
def test_quit(onemq_port: int, redis_port: int, options: tuple[str, ...]) -> None:
    assert given(onemq_port, *options, "quit") == given(redis_port, *options, "quit") == "OK\n0"


@contextmanager
def until_killed(port: int, options: tuple[str, ...], name: str, *words: str) -> Iterator[Callable[[], str]]:
    """A redis-cli in a command that runs on until the server parts with it; gives what it has printed then."""
    command = ["redis-cli", "-p", str(port), "--no-raw", *options, name, *words]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
        connection(port) as client,
    ):

        def numbers() -> list[str]:
            """The ids of the connections that are in this command."""
            return re.findall(rf"^id=(\d+) .* cmd={name} ", reply(client, "CLIENT", "LIST").decode(), re.MULTILINE)

        def end() -> str:
            for number in numbers():
                reply(client, "CLIENT", "KILL", "ID", number)
            return process.communicate(timeout=30)[0]

        give_up = time.monotonic() + 30
        while not numbers():
            assert time.monotonic() < give_up, f"{command} does not begin"
        yield end


@in_both_versions
@pytest.mark.parametrize("letter", ["", "p", "s"])
def test_subscribing(onemq_port: int, redis_port: int, letter: str, options: tuple[str, ...]) -> None:
    """What is published meanwhile is printed, too."""
    printed = []
    for port in (onemq_port, redis_port):
        with until_killed(port, options, f"{letter}subscribe", "news") as end, connection(port) as publisher:
            assert reply(publisher, "SPUBLISH" if letter == "s" else "PUBLISH", "news", "hello") == 1
            printed.append(end())
    assert printed[0] == printed[1]
    assert "hello" in printed[0]


@in_both_versions
@pytest.mark.parametrize("words", [("news",), ()], ids=["one", "all"])
@pytest.mark.parametrize("letter", ["", "p", "s"])
def test_unsubscribing(
    onemq_port: int, redis_port: int, letter: str, words: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """redis-cli takes the confirmation for a reply in RESP2, and in RESP3 waits on for one."""
    name = f"{letter}unsubscribe"
    if not options:
        assert given(onemq_port, name, *words) == given(redis_port, name, *words)
        return
    printed = []
    for port in (onemq_port, redis_port):
        with until_killed(port, options, name, *words) as end:
            printed.append(end())
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    "requests",
    ["client reply off\nset a 1\nget a\nclient reply on\nget a\n", "client reply skip\nset a 2\nget a\nnope\n"],
    ids=["off", "skip"],
)
def test_replies_that_do_not_come(onemq_port: int, redis_port: int, requests: str) -> None:
    """By `redis-cli --pipe`, which counts what comes: with its prompt it would wait for them."""
    printed = []
    for port in (onemq_port, redis_port):
        command = ["redis-cli", "-p", str(port), "--pipe"]
        printed.append(subprocess.run(command, input=requests, capture_output=True, text=True, timeout=60, check=False))
    ours, theirs = printed
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)
    assert "replies: 2" in ours.stdout


# Where everybody has to log in.

LOGINS = (
    ["ping"],
    ["auth", "wrong"],
    ["auth", "default", "wrong"],
    ["auth", "nobody", "secret"],
    ["auth", "secret"],
    ["auth", "default", "secret"],
    ["hello", "3", "auth", "default", "wrong"],
    ["-a", "secret", "ping"],
    ["-a", "wrong", "ping"],
    ["--user", "default", "-a", "secret", "acl", "whoami"],
    ["-a", "secret", "config", "get", "save"],
    ["quit"],
    ["reset"],
)


@pytest.fixture(scope="module")
def guarded_ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """A OneMQ broker and a redis-server whose user `default` has the password `secret`."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "onemq.toml").write_text('[users]\ndefault = "secret"\n')
    with (
        Serve(folder / "data", "--config", str(folder / "onemq.toml")) as broker,
        redis_server(folder, "--requirepass", "secret") as port,
    ):
        broker.wait_until_serving()
        yield broker.port, port


@in_both_versions
@pytest.mark.parametrize("words", LOGINS, ids=" ".join)
def test_logging_in(guarded_ports: tuple[int, int], words: list[str], options: tuple[str, ...]) -> None:
    ours, theirs = (given(port, *options, *words) for port in guarded_ports)
    assert ours == theirs


def test_one_who_logs_in_and_is_reset_has_to_do_so_again(guarded_ports: tuple[int, int]) -> None:
    lines = ["get a", "auth secret", "get a", "reset", "get a", "hello 3 auth default secret", "get a"]
    ours, theirs = (typed(port, lines) for port in guarded_ports)
    for line, mine, other in zip(lines, ours, theirs, strict=True):
        assert alike(line, mine, other), f"{line}\nOneMQ: {mine}\nRedis: {other}"


# Whether that is everything.

ELSEWHERE = {
    "quit", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "subscribe", "unsubscribe",  # above
    "xpolicy",  # OneMQ's own: docs/protocols/resp.md shows it, and test_resp_page.py runs that
}  # fmt: skip
FORMS = r"""
    blpop                \d+ \d+\.\d+
    client|kill          addr laddr id type user skipme \S+:\d+
    client|list          type id
    client|reply         on
    client|setinfo       lib-name lib-ver
    client|tracking      on off
    command|list         filterby module aclcat pattern
    flushall             async sync
    hello                2 3
    script|flush         async sync
    xadd                 \* \d+-\* \d+-\d+ \d+ = ~
    xautoclaim           - \(\d+-\d+ 0
    xgroup|create        0 \$ \d+-\d+
    xgroup|setid         0 \$ \d+-\d+
    xpending             - \+ \(\d+-\d+ alice
    xrange               - \+ \(\d+-\d+ \(\d+
    xread                \$ \+ 0
    xreadgroup           > 0 \d+-\d+
    xrevrange            - \+ \(\d+-\d+
    xtrim                = ~
    zrange               \(\d+ rev
    zrangebylex          - \+ \[\S+
"""
"""Beside the words that COMMAND DOCS tells of: what must be among the words of a command, too, as expressions."""


def words_typed() -> dict[str, set[str]]:
    """The words that were typed behind each command and subcommand."""
    found: dict[str, set[str]] = {}
    newer = [line for text in TRANSCRIPTS.values() for line, _ in transcript(text, 2)]
    for line in [*(line for text in SCENES.values() for line in lines_of(text)), *newer]:
        name, *words = line.split()
        found.setdefault(name, set()).update(words)
        if words:
            found.setdefault(f"{name}|{words[0]}", set()).update(words[1:])
    return found


def tokens(arguments: tuple[Argument, ...]) -> Iterator[str]:
    """The words that stand for themselves in a command, from its row."""
    for each in arguments:
        if each.token:
            yield re.escape(each.token.lower())
        yield from tokens(each.arguments)


def rows() -> Iterator[Command]:
    for row in COMMANDS:
        if row.group != "mq" and row.name not in ELSEWHERE:
            yield row
            yield from row.subcommands.values()


def test_every_command_and_subcommand_is_typed() -> None:
    assert {row.name for row in rows()} - words_typed().keys() == set()


def test_every_option_is_typed() -> None:
    typed_words = words_typed()
    wanted = {row.name: set(tokens(row.arguments)) for row in rows()}
    for line in lines_of(FORMS):
        name, *forms = line.split()
        wanted[name].update(forms)
    missing = {
        (name, form)
        for name, forms in wanted.items()
        for form in forms
        if not any(re.fullmatch(form, word) for word in typed_words[name])
    }
    assert missing == set()
