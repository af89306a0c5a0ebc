"""The command line: what it prints, and its exit status."""

import subprocess
import sys

import pytest

from onemq import __version__, native
from tests.process import run


def test_version() -> None:
    done = run("version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"onemq {__version__} ({native.use()})\n", "")


def test_help_names_the_commands() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in ("serve", "version", "log"):
        assert word in done.stdout


@pytest.mark.parametrize("arguments", [["nope"], ["serve", "--nope"], ["serve", "extra"], ["log", "nope"]])
def test_a_command_line_without_sense_has_status_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "Usage: onemq" in done.stderr


def test_a_wrong_option_is_one_line_and_status_1() -> None:
    done = run("serve", "--resp", "nowhere")
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith('onemq: --resp: "nowhere" is not accepted; write an address such as')


def test_what_a_command_does_not_need_is_not_imported() -> None:
    heavy = ["asyncio", "uvloop", "msgspec", "rich", "hiredis", "onemq.core", "onemq.server"]
    program = (
        "import sys; import onemq.cli.main; "
        f"found = [name for name in {heavy} if name in sys.modules]; sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
