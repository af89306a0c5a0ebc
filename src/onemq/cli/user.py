"""`onemq user`: a line for the table [users] of the configuration, without the password in it."""

import sys
from os import urandom
from typing import Annotated

import typer

from onemq.users import SCRAM_HASHES, Verifier

_SALT_BYTES = 16


def user(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    mechanism: Annotated[
        str, typer.Option(metavar="|".join(SCRAM_HASHES), help="How clients may prove it without sending it.")
    ] = "SCRAM-SHA-256",
) -> None:
    """Asks for a password and prints the line of a user for the configuration's table [users]."""
    from onemq.errors import InvalidArgument
    from onemq.message import check_name

    check_name("user", name)
    if mechanism not in SCRAM_HASHES:
        raise InvalidArgument(f"{mechanism} is no mechanism: write {' or '.join(SCRAM_HASHES)}")
    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().removesuffix("\n")
    if not password:
        raise InvalidArgument("the password must not be empty")
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    print(f'"{quoted}" = "{Verifier.of(password, mechanism, urandom(_SALT_BYTES))}"')
