"""docs/protocols/resp.md says what OneMQ does: its examples are run, its table compared with the code.

The examples for redis-cli in README.md are run here, too.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onemq.core.keyspace.glob import PATTERN_BYTES_MAX
from onemq.limits import (
    BACKLOG_BYTES_MAX,
    CONNECTION_LIMITS,
    HANDED_BYTES_MAX,
    MESSAGE_BYTES_CEILING,
    MESSAGE_BYTES_MAX,
    MIB,
    NAME_BYTES_MAX,
)
from onemq.limits import RESP_BULK_BYTES_MAX as BULK_BYTES_MAX
from onemq.limits import RESP_LISTENER_BYTES_MAX as LISTENER_BYTES_MAX
from onemq.limits import RESP_REPLY_BYTES_MAX as REPLY_BYTES_MAX
from onemq.limits import RESP_REQUEST_BYTES_MAX as REQUEST_BYTES_MAX
from onemq.protocols.resp.chance import DRAWN_MAX
from onemq.protocols.resp.commands import COMMANDS
from onemq.protocols.resp.version import REDIS_VERSION
from tests.docs.resp_page import PAGE, Example, alike, blocks, command_table, serve
from tests.interop.pair import connection, needs_redis_server, redis_server
from tests.needs import needs_redis_cli
from tests.process import Serve

TEXT = PAGE.read_text()
README = (PAGE.parents[2] / "README.md").read_text()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with serve(tmp_path_factory.mktemp("page"), TEXT) as serving:
        serving.wait_until_serving()
        yield serving


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def check(port: int, text: str) -> None:
    """Runs all examples in their order: later ones build on earlier ones."""
    example = Example(port)
    for block in blocks("redis", text):
        assert alike(example.replayed(block)) == alike(block)


@needs_redis_cli
def test_redis_cli_shows_what_the_page_shows(broker: Serve) -> None:
    check(broker.port, TEXT)


@needs_redis_cli
def test_redis_cli_shows_what_the_readme_shows(tmp_path: Path) -> None:
    assert len(blocks("redis", README)) == 3
    with Serve(tmp_path / "data") as serving:
        serving.wait_until_serving()
        check(serving.port, README)


@pytest.mark.parametrize("example", blocks("python", TEXT))
def test_the_python_examples_run(broker: Serve, example: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(example.replace("6379", str(broker.port)))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if "greetings" in example:
        assert done.stdout == "greetings {'text': 'hello'}\n"
    else:
        assert broker.command("LLEN celery") == b":1\r\n"


def test_the_table_has_the_commands_of_the_code() -> None:
    written = re.search(r"<!-- commands -->\n(.*?)<!-- /commands -->", TEXT, re.DOTALL)
    assert written is not None
    assert written[1] == command_table(), "run: python -m tests.docs.resp_page"


def unsupported(answer: str) -> list[str]:
    """The commands in the rows of the table to which that is answered."""
    rows = [line for line in section("Not supported").splitlines() if line.endswith(f"| {answer} |")]
    return [name for row in rows for name in re.findall(r"`(.+?)`", row)]


def test_what_is_called_unsupported_is_unknown(broker: Serve) -> None:
    names = unsupported("unknown command")
    assert len(names) > 60
    assert {name.lower() for name in names}.isdisjoint(row.name for row in COMMANDS)
    for name in names:
        assert broker.command(name).startswith(b"-ERR unknown command '%b'" % name.encode())


def test_a_subcommand_that_is_called_unsupported_is_unknown(broker: Serve) -> None:
    names = unsupported("unknown subcommand")
    assert len(names) > 10
    for name in names:
        container, word = name.encode().split()
        expected = b"-ERR unknown subcommand '%b'. Try %b HELP.\r\n" % (word, container)
        assert broker.command(name) == expected


@needs_redis_server
def test_whatever_redis_has_and_onemq_has_not_is_called_unsupported(tmp_path: Path) -> None:
    named = {name.lower() for answer in ("unknown command", "unknown subcommand") for name in unsupported(answer)}
    ours = {name for row in COMMANDS for name in (row.name, *(each.name for each in row.subcommands.values()))}
    with redis_server(tmp_path) as port, connection(port) as client:
        rows = client.execute_command("COMMAND")
    known = [row[0].decode() for row in rows]
    known += [each[0].decode() for row in rows if row[0].decode() in ours for each in row[9]]
    assert {name.replace("|", " ") for name in known if name not in ours} - named == set()


def test_the_numbers_are_those_of_the_code() -> None:
    text = " ".join(section("Differences").split())
    assert f"at most {NAME_BYTES_MAX} bytes" in text
    assert f"An argument has at most {BULK_BYTES_MAX // MIB} MiB, a request {REQUEST_BYTES_MAX // MIB} MiB" in text
    assert f"an entry {MESSAGE_BYTES_MAX // MIB} MiB unless" in text
    assert f"(up to {MESSAGE_BYTES_CEILING // MIB} MiB)" in text
    assert f"All connections together may hold {BACKLOG_BYTES_MAX // (1024 * MIB)} GiB" in text
    assert f"has at most {PATTERN_BYTES_MAX:,} bytes" in text
    assert f"a count down to -{DRAWN_MAX:,}." in text
    output = f"{CONNECTION_LIMITS.output_bytes_max // MIB} MiB of output, or {LISTENER_BYTES_MAX // MIB} MiB"
    assert f"has not taken {output} if it has subscriptions" in text
    assert f"A reply has at most {REPLY_BYTES_MAX // MIB} MiB" in text
    assert f"once they have {HANDED_BYTES_MAX // MIB} MiB" in text
    assert f"`redis_version:{REDIS_VERSION}`" in TEXT


def test_every_link_leads_somewhere() -> None:
    for file, anchor in re.findall(r"\]\(([^)#:]*)#?([^)]*)\)", TEXT):
        target = PAGE.parent / file if file else PAGE
        assert target.exists(), file
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}, anchor
